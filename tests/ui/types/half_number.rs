use luminal::{D, Tensor, dim, f16, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>), f16>) -> Tensor<(Batch, D<3>), f16> {
    x.maximum(0.5)
}

fn main() {}
