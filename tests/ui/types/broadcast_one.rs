use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>, y: Tensor<(Batch, D<1>)>) -> Tensor<(Batch, D<784>)> {
    x.relu() - y
}

fn main() {}
