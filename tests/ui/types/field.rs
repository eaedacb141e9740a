use luminal::{Module, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[derive(Module)]
pub struct Net {
    scale: f32,
}

#[model]
pub fn m(x: Tensor<(Batch,)>, net: &Net) -> Tensor<(Batch,)> {
    x * net.scale
}

fn main() {}
