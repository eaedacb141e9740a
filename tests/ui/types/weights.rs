use luminal::{Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

pub struct Plain(pub f32);

#[model]
pub fn m(x: Tensor<(Batch,)>, net: &Plain) -> Tensor<(Batch,)> {
    x * net.0
}

fn main() {}
