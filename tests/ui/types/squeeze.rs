use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>)>) -> Tensor<(Batch,)> {
    x.squeeze(Axis::<1>)
}

fn main() {}
