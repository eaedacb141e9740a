//! A convolution layer.

use crate::graph::NodeId;
use crate::tensor::trace::op;
use crate::tensor::{D, Dim, Module, One, Scope, Tensor, conv};

/// A convolution of images `[batch, I, height, width]` with square kernels: `weight` is `[O, I, K, K]`, `bias` is `[O]`.
///
/// `EACH` is the number of channels that a kernel sees, all of them unless said otherwise: `weight` is `[O, EACH, K, K]`,
/// and the channels are in `I / EACH` groups. `Conv2d<32, 32, 3, 1, 1, true, 1>` is a depthwise convolution.
///
/// ```
/// use luminal_core::tensor::nn::Conv2d;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: Conv2d<1, 8, 3, 2, 1> = weights("layer");
///     let images: Tensor<(D<4>, D<1>, D<28>, D<28>)> = input("images");
///     let maps: Tensor<(D<4>, D<8>, D<14>, D<14>)> = layer.forward(images);
///     output(&maps);
/// });
/// assert!(traced.mistakes.is_empty());
///
/// let traced = trace(|| {
///     let depthwise: Conv2d<32, 32, 3, 1, 1, true, 1> = weights("depthwise");
///     let maps: Tensor<(D<4>, D<32>, D<14>, D<14>)> = input("maps");
///     let same: Tensor<(D<4>, D<32>, D<14>, D<14>)> = depthwise.forward(maps);
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
    const EACH: usize = I,
> {
    /// `[O, EACH, K, K]`
    pub weight: Tensor<(D<O>, D<EACH>, D<K>, D<K>)>,
    /// `[O]`, if the layer has one.
    pub bias: Option<Tensor<(D<O>,)>>,
}

impl<
    const I: usize,
    const O: usize,
    const K: usize,
    const STRIDE: usize,
    const PADDING: usize,
    const BIAS: bool,
    const EACH: usize,
> Conv2d<I, O, K, STRIDE, PADDING, BIAS, EACH>
{
    /// Applies the layer. The result's type names the output height and width.
    #[track_caller]
    #[allow(clippy::type_complexity)]
    pub fn forward<B: Dim, H: Dim, W: Dim, OutHeight: Dim, OutWidth: Dim>(
        &self,
        x: Tensor<(B, D<I>, H, W)>,
    ) -> Tensor<(B, D<O>, OutHeight, OutWidth)> {
        let _scope = op("conv2d");
        // Where they do not divide, the operation says so.
        let groups = (I / EACH.max(1)).max(1);
        let maps = x.conv2d(self.weight, conv().stride(STRIDE).padding(PADDING).groups(groups));
        match self.bias {
            Some(bias) => maps + bias.reshape::<(D<O>, One, One)>(),
            None => maps,
        }
    }
}

impl<
    const I: usize,
    const O: usize,
    const K: usize,
    const STRIDE: usize,
    const PADDING: usize,
    const BIAS: bool,
    const EACH: usize,
> Module for Conv2d<I, O, K, STRIDE, PADDING, BIAS, EACH>
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
