use luminal::{D, Module, Output, Tensor, dim, model};

#[dim]
pub struct Unbounded;

#[dim(min = 4)]
pub struct Misspelt;

#[dim(max = 4)]
pub struct Sized {
    size: usize,
}

#[model]
pub fn generic<const N: usize>(x: Tensor<(D<N>,)>) -> Tensor<(D<N>,)> {
    x
}

#[model]
pub async fn later(x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
    x
}

#[model]
pub fn unnamed((x, _y): (Tensor<(D<2>,)>, Tensor<(D<2>,)>)) -> Tensor<(D<2>,)> {
    x
}

#[model]
pub fn ignored(_: Tensor<(D<2>,)>, x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
    x
}

#[model]
pub struct NoFunction;

#[model(names = "other")]
pub fn misspelt(x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
    x
}

#[model(name = "no-name")]
pub fn badly_named(x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
    x
}

pub struct Holder;

impl Holder {
    #[model]
    pub fn method(&self, x: Tensor<(D<2>,)>) -> Tensor<(D<2>,)> {
        x
    }
}

#[derive(Module)]
pub enum Either {
    One(Tensor<(D<2>,)>),
}

#[derive(Module)]
pub struct Keys {
    #[param(rename = "a")]
    a: Tensor<(D<2>,)>,
}

#[derive(Module)]
pub struct TooMuch {
    #[param(name = "x", tied = "y")]
    a: Tensor<(D<2>,)>,
}

#[derive(Output)]
pub struct Unnamed(Tensor<(D<2>,)>);

#[derive(Output)]
pub struct Generic<const N: usize> {
    x: Tensor<(D<N>,)>,
}

fn main() {}
