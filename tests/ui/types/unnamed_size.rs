use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>) -> Tensor<(Batch,)> {
    let y = x.slice(Axis::<1>, 7);
    y.sum(Axis::<1>)
}

fn main() {}
