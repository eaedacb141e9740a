//! What tracing records, computed by the reference interpreter and compared with values worked out by hand or by loops.

mod dtypes;
mod images;
mod mistakes;
mod modules;
mod movement;
mod numbers;
mod products;
mod views;

use super::trace;
use crate::error::Result;
use crate::graph::Graph;
use crate::reference::{self, Data, Feeds, Tensor, Tolerance, compare};

/// Three free dimensions for models.
macro_rules! free_dim {
    ($name:ident, $max:literal) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name;
        impl crate::tensor::Dim for $name {
            const INFO: crate::tensor::DimInfo =
                crate::tensor::DimInfo::Free { name: stringify!($name), module: module_path!(), max: $max };
        }
        impl crate::tensor::Fits<$name> for $name {}
        impl crate::tensor::Fits<crate::tensor::One> for $name {}
    };
}
use free_dim;

/// The graph of a model without mistakes.
fn graph(model: impl FnOnce()) -> Graph {
    let traced = trace(model);
    assert_eq!(traced.mistakes, [], "mistakes");
    traced.graph.verify().unwrap();
    traced.graph
}

/// The mistakes of a model, without places; its graph must be well formed all the same.
fn mistakes(model: impl FnOnce()) -> Vec<String> {
    let traced = trace(model);
    traced.graph.verify().unwrap();
    traced.mistakes.into_iter().map(|mistake| mistake.message).collect()
}

fn tensor(shape: &[usize], data: impl Into<Data>) -> Tensor {
    Tensor::new(shape, data).unwrap()
}

/// `0, 1, 2, ..` as floats: every element can be told from every other.
fn counting(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    tensor(shape, (0..count).map(|i| i as f32).collect::<Vec<_>>())
}

/// Floats without symmetry, of both signs.
fn mixed(shape: &[usize], seed: u64) -> Tensor {
    let mut random = reference::SplitMix64::new(seed);
    let count: usize = shape.iter().product();
    tensor(shape, (0..count).map(|_| random.unit() as f32 * 4.0 - 2.0).collect::<Vec<_>>())
}

fn floats(tensor: &Tensor) -> &[f32] {
    tensor.data.as_f32().unwrap()
}

/// Outputs of a model with these inputs, weights and states.
fn run(model: impl FnOnce(), feeds: &[(&str, &Tensor)]) -> Vec<Tensor> {
    run_free(model, feeds, &[])
}

fn run_free(model: impl FnOnce(), feeds: &[(&str, &Tensor)], free: &[usize]) -> Vec<Tensor> {
    let graph = graph(model);
    let feeds: Feeds = feeds.iter().map(|(name, tensor)| (name.to_string(), (*tensor).clone())).collect();
    reference::run(&graph, &feeds, free).unwrap().outputs
}

#[track_caller]
fn assert_close(expected: &Tensor, actual: &Tensor, relative: f32) {
    let result: Result<()> = compare(expected, actual, Tolerance { absolute: relative, relative });
    result.unwrap();
}
