use luminal::{D, Tensor, model};

#[model(name = "no-name")]
pub fn m(x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
    x
}

fn main() {}
