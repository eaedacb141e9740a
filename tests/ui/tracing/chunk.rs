use luminal::{Axis, D, Tensor, dim, model};

#[dim(max = 64)]
pub struct Batch;

#[model]
pub fn m(x: Tensor<(Batch, D<8>)>) -> Tensor<(Batch, D<3>)> {
    let [a, b]: [Tensor<(Batch, D<3>)>; 2] = x.chunk(Axis::<1>);
    a + b
}
