use luminal::{D, Tensor, axes, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<3>, D<4>)>) -> Tensor<(Batch,)> {
    x.mean(axes![1, 3])
}

fn main() {}
