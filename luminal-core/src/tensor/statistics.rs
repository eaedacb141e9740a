//! Variance, norms, logarithms of sums of exponentials, softmax, and where extremes are.

use super::axes::Axes;
use super::axis::Axis;
use super::dim::{DimInfo, Dims};
use super::element::{Element, Float, Number};
use super::reduce::{AxisNumbers, reduce, reductions};
use super::shape::{At, Shape};
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Graph, NodeId, Unary};

/// Compositions along axes of a graph, which disappear unless said otherwise.
impl Graph {
    /// Variance of floats: the sum of the squared distances from the mean, by the number of elements less `correction`.
    /// 1 gives the estimate from a sample (as PyTorch's default), 0 the variance of the elements themselves. NaN or
    /// infinite if there are not more elements than `correction`.
    pub fn var(&mut self, x: NodeId, axes: impl AxisNumbers, correction: f64) -> NodeId {
        let axes = axes.descending();
        let mean = self.mean(x, &axes);
        let mean = self.repeat_along(mean, x, &axes);
        let distance = self.sub(x, mean);
        let squares = self.square(distance);
        let sum = self.sum(squares, &axes);
        self.per_element(sum, x, &axes, correction)
    }

    /// Square root of the [variance](Graph::var).
    pub fn std(&mut self, x: NodeId, axes: impl AxisNumbers, correction: f64) -> NodeId {
        let variance = self.var(x, axes, correction);
        self.unary(Unary::Sqrt, variance)
    }

    /// `log sum e^x` of floats; -inf for no elements. The greatest element is subtracted first, unless it is infinite.
    pub fn logsumexp(&mut self, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        let axes = axes.descending();
        let greatest = self.max(x, &axes);
        let finite = self.is_finite(greatest);
        let zero = self.full_like(0.0, greatest);
        let shift = self.select(finite, greatest, zero);
        let repeated = self.repeat_along(shift, x, &axes);
        let shifted = self.sub(x, repeated);
        let powers = self.exp(shifted);
        let sum = self.sum(powers, &axes);
        let logarithm = self.log(sum);
        self.add(logarithm, shift)
    }

    /// Sum of squares.
    pub fn sum_square(&mut self, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        let squares = self.square(x);
        self.sum(squares, axes)
    }

    /// The vector norm of this order: `(sum |x|^p)^(1/p)`; infinity takes the greatest magnitude, -infinity the least, 0
    /// counts the elements that are not 0.
    pub fn norm(&mut self, x: NodeId, axes: impl AxisNumbers, order: f64) -> NodeId {
        let axes = axes.descending();
        if order == 2.0 {
            let sum = self.sum_square(x, &axes);
            return self.unary(Unary::Sqrt, sum);
        }
        if order == 0.0 {
            let zero = self.full_like(0.0, x);
            let counts = self.not_equal(x, zero);
            let counts = self.cast(counts, self.nodes[x].dtype);
            return self.sum(counts, &axes);
        }
        let magnitudes = self.abs(x);
        if order == f64::INFINITY {
            return self.max(magnitudes, &axes);
        }
        if order == f64::NEG_INFINITY {
            return self.min(magnitudes, &axes);
        }
        let powers = self.pow_number(magnitudes, order);
        let sum = self.sum(powers, &axes);
        self.pow_number(sum, 1.0 / order)
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

    /// Position of the first greatest element, as `i32`. NaN counts as greatest. The greatest `i32` for no elements.
    pub fn argmax(&mut self, x: NodeId, axis: usize) -> NodeId {
        let greatest = self.max(x, axis);
        let greatest = self.repeat_along(greatest, x, axis);
        self.first(x, greatest, axis, true)
    }

    /// Position of the first smallest element, as `i32`. NaN counts as smallest. The greatest `i32` for no elements.
    pub fn argmin(&mut self, x: NodeId, axis: usize) -> NodeId {
        let smallest = self.min(x, axis);
        let smallest = self.repeat_along(smallest, x, axis);
        self.first(x, smallest, axis, true)
    }

    /// As [`argmax`](Graph::argmax), but the last one of equals.
    pub fn argmax_last(&mut self, x: NodeId, axis: usize) -> NodeId {
        let greatest = self.max(x, axis);
        let greatest = self.repeat_along(greatest, x, axis);
        self.first(x, greatest, axis, false)
    }

    /// As [`argmin`](Graph::argmin), but the last one of equals.
    pub fn argmin_last(&mut self, x: NodeId, axis: usize) -> NodeId {
        let smallest = self.min(x, axis);
        let smallest = self.repeat_along(smallest, x, axis);
        self.first(x, smallest, axis, false)
    }

    /// Where `x` first equals the extreme of its row, or last. Where that is NaN, where `x` is NaN.
    fn first(&mut self, x: NodeId, extreme: NodeId, axis: usize, first: bool) -> NodeId {
        let mut found = self.equal(x, extreme);
        if self.nodes[x].dtype == Dtype::F32 {
            // The extreme is NaN wherever `x` is.
            let nan = self.is_nan(x);
            found = self.or(found, nan);
        }
        let shape = self.nodes[x].shape.clone();
        let position = self.iota(shape[axis]);
        let position = self.spread(position, &[axis], &shape);
        let nowhere = self.full(if first { i32::MAX.into() } else { -1.0 }, Dtype::I32, &shape);
        let position = self.select(found, position, nowhere);
        if first { self.min(position, axis) } else { self.max(position, axis) }
    }
}

reductions! { Float -> E, reduce:
    /// Variance along axes, which disappear: the sum of the squared distances from the mean, by the number of elements
    /// less `correction`. A correction of 1 gives the estimate from a sample, 0 the variance of the elements themselves,
    /// as normalisation layers use it. NaN or infinite if there are not more elements than `correction`.
    var var_keep(correction: f32 = "1.0") = |graph, x, axes| graph.var(x, axes, correction.into());
    /// Standard deviation along axes, which disappear: the square root of [`var`](Tensor::var).
    std std_keep(correction: f32 = "1.0") = |graph, x, axes| graph.std(x, axes, correction.into());
    /// `log sum e^x` along axes, which disappear; -inf for no elements and for rows of -inf. No finite row overflows.
    logsumexp logsumexp_keep() = |graph, x, axes| graph.logsumexp(x, axes);
    /// The vector norm of this order along axes, which disappear: `(sum |x|^p)^(1/p)`. Infinity takes the greatest
    /// magnitude, -infinity the least, 0 counts the elements that are not 0. Powers beyond the range of `f32` overflow.
    norm norm_keep(order: f32 = "2.0") = |graph, x, axes| graph.norm(x, axes, order.into());
}

impl<S: Shape, E: Element> Tensor<S, E> {
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
        keep(self, |graph, x, axis| graph.softmax(x, axis))
    }

