//! A table of vectors.

use super::WeightFormat;
use crate::graph::NodeId;
use crate::tensor::trace::op;
use crate::tensor::{D, EndsWith, Float, Lead, Module, Scope, Shape, Tensor, With};

/// A vector for each index: `weight` is `[ROWS, N]`, stored as `F` says ([`WeightFormat`]).
///
/// ```
/// use luminal_core::tensor::nn::Embedding;
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let table: Embedding<1000, 16> = weights("table");
///     let tokens: Tensor<(D<7>,), i32> = input("tokens");
///     let x: Tensor<(D<7>, D<16>)> = table.forward(tokens);
///     let logits: Tensor<(D<7>, D<1000>)> = table.logits(x); // an output head with tied weights
///     output(&logits);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Embedding<const ROWS: usize, const N: usize, F: WeightFormat = f32> {
    /// `[ROWS, N]`
    pub weight: F::Matrix<ROWS, N>,
}

impl<const ROWS: usize, const N: usize, F: WeightFormat> Embedding<ROWS, N, F> {
    /// The vectors of these indices, in the element type of the table, or in `f32` where it is packed. An index out of range
    /// means the first or the last row.
    #[track_caller]
    pub fn forward<S: Shape + Lead>(&self, index: Tensor<S, i32>) -> Tensor<S::With<D<N>>, F::Vector> {
        let _scope = op("embedding");
        F::rows::<S, ROWS, N>(&self.weight, index)
    }

    /// A score for each row of the table: its product with `x` along the last dimension. This is the output head of
    /// models that tie it to the embedding.
    #[track_caller]
    pub fn logits<S: EndsWith<D<N>>, E: Float>(&self, x: Tensor<S, E>) -> Tensor<With<S, D<ROWS>>, E> {
        let _scope = op("logits");
        F::linear::<S, ROWS, N>(x.convert(), &self.weight).convert()
    }
}

impl<const ROWS: usize, const N: usize, F: WeightFormat> Module for Embedding<ROWS, N, F> {
    fn build(scope: &Scope) -> Self {
        Embedding { weight: Module::build(&scope.field("weight", "weight")) }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
    }
}
