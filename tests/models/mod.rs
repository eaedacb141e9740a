//! Models that the tests run: traced by the build script of this package, used by `tests/*.rs`.

pub mod blocks;
pub mod decoder;
pub mod types;
pub mod windows;

use luminal::{Axis, D, Linear, Module, Tensor, dim, model};

/// Images in one run.
#[dim(max = 16)]
pub struct Batch;

/// Two layers.
#[derive(Module)]
pub struct Mlp {
    hidden: Linear<6, 5>,
    out: Linear<5, 3, f32, false>,
}

/// Class probabilities of small images.
#[model]
pub fn classify(x: Tensor<(Batch, D<6>)>, net: &Mlp) -> Tensor<(Batch, D<3>)> {
    net.out.forward(net.hidden.forward(x).relu()).softmax(Axis::<1>)
}
