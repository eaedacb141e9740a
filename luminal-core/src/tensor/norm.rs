//! Normalisation: of layers, groups and batches, and by the root of the mean square.

use super::axis::Axis;
use super::element::{Element, Float};
use super::record::Recorder;
use super::shape::{At, Shape};
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::{Graph, NodeId, Unary};

/// Compositions of floats for axes that are numbers. Each is computed in `f32` and rounded once to the type of `x`. A
/// weight or bias may have another float type than `x`.
impl Graph {
    /// `(x - mean) / sqrt(variance + epsilon) * weight + bias` over several axes at once, in rising order. The variance is
    /// the mean of squared deviations. `weight` and `bias` have these axes, in this order.
    ///
    /// The greatest element is subtracted before the mean is taken: so elements that are all equal give exactly 0, and
    /// elements with a common part far greater than their differences keep what their differences say.
    pub fn layer_norm(
        &mut self,
        x: NodeId,
        axes: &[usize],
        weight: Option<NodeId>,
        bias: Option<NodeId>,
        epsilon: f64,
    ) -> NodeId {
        let wide = self.wide(x);
        let y = self.standardised(wide, axes, epsilon);
        let y = self.scaled_and_shifted(y, axes, weight, bias);
        self.converted(y, self.nodes[x].dtype)
    }

    /// `x / sqrt(mean of squares + epsilon) * weight` over several axes at once, in rising order. `weight` has these axes.
    pub fn rms_norm(&mut self, x: NodeId, axes: &[usize], weight: Option<NodeId>, epsilon: f64) -> NodeId {
        let wide = self.wide(x);
        let square = self.mul(wide, wide);
        let scale = self.deviation_recip(square, axes, epsilon);
        let y = self.mul(wide, scale);
        let y = self.scaled_and_shifted(y, axes, weight, None);
        self.converted(y, self.nodes[x].dtype)
    }

    /// As [`Graph::layer_norm`], but over groups of neighbouring channels and all axes behind them: channels are `axis`, a
    /// multiple of `groups`, and `weight` and `bias` have one value a channel. With as many groups as channels this is the
    /// normalisation of instances.
    pub fn group_norm(
        &mut self,
        x: NodeId,
        axis: usize,
        groups: usize,
        weight: Option<NodeId>,
        bias: Option<NodeId>,
        epsilon: f64,
    ) -> NodeId {
        let channels = self.nodes[x].shape[axis].max();
        let wide = self.wide(x);
        let grouped = self.split(wide, axis, channels / groups);
        let axes: Vec<usize> = (axis + 1..self.nodes[grouped].shape.len()).collect();
        let y = self.standardised(grouped, &axes, epsilon);
        let y = self.merge(y, axis);
        let y = self.scaled_and_shifted(y, &[axis], weight, bias);
        self.converted(y, self.nodes[x].dtype)
    }

    /// `(x - mean) / sqrt(variance + epsilon) * weight + bias` with a stored mean and variance for each position of `axis`.
    #[allow(clippy::too_many_arguments, reason = "the operands of the formula")]
    pub fn batch_norm(
        &mut self,
        x: NodeId,
        axis: usize,
        mean: NodeId,
        variance: NodeId,
        weight: Option<NodeId>,
        bias: Option<NodeId>,
        epsilon: f64,
    ) -> NodeId {
        let wide = self.wide(x);
        let shape = self.nodes[x].shape.clone();
        let [mean, variance] = [mean, variance].map(|v| self.wide(v));
        let variance = self.add_number(variance, epsilon_f32(epsilon));
        let deviation = self.unary(Unary::Sqrt, variance);
        let scale = self.unary(Unary::Recip, deviation);
        let [mean, scale] = [mean, scale].map(|v| self.spread(v, &[axis], &shape));
        let y = self.sub(wide, mean);
        let y = self.mul(y, scale);
        let y = self.scaled_and_shifted(y, &[axis], weight, bias);
        self.converted(y, self.nodes[x].dtype)
    }

