use luminal::{D, Module, Tensor};

#[derive(Module)]
pub enum Either {
    One(Tensor<(D<2>,)>),
}

fn main() {}
