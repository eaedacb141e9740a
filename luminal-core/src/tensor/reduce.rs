//! Reductions along an axis, and what is made of them. `sum` drops the axis, `sum_keep` leaves `One` in its place.

use super::axis::Axis;
use super::dim::{Dim, DimInfo};
use super::element::{Element, Float, Number};
use super::record::graph_axis;
use super::shape::{At, Shape};
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::{NodeId, Reduce, Unary};

/// Records a reduction. `One` has no axis in the graph, so along it there is nothing to do.
fn reduce(function: Reduce, node: NodeId, dims: &[DimInfo], axis: usize) -> NodeId {
    match dims[axis] {
        DimInfo::One => node,
        _ => record(|recorder| recorder.graph.reduce(function, node, graph_axis(dims, axis))),
    }
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
        Tensor::of(reduce(Reduce::Sum, self.node, S::DIMS, S::AXIS))
    }

    /// As [`sum`](Tensor::sum); the axis stays as `One`.
    #[track_caller]
    pub fn sum_keep<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Keep, E>
    where
        S: At<I>,
    {
        let _scope = op("sum_keep");
        Tensor::of(reduce(Reduce::Sum, self.node, S::DIMS, S::AXIS))
    }

    /// Greatest element along an axis, which disappears; NaN if any is NaN; the least value for an empty axis.
    #[track_caller]
    pub fn max<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Drop, E>
    where
        S: At<I>,
    {
        let _scope = op("max");
        Tensor::of(reduce(Reduce::Max, self.node, S::DIMS, S::AXIS))
    }

    /// As [`max`](Tensor::max); the axis stays as `One`.
    #[track_caller]
    pub fn max_keep<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Keep, E>
    where
        S: At<I>,
    {
        let _scope = op("max_keep");
        Tensor::of(reduce(Reduce::Max, self.node, S::DIMS, S::AXIS))
    }

    /// Smallest element along an axis, which disappears; NaN if any is NaN; the greatest value for an empty axis.
    #[track_caller]
    pub fn min<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Drop, E>
    where
        S: At<I>,
    {
        let _scope = op("min");
        Tensor::of(least(self.node, S::DIMS, S::AXIS))
    }

    /// As [`min`](Tensor::min); the axis stays as `One`.
    #[track_caller]
    pub fn min_keep<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Keep, E>
    where
        S: At<I>,
    {
        let _scope = op("min_keep");
        Tensor::of(least(self.node, S::DIMS, S::AXIS))
    }
}

/// `1 / n` for an axis of n elements. A free size is not a value of the graph, so there the elements are counted.
fn one_over_count<E: Float>(dim: DimInfo) -> Tensor<(), E> {
    match dim.fixed() {
        Some(size) => Tensor::full(E::from_f64(1.0 / size as f64)),
        None => Tensor::of(record(|recorder| {
            let ones = recorder.fill(1.0, E::DTYPE, &[dim]);
            let count = recorder.graph.reduce(Reduce::Sum, ones, 0);
            recorder.graph.unary(Unary::Recip, count)
        })),
    }
}

fn least(node: NodeId, dims: &[DimInfo], axis: usize) -> NodeId {
    let reversed = record(|recorder| recorder.reverse_order(node));
    let greatest = reduce(Reduce::Max, reversed, dims, axis);
    record(|recorder| recorder.reverse_order(greatest))
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Mean along an axis, which disappears; NaN for an empty axis.
    #[track_caller]
    pub fn mean<const I: isize>(self, axis: Axis<I>) -> Tensor<S::Drop, E>
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("mean");
        self.sum(axis) * one_over_count(S::Dim::INFO)
    }

    /// As [`mean`](Tensor::mean); the axis stays as `One`.
    #[track_caller]
    pub fn mean_keep<const I: isize>(self, axis: Axis<I>) -> Tensor<S::Keep, E>
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("mean_keep");
        self.sum_keep(axis) * one_over_count(S::Dim::INFO)
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
    pub fn softmax<const I: isize>(self, axis: Axis<I>) -> Self
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("softmax");
        let powers = (self - self.max_keep(axis)).exp();
        powers / powers.sum_keep(axis)
    }

    /// Logarithm of [`softmax`](Tensor::softmax), exact also where the softmax itself is 0.
    #[track_caller]
    pub fn log_softmax<const I: isize>(self, axis: Axis<I>) -> Self
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("log_softmax");
        let shifted = self - self.max_keep(axis);
        shifted - shifted.exp().sum_keep(axis).log()
    }
}
