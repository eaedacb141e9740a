use luminal::{D, Linear, Module, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[derive(Module)]
pub struct Net {
    out: Linear<785, 10>,
}

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>, net: &Net) -> Tensor<(Batch, D<10>)> {
    net.out.forward(x.relu())
}

fn main() {}
