//! A fully connected layer.

use crate::graph::NodeId;
use crate::tensor::trace::op;
use crate::tensor::{D, EndsWith, Module, Scope, Tensor, With};

/// `x W^T + b` along the last dimension: `weight` is `[O, I]`, `bias` is `[O]`.
///
/// ```
/// use luminal_core::tensor::nn::Linear;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: Linear<784, 10> = weights("layer");
///     let images: Tensor<(D<64>, D<784>)> = input("images");
///     let classes: Tensor<(D<64>, D<10>)> = layer.forward(images);
///     output(&classes);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Linear<const I: usize, const O: usize, const BIAS: bool = true> {
    /// `[O, I]`
    pub weight: Tensor<(D<O>, D<I>)>,
    /// `[O]`, if the layer has one.
    pub bias: Option<Tensor<(D<O>,)>>,
}

impl<const I: usize, const O: usize, const BIAS: bool> Linear<I, O, BIAS> {
    /// Applies the layer to tensors of any leading dimensions.
    #[track_caller]
    pub fn forward<S: EndsWith<D<I>>>(&self, x: Tensor<S>) -> Tensor<With<S, D<O>>> {
        let _scope = op("linear");
        let product = x.linear(self.weight);
        match self.bias {
            Some(bias) => product + bias,
            None => product,
        }
    }
}

impl<const I: usize, const O: usize, const BIAS: bool> Module for Linear<I, O, BIAS> {
    fn build(scope: &Scope) -> Self {
        Linear {
            weight: Module::build(&scope.field("weight", "weight")),
            bias: BIAS.then(|| Module::build(&scope.field("bias", "bias"))),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
        self.bias.visit(f);
    }
}
