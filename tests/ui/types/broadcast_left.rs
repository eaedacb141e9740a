use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>) -> Tensor<(Batch, D<784>)> {
    x.max_keep(Axis::<1>) - x
}

fn main() {}
