use luminal::{D, Output, Tensor};

#[derive(Output)]
pub struct Unnamed(Tensor<(D<2>,)>);

fn main() {}
