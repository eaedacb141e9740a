use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>, bias: &Tensor<(D<783>,)>) -> Tensor<(Batch, D<784>)> {
    x.relu() + *bias
}

fn main() {}
