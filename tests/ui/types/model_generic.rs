use luminal::{D, Tensor, model};

#[model]
pub fn generic<const N: usize>(x: Tensor<(D<N>,)>) -> Tensor<(D<N>,)> {
    x
}

fn main() {}
