use luminal::{D, Tensor, model};

#[model]
pub fn m(x: Tensor<(D<2>, D<4>, D<16>)>, w: &Tensor<(D<4>,)>) -> Tensor<(D<2>, D<4>)> {
    x.matmul(*w)
}

fn main() {}
