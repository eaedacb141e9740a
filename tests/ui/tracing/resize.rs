use luminal::{D, Resize, Tensor, dim, model};

#[dim(max = 64)]
pub struct Width;

#[model]
pub fn m(x: Tensor<(D<1>, D<3>, D<9>, Width)>) -> Tensor<(D<1>, D<3>, D<18>, D<18>)> {
    x.resize2d(Resize::Nearest)
}
