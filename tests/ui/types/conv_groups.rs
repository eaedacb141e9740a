use luminal::{D, Tensor, conv, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(
    x: Tensor<(Batch, D<8>, D<28>, D<28>)>,
    kernel: &Tensor<(D<8>, D<1>, D<3>, D<3>)>,
) -> Tensor<(Batch, D<8>, D<26>, D<26>)> {
    // `.groups(8)` is missing.
    x.conv2d(*kernel, conv().stride(1))
}

fn main() {}
