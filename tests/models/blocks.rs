//! Models of other kinds: attention over rows that fit on chip and over rows that do not, a small convolutional network,
//! a step with state, several outputs, an embedding.

use luminal::nn::{Conv2d, Embedding};
use luminal::{Axis, D, Linear, Module, Output, Tensor, axes, dim, model, pool};

/// Positions of a sequence.
#[dim(max = 24)]
pub struct Length;

/// Causal attention of two heads.
#[model]
pub fn attention(
    query: Tensor<(D<2>, D<19>, D<8>)>,
    key: Tensor<(D<2>, D<19>, D<8>)>,
    value: Tensor<(D<2>, D<19>, D<8>)>,
) -> Tensor<(D<2>, D<19>, D<8>)> {
    let scores = query.matmul(key.permute(axes![0, 2, 1])) * 8f32.sqrt().recip();
    let place = Tensor::<(D<19>,), i32>::iota();
    let future = (Tensor::<(D<2>, D<19>, D<19>), i32>::zeros() + place)
        .greater((Tensor::<(D<2>, D<19>, D<19>), i32>::zeros() + place).permute(axes![0, 2, 1]));
    let hidden = Tensor::<(D<2>, D<19>, D<19>)>::full(f32::NEG_INFINITY);
    future.select(hidden, scores).softmax(Axis::<2>).matmul(value)
}

/// One query against many keys: the row is streamed.
#[model]
pub fn long_attention(
    query: Tensor<(D<3>, D<4>)>,
    key: Tensor<(D<2500>, D<4>)>,
    value: Tensor<(D<2500>, D<5>)>,
) -> Tensor<(D<3>, D<5>)> {
    query.matmul(key.t()).softmax(Axis::<1>).matmul(value)
}

/// Two convolutions.
#[derive(Module)]
pub struct Cnn {
    first: Conv2d<3, 5, 3, 1, 1>,
    second: Conv2d<5, 6, 3, 2, 0>,
    out: Linear<12, 4>,
}

/// Images of 11 x 7.
#[model]
pub fn cnn(image: Tensor<(D<2>, D<3>, D<11>, D<7>)>, net: &Cnn) -> Tensor<(D<2>, D<4>)> {
    let x: Tensor<(D<2>, D<5>, D<11>, D<7>)> = net.first.forward(image).relu();
    let x: Tensor<(D<2>, D<6>, D<5>, D<3>)> = net.second.forward(x).sigmoid();
    let x: Tensor<(D<2>, D<6>, D<2>, D<1>)> = x.max_pool2d(pool(2));
    net.out.forward(x.reshape::<(D<2>, D<12>)>())
}

/// A running sum and the last input.
#[derive(Module)]
pub struct Memory {
    sum: Tensor<(D<4>,)>,
    last: Tensor<(D<4>,)>,
}

/// What a step returns.
#[derive(Output)]
pub struct Step {
    /// The sum after this step.
    pub sum: Tensor<(D<4>,)>,
    /// The change from the last step.
    pub change: Tensor<(D<4>,)>,
}

/// Adds to a state.
#[model]
pub fn step(x: Tensor<(D<4>,)>, memory: &mut Memory) -> Step {
    let change = x - memory.last;
    memory.sum = memory.sum + x;
    memory.last = x;
    Step { sum: memory.sum, change }
}

/// Tokens to rows, normalised, and the greatest of each row.
#[derive(Module)]
pub struct Words {
    table: Embedding<11, 6>,
    gain: Tensor<(D<6>,)>,
}

/// A free length, two outputs.
#[model]
pub fn words(tokens: Tensor<(Length,), i32>, net: &Words) -> (Tensor<(Length, D<6>)>, Tensor<(Length,)>) {
    let x = net.table.forward(tokens);
    let x = x - x.mean_keep(Axis::<1>);
    let x = x / ((x * x).mean_keep(Axis::<1>) + 1e-5).sqrt() * net.gain;
    (x, x.max(Axis::<1>))
}
