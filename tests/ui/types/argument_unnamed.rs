use luminal::{D, Tensor, model};

#[model]
pub fn m(_: Tensor<(D<2>,)>, x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
    x
}

fn main() {}