    /// Logarithm of [`softmax`](Tensor::softmax), exact also where the softmax itself is 0.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<10>)>>("x").log_softmax(Axis::<-1>)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn log_softmax<const I: isize>(self, _axis: Axis<I>) -> Self
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("log_softmax");
        keep(self, |graph, x, axis| graph.log_softmax(x, axis))
    }
}

/// Records a composition along an axis that stays.
pub(super) fn keep<S: At<I>, E: Element, const I: isize>(
    x: Tensor<S, E>,
    function: impl FnOnce(&mut Graph, NodeId, usize) -> NodeId,
) -> Tensor<S, E> {
    Tensor::of(record(|recorder| {
        recorder.along(x.node, S::DIMS, S::AXIS, S::DIMS[S::AXIS], |graph, x, axis| {
            graph.widened([x], |graph, [x]| function(graph, x, axis))
        })
    }))
}

macro_rules! positions {
    ($($(#[$doc:meta])* $name:ident $keep:ident;)*) => {
        impl<S: Shape, E: Number> Tensor<S, E> {
            $(
                $(#[$doc])*
                ///
                #[doc = concat!(
                    "```\n",
                    "use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};\n\n",
                    "let traced = trace(|| {\n",
                    "    let x: Tensor<(D<2>, D<3>)> = input(\"x\");\n",
                    "    let position: Tensor<(D<2>,), i32> = x.", stringify!($name), "(Axis::<1>);\n",
                    "    output(&position);\n",
                    "});\n",
                    "assert!(traced.mistakes.is_empty());\n",
                    "```",
                )]
                #[track_caller]
                pub fn $name<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Drop, i32>
                where
                    S: At<I>,
                {
                    let _scope = op(stringify!($name));
                    if is_empty::<S, I>() {
                        return Tensor::placeholder();
                    }
                    reduce::<S, Axis<I>, _, _, _>(self, &|graph, x, axes| graph.$name(x, axes[0]))
                }

                #[doc = concat!("As [`", stringify!($name), "`](Tensor::", stringify!($name), "); the axis stays as `One`.")]
                #[track_caller]
                pub fn $keep<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Keep, i32>
                where
                    S: At<I>,
                {
                    let _scope = op(stringify!($keep));
                    if is_empty::<S, I>() {
                        return Tensor::placeholder();
                    }
                    reduce::<S, Axis<I>, _, _, _>(self, &|graph, x, axes| graph.$name(x, axes[0]))
                }
            )*
        }
    };
}

positions! {
    /// Position of the greatest element along an axis, which disappears; of equal ones the first. NaN counts as greatest.
    argmax argmax_keep;
    /// Position of the smallest element along an axis, which disappears; of equal ones the first. NaN counts as smallest.
    argmin argmin_keep;
}

/// An axis of no elements has no position to give.
fn is_empty<S: At<I>, const I: isize>() -> bool {
    let empty = S::DIMS[S::AXIS] == DimInfo::Fixed(0);
    if empty {
        report(format!(
            "axis {} of {} has no elements, so none is the first: it must have at least 1",
            S::AXIS,
            Dims(S::DIMS)
        ));
    }
    empty
}
