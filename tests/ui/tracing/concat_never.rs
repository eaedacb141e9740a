use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<2>)>, y: Tensor<(D<3>, D<2>)>) -> Tensor<(Batch, D<2>)> {
    x.concat(Axis::<0>, y)
}
