use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

pub struct Seq;

#[model]
pub fn m(x: Tensor<(Seq, D<784>)>) -> Tensor<(Seq, D<784>)> {
    x
}

fn main() {}
