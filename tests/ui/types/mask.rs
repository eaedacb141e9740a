use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>)>, mask: Tensor<(D<4>,), bool>) -> Tensor<(Batch, D<3>)> {
    x.masked_fill(mask, 0.0)
}

fn main() {}
