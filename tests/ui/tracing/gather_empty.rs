use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(table: &Tensor<(D<0>, D<2>)>, index: Tensor<(Batch,), i32>) -> Tensor<(Batch, D<2>)> {
    table.gather(index)
}
