//! The network: three convolutions, two poolings, two dense layers. Compiled into the build script, where it is traced,
//! and into the program, where `classify` loads and runs what the build script made of it.

use luminal::nn::Conv2d;
use luminal::{Axis, D, Linear, Module, Tensor, model, pool};

/// 3x3 kernels, stride 1, padding 1: the image keeps its size.
type Conv3x3<const I: usize, const O: usize> = Conv2d<I, O, 3, 1, 1>;

/// The weights. Field paths are the names in the weight file, such as `conv1.weight`.
#[derive(Module)]
pub struct Digits {
    conv1: Conv3x3<1, 16>,
    conv2: Conv3x3<16, 32>,
    conv3: Conv3x3<32, 64>,
    fc1: Linear<256, 128>,
    fc2: Linear<128, 10>,
}

/// Probabilities of the ten digits for one image of 8x8 pixels, ink from 0 to 1.
#[model]
pub fn classify(image: Tensor<(D<1>, D<1>, D<8>, D<8>)>, net: &Digits) -> Tensor<(D<1>, D<10>)> {
    let x: Tensor<(D<1>, D<16>, D<8>, D<8>)> = net.conv1.forward(image).relu();
    let x: Tensor<(D<1>, D<32>, D<8>, D<8>)> = net.conv2.forward(x).relu();
    let x: Tensor<(D<1>, D<32>, D<4>, D<4>)> = x.max_pool2d(pool(2));
    let x: Tensor<(D<1>, D<64>, D<4>, D<4>)> = net.conv3.forward(x).relu();
    let x: Tensor<(D<1>, D<64>, D<2>, D<2>)> = x.max_pool2d(pool(2));
    let x: Tensor<(D<1>, D<256>)> = x.reshape();
    net.fc2.forward(net.fc1.forward(x).relu()).softmax(Axis::<1>)
}
