//! Reductions along an axis, and what is made of them. `sum` drops the axis, `sum_keep` leaves `One` in its place.

use super::axis::Axis;
use super::dim::DimInfo;
use super::element::{Element, Float, Number};
use super::pointwise::float;
use super::shape::{At, Shape};
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::{Dim, Graph, NodeId, Reduce, Unary};

/// Compositions along one axis of a graph, which disappears unless said otherwise.
impl Graph {
    /// Sum; 0 for an empty axis.
    pub fn sum(&mut self, x: NodeId, axis: usize) -> NodeId {
        self.reduce(Reduce::Sum, x, axis)
    }

    /// Greatest element; NaN if any is NaN; the least value for an empty axis.
    pub fn max(&mut self, x: NodeId, axis: usize) -> NodeId {
        self.reduce(Reduce::Max, x, axis)
    }

    /// Smallest element; NaN if any is NaN; the greatest value for an empty axis.
    pub fn min(&mut self, x: NodeId, axis: usize) -> NodeId {
        let reversed = self.reverse_order(x);
        let greatest = self.reduce(Reduce::Max, reversed, axis);
        self.reverse_order(greatest)
    }

    /// Mean of floats; NaN for an empty axis. A free size is not a value of the graph, so there the elements are
    /// counted.
    pub fn mean(&mut self, x: NodeId, axis: usize) -> NodeId {
        let size = self.nodes[x].shape[axis];
        let sum = self.sum(x, axis);
        match size {
            Dim::Fixed(size) => self.mul_number(sum, float(1.0 / size as f64)),
            Dim::Free { .. } => {
                let ones = self.full(1.0, self.nodes[x].dtype, &[size]);
                let count = self.sum(ones, 0);
                let share = self.unary(Unary::Recip, count);
                let shape = self.nodes[sum].shape.clone();
                let share = self.spread(share, &[], &shape);
                self.mul(sum, share)
            }
        }
    }

    /// What a reduction of `x` along this axis gave, repeated along it.
    pub fn repeat_along(&mut self, reduced: NodeId, x: NodeId, axis: usize) -> NodeId {
        let size = self.nodes[x].shape[axis];
        self.expand(reduced, axis, size)
    }

    /// `e^x / sum e^x` of floats; the axis stays.
    pub fn softmax(&mut self, x: NodeId, axis: usize) -> NodeId {
        let greatest = self.max(x, axis);
        let greatest = self.repeat_along(greatest, x, axis);
        let shifted = self.sub(x, greatest);
        let powers = self.exp(shifted);
        let sum = self.sum(powers, axis);
        let sum = self.repeat_along(sum, x, axis);
        self.div(powers, sum)
    }

    /// Logarithm of the softmax; the axis stays.
    pub fn log_softmax(&mut self, x: NodeId, axis: usize) -> NodeId {
        let greatest = self.max(x, axis);
        let greatest = self.repeat_along(greatest, x, axis);
        let shifted = self.sub(x, greatest);
        let powers = self.exp(shifted);
        let sum = self.sum(powers, axis);
        let sum = self.log(sum);
        let sum = self.repeat_along(sum, x, axis);
        self.sub(shifted, sum)
    }
}

/// Records a reduction that is the element itself if there is only one; `One` or no axis is left.
fn reduce<S: At<I>, R: Shape, E: Element, const I: isize>(
    x: Tensor<S, E>,
    function: fn(&mut Graph, NodeId, usize) -> NodeId,
) -> Tensor<R, E> {
    if S::DIMS[S::AXIS] == DimInfo::One {
        return Tensor::of(x.node);
    }
    Tensor::of(record(|recorder| {
        recorder.along(x.node, S::DIMS, S::AXIS, DimInfo::One, |graph, x, axis| {
            graph.widened([x], |graph, [x]| function(graph, x, axis))
        })
    }))
}

/// Records a composition along an axis that stays.
fn keep<S: At<I>, E: Element, const I: isize>(
    x: Tensor<S, E>,
    function: fn(&mut Graph, NodeId, usize) -> NodeId,
) -> Tensor<S, E> {
    Tensor::of(record(|recorder| {
        recorder.along(x.node, S::DIMS, S::AXIS, S::DIMS[S::AXIS], |graph, x, axis| {
            graph.widened([x], |graph, [x]| function(graph, x, axis))
        })
    }))
}

impl<S: Shape, E: Number> Tensor<S, E> {
    /// Sum along an axis, which disappears; 0 for an empty axis.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let rows: Tensor<(D<2>,)> = x.sum(Axis::<1>);
    ///     let centred = x - x.mean_keep(Axis::<1>); // `One` stretches
    ///     output(&(rows, centred));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn sum<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Drop, E>
    where
        S: At<I>,
    {
        let _scope = op("sum");
        reduce(self, Graph::sum)
    }

    /// As [`sum`](Tensor::sum); the axis stays as `One`.
    #[track_caller]
    pub fn sum_keep<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Keep, E>
    where
        S: At<I>,
    {
        let _scope = op("sum_keep");
        reduce(self, Graph::sum)
    }

    /// Greatest element along an axis, which disappears; NaN if any is NaN; the least value for an empty axis.
    #[track_caller]
    pub fn max<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Drop, E>
    where
        S: At<I>,
    {
        let _scope = op("max");
        reduce(self, Graph::max)
    }

    /// As [`max`](Tensor::max); the axis stays as `One`.
    #[track_caller]
    pub fn max_keep<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Keep, E>
    where
        S: At<I>,
    {
        let _scope = op("max_keep");
        reduce(self, Graph::max)
    }

    /// Smallest element along an axis, which disappears; NaN if any is NaN; the greatest value for an empty axis.
    #[track_caller]
    pub fn min<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Drop, E>
    where
        S: At<I>,
    {
        let _scope = op("min");
        reduce(self, Graph::min)
    }

    /// As [`min`](Tensor::min); the axis stays as `One`.
    #[track_caller]
    pub fn min_keep<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Keep, E>
    where
        S: At<I>,
    {
        let _scope = op("min_keep");
        reduce(self, Graph::min)
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Mean along an axis, which disappears; NaN for an empty axis.
    #[track_caller]
    pub fn mean<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Drop, E>
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("mean");
        reduce(self, Graph::mean)
    }

    /// As [`mean`](Tensor::mean); the axis stays as `One`.
    #[track_caller]
    pub fn mean_keep<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Keep, E>
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("mean_keep");
        reduce(self, Graph::mean)
    }

    /// `e^x / sum e^x` along an axis. The maximum of the axis is subtracted first, so that no finite row overflows.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<10>)>>("x").softmax(Axis::<-1>)));
    /// assert!(traced.graph.nodes.iter().skip(1).all(|node| node.origin.as_ref().unwrap().op == "softmax"));
    /// ```
    #[track_caller]
    pub fn softmax<const I: isize>(self, _axis: Axis<I>) -> Self
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("softmax");
        keep(self, Graph::softmax)
    }

    /// Logarithm of [`softmax`](Tensor::softmax), exact also where the softmax itself is 0.
    #[track_caller]
    pub fn log_softmax<const I: isize>(self, _axis: Axis<I>) -> Self
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("log_softmax");
        keep(self, Graph::log_softmax)
    }
}
