use luminal::{Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Vec<f32>, y: Tensor<(Batch,)>) -> Tensor<(Batch,)> {
    let _ = x;
    y
}

fn main() {}
