use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch,)>, table: &Tensor<(D<9>, D<3>)>) -> Tensor<(Batch, D<3>)> {
    table.gather(x)
}

fn main() {}
