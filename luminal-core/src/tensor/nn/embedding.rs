//! A table of vectors.

use crate::graph::NodeId;
use crate::tensor::trace::op;
use crate::tensor::{D, Lead, Module, Scope, Shape, Tensor};

/// A vector for each index: `weight` is `[ROWS, N]`.
#[derive(Clone, Copy, Debug)]
pub struct Embedding<const ROWS: usize, const N: usize> {
    /// `[ROWS, N]`
    pub weight: Tensor<(D<ROWS>, D<N>)>,
}

impl<const ROWS: usize, const N: usize> Embedding<ROWS, N> {
    /// The vectors of these indices; an index out of range means the first or the last row.
    #[track_caller]
    pub fn forward<S: Shape + Lead>(&self, index: Tensor<S, i32>) -> Tensor<S::With<D<N>>> {
        let _scope = op("embedding");
        self.weight.gather(index)
    }
}

impl<const ROWS: usize, const N: usize> Module for Embedding<ROWS, N> {
    fn build(scope: &Scope) -> Self {
        Embedding { weight: Module::build(&scope.field("weight", "weight")) }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight.visit(f);
    }
}
