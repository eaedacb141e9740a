use luminal::{Axis, D, One, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>)>) -> Tensor<(Batch, D<3>, One)> {
    x.unsqueeze(Axis::<4>)
}

fn main() {}
