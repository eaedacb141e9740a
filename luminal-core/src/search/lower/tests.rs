//! Kernels as the lowering leaves them, run by definition, against the reference interpreter of the graph.

mod attention;
mod random;

use super::*;
use crate::dtype::Dtype;
use crate::graph::{Dim, samples};
use crate::kernel::ir::{Item, Space};
use crate::kernel::meaning::{self, Rounding, Values as Elements};
use crate::reference::{self, Data, Feeds, Tensor, Tolerance, compare};
use crate::search::testing::{build, cases, models};
use crate::search::{Options as SearchOptions, search};

/// The elements of a tensor, at the positions that they have in memory for sizes at their bounds.
fn elements(tensor: &Tensor, bounds: &[usize]) -> Elements {
    let dtype = tensor.dtype();
    let mut all = Elements::zeros(dtype, bounds.iter().product());
    let given = Elements::from_bytes(dtype, &tensor.data.to_bytes());
    each(&tensor.shape, |number, position| {
        let place = position.iter().zip(bounds).fold(0, |place, (at, size)| place * size + at);
        all.set(place, given.get(number));
    });
    all
}

fn tensor(elements: &Elements, dtype: Dtype, shape: &[usize], bounds: &[usize]) -> Tensor {
    let mut picked = Elements::zeros(dtype, shape.iter().product());
    each(shape, |number, position| {
        let place = position.iter().zip(bounds).fold(0, |place, (at, size)| place * size + at);
        picked.set(number, elements.get(place));
    });
    Tensor { shape: shape.to_vec(), data: Data::from_bytes(dtype, &picked.to_bytes(dtype)) }
}

fn each(shape: &[usize], mut visit: impl FnMut(usize, &[usize])) {
    let count: usize = shape.iter().product();
    for number in 0..count {
        let mut position = vec![0; shape.len()];
        let mut left = number;
        for (at, size) in position.iter_mut().zip(shape).rev() {
            *at = left % size;
            left /= size;
        }
        visit(number, &position);
    }
}

/// Runs the kernels of a program in order by definition; gives outputs and what states become.
fn run(graph: &Graph, program: &Program, feeds: &Feeds, free: &[usize], block: usize) -> Vec<Tensor> {
    run_with(graph, program, feeds, free, &mut |lowered, args| {
        meaning::run_blocks(&lowered.kernel, args, free, Rounding::F32, block).unwrap()
    })
}

/// As [`run`], each kernel by a function of its arguments.
fn run_with(
    graph: &Graph,
    program: &Program,
    feeds: &Feeds,
    free: &[usize],
    kernel: &mut dyn FnMut(&Lowered, &[Elements]) -> Vec<Elements>,
) -> Vec<Tensor> {
    let bounds = |value: &Value| value.shape.iter().map(|&d| d.max()).collect::<Vec<_>>();
    let mut memory: Vec<Elements> = (program.values.list.iter())
        .map(|value| match value.source {
            Source::Given(node) => {
                let (Op::Input(name) | Op::Param(name) | Op::State(name)) = &graph.nodes[node].op else {
                    panic!("a given tensor has a name")
                };
                elements(&feeds[name], &bounds(value))
            }
            _ => Elements::zeros(value.dtype, bounds(value).iter().product()),
        })
        .collect();
    for lowered in &program.kernels {
        let args: Vec<Elements> = lowered.args.iter().map(|value| memory[*value].clone()).collect();
        let after = kernel(lowered, &args);
        for ((value, writes), elements) in lowered.args.iter().zip(&lowered.writes).zip(after) {
            if *writes {
                memory[*value] = elements;
            }
        }
    }
    let written = program.writes.iter().map(|(_, value)| *value);
    (program.outputs.iter().copied().chain(written))
        .map(|value| {
            let known = &program.values.list[value];
            let shape: Vec<usize> = known.shape.iter().map(|d| d.size(free)).collect();
            tensor(&memory[value], known.dtype, &shape, &bounds(known))
        })
        .collect()
}

fn check(name: &str, graph: &Graph, fuse: bool, stream_over: usize, block: usize) {
    let found = search(graph, &SearchOptions { fuse, ..Default::default() }).unwrap();
    let program = match lower(graph, &found, &Options { stream_over }) {
        Ok(program) => program,
        Err(error) => panic!("{name}: {error}\n{found}"),
    };
    for free in [graph.free.iter().map(|d| d.max).collect(), vec![3; graph.free.len()]] {
        let free: Vec<usize> = free;
        if graph.check_sizes(&free).is_err() {
            continue;
        }
        let feeds = reference::random_feeds(graph, &free, 5).unwrap();
        let expected = reference::run(graph, &feeds, &free).unwrap();
        let computed = run(graph, &program, &feeds, &free, block);
        let states = graph.writes.iter().map(|(state, _)| match &graph.nodes[*state].op {
            Op::State(name) => expected.states[name].clone(),
            op => panic!("a state is written, not {op:?}"),
        });
        let wanted: Vec<Tensor> = expected.outputs.iter().cloned().chain(states).collect();
        assert_eq!(wanted.len(), computed.len());
        for (number, (wanted, computed)) in wanted.iter().zip(&computed).enumerate() {
            let tolerance = Tolerance { absolute: 1e-4, relative: 1e-4 };
            if let Err(error) = compare(wanted, computed, tolerance) {
                let kernels: Vec<String> = program.kernels.iter().map(|k| k.kernel.to_string()).collect();
                panic!(
                    "{name}, fuse = {fuse}, stream over {stream_over}, value {number}, free {free:?}: {error}\n{graph}\n\
                     {found}\n{}",
                    kernels.join("\n\n")
                );
            }
        }
    }
}

