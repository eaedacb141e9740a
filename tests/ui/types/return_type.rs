use luminal::{Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch,)>) -> f32 {
    let _ = x;
    1.0
}

fn main() {}
