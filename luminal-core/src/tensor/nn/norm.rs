//! Normalisation with weights.

use crate::graph::{Graph, NodeId};
use crate::tensor::record::graph_axis;
use crate::tensor::trace::{op, record, report};
use crate::tensor::{At, D, EndsWith, Float, Module, Scope, Shape, Tensor};

/// Records a composition along one axis of a shape that has it in the graph.
fn along<S: Shape, E: Float>(
    x: Tensor<S, E>,
    axis: usize,
    work: impl FnOnce(&mut Graph, NodeId, usize) -> NodeId,
) -> Tensor<S, E> {
    Tensor::of(record(|recorder| work(&mut recorder.graph, x.node, graph_axis(S::DIMS, axis))))
}

/// The node of a weight that may be absent.
fn node<S, E>(tensor: Option<Tensor<S, E>>) -> Option<NodeId> {
    tensor.map(|tensor| tensor.node)
}

/// `(x - mean) / sqrt(variance + epsilon) * weight + bias` along the last dimension, in two passes over it: `weight` and
/// `bias` are `[N]`; `LayerNorm<N, f32, false>` has no bias. Epsilon is 1e-5 unless [`epsilon`](Self::epsilon) sets another.
/// Rows of equal elements give exactly the bias.
///
/// ```
/// use luminal_core::tensor::nn::LayerNorm;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: LayerNorm<16> = weights("layer");
///     let x: Tensor<(D<4>, D<7>, D<16>)> = input("x");
///     output(&layer.epsilon(1e-12).forward(x)); // as in BERT
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm<const N: usize, E: Float = f32, const BIAS: bool = true> {
    /// `[N]`
    pub weight: Tensor<(D<N>,), E>,
    /// `[N]`, if the layer has one.
    pub bias: Option<Tensor<(D<N>,), E>>,
    epsilon: f32,
}

impl<const N: usize, E: Float, const BIAS: bool> LayerNorm<N, E, BIAS> {
    /// The layer with another epsilon.
    pub const fn epsilon(self, epsilon: f32) -> Self {
        LayerNorm { epsilon, ..self }
    }

    /// Applies the layer to tensors of any leading dimensions. It is computed in `f32` and rounded once.
    #[track_caller]
    pub fn forward<S: EndsWith<D<N>>, F: Float>(&self, x: Tensor<S, F>) -> Tensor<S, F> {
        let _scope = op("layer_norm");
        let LayerNorm { weight, bias, epsilon } = *self;
        along(x, S::DIMS.len() - 1, |graph, x, axis| {
            graph.layer_norm(x, &[axis], Some(weight.node), node(bias), epsilon.into())
        })
    }
}

impl<const N: usize, E: Float, const BIAS: bool> Module for LayerNorm<N, E, BIAS> {
    fn build(scope: &Scope) -> Self {
        LayerNorm {
            weight: Module::build(&scope.field("weight", "weight")),
            bias: BIAS.then(|| Module::build(&scope.field("bias", "bias"))),
            epsilon: 1e-5,
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
        self.bias.visit(f);
    }
}

/// `x / sqrt(mean of squares + epsilon) * weight` along the last dimension: `weight` is `[N]`. Epsilon is 1e-6 unless
/// [`epsilon`](Self::epsilon) sets another; see the configuration of the model.
///
/// ```
/// use luminal_core::tensor::nn::RmsNorm;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: RmsNorm<16> = weights("layer");
///     let x: Tensor<(D<7>, D<16>)> = input("x");
///     output(&layer.epsilon(1e-5).forward(x)); // as in Llama
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RmsNorm<const N: usize, E: Float = f32> {
    /// `[N]`
    pub weight: Tensor<(D<N>,), E>,
    epsilon: f32,
    unit_offset: bool,
}

impl<const N: usize, E: Float> RmsNorm<N, E> {
    /// The layer with another epsilon.
    pub const fn epsilon(self, epsilon: f32) -> Self {
        RmsNorm { epsilon, ..self }
    }

    /// The layer with `1 + weight` in place of the weight, as in Gemma.
    pub const fn unit_offset(self) -> Self {
        RmsNorm { unit_offset: true, ..self }
    }

