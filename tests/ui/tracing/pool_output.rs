use luminal::{D, Tensor, dim, model, pool};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>, D<8>, D<8>)>) -> Tensor<(Batch, D<3>, D<4>, D<3>)> {
    x.max_pool2d(pool(2))
}
