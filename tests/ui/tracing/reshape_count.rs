use luminal::{D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(D<4>, D<3>)>, y: Tensor<(Batch, D<5>)>) -> Tensor<(Batch, D<5>)> {
    let z: Tensor<(D<5>, D<5>)> = x.reshape();
    y * z.sum(luminal::axes![0]).sum(luminal::Axis::<0>)
}
