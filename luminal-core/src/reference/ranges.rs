//! Which values may a feed have, so that the operations that read it are defined? Worked out backwards, from users to
//! operands, through everything that keeps or shifts values.

use crate::dtype::Dtype;
use crate::graph::{Binary, Graph, NodeId, Op, Reduce, Unary};

/// An interval of values; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    pub const ALL: Range = Range { low: f64::NEG_INFINITY, high: f64::INFINITY };

    pub const fn new(low: f64, high: f64) -> Range {
        Range { low, high }
    }

    pub fn is_empty(self) -> bool {
        self.low > self.high
    }

    pub fn intersection(self, other: Range) -> Range {
        Range::new(self.low.max(other.low), self.high.min(other.high))
    }

    /// The values that are in this range after `value` is added.
    fn before_adding(self, value: f64) -> Range {
        Range::new(self.low - value, self.high - value)
    }

    /// The values that are in this range after a multiplication by `value`.
    fn before_multiplying(self, value: f64) -> Range {
        if value > 0.0 {
            Range::new(self.low / value, self.high / value)
        } else if value < 0.0 {
            Range::new(self.high / value, self.low / value)
        } else {
            Range::ALL
        }
    }
}

/// Why values are restricted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Indices of a gather must be rows of the table, else there is no result at all.
    Index,
    /// Square roots and logarithms of what is not positive give NaN and infinities, which hide every other mistake.
    Domain,
}

/// Functions that need positive operands are not tested near 0, where their results are large and ill-conditioned.
const POSITIVE: Range = Range::new(1.0 / 16.0, f64::INFINITY);

/// For each node the values that it should have, as far as its users tell. Empty where users contradict each other.
pub(super) fn required(graph: &Graph, free: &[usize], reason: Reason) -> Vec<Range> {
    let mut ranges = vec![Range::ALL; graph.nodes.len()];
    for (id, node) in graph.nodes.iter().enumerate().rev() {
        let range = ranges[id];
        let mut restrict = |operand: NodeId, range: Range| {
            ranges[operand] = ranges[operand].intersection(range);
        };
        match &node.op {
            Op::Gather(table, index) => {
                restrict(*table, range);
                if reason == Reason::Index {
                    let rows = graph.nodes[*table].shape[0].size(free);
                    restrict(*index, Range::new(0.0, rows as f64 - 1.0));
                }
            }
            Op::Unary(Unary::Sqrt | Unary::Log2, x) if reason == Reason::Domain => restrict(*x, POSITIVE),
            Op::Binary(op, x, y) => {
                let (value, variable) = match (constant(graph, *x), constant(graph, *y)) {
                    (None, Some(value)) => (Some(value), x),
                    (Some(value), None) => (Some(value), y),
                    _ => (None, x),
                };
                match (op, value) {
                    (Binary::Add, Some(value)) => restrict(*variable, range.before_adding(value)),
                    (Binary::Mul, Some(value)) => restrict(*variable, range.before_multiplying(value)),
                    // Where the constant is large enough by itself, the variable may be small.
                    (Binary::Max, Some(value)) if value >= range.low => {
                        restrict(*variable, Range::new(f64::NEG_INFINITY, range.high));
                    }
                    (Binary::Max, _) => {
                        restrict(*x, range);
                        restrict(*y, range);
                    }
                    _ => {}
                }
            }
            Op::Select(_, then, otherwise) => {
                restrict(*then, range);
                restrict(*otherwise, range);
            }
            // What is wrapped, an integer out of range of a narrow type, is another number.
            Op::Cast(x) if node.dtype == Dtype::U8 && range != Range::ALL => {
                restrict(*x, range.intersection(Range::new(0.0, 255.0)));
            }
            Op::Cast(x) if node.dtype != Dtype::Bool && graph.nodes[*x].dtype != Dtype::Bool => {
                restrict(*x, range)
            }
            Op::Reduce(Reduce::Max, x, _) => restrict(*x, range),
            op if op.is_view() => restrict(op.operands()[0], range),
            _ => {}
        }
    }
    ranges
}

/// The value of a node all of whose elements are one constant.
fn constant(graph: &Graph, mut id: NodeId) -> Option<f64> {
    loop {
        match &graph.nodes[id].op {
            Op::Const(value) => return Some(*value),
            Op::Pad { .. } => return None,
            op if op.is_view() => id = op.operands()[0],
            _ => return None,
        }
    }
}
