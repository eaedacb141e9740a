use luminal::{D, Tensor, model};

#[model]
pub fn m(x: Tensor<(D<4>,)>, y: Tensor<(D<5>,)>) -> Tensor<()> {
    x.dot(y)
}

fn main() {}
