use luminal::{D, Output, Tensor};

#[derive(Output)]
pub enum Either {
    One(Tensor<(D<2>,)>),
}

fn main() {}
