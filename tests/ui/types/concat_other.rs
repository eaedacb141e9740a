use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<4>)>, y: Tensor<(D<2>, D<5>)>) -> Tensor<(Batch, D<9>)> {
    x.concat(Axis::<1>, y)
}

fn main() {}
