use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<0>)>) -> Tensor<(Batch,), i32> {
    x.argmax(Axis::<1>)
}
