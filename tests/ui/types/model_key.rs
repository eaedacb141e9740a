use luminal::{D, Tensor, model};

#[model(names = "other")]
pub fn m(x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
    x
}

fn main() {}
