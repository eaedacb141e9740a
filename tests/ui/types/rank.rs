use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<1>, D<1>, D<1>, D<1>, D<1>, D<3>)>) -> Tensor<(Batch, D<3>)> {
    let _ = x;
    Tensor::zeros()
}

fn main() {}
