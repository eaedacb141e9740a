//! A fully connected layer.

use super::WeightFormat;
use crate::graph::NodeId;
use crate::tensor::trace::op;
use crate::tensor::{D, EndsWith, Float, Module, Scope, Tensor, With};

/// `x W^T + b` along the last dimension: `weight` is `[O, I]`, `bias` is `[O]`.
///
/// `F` is how the weight is stored ([`WeightFormat`]): `Linear<784, 10>` holds `f32`, `Linear<784, 10, Q4_1>` packed blocks.
/// `Linear<784, 10, f32, false>` has no bias.
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
pub struct Linear<const I: usize, const O: usize, F: WeightFormat = f32, const BIAS: bool = true> {
    /// `[O, I]`
    pub weight: F::Matrix<O, I>,
    /// `[O]`, if the layer has one.
    pub bias: Option<Tensor<(D<O>,), F::Vector>>,
}

impl<const I: usize, const O: usize, F: WeightFormat, const BIAS: bool> Linear<I, O, F, BIAS> {
    /// Applies the layer to tensors of any leading dimensions. It is computed in `f32` and rounded once.
    #[track_caller]
    pub fn forward<S: EndsWith<D<I>>, E: Float>(&self, x: Tensor<S, E>) -> Tensor<With<S, D<O>>, E> {
        let _scope = op("linear");
        let product = F::linear::<S, O, I>(x.convert(), &self.weight);
        match self.bias {
            Some(bias) => product + bias.convert::<f32>(),
            None => product,
        }
        .convert()
    }
}

impl<const I: usize, const O: usize, F: WeightFormat, const BIAS: bool> Module for Linear<I, O, F, BIAS> {
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
