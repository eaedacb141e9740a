//! A graph node under an index expression per dimension, as a term: views transform the expressions, nothing else.

use super::Importer;
use super::naming::Site;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::{Binary, Dim, NodeId, Op, Reduce, Unary};
use crate::search::term::{
    Access, AccessId, Atom, AxisSet, Constant, I32, Id, IndexExpr, IndexId, Inside, InsideId, ReducedAxes,
    Term,
};

impl Importer<'_> {
    fn add(&mut self, term: Term, from: NodeId) -> Id {
        let id = self.dag.add_in(&self.context, term);
        self.dag.add_origins(id, [from]);
        id
    }

    fn load(&mut self, node: NodeId, index: Vec<IndexExpr>) -> Id {
        let access = Access { node, index };
        let next = self.context.accesses.len() as u32;
        let id = *self.access_ids.entry(access.clone()).or_insert(next);
        if id == next {
            self.context.accesses.push(access);
        }
        self.add(Term::Load(AccessId(id)), node)
    }

    fn position(&mut self, expr: IndexExpr, from: NodeId) -> Id {
        if expr.terms.is_empty() {
            return self.add(Term::I32(I32(expr.constant as i32)), from);
        }
        let known = self.context.indices.iter().position(|known| *known == expr);
        let id = known.unwrap_or_else(|| {
            self.context.indices.push(expr);
            self.context.indices.len() - 1
        });
        self.add(Term::Position(IndexId(id as u32)), from)
    }

    fn inside(&mut self, at: IndexExpr, extent: Dim, from: NodeId) -> Id {
        let inside = Inside { at, extent };
        let known = self.context.insides.iter().position(|known| *known == inside);
        let id = known.unwrap_or_else(|| {
            self.context.insides.push(inside);
            self.context.insides.len() - 1
        });
        self.add(Term::Inside(InsideId(id as u32)), from)
    }

    fn literal(&mut self, value: f64, dtype: Dtype, from: NodeId) -> Id {
        let term = Term::literal(Constant::Float(value), dtype);
        self.add(term, from)
    }

    /// The operand of a view and the expressions under which the view reads it; none for other operations and `Pad`.
    pub(super) fn through_view(
        &mut self,
        node: NodeId,
        index: &[IndexExpr],
    ) -> Option<(NodeId, Vec<IndexExpr>)> {
        let graph = self.graph;
        let mut index = index.to_vec();
        let operand = match &graph.nodes[node].op {
            Op::Permute(x, order) => {
                let mut permuted = index.clone();
                for (dim, from) in order.iter().enumerate() {
                    permuted[*from] = index[dim].clone();
                }
                index = permuted;
                *x
            }
            Op::Expand(x, axis) => {
                index.remove(*axis);
                *x
            }
            Op::Slice { x, axis, start, step } => {
                index[*axis] = index[*axis].times(*step as i64).offset(*start as i64);
                *x
            }
            Op::Window { x, axis, stride, dilation } => {
                let tap = index.remove(axis + 1).times(*dilation as i64);
                index[*axis] = index[*axis].times(*stride as i64).plus(&tap);
                *x
            }
            Op::Split(x, axis) => {
                let inner = graph.nodes[node].shape[axis + 1].max() as i64;
                let low = index.remove(axis + 1);
                index[*axis] = index[*axis].times(inner.max(1)).plus(&low);
                *x
            }
            Op::Merge(x, axis) => {
                let inner = graph.nodes[*x].shape[axis + 1].max() as i64;
                let (high, low) = self.divide(&index[*axis].clone(), inner.max(1));
                index[*axis] = high;
                index.insert(axis + 1, low);
                *x
            }
            _ => return None,
        };
        Some((operand, index))
    }

    /// The value of a node at these indices.
    pub(super) fn term(&mut self, node: NodeId, index: Vec<IndexExpr>) -> Result<Id> {
        if self.stored.contains(&node) {
            self.demand.entry(node).or_default().insert(index.clone());
            return Ok(self.load(node, index));
        }
        self.value(node, index)
    }

    /// As [`Importer::term`], computed even if the node is stored.
    pub(super) fn value(&mut self, node: NodeId, index: Vec<IndexExpr>) -> Result<Id> {
        if let Some((operand, index)) = self.through_view(node, &index) {
            return self.term(operand, index);
        }
        let graph = self.graph;
        match &graph.nodes[node].op {
            Op::Pad { x, axis, before, fill } => self.pad(node, index, *x, *axis, *before, *fill),
            Op::Const(value) => Ok(self.literal(*value, graph.nodes[node].dtype, node)),
            Op::Iota => Ok(self.position(index[0].clone(), node)),
            Op::Input(_) | Op::Param(_) | Op::State(_) => Ok(self.load(node, index)),
            Op::Gather(table, of) => {
                let rank = graph.nodes[*of].shape.len();
                if let Some(row) = self.known_row(*table, *of, &index[..rank]) {
                    let row = [&[row], &index[rank..]].concat();
                    return self.term(*table, row);
                }
                let value = self.term(*of, index[..rank].to_vec())?;
                let mut row = vec![IndexExpr::atom(Atom::Value)];
                row.extend_from_slice(&index[rank..]);
                let (table, row) = self.table(*table, row);
                if !row.iter().any(IndexExpr::has_value) {
                    return self.term(table, row);
                }
                if !super::is_given(&graph.nodes[table].op) {
                    self.demand.entry(table).or_default().insert(row.clone());
                }
                let load = self.load(table, row);
                Ok(self.add(Term::Gather([load, value]), node))
            }
            _ => {
                self.demand.entry(node).or_default().insert(index.clone());
                self.compute(node, index)
            }
        }
    }

    /// The table of a gather must be in memory: views of it are looked through, anything else becomes a buffer.
    fn table(&mut self, mut node: NodeId, mut row: Vec<IndexExpr>) -> (NodeId, Vec<IndexExpr>) {
        while !self.stored.contains(&node) {
            match self.through_view(node, &row) {
                Some((operand, inner)) => (node, row) = (operand, inner),
                None => break,
            }
        }
        (node, row)
    }

    fn pad(
        &mut self,
        node: NodeId,
        mut index: Vec<IndexExpr>,
        x: NodeId,
        axis: usize,
        before: usize,
        fill: f64,
    ) -> Result<Id> {
        index[axis] = index[axis].offset(-(before as i64));
        let (at, extent) = (index[axis].clone(), self.graph.nodes[x].shape[axis]);
        let always = match (self.context.range(&at), extent) {
            (Some((low, high)), Dim::Fixed(n)) => low >= 0 && high < n as i64,
            _ => false,
        };
        let body = self.term(x, index)?;
        if always {
            return Ok(body);
        }
        let inside = self.inside(at, extent, node);
        let fill = self.literal(fill, self.graph.nodes[node].dtype, node);
        Ok(self.add(Term::Select([inside, body, fill]), node))
    }

    fn compute(&mut self, node: NodeId, index: Vec<IndexExpr>) -> Result<Id> {
        if let Some(id) = self.memo.get(&(node, index.clone())) {
            return Ok(*id);
        }
        let graph = self.graph;
        let term = match &graph.nodes[node].op {
            Op::Unary(op, x) => {
                let x = self.term(*x, index.clone())?;
                match op {
                    Unary::Exp2 => Term::Exp2(x),
                    Unary::Log2 => Term::Log2(x),
                    Unary::Sin => Term::Sin(x),
                    Unary::Sqrt => Term::Sqrt(x),
                    Unary::Recip => Term::Recip(x),
                }
            }
            Op::Binary(op, x, y) => {
                let operands = [self.term(*x, index.clone())?, self.term(*y, index.clone())?];
                match op {
                    Binary::Add => Term::Add(operands),
                    Binary::Mul => Term::Mul(operands),
                    Binary::Mod => Term::Mod(operands),
                    Binary::LessThan => Term::LessThan(operands),
                    Binary::Max => Term::Max(operands),
                }
            }
            Op::Select(condition, x, y) => Term::Select([
                self.term(*condition, index.clone())?,
                self.term(*x, index.clone())?,
                self.term(*y, index.clone())?,
            ]),
            Op::Cast(x) => {
                let x = self.term(*x, index.clone())?;
                Term::cast(graph.nodes[node].dtype, x)
            }
            Op::Reduce(op, x, axis) => {
                let id = self.reduce(node, &index, *op, *x, *axis)?;
                self.memo.insert((node, index), id);
                return Ok(id);
            }
            op => {
                return Err(Error::new(format!("node {node}: {op:?} reached the import of computed values")));
            }
        };
        let id = self.add(term, node);
        self.memo.insert((node, index), id);
        Ok(id)
    }

    fn reduce(
        &mut self,
        node: NodeId,
        index: &[IndexExpr],
        op: Reduce,
        x: NodeId,
        axis: usize,
    ) -> Result<Id> {
        let outer = index.iter().fold(AxisSet::EMPTY, |set, e| set | e.axes());
        let mut used = outer;
        let outer_sites = self.bound_at.clone();
        let reduced = self.bind(Site::Reduction(node), &mut used)?;
        let mut inner = index.to_vec();
        inner.insert(axis, reduced);
        let mut body = self.term(x, inner)?;
        self.bound_at = outer_sites;
        let mut axes = used.without(outer);
        // Nested reductions of one kind are one reduction over more axes.
        let nested = match (self.dag.node(body), op) {
            (Term::Sum([_, nested]), Reduce::Sum) | (Term::MaxOver([_, nested]), Reduce::Max) => {
                Some(*nested)
            }
            _ => None,
        };
        if let Some(nested) = nested
            && !self.dag.reduced_axes(body).meets(used)
        {
            axes |= self.dag.reduced_axes(body);
            let from = self.dag.origins(body).clone();
            self.nested_origins.extend(from.into_iter().map(|n| (node, n)));
            body = nested;
        }
        if axes.is_empty() {
            return Ok(body);
        }
        let axes = self.add(Term::Axes(ReducedAxes(axes.0)), node);
        let id = self.add(
            match op {
                Reduce::Sum => Term::Sum([axes, body]),
                Reduce::Max => Term::MaxOver([axes, body]),
            },
            node,
        );
        let nested: Vec<NodeId> = self.nested_origins.range((node, 0)..(node + 1, 0)).map(|p| p.1).collect();
        self.dag.add_origins(id, nested);
        Ok(id)
    }
}
