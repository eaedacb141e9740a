use luminal::{D, Tensor, conv_transpose, model};

#[model]
pub fn m(x: Tensor<(D<1>, D<6>, D<7>)>, kernel: &Tensor<(D<6>, D<2>, D<3>)>) -> Tensor<(D<1>, D<2>, D<14>)> {
    x.conv_transpose1d(*kernel, conv_transpose().stride(2).padding(1))
}
