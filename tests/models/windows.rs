//! Models of windows: convolutions in groups, with uneven padding, transposed; pools; resizing; equations.

use luminal::{D, Module, Resize, Tensor, conv, conv_transpose, dim, einsum, model, pool};

/// Sounds in one run.
#[dim(max = 5)]
pub struct Sounds;

/// Kernels of an encoder and a decoder.
#[derive(Module)]
pub struct Shapes {
    grouped: Tensor<(D<8>, D<2>, D<3>, D<3>)>,
    depthwise: Tensor<(D<8>, D<1>, D<3>, D<2>)>,
    decoder: Tensor<(D<8>, D<3>, D<4>, D<4>)>,
}

/// Images of 9 x 7, made smaller and larger again.
#[model]
pub fn shapes(image: Tensor<(D<2>, D<4>, D<9>, D<7>)>, net: &Shapes) -> Tensor<(D<2>, D<3>, D<13>, D<11>)> {
    let x: Tensor<(D<2>, D<8>, D<9>, D<7>)> = image.conv2d(net.grouped, conv().padding(1).groups(2)).relu();
    let how = conv().stride([2, 1]).pad_before([0, 1]).pad_after([2, 0]).groups(8);
    let x: Tensor<(D<2>, D<8>, D<5>, D<7>)> = x.conv2d(net.depthwise, how);
    let x: Tensor<(D<2>, D<8>, D<3>, D<4>)> = x.max_pool2d(pool(2).ceil());
    let x: Tensor<(D<2>, D<3>, D<6>, D<8>)> =
        x.conv_transpose2d(net.decoder, conv_transpose().stride(2).padding(1));
    x.resize2d(Resize::Linear)
}

/// Weights of a filter bank.
#[derive(Module)]
pub struct Filters {
    bank: Tensor<(D<6>, D<2>, D<5>)>,
    mixing: Tensor<(D<6>, D<6>, D<3>)>,
}

/// Sequences of 20 in two channels: filtered, smoothed, mixed by an equation.
#[model]
pub fn filters(sound: Tensor<(Sounds, D<2>, D<20>)>, net: &Filters) -> Tensor<(D<3>, Sounds, D<7>)> {
    let x: Tensor<(Sounds, D<6>, D<10>)> = sound.conv1d(net.bank, conv().stride(2).padding(2));
    let x: Tensor<(Sounds, D<6>, D<10>)> = x.avg_pool1d(pool(3).stride(1).padding(1).exclude_padding());
    let x: Tensor<(Sounds, D<6>, D<7>)> = x.adaptive_avg_pool1d();
    einsum!("bcl,ccm->mbl", x, net.mixing)
}
