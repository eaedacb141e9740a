//! Attention of several heads with its projections.

use super::{Linear, Over, Times};
use crate::axes;
use crate::graph::NodeId;
use crate::tensor::trace::{op, report};
use crate::tensor::{Attention, Axis, D, Dim, Float, Module, Scope, Tensor};

/// Attention of `HEADS` heads over vectors of `N` elements, with the weights of PyTorch's layer: `in_proj_weight` `[3 N,
/// N]` (queries, keys, values), `in_proj_bias` `[3 N]`, `out_proj.weight` `[N, N]`, `out_proj.bias` `[N]`.
///
/// ```
/// use luminal_core::tensor::nn::MultiHeadAttention;
/// use luminal_core::tensor::{D, Tensor, attention, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let layer: MultiHeadAttention<32, 4> = weights("layer");
///     let x: Tensor<(D<2>, D<7>, D<32>)> = input("x");
///     output(&layer.forward(x, x, x, attention().causal()));
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MultiHeadAttention<const N: usize, const HEADS: usize, E: Float = f32, const BIAS: bool = true> {
    /// `[3 N, N]`
    pub in_proj_weight: Tensor<(Times<3, N>, D<N>), E>,
    /// `[3 N]`, if the layer has one.
    pub in_proj_bias: Option<Tensor<(Times<3, N>,), E>>,
    /// The projection of the result.
    pub out_proj: Linear<N, N, E, BIAS>,
}

impl<const N: usize, const HEADS: usize, E: Float, const BIAS: bool> MultiHeadAttention<N, HEADS, E, BIAS> {
    /// `[batch, queries, N]` and `[batch, keys, N]` to `[batch, queries, N]` (`batch_first` in PyTorch). All three are the
    /// same tensor in self-attention. It is computed in `f32` and rounded once.
    #[track_caller]
    pub fn forward<B: Dim, Q: Dim, K: Dim, F: Float>(
        &self,
        query: Tensor<(B, Q, D<N>), F>,
        key: Tensor<(B, K, D<N>), F>,
        value: Tensor<(B, K, D<N>), F>,
        how: Attention,
    ) -> Tensor<(B, Q, D<N>), F> {
        let _scope = op("multi_head_attention");
        if HEADS == 0 || !N.is_multiple_of(HEADS) {
            report(format!("{N} elements cannot be divided among {HEADS} heads"));
            return Tensor::placeholder();
        }
        let query = self.heads(query, 0);
        let (key, value) = (self.heads(key, 1), self.heads(value, 2));
        let seen = query.attention(key, value, how).permute(axes![0, 2, 1, 3]);
        self.out_proj.forward(seen.reshape::<(B, Q, D<N>)>()).convert()
    }

    /// The projection of this number, `[batch, heads, length, width]`.
    #[allow(clippy::type_complexity)]
    fn heads<B: Dim, L: Dim, F: Float>(
        &self,
        x: Tensor<(B, L, D<N>), F>,
        number: usize,
    ) -> Tensor<(B, D<HEADS>, L, Over<N, HEADS>)> {
        let weight: Tensor<(D<N>, D<N>), E> = self.in_proj_weight.slice(Axis::<0>, number * N);
        let projected = x.convert::<f32>().linear(weight.convert::<f32>());
        let projected = match self.in_proj_bias {
            Some(bias) => {
                let bias: Tensor<(D<N>,), E> = bias.slice(Axis::<0>, number * N);
                projected + bias.convert::<f32>()
            }
            None => projected,
        };
        projected.reshape::<(B, L, D<HEADS>, Over<N, HEADS>)>().permute(axes![0, 2, 1, 3])
    }
}

impl<const N: usize, const HEADS: usize, E: Float, const BIAS: bool> Module
    for MultiHeadAttention<N, HEADS, E, BIAS>
{
    fn build(scope: &Scope) -> Self {
        MultiHeadAttention {
            in_proj_weight: Module::build(&scope.field("in_proj_weight", "in_proj_weight")),
            in_proj_bias: BIAS.then(|| Module::build(&scope.field("in_proj_bias", "in_proj_bias"))),
            out_proj: Module::build(&scope.field("out_proj", "out_proj")),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.in_proj_weight.visit(f);
        self.in_proj_bias.visit(f);
        self.out_proj.visit(f);
    }
}
