use luminal::{D, Module, Tensor};

#[derive(Module)]
pub struct Net {
    #[param(name = "x", tied = "y")]
    a: Tensor<(D<2>,)>,
}

fn main() {}
