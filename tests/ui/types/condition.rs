use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<784>)>, y: Tensor<(Batch, D<783>)>) -> Tensor<(Batch, D<784>)> {
    x.less(0.0).select(x, y)
}

fn main() {}
