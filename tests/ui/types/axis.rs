use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>) -> Tensor<(Batch,)> {
    x.sum(Axis::<2>)
}

fn main() {}
