use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(D<2>, Batch, D<3>)>) -> Tensor<(Batch, D<6>)> {
    x.flatten()
}
