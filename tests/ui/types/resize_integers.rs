use luminal::{D, Resize, Tensor, model};

#[model]
pub fn m(x: Tensor<(D<1>, D<3>, D<8>, D<8>), i32>) -> Tensor<(D<1>, D<3>, D<16>, D<16>), i32> {
    x.resize2d(Resize::Linear)
}

fn main() {}
