use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>)>) -> Tensor<(Batch, D<1>)> {
    let (first, _rest): (Tensor<(Batch, D<1>)>, Tensor<(D<4>, D<2>)>) = x.split(Axis::<1>);
    first
}

fn main() {}