    fn standardised(&mut self, x: NodeId, axes: &[usize], epsilon: f64) -> NodeId {
        let greatest = self.statistic(x, axes, Graph::max);
        let shifted = self.sub(x, greatest);
        let mean = self.statistic(shifted, axes, Graph::mean);
        let centred = self.sub(shifted, mean);
        let square = self.mul(centred, centred);
        let scale = self.deviation_recip(square, axes, epsilon);
        self.mul(centred, scale)
    }

    /// `1 / sqrt(mean + epsilon)` of squares, along their axes again.
    fn deviation_recip(&mut self, squares: NodeId, axes: &[usize], epsilon: f64) -> NodeId {
        let shape = self.nodes[squares].shape.clone();
        let mut mean = squares;
        for axis in axes.iter().rev() {
            mean = self.mean(mean, *axis);
        }
        let mean = self.add_number(mean, epsilon_f32(epsilon));
        let deviation = self.unary(Unary::Sqrt, mean);
        let scale = self.unary(Unary::Recip, deviation);
        self.back_along(scale, axes, &shape)
    }

    /// A reduction over several axes, one after the other, repeated along them.
    fn statistic(
        &mut self,
        x: NodeId,
        axes: &[usize],
        reduction: fn(&mut Graph, NodeId, usize) -> NodeId,
    ) -> NodeId {
        let shape = self.nodes[x].shape.clone();
        let reduced = axes.iter().rev().fold(x, |x, axis| reduction(self, x, *axis));
        self.back_along(reduced, axes, &shape)
    }

    fn back_along(&mut self, reduced: NodeId, axes: &[usize], shape: &[crate::graph::Dim]) -> NodeId {
        let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
        self.spread(reduced, &kept, shape)
    }

    fn scaled_and_shifted(
        &mut self,
        x: NodeId,
        axes: &[usize],
        weight: Option<NodeId>,
        bias: Option<NodeId>,
    ) -> NodeId {
        let shape = self.nodes[x].shape.clone();
        let mut y = x;
        if let Some(weight) = weight {
            let weight = self.wide(weight);
            let weight = self.spread(weight, axes, &shape);
            y = self.mul(y, weight);
        }
        if let Some(bias) = bias {
            let bias = self.wide(bias);
            let bias = self.spread(bias, axes, &shape);
            y = self.add(y, bias);
        }
        y
    }
}

/// The nearest `f32`.
fn epsilon_f32(epsilon: f64) -> f64 {
    f64::from(epsilon as f32)
}

/// Records a composition along one axis that stays, whatever it does about wide types.
fn along<S: At<I>, E: Element, const I: isize>(
    x: Tensor<S, E>,
    work: impl FnOnce(&mut Graph, NodeId, usize) -> NodeId,
) -> Tensor<S, E> {
    let record_along = |recorder: &mut Recorder| {
        recorder.along(x.node, S::DIMS, S::AXIS, S::DIMS[S::AXIS], |graph, x, axis| work(graph, x, axis))
    };
    Tensor::of(record(record_along))
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// `(x - mean) / sqrt(variance + epsilon)` along an axis, in two passes; the variance is that of the elements, not an
    /// estimate. Equal elements give exactly 0. With weight and bias it is [`LayerNorm`](super::nn::LayerNorm).
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<10>)>>("x").layer_norm(Axis::<-1>, 1e-5)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn layer_norm<const I: isize>(self, _axis: Axis<I>, epsilon: f32) -> Self
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("layer_norm");
        along(self, |graph, x, axis| graph.layer_norm(x, &[axis], None, None, epsilon.into()))
    }

    /// `x / sqrt(mean of squares + epsilon)` along an axis. With weight it is [`RmsNorm`](super::nn::RmsNorm).
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<10>)>>("x").rms_norm(Axis::<-1>, 1e-6)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn rms_norm<const I: isize>(self, _axis: Axis<I>, epsilon: f32) -> Self
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("rms_norm");
        along(self, |graph, x, axis| graph.rms_norm(x, &[axis], None, epsilon.into()))
    }
}
