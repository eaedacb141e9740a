use luminal::{D, Dim, Module, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[derive(Module)]
pub struct Dense<const I: usize, const O: usize> {
    weight: Tensor<(D<I>, D<O>)>,
}

impl<const I: usize, const O: usize> Dense<I, O> {
    pub fn forward<B: Dim>(&self, x: Tensor<(B, D<I>)>) -> Tensor<(B, D<O>)> {
        x.matmul(self.weight)
    }
}

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>, net: &Dense<785, 10>) -> Tensor<(Batch, D<10>)> {
    net.forward(x.relu())
}

fn main() {}
