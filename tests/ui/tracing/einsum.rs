use luminal::{D, Tensor, dim, einsum, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(q: Tensor<(Batch, D<4>, D<8>)>, k: Tensor<(Batch, D<6>, D<7>)>) -> Tensor<(Batch, D<4>, D<6>)> {
    einsum!("bqd,bkd->bqk", q, k)
}
