use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(table: Tensor<(Batch, D<2>)>, index: Tensor<(D<3>,), i32>) -> Tensor<(D<3>, D<2>)> {
    table.gather(index)
}
