use luminal::{D, Tensor, model};

#[model]
pub async fn later(x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
    x
}

fn main() {}
