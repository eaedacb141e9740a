//! A convolution layer of sequences.

use super::Over;
use crate::graph::NodeId;
use crate::tensor::trace::op;
use crate::tensor::{D, Dim, Float, Module, One, Scope, Tensor, conv};

/// A convolution of sequences `[batch, I, length]`: `weight` is `[O, I / GROUPS, K]`, `bias` is `[O]`.
///
/// ```
/// use luminal_core::tensor::nn::Conv1d;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: Conv1d<80, 16, 3, 2, 1> = weights("layer"); // stride 2, padding 1
///     let sound: Tensor<(D<1>, D<80>, D<100>)> = input("sound");
///     let halved: Tensor<(D<1>, D<16>, D<50>)> = layer.forward(sound);
///     output(&halved);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Conv1d<
    const I: usize,
    const O: usize,
    const K: usize,
    const STRIDE: usize = 1,
    const PADDING: usize = 0,
    const BIAS: bool = true,
    const GROUPS: usize = 1,
    const DILATION: usize = 1,
    E: Float = f32,
> {
    /// `[O, I / GROUPS, K]`
    pub weight: Tensor<(D<O>, Over<I, GROUPS>, D<K>), E>,
    /// `[O]`, if the layer has one.
    pub bias: Option<Tensor<(D<O>,), E>>,
}

impl<
    const I: usize,
    const O: usize,
    const K: usize,
    const STRIDE: usize,
    const PADDING: usize,
    const BIAS: bool,
    const GROUPS: usize,
    const DILATION: usize,
    E: Float,
> Conv1d<I, O, K, STRIDE, PADDING, BIAS, GROUPS, DILATION, E>
{
    /// Applies the layer. The result's type names the output length. It is computed in `f32` and rounded once.
    #[track_caller]
    pub fn forward<B: Dim, L: Dim, OutLength: Dim, F: Float>(
        &self,
        x: Tensor<(B, D<I>, L), F>,
    ) -> Tensor<(B, D<O>, OutLength), F> {
        let _scope = op("conv1d");
        let how = conv().stride(STRIDE).padding(PADDING).dilation(DILATION).groups(GROUPS);
        let maps: Tensor<(B, D<O>, OutLength)> = x.convert::<f32>().conv1d(self.weight.convert::<f32>(), how);
        match self.bias {
            Some(bias) => maps + bias.convert::<f32>().reshape::<(D<O>, One)>(),
            None => maps,
        }
        .convert()
    }
}

impl<
    const I: usize,
    const O: usize,
    const K: usize,
    const STRIDE: usize,
    const PADDING: usize,
    const BIAS: bool,
    const GROUPS: usize,
    const DILATION: usize,
    E: Float,
> Module for Conv1d<I, O, K, STRIDE, PADDING, BIAS, GROUPS, DILATION, E>
{
    fn build(scope: &Scope) -> Self {
        Conv1d {
            weight: Module::build(&scope.field("weight", "weight")),
            bias: BIAS.then(|| Module::build(&scope.field("bias", "bias"))),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
        self.bias.visit(f);
    }
}
