use luminal::{D, Tensor, conv, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<1>, D<8>, D<8>)>, kernel: &Tensor<(D<4>, D<1>, D<3>, D<3>)>) -> Tensor<(Batch, D<4>, D<6>, D<6>)> {
    x.conv2d(*kernel, conv().stride(0))
}
