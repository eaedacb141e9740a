use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>)>, memory: &mut Vec<f32>) -> Tensor<(Batch, D<3>)> {
    let _ = memory;
    x
}

fn main() {}
