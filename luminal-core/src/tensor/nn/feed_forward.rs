//! The feed-forward halves of transformer blocks.

use super::{Linear, WeightFormat};
use crate::graph::NodeId;
use crate::tensor::trace::op;
use crate::tensor::{D, EndsWith, Float, Module, Scope, Tensor, With};

/// Two linear layers with a GELU between them, `N` to `H` to `N` elements, named as in PyTorch's transformer layers:
/// `linear1`, `linear2`.
///
/// ```
/// use luminal_core::tensor::nn::FeedForward;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: FeedForward<16, 64> = weights("layer");
///     let x: Tensor<(D<7>, D<16>)> = input("x");
///     output(&layer.forward_with(layer.forward(x), |hidden| hidden.relu()));
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FeedForward<const N: usize, const H: usize, F: WeightFormat = f32, const BIAS: bool = true> {
    /// `[H, N]`
    pub linear1: Linear<N, H, F, BIAS>,
    /// `[N, H]`
    pub linear2: Linear<H, N, F, BIAS>,
}

impl<const N: usize, const H: usize, F: WeightFormat, const BIAS: bool> FeedForward<N, H, F, BIAS> {
    /// Applies the layer to tensors of any leading dimensions, with the exact GELU.
    #[track_caller]
    pub fn forward<S: EndsWith<D<N>>, E: Float>(&self, x: Tensor<S, E>) -> Tensor<S, E> {
        let _scope = op("feed_forward");
        self.forward_with(x, |hidden| hidden.gelu())
    }

    /// As [`forward`](Self::forward), with another function between the layers.
    #[track_caller]
    pub fn forward_with<S: EndsWith<D<N>>, E: Float>(
        &self,
        x: Tensor<S, E>,
        activation: impl FnOnce(Tensor<With<S, D<H>>, E>) -> Tensor<With<S, D<H>>, E>,
    ) -> Tensor<S, E> {
        let _scope = op("feed_forward");
        self.linear2.forward(activation(self.linear1.forward(x)))
    }
}

impl<const N: usize, const H: usize, F: WeightFormat, const BIAS: bool> Module
    for FeedForward<N, H, F, BIAS>
{
    fn build(scope: &Scope) -> Self {
        FeedForward {
            linear1: Module::build(&scope.field("linear1", "linear1")),
            linear2: Module::build(&scope.field("linear2", "linear2")),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.linear1.visit(f);
        self.linear2.visit(f);
    }
}

/// `down_proj(silu(gate_proj(x)) * up_proj(x))`, `N` to `H` to `N` elements, without biases: the gated layer of Llama, with
/// its names.
///
/// ```
/// use luminal_core::tensor::nn::SwiGlu;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: SwiGlu<16, 64> = weights("layer");
///     let x: Tensor<(D<7>, D<16>)> = input("x");
///     output(&layer.forward(x));
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SwiGlu<const N: usize, const H: usize, F: WeightFormat = f32> {
    /// `[H, N]`
    pub gate_proj: Linear<N, H, F, false>,
    /// `[H, N]`
    pub up_proj: Linear<N, H, F, false>,
    /// `[N, H]`
    pub down_proj: Linear<H, N, F, false>,
}

impl<const N: usize, const H: usize, F: WeightFormat> SwiGlu<N, H, F> {
    /// Applies the layer to tensors of any leading dimensions.
    #[track_caller]
    pub fn forward<S: EndsWith<D<N>>, E: Float>(&self, x: Tensor<S, E>) -> Tensor<S, E> {
        let _scope = op("swi_glu");
        self.forward_with(x, |gate| gate.silu())
    }

    /// As [`forward`](Self::forward), with another function of the gate: `gelu_tanh` in Gemma.
    #[track_caller]
    pub fn forward_with<S: EndsWith<D<N>>, E: Float>(
        &self,
        x: Tensor<S, E>,
        activation: impl FnOnce(Tensor<With<S, D<H>>, E>) -> Tensor<With<S, D<H>>, E>,
    ) -> Tensor<S, E> {
        let _scope = op("swi_glu");
        let gate = activation(self.gate_proj.forward(x));
        self.down_proj.forward(gate * self.up_proj.forward(x))
    }
}

impl<const N: usize, const H: usize, F: WeightFormat> Module for SwiGlu<N, H, F> {
    fn build(scope: &Scope) -> Self {
        SwiGlu {
            gate_proj: Module::build(&scope.field("gate_proj", "gate_proj")),
            up_proj: Module::build(&scope.field("up_proj", "up_proj")),
            down_proj: Module::build(&scope.field("down_proj", "down_proj")),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.gate_proj.visit(f);
        self.up_proj.visit(f);
        self.down_proj.visit(f);
    }
}
