use luminal::{D, Output, Tensor};

#[derive(Output)]
pub struct Generic<const N: usize> {
    x: Tensor<(D<N>,)>,
}

fn main() {}
