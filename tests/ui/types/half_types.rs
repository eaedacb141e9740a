use luminal::{D, Tensor, dim, f16, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>), f16>, y: Tensor<(D<3>,)>) -> Tensor<(Batch, D<3>), f16> {
    x * y
}

fn main() {}
