//! A convolution layer of images.

use super::Over;
use crate::graph::NodeId;
use crate::tensor::trace::op;
use crate::tensor::{D, Dim, Float, Module, One, Scope, Tensor, conv};

/// A convolution of images `[batch, I, height, width]` with square kernels: `weight` is `[O, I / GROUPS, K, K]`, `bias` is `[O]`.
/// `Conv2d<32, 32, 3, 1, 1, true, 32>` is a depthwise convolution.
///
/// ```
/// use luminal_core::tensor::nn::Conv2d;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let [layer]: [Conv2d<1, 8, 3, 2, 1>; 1] = weights("layers"); // stride 2, padding 1
///     let images: Tensor<(D<4>, D<1>, D<28>, D<28>)> = input("images");
///     let maps: Tensor<(D<4>, D<8>, D<14>, D<14>)> = layer.forward(images);
///     let depthwise: Conv2d<8, 8, 3, 1, 1, true, 8> = weights("depthwise");
///     let same: Tensor<(D<4>, D<8>, D<14>, D<14>)> = depthwise.forward(maps);
///     output(&same);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Conv2d<
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
    /// `[O, I / GROUPS, K, K]`
    pub weight: Tensor<(D<O>, Over<I, GROUPS>, D<K>, D<K>), E>,
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
> Conv2d<I, O, K, STRIDE, PADDING, BIAS, GROUPS, DILATION, E>
{
    /// Applies the layer. The result's type names the output height and width. It is computed in `f32` and rounded once.
    #[track_caller]
    #[allow(clippy::type_complexity)]
    pub fn forward<B: Dim, H: Dim, W: Dim, OutHeight: Dim, OutWidth: Dim, F: Float>(
        &self,
        x: Tensor<(B, D<I>, H, W), F>,
    ) -> Tensor<(B, D<O>, OutHeight, OutWidth), F> {
        let _scope = op("conv2d");
        let how = conv().stride(STRIDE).padding(PADDING).dilation(DILATION).groups(GROUPS);
        let maps: Tensor<(B, D<O>, OutHeight, OutWidth)> =
            x.convert::<f32>().conv2d(self.weight.convert::<f32>(), how);
        match self.bias {
            Some(bias) => maps + bias.convert::<f32>().reshape::<(D<O>, One, One)>(),
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
> Module for Conv2d<I, O, K, STRIDE, PADDING, BIAS, GROUPS, DILATION, E>
{
    fn build(scope: &Scope) -> Self {
        Conv2d {
            weight: Module::build(&scope.field("weight", "weight")),
            bias: BIAS.then(|| Module::build(&scope.field("bias", "bias"))),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
        self.bias.visit(f);
    }
}
