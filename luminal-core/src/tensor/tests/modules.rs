//! Names of weights, state and outputs, origins of nodes.

use super::*;
use crate::graph::{NodeId, Op};
use crate::tensor::nn::Linear;
use crate::tensor::{
    Axis, D, Module, One, Scope, Tensor as T, before, input, output, state_scope, weights, weights_scope,
    write_back,
};

struct Block {
    up: Linear<4, 4>,
    scale: Option<T<(D<4>,)>>,
}

impl Module for Block {
    fn build(scope: &Scope) -> Self {
        Block { up: Module::build(&scope.field("up", "fc")), scale: None }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.up.visit(f);
        self.scale.visit(f);
    }
}

fn name_of(op: &Op) -> Option<&str> {
    match op {
        Op::Param(name) | Op::State(name) => Some(name),
        _ => None,
    }
}

fn names(graph: &Graph) -> Vec<&str> {
    graph.nodes.iter().filter_map(|node| name_of(&node.op)).collect()
}

#[test]
fn a_struct_that_is_an_argument_adds_no_prefix() {
    let graph = graph(|| {
        let _: Block = weights("net");
        let _: T<(D<2>,)> = weights("table");
        let _: [Linear<2, 2, f32, false>; 2] = weights("layers");
        output(&T::<()>::full(0.0));
    });
    assert_eq!(names(&graph), ["fc.weight", "fc.bias", "table", "layers.0.weight", "layers.1.weight"]);
}

#[test]
fn two_parameters_of_one_name_are_a_mistake() {
    let found = mistakes(|| {
        let _: Linear<2, 2> = weights("first");
        let _: Linear<2, 2, f32, false> = weights("second");
        output(&T::<()>::full(0.0));
    });
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("parameter: `first.weight` and `second.weight` both have the name `weight`"),
        "{found:?}"
    );
}

#[test]
fn tied_parameters_are_one() {
    let traced = graph(|| {
        let scope = weights_scope("net");
        // In any order.
        let head: T<(D<5>, D<2>)> = Module::build(&scope.tied("head", "embed"));
        let embed: T<(D<5>, D<2>)> = Module::build(&scope.field("embed", "embed"));
        output(&(head.sum(Axis::<0>), embed.sum(Axis::<0>)));
    });
    assert_eq!(names(&traced), ["embed"]);
    let found = mistakes(|| {
        let scope = weights_scope("net");
        let _: T<(D<5>, D<2>)> = Module::build(&scope.field("embed", "embed"));
        let _: T<(D<2>, D<5>)> = Module::build(&scope.tied("head", "embed"));
        let _: T<(D<2>, D<5>)> = Module::build(&scope.tied("other", "embedding"));
        output(&T::<()>::full(0.0));
    });
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("`net.embed` and `net.head` are tied to the one tensor `embed`"), "{found:?}");
    assert!(found[1].starts_with("`net.other` is tied to `embedding`, which no field declares"), "{found:?}");
}

#[test]
fn changed_state_is_written() {
    let graph = graph(|| {
        let mut state: [T<(D<2>, One)>; 3] = Module::build(&state_scope("cache"));
        let old = before(&state);
        state.swap(0, 1);
        write_back("cache", &state, old);
        output(&state[2]);
    });
    assert_eq!(names(&graph), ["cache.0", "cache.1", "cache.2"]);
    let written: Vec<_> =
        graph.writes.iter().filter_map(|(slot, _)| name_of(&graph.nodes[*slot].op)).collect();
    assert_eq!(written, ["cache.0", "cache.1"]);
    let mut feeds = Feeds::new();
    for (i, values) in [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]].iter().enumerate() {
        feeds.insert(format!("cache.{i}"), tensor(&[2, 1], values.to_vec()));
    }
    let states = reference::run(&graph, &feeds, &[]).unwrap().states;
    assert_eq!((&states["cache.0"], &states["cache.1"]), (&feeds["cache.1"], &feeds["cache.0"]));
}

#[test]
fn a_state_keeps_its_tensors() {
    let found = mistakes(|| {
        let mut state: Option<T<(D<2>,)>> = Module::build(&state_scope("cache"));
        let old = before(&state);
        output(&state.take().unwrap());
        write_back("cache", &state, old);
    });
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("`cache` had 1 tensors before the model and has 0 after it"), "{found:?}");
}

#[test]
fn outputs_are_named_by_their_place() {
    let one = graph(|| output(&T::<()>::full(0.0)));
    assert_eq!(one.outputs[0].0, "output");
    let many = graph(|| output(&(T::<()>::full(0.0), (T::<()>::full(1.0), T::<(One,)>::full(2.0)))));
    let names: Vec<_> = many.outputs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["0", "1.0", "1.1"]);
}

#[test]
fn the_outermost_operation_names_all_its_nodes() {
    let line = line!() + 4;
    let graph = graph(|| {
        let layer: Linear<4, 4> = weights("layer");
        let x: T<(D<4>,)> = input("x");
        let y = layer.forward(x);
        output(&y.softmax(Axis::<0>));
    });
    let origins: Vec<_> = graph.nodes.iter().map(|node| node.origin.as_ref().unwrap()).collect();
    let mut ops: Vec<_> = origins.iter().map(|origin| origin.op.as_ref()).collect();
    ops.dedup();
    assert_eq!(ops, ["parameter", "input", "linear", "softmax"]);
    assert!(origins.iter().all(|origin| origin.file == file!()));
    let lines: Vec<_> =
        origins.iter().filter(|origin| origin.op == "linear").map(|origin| origin.line).collect();
    assert!(lines.iter().all(|found| *found == line), "{lines:?}");
    let lines: Vec<_> =
        origins.iter().filter(|origin| origin.op == "softmax").map(|origin| origin.line).collect();
    assert!(lines.iter().all(|found| *found == line + 1), "{lines:?}");
}
