use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>), f64>) -> Tensor<(Batch, D<3>), f64> {
    x
}

fn main() {}
