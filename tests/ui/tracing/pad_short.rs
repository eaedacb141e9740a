use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<4>)>) -> Tensor<(Batch, D<5>)> {
    x.pad(Axis::<1>, 2, 0.0)
}
