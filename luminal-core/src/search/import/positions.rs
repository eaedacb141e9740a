//! Indices that are computed from positions alone: flipping, rolling and repeating an axis move elements like views do.

use super::Importer;
use crate::graph::{Binary, Dim, NodeId, Op};
use crate::search::term::IndexExpr;

impl Importer<'_> {
    /// The row that a gather reads, if it follows from positions and is a row of the table at all of them.
    pub(super) fn known_row(&mut self, table: NodeId, of: NodeId, index: &[IndexExpr]) -> Option<IndexExpr> {
        let Dim::Fixed(rows) = self.graph.nodes[table].shape[0] else { return None };
        let row = self.index_value(of, index)?;
        let (low, high) = self.context.range(&row)?;
        // What wrapped around on the way is right again: sums and products are modulo 2^32.
        (low >= 0 && high < rows as i64).then_some(row)
    }

    /// The value of an integer node as an index expression.
    fn index_value(&mut self, node: NodeId, index: &[IndexExpr]) -> Option<IndexExpr> {
        if let Some((operand, index)) = self.through_view(node, index) {
            return self.index_value(operand, &index);
        }
        let graph = self.graph;
        match &graph.nodes[node].op {
            Op::Iota => Some(index[0].clone()),
            Op::Const(value) => Some(IndexExpr::constant(*value as i64)),
            Op::Binary(op, x, y) => {
                let (x, y) = (self.index_value(*x, index)?, self.index_value(*y, index)?);
                match op {
                    Binary::Add => Some(x.plus(&y)),
                    Binary::Mul if y.terms.is_empty() => Some(times(&x, y.constant)),
                    Binary::Mul if x.terms.is_empty() => Some(times(&y, x.constant)),
                    Binary::Mod if y.terms.is_empty() && y.constant > 0 => {
                        let (low, high) = self.context.range(&x)?;
                        let fits = low >= i64::from(i32::MIN) && high <= i64::from(i32::MAX);
                        fits.then(|| self.divide(&x, y.constant).1)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn times(expr: &IndexExpr, factor: i64) -> IndexExpr {
    if factor == 0 { IndexExpr::constant(0) } else { expr.times(factor) }
}
