//! Order along an axis: sort, argsort, topk.
//!
//! NaN counts as greater than everything, equal elements keep their order. So ascending results have NaN last, descending
//! ones have it first.
//!
//! The place of an element is the number of elements before it: every pair is compared, in time in proportion to the
//! square of the length.

use super::axis::Axis;
use super::dim::Dim;
use super::element::Element;
use super::movement::keep;
use super::shape::{At, Shape};
use super::slice::slice_start;
use super::trace::{op, record, report};
use super::value::Tensor;
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

/// Which element comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The smallest one; NaN is last.
    Ascending,
    /// The greatest one; NaN is first.
    Descending,
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// The elements of an axis in order. NaN counts as the greatest. Takes time in proportion to the square of the axis.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Order, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<5>)>>("x").sort(Axis::<1>, Order::Ascending)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn sort<const I: isize>(self, _axis: Axis<I>, order: Order) -> Self
    where
        S: At<I>,
    {
        let _scope = op("sort");
        keep(self, |graph, x, axis| {
            let size = graph.nodes[x].shape[axis];
            graph.sort(x, axis, order == Order::Descending, size).0
        })
    }

    /// The positions of the elements of an axis in order; equal ones keep theirs.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Order, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<5>)> = input("x");
    ///     let order: Tensor<(D<2>, D<5>), i32> = x.argsort(Axis::<1>, Order::Descending);
    ///     output(&order);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn argsort<const I: isize>(self, _axis: Axis<I>, order: Order) -> Tensor<S, i32>
    where
        S: At<I>,
    {
        let _scope = op("argsort");
        keep(self, |graph, x, axis| {
            let size = graph.nodes[x].shape[axis];
            graph.argsort(x, axis, order == Order::Descending, size)
        })
    }

    /// The first elements of an axis in order, and their positions. How many is the size that the type of the result
    /// names. `Order::Descending` gives the greatest ones.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Order, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let logits: Tensor<(D<2>, D<50>)> = input("logits");
    ///     let (values, positions) = logits.topk::<D<5>, 1>(Axis::<1>, Order::Descending);
    ///     output(&(values, positions));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    #[allow(clippy::type_complexity)] // Two results, values and positions, are what the operation is.
    pub fn topk<K: Dim, const I: isize>(
        self,
        _axis: Axis<I>,
        order: Order,
    ) -> (Tensor<S::Set<K>, E>, Tensor<S::Set<K>, i32>)
    where
        S: At<I>,
    {
        let _scope = op("topk");
        let (axis, size) = (S::AXIS, S::DIMS[S::AXIS]);
        if let Err(mistake) = slice_start(S::DIMS, axis, K::INFO, 0, 1) {
            report(mistake);
            return (Tensor::placeholder(), Tensor::placeholder());
        }
        let (values, positions) = record(|recorder| {
            let (size, count) = (recorder.dim(size), recorder.dim(K::INFO));
            recorder.graph.relate_at_most(count, &[(1, size)], 0, 1);
            let (x, at) = recorder.materialize(self.node, S::DIMS, axis);
            let (values, positions) = recorder.graph.sort(x, at, order == Order::Descending, count);
            (recorder.settle(values, K::INFO, at), recorder.settle(positions, K::INFO, at))
        });
        (Tensor::of(values), Tensor::of(positions))
    }
}
