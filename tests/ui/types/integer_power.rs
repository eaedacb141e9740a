use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>), i32>) -> Tensor<(Batch, D<3>), i32> {
    x.pow(2)
}

fn main() {}
