use luminal::{D, Tensor, axes, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>, D<4>)>) -> Tensor<(D<3>, Batch)> {
    x.permute(axes![1, 0])
}

fn main() {}
