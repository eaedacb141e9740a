use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<2>)>) -> Tensor<(D<65>, D<2>)> {
    x.slice(Axis::<0>, 0)
}
