use luminal::{D, Tensor, model};

pub struct Holder;

impl Holder {
    #[model]
    pub fn method(&self, x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
        x
    }
}

fn main() {}
