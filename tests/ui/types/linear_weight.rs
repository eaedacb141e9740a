use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>, w: &Tensor<(D<784>, D<10>)>) -> Tensor<(Batch, D<10>)> {
    x.linear(*w)
}

fn main() {}
