use luminal::{D, EndsWith, Linear, Module, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[derive(Module)]
pub struct Block<const N: usize> {
    up: Linear<N, 32>,
    down: Linear<33, N>,
}

impl<const N: usize> Block<N> {
    pub fn forward<S: EndsWith<D<N>>>(&self, x: Tensor<S>) -> Tensor<S> {
        self.down.forward(self.up.forward(x))
    }
}

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>, net: &Block<784>) -> Tensor<(Batch, D<784>)> {
    net.forward(x)
}

fn main() {}