fn corpus() -> Vec<(String, Graph)> {
    let all = models::small().into_iter().map(|(name, graph)| (name.to_string(), graph));
    all.chain(cases::folds()).chain(cases::traps()).chain(cases::separate()).chain(cases::views()).collect()
}

#[test]
fn fused_kernels_have_the_values_of_the_graph() {
    for (name, graph) in corpus() {
        check(&name, &graph, true, usize::MAX, usize::MAX);
    }
}

#[test]
fn one_kernel_for_each_operation_has_the_values_of_the_graph() {
    for (name, graph) in corpus() {
        check(&name, &graph, false, usize::MAX, usize::MAX);
    }
}

/// Rows of any length, in blocks of one, two and three positions: the running values are repaired at each.
#[test]
fn streamed_folds_have_the_values_of_the_graph() {
    let mut folds = 0;
    for (name, graph) in corpus() {
        for block in 1..=3 {
            check(&name, &graph, true, 0, block);
        }
        let found = search(&graph, &SearchOptions::default()).unwrap();
        let program = lower(&graph, &found, &Options { stream_over: 0 }).unwrap();
        let streams = |k: &&Lowered| k.kernel.items.iter().any(|item| matches!(item, Item::Fold { .. }));
        folds += program.kernels.iter().filter(streams).count();
    }
    assert!(folds >= 10, "only {folds} kernels stream: the test has lost its object");
}

/// A streamed kernel has no private value with the whole of the streamed axis and another axis that is streamed too.
#[test]
fn a_streamed_attention_is_one_kernel() {
    let graph = cases::attention(cases::Attention::Causal, true);
    let found = search(&graph, &SearchOptions::default()).unwrap();
    let program = lower(&graph, &found, &Options { stream_over: 0 }).unwrap();
    assert_eq!(program.kernels.len(), 1, "{found}");
    let kernel = &program.kernels[0].kernel;
    assert!(kernel.items.iter().any(|item| matches!(item, Item::Fold { .. })), "{kernel}");
}

#[test]
fn random_graphs_have_their_values() {
    let mut compiled = 0;
    for seed in 0..150 {
        let graph = samples::random_graph(seed, 25);
        if graph.verify().is_err() {
            continue;
        }
        let Ok(found) = search(&graph, &SearchOptions::default()) else { continue };
        if lower(&graph, &found, &Options::default()).is_err() {
            continue; // an error, not a panic: what it says is tested elsewhere
        }
        compiled += 1;
        check(&format!("random {seed}"), &graph, true, usize::MAX, usize::MAX);
        check(&format!("random {seed}"), &graph, false, usize::MAX, usize::MAX);
    }
    assert!(compiled > 75, "only {compiled} of 150 random graphs compile");
}

/// Outputs that are inputs, weights, constants, or returned twice, and states written with values read elsewhere.
#[test]
fn borders_of_the_model_are_tensors_of_their_own() {
    let mut graph = Graph::default();
    let shape = [Dim::Fixed(2), Dim::Fixed(3)];
    let x = graph.input("x", &shape, Dtype::F32);
    let w = graph.param("w", &shape, Dtype::F32);
    let first = graph.state("first", &shape, Dtype::F32);
    let second = graph.state("second", &shape, Dtype::F32);
    let sum = graph.binary(crate::graph::Binary::Add, x, w);
    let turned = graph.permute(x, &[1, 0]);
    let folded = graph.binary(crate::graph::Binary::Mul, w, w);
    let one = graph.constant(1.0, Dtype::F32);
    for (name, node) in [
        ("x", x),
        ("w", w),
        ("sum", sum),
        ("again", sum),
        ("turned", turned),
        ("folded", folded),
        ("one", one),
    ] {
        graph.outputs.push((name.into(), node));
    }
    graph.writes = vec![(first, second), (second, first)];
    graph.verify().unwrap();
    check("borders", &graph, true, usize::MAX, usize::MAX);
    let found = search(&graph, &SearchOptions::default()).unwrap();
    let program = lower(&graph, &found, &Options::default()).unwrap();
    let own: std::collections::BTreeSet<ValueId> = program.outputs.iter().copied().collect();
    assert_eq!(own.len(), graph.outputs.len(), "two outputs share a tensor");
}

/// A conv's padding is guarded loads, not selections; its epilogue runs on the reduced value.
#[test]
fn padding_becomes_guards_and_what_follows_a_sum_its_epilogue() {
    let mut g = Graph::default();
    let x = g.input("x", &[Dim::Fixed(3), Dim::Fixed(7), Dim::Fixed(7)], Dtype::F32);
    let y = build::conv3(&mut g, x, "conv", 4, 1);
    let y = build::channel_bias(&mut g, y, "bias");
    let y = build::relu(&mut g, y);
    let graph = build::output(g, y);
    let found = search(&graph, &SearchOptions::default()).unwrap();
    let program = lower(&graph, &found, &Options::default()).unwrap();
    let first = &program.kernels[0].kernel;
    let text = first.to_string();
    assert_eq!(first.defs().count(), 1, "{text}");
    assert!(text.contains(" if 0 <= ") && !text.contains("select"), "{text}");
    assert!(first.defs().all(|def| def.epilogue.is_some()), "{text}");
    assert!(first.buffers.iter().all(|buffer| buffer.space == Space::Global), "{text}");
}
