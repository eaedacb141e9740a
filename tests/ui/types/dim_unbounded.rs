use luminal::{Tensor, dim, model};

#[dim]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch,)>) -> Tensor<(Batch,)> {
    x
}

fn main() {}
