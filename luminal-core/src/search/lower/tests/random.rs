//! Random graphs: what the search finds, with fusion and without, run by definition and as tile programs.

use super::*;
use crate::kernel::interpret::{self, from_storage, to_storage};
use crate::kernel::meaning::Scalar;
use crate::kernel::schedule::{self, Machine};
use crate::kernel::tile::Program as Tiles;
use crate::reference::compare;
use crate::search::Found;
use crate::search::term::{Buffers, Precision};
use crate::search::testing::Random;
use crate::search::testing::random::{self, Sample, Step};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;

/// Numbers as a tensor of this type.
fn dense(dtype: Dtype, shape: &[usize], numbers: &[f64]) -> Tensor {
    let scalar = |x: f64| match dtype {
        Dtype::F32 | Dtype::F16 | Dtype::BF16 => Scalar::Float(x),
        Dtype::I32 | Dtype::U8 => Scalar::Int(x as i32),
        Dtype::I64 => Scalar::Long(x as i64),
        Dtype::Bool => Scalar::Bool(x != 0.0),
    };
    let mut elements = Elements::zeros(dtype, numbers.len());
    numbers.iter().enumerate().for_each(|(place, x)| elements.set(place, scalar(*x)));
    Tensor { shape: shape.to_vec(), data: Data::from_bytes(dtype, &elements.to_bytes(dtype)) }
}

/// The plan by definition, folds cut and merged anywhere.
fn executed(graph: &Graph, found: &Found, given: &Buffers, free: &[usize]) -> Vec<Tensor> {
    let out = found.execute(graph, given.clone(), free, Precision::Single).unwrap();
    let written = graph.writes.iter().map(|(_, value)| *value);
    let wanted = graph.outputs.iter().map(|(_, node)| *node).chain(written);
    wanted.map(|node| dense(graph.nodes[node].dtype, &graph.sizes(node, free), &out[&node].1)).collect()
}

/// The plan as tile programs, by the interpreter.
fn tiled(graph: &Graph, program: &Program, feeds: &Feeds, free: &[usize]) -> Vec<Tensor> {
    let machine = Machine::x86_64_v3();
    run_with(graph, program, feeds, free, &mut |lowered, args| {
        let (_, tiles, _) = schedule::best("random", &lowered.kernel, &machine).unwrap();
        let Tiles { kernel, .. } = &tiles;
        let buffers = || kernel.buffers[..kernel.args].iter();
        let mut memory: Vec<Elements> = buffers().zip(args).map(|(b, x)| to_storage(b, x)).collect();
        interpret::run(&tiles, &mut memory, free, 0..tiles.blocks(free)).unwrap();
        buffers().zip(&memory).map(|(b, x)| from_storage(b, x)).collect()
    })
}

fn agree(Sample { graph, errors }: &Sample, seed: u64) {
    graph.verify().unwrap_or_else(|e| panic!("{e}\n{graph}"));
    for free in [[3, 2], [5, 4], [1, 1]] {
        let mut source = Random(seed | 1);
        let (mut feeds, mut given) = (Feeds::new(), Buffers::new());
        for (id, node) in graph.nodes.iter().enumerate() {
            let (Op::Input(name) | Op::Param(name) | Op::State(name)) = &node.op else { continue };
            let shape = graph.sizes(id, &free);
            let numbers: Vec<f64> =
                (0..shape.iter().product()).map(|_| random::element(node.dtype, &mut source)).collect();
            feeds.insert(name.clone(), dense(node.dtype, &shape, &numbers));
            given.insert(id, (shape, numbers));
        }
        let right = reference::run(graph, &feeds, &free).unwrap();
        let states = graph.writes.iter().map(|(state, _)| match &graph.nodes[*state].op {
            Op::State(name) => right.states[name].clone(),
            op => panic!("a state is written, not {op:?}"),
        });
        let right: Vec<Tensor> = right.outputs.iter().cloned().chain(states).collect();
        for fuse in [true, false] {
            let found = search(graph, &SearchOptions { fuse, ..Default::default() }).unwrap();
            let mut ways = vec![("executed", executed(graph, &found, &given, &free))];
            if free == [3, 2] {
                let program = lower(graph, &found, &Options::default()).unwrap();
                ways.push(("as tile programs", tiled(graph, &program, &feeds, &free)));
            }
            for (way, results) in ways {
                assert_eq!(results.len(), right.len());
                for (number, (right, result)) in right.iter().zip(&results).enumerate() {
                    let absolute = (4.0 * errors[number]) as f32;
                    compare(right, result, Tolerance { absolute, relative: 0.0 }).unwrap_or_else(|e| {
                        panic!("fuse = {fuse}, {way}, value {number}, sizes {free:?}: {e}\n{graph}\n{found}")
                    });
                }
            }
        }
    }
}

#[test]
fn a_hundred_random_graphs_agree_with_the_reference() {
    // Always the same graphs; where one fails, proptest looks for a smaller one.
    let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let recipes = (vec(any::<Step>(), 20..160), vec(any::<u16>(), 1..4), any::<u64>());
    let (operations, fused) = (Cell::new(0), Cell::new(0));
    TestRunner::new_with_rng(config, random)
        .run(&recipes, |(recipe, outputs, seed)| {
            let sample = random::sample(&recipe, &outputs);
            operations.set(operations.get() + sample.graph.nodes.len() - 12);
            let kernels = |fuse| {
                let found = search(&sample.graph, &SearchOptions { fuse, ..Default::default() }).unwrap();
                found.kernels.len()
            };
            fused.set(fused.get() + usize::from(kernels(true) < kernels(false)));
            agree(&sample, seed);
            Ok(())
        })
        .unwrap();
    assert!(operations.get() > 2500, "only {} operations in all", operations.get());
    assert!(fused.get() > 75, "only {} graphs have fewer kernels than operations", fused.get());
}
