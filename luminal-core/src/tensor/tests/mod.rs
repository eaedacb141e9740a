//! What tracing records, computed by the reference interpreter and compared with values worked out by hand or by loops.

mod accuracy;
mod attention;
mod cache;
mod compositions;
mod dtypes;
mod einsum;
mod elements;
mod free_sizes;
mod grids;
mod images;
mod layers;
mod mistakes;
mod modules;
mod movement;
mod numbers;
mod pools;
mod products;
mod reductions;
mod resizes;
mod transposed;
mod views;
mod window_mistakes;

use super::trace;
use crate::error::Result;
use crate::graph::{Dim, Graph, NodeId};
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

/// The result of a composition of graphs for these inputs.
fn compose<const N: usize>(
    inputs: [&Tensor; N],
    work: impl FnOnce(&mut Graph, [NodeId; N]) -> NodeId,
) -> Tensor {
    let mut graph = Graph::default();
    let mut feeds = Feeds::new();
    let mut number = 0;
    let nodes = inputs.map(|tensor| {
        let name = format!("x{number}");
        number += 1;
        let shape: Vec<Dim> = tensor.shape.iter().map(|size| Dim::Fixed(*size)).collect();
        feeds.insert(name.clone(), tensor.clone());
        graph.input(&name, &shape, tensor.dtype())
    });
    let result = work(&mut graph, nodes);
    graph.outputs.push(("result".into(), result));
    graph.verify().unwrap();
    reference::run(&graph, &feeds, &[]).unwrap().outputs.remove(0)
}

/// What a composition on graphs makes of a tensor, beneath the types.
fn apply(function: impl FnOnce(&mut Graph, NodeId) -> NodeId, x: &Tensor) -> Tensor {
    apply_two(|graph, x, _| function(graph, x), x, x)
}

/// As [`apply`], of two operands.
fn apply_two(function: impl FnOnce(&mut Graph, NodeId, NodeId) -> NodeId, x: &Tensor, y: &Tensor) -> Tensor {
    let mut graph = Graph::default();
    let nodes = [("x", x), ("y", y)].map(|(name, tensor)| {
        let shape: Vec<_> = tensor.shape.iter().map(|size| Dim::Fixed(*size)).collect();
        graph.input(name, &shape, tensor.dtype())
    });
    let result = function(&mut graph, nodes[0], nodes[1]);
    graph.outputs.push(("output".into(), result));
    graph.verify().unwrap();
    let feeds = Feeds::from([("x".into(), x.clone()), ("y".into(), y.clone())]);
    reference::run(&graph, &feeds, &[]).unwrap().outputs.remove(0)
}

#[track_caller]
fn assert_close(expected: &Tensor, actual: &Tensor, relative: f32) {
    let result: Result<()> = compare(expected, actual, Tolerance { absolute: relative, relative });
    result.unwrap();
}
