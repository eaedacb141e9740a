use luminal::{D, Tensor, axes, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>, D<4>)>) -> Tensor<(Batch, D<3>)> {
    x.sum(axes![2, -1])
}
