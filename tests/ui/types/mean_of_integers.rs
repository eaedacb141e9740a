use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>), i32>) -> Tensor<(Batch,), i32> {
    x.mean(Axis::<1>)
}

fn main() {}
