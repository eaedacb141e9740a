//! Normalisation.

use crate::graph::NodeId;
use crate::tensor::trace::op;
use crate::tensor::{Axis, D, EndsWith, Module, Scope, Tensor};

/// Normalisation along the last dimension, in two passes over it: `weight` and `bias` are `[N]`, epsilon is 1e-5.
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm<const N: usize> {
    /// `[N]`
    pub weight: Tensor<(D<N>,)>,
    /// `[N]`
    pub bias: Tensor<(D<N>,)>,
}

impl<const N: usize> LayerNorm<N> {
    /// Applies the layer to tensors of any leading dimensions.
    #[track_caller]
    pub fn forward<S: EndsWith<D<N>>>(&self, x: Tensor<S>) -> Tensor<S> {
        let _scope = op("layer_norm");
        let centred = x - x.mean_keep(Axis::<-1>);
        let variance = (centred * centred).mean_keep(Axis::<-1>);
        centred / (variance + 1e-5).sqrt() * self.weight + self.bias
    }
}

impl<const N: usize> Module for LayerNorm<N> {
    fn build(scope: &Scope) -> Self {
        LayerNorm {
            weight: Module::build(&scope.field("weight", "weight")),
            bias: Module::build(&scope.field("bias", "bias")),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
        self.bias.visit(f);
    }
}