    /// Applies the layer to tensors of any leading dimensions. It is computed in `f32` and rounded once.
    #[track_caller]
    pub fn forward<S: EndsWith<D<N>>, F: Float>(&self, x: Tensor<S, F>) -> Tensor<S, F> {
        let _scope = op("rms_norm");
        let RmsNorm { weight, epsilon, unit_offset } = *self;
        along(x, S::DIMS.len() - 1, |graph, x, axis| {
            let weight = match unit_offset {
                true => {
                    let wide = graph.wide(weight.node);
                    graph.add_number(wide, 1.0)
                }
                false => weight.node,
            };
            graph.rms_norm(x, &[axis], Some(weight), epsilon.into())
        })
    }
}

impl<const N: usize, E: Float> Module for RmsNorm<N, E> {
    fn build(scope: &Scope) -> Self {
        RmsNorm { weight: Module::build(&scope.field("weight", "weight")), epsilon: 1e-6, unit_offset: false }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
    }
}

/// Normalisation of each of `GROUPS` groups of channels with everything behind the channels, which are dimension 1:
/// `weight` and `bias` are `[C]`. Epsilon is 1e-5 unless [`epsilon`](Self::epsilon) sets another.
///
/// ```
/// use luminal_core::tensor::nn::GroupNorm;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: GroupNorm<4, 8> = weights("layer");
///     let maps: Tensor<(D<2>, D<8>, D<5>, D<5>)> = input("maps");
///     output(&layer.forward(maps));
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GroupNorm<const GROUPS: usize, const C: usize, E: Float = f32> {
    /// `[C]`
    pub weight: Tensor<(D<C>,), E>,
    /// `[C]`
    pub bias: Tensor<(D<C>,), E>,
    epsilon: f32,
}

impl<const GROUPS: usize, const C: usize, E: Float> GroupNorm<GROUPS, C, E> {
    /// The layer with another epsilon.
    pub const fn epsilon(self, epsilon: f32) -> Self {
        GroupNorm { epsilon, ..self }
    }

    /// Applies the layer to `[batch, C, ..]`. It is computed in `f32` and rounded once.
    #[track_caller]
    pub fn forward<S: At<1, Dim = D<C>>, F: Float>(&self, x: Tensor<S, F>) -> Tensor<S, F> {
        let _scope = op("group_norm");
        if GROUPS == 0 || !C.is_multiple_of(GROUPS) {
            report(format!("{C} channels cannot be divided into {GROUPS} groups"));
            return Tensor::placeholder();
        }
        let GroupNorm { weight, bias, epsilon } = *self;
        along(x, 1, |graph, x, axis| {
            graph.group_norm(x, axis, GROUPS, Some(weight.node), Some(bias.node), epsilon.into())
        })
    }
}

impl<const GROUPS: usize, const C: usize, E: Float> Module for GroupNorm<GROUPS, C, E> {
    fn build(scope: &Scope) -> Self {
        GroupNorm {
            weight: Module::build(&scope.field("weight", "weight")),
            bias: Module::build(&scope.field("bias", "bias")),
            epsilon: 1e-5,
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
        self.bias.visit(f);
    }
}

/// Normalisation of channels, dimension 1, with the mean and variance that training stored: `weight`, `bias`,
/// `running_mean` and `running_var` are `[C]`. Epsilon is 1e-5 unless [`epsilon`](Self::epsilon) sets another.
///
/// In front of a nonlinearity and behind a convolution it costs nothing: it is folded into the convolution's weights when
/// they are loaded. Files of PyTorch also hold `num_batches_tracked`, which inference does not use:
/// leave it out with `weights.retain(..)`, or `weights.allow_unused()`.
///
/// ```
/// use luminal_core::tensor::nn::BatchNorm;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: BatchNorm<8> = weights("layer");
///     let maps: Tensor<(D<2>, D<8>, D<5>, D<5>)> = input("maps");
///     output(&layer.forward(maps));
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BatchNorm<const C: usize, E: Float = f32> {
    /// `[C]`
    pub weight: Tensor<(D<C>,), E>,
    /// `[C]`
    pub bias: Tensor<(D<C>,), E>,
    /// `[C]`
    pub running_mean: Tensor<(D<C>,), E>,
    /// `[C]`
    pub running_var: Tensor<(D<C>,), E>,
    epsilon: f32,
}

impl<const C: usize, E: Float> BatchNorm<C, E> {
    /// The layer with another epsilon.
    pub const fn epsilon(self, epsilon: f32) -> Self {
        BatchNorm { epsilon, ..self }
    }

    /// Applies the layer to `[batch, C, ..]`. It is computed in `f32` and rounded once.
    #[track_caller]
    pub fn forward<S: At<1, Dim = D<C>>, F: Float>(&self, x: Tensor<S, F>) -> Tensor<S, F> {
        let _scope = op("batch_norm");
        let BatchNorm { weight, bias, running_mean, running_var, epsilon } = *self;
        along(x, 1, |graph, x, axis| {
            let (weight, bias) = (Some(weight.node), Some(bias.node));
            graph.batch_norm(x, axis, running_mean.node, running_var.node, weight, bias, epsilon.into())
        })
    }
}

impl<const C: usize, E: Float> Module for BatchNorm<C, E> {
    fn build(scope: &Scope) -> Self {
        BatchNorm {
            weight: Module::build(&scope.field("weight", "weight")),
            bias: Module::build(&scope.field("bias", "bias")),
            running_mean: Module::build(&scope.field("running_mean", "running_mean")),
            running_var: Module::build(&scope.field("running_var", "running_var")),
            epsilon: 1e-5,
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
        self.bias.visit(f);
        self.running_mean.visit(f);
        self.running_var.visit(f);
    }
}
