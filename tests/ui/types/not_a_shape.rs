use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<D<784>>) -> Tensor<D<784>> {
    x
}

fn main() {}
