use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>)>, y: Tensor<(D<8>, D<3>)>) -> Tensor<(Batch, D<3>)> {
    x.concat(Axis::<0>, y)
}
