use luminal::{D, Tensor, model};

#[model]
pub fn m((x, _y): (Tensor<(D<2>,)>, Tensor<(D<2>,)>)) -> Tensor<(D<2>,)> {
    x
}

fn main() {}
