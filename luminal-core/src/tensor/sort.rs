//! Order along an axis: sort, argsort, topk.
//!
//! NaN counts as greater than everything, equal elements keep their order. So ascending results have NaN last, descending
//! ones have it first.
//!
//! The place of an element is the number of elements before it: every pair is compared, in time in proportion to the
//! square of the length.

use crate::dtype::Dtype;
use crate::graph::{Dim as Size, Graph, NodeId, Reduce};

/// Compositions for axes that are numbers.
impl Graph {
    /// Where each element of an axis comes to stand when it is sorted.
    pub fn rank(&mut self, x: NodeId, axis: usize, descending: bool) -> NodeId {
        let x = self.integer(x);
        let size = self.nodes[x].shape[axis];
        // Element i is compared with all others, j: axes i and j in the place of the one.
        let (mine, other) = (self.expand(x, axis + 1, size), self.expand(x, axis, size));
        let pairs = self.nodes[mine].shape.clone();
        let (smaller, greater) = self.ordered(x, mine, other, axis);
        let (before, behind) = if descending { (greater, smaller) } else { (smaller, greater) };
        let positions = self.iota(size);
        let i = self.spread(positions, &[axis], &pairs);
        let j = self.spread(positions, &[axis + 1], &pairs);
        let earlier = self.less(j, i);
        // Equal, and earlier: not behind. Of truth values `a < b` is "not a, but b".
        let equal = self.less(behind, earlier);
        let before = self.or(before, equal);
        let before = self.cast(before, Dtype::I32);
        self.reduce(Reduce::Sum, before, axis + 1)
    }

    /// Whether the other element is smaller than mine, and whether it is greater.
    fn ordered(&mut self, x: NodeId, mine: NodeId, other: NodeId, axis: usize) -> (NodeId, NodeId) {
        let (smaller, greater) = (self.less(other, mine), self.less(mine, other));
        if self.nodes[x].dtype != Dtype::F32 {
            return (smaller, greater);
        }
        let size = self.nodes[x].shape[axis];
        let (inf, minus_inf) = (self.full_like(f64::INFINITY, x), self.full_like(f64::NEG_INFINITY, x));
        let (below, above) = (self.less(x, inf), self.less(minus_inf, x));
        let number = self.or(below, above);
        let (mine, other) = (self.expand(number, axis + 1, size), self.expand(number, axis, size));
        // A number is smaller than NaN: mine is none, the other one is.
        let (smaller_nan, greater_nan) = (self.less(mine, other), self.less(other, mine));
        (self.or(smaller, smaller_nan), self.or(greater, greater_nan))
    }

    /// The positions of the first `count` elements in sorted order.
    pub fn argsort(&mut self, x: NodeId, axis: usize, descending: bool, count: Size) -> NodeId {
        let size = self.nodes[x].shape[axis];
        let rank = self.rank(x, axis, descending);
        let rank = self.expand(rank, axis, count);
        let compared = self.nodes[rank].shape.clone();
        let (place, position) = (self.iota(count), self.iota(size));
        let place = self.spread(place, &[axis], &compared);
        let position = self.spread(position, &[axis + 1], &compared);
        let other = self.differs(rank, place);
        let zero = self.full_like(0.0, position);
        let position = self.select(other, zero, position);
        self.reduce(Reduce::Sum, position, axis + 1)
    }

    /// The first `count` elements of an axis in sorted order, and their positions. All of them, or `topk`.
    pub fn sort(&mut self, x: NodeId, axis: usize, descending: bool, count: Size) -> (NodeId, NodeId) {
        let positions = self.argsort(x, axis, descending, count);
        let values = match count {
            Size::Fixed(0) => self.slice(x, axis, 0, 1, count),
            _ => self.take_along(x, axis, positions),
        };
        (values, positions)
    }
}
