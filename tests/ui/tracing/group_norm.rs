use luminal::nn::GroupNorm;
use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<6>, D<8>, D<8>)>, norm: &GroupNorm<4, 6>) -> Tensor<(Batch, D<6>, D<8>, D<8>)> {
    norm.forward(x)
}
