use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(
    x: Tensor<(Batch, D<4>, D<8>, D<16>)>,
    w: &Tensor<(D<3>, D<16>, D<10>)>,
) -> Tensor<(Batch, D<4>, D<8>, D<10>)> {
    x.matmul(*w)
}

fn main() {}
