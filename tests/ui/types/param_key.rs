use luminal::{D, Module, Tensor};

#[derive(Module)]
pub struct Net {
    #[param(rename = "a")]
    a: Tensor<(D<2>,)>,
}

fn main() {}
