//! A second interpreter, which is even simpler: the interpreter of [`crate::reference`] must agree with it on every
//! element of every node.

use super::super::scalar::{max_f32, mod_f32, mod_i32, unary};
use super::super::{Data, Feeds, random_feeds, run_with_limit};
use crate::dtype::Dtype;
use crate::graph::samples::{every_op, random_graph};
use crate::graph::{Binary, Graph, NodeId, Op, Reduce};

/// One element of a node, from elements of its operands: the definition of each operation written with indices. Values
/// are binary64, which holds every f32, i32 and bool exactly.
struct Simple<'a> {
    graph: &'a Graph,
    free: &'a [usize],
    values: Vec<Vec<f64>>,
}

impl Simple<'_> {
    fn at(&self, node: NodeId, index: &[usize]) -> f64 {
        let sizes = self.graph.sizes(node, self.free);
        assert_eq!(sizes.len(), index.len());
        let mut position = 0;
        for (size, index) in sizes.iter().zip(index) {
            assert!(index < size, "index {index} on an axis of {size}");
            position = position * size + index;
        }
        self.values[node][position]
    }

    fn element(&self, node: NodeId, index: &[usize]) -> f64 {
        let dtype = self.graph.nodes[node].dtype;
        let mut moved = index.to_vec();
        match &self.graph.nodes[node].op {
            Op::Input(_) | Op::Param(_) | Op::State(_) => unreachable!("given"),
            Op::Const(value) => *value,
            Op::Iota => index[0] as f64,
            Op::Unary(op, x) => f64::from(unary(*op, self.at(*x, index) as f32)),
            Op::Binary(op, x, y) => {
                let operands = self.graph.nodes[*x].dtype;
                binary_f64(*op, operands, self.at(*x, index), self.at(*y, index))
            }
            Op::Select(condition, x, y) => {
                self.at(if self.at(*condition, index) == 1.0 { *x } else { *y }, index)
            }
            Op::Cast(x) => match dtype {
                Dtype::F32 => f64::from(self.at(*x, index) as f32),
                Dtype::I32 => f64::from(self.at(*x, index) as i32),
                Dtype::Bool => f64::from(u8::from(self.at(*x, index) != 0.0)),
            },
            Op::Reduce(op, x, axis) => {
                let size = self.graph.sizes(*x, self.free)[*axis];
                let elements: Vec<f64> = (0..size)
                    .map(|k| {
                        let mut index = index.to_vec();
                        index.insert(*axis, k);
                        self.at(*x, &index)
                    })
                    .collect();
                reduce_f64(*op, dtype, &elements)
            }
            Op::Gather(table, indices) => {
                let (place, rest) = index.split_at(self.graph.nodes[*indices].shape.len());
                let mut index = vec![self.at(*indices, place) as usize];
                index.extend(rest);
                self.at(*table, &index)
            }
            Op::Permute(x, order) => {
                for (to, from) in order.iter().enumerate() {
                    moved[*from] = index[to];
                }
                self.at(*x, &moved)
            }
            Op::Expand(x, axis) => {
                moved.remove(*axis);
                self.at(*x, &moved)
            }
            Op::Slice { x, axis, start, step } => {
                moved[*axis] = start + index[*axis] * step;
                self.at(*x, &moved)
            }
            Op::Pad { x, axis, before, fill } => {
                let size = self.graph.sizes(*x, self.free)[*axis];
                if index[*axis] < *before || index[*axis] >= before + size {
                    return *fill;
                }
                moved[*axis] -= before;
                self.at(*x, &moved)
            }
            Op::Split(x, axis) => {
                let inner = self.graph.sizes(node, self.free)[axis + 1];
                moved[*axis] = index[*axis] * inner + moved.remove(axis + 1);
                self.at(*x, &moved)
            }
            Op::Merge(x, axis) => {
                let inner = self.graph.sizes(*x, self.free)[axis + 1];
                moved[*axis] = index[*axis] / inner;
                moved.insert(axis + 1, index[*axis] % inner);
                self.at(*x, &moved)
            }
            Op::Window { x, axis, stride, dilation } => {
                moved[*axis] = index[*axis] * stride + moved.remove(axis + 1) * dilation;
                self.at(*x, &moved)
            }
        }
    }
}

fn binary_f64(op: Binary, operands: Dtype, x: f64, y: f64) -> f64 {
    if op == Binary::LessThan {
        return f64::from(u8::from(x < y));
    }
    match operands {
        Dtype::F32 => {
            let (x, y) = (x as f32, y as f32);
            f64::from(match op {
                Binary::Add => x + y,
                Binary::Mul => x * y,
                Binary::Mod => mod_f32(x, y),
                _ => max_f32(x, y),
            })
        }
        Dtype::I32 => {
            let (x, y) = (x as i32, y as i32);
            f64::from(match op {
                Binary::Add => x.wrapping_add(y),
                Binary::Mul => x.wrapping_mul(y),
                Binary::Mod => mod_i32(x, y),
                _ => x.max(y),
            })
        }
        Dtype::Bool => {
            if op == Binary::Mul {
                x * y
            } else {
                x.max(y)
            }
        }
    }
}

fn reduce_f64(op: Reduce, dtype: Dtype, elements: &[f64]) -> f64 {
    match (op, dtype) {
        (Reduce::Sum, Dtype::F32) => f64::from(elements.iter().fold(0.0, |sum, x| sum + x) as f32),
        (Reduce::Sum, _) => f64::from(elements.iter().fold(0i32, |sum, x| sum.wrapping_add(*x as i32))),
        (Reduce::Max, Dtype::F32) if elements.iter().any(|x| x.is_nan()) => f64::NAN,
        (Reduce::Max, Dtype::F32) => elements.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        (Reduce::Max, Dtype::I32) => elements.iter().copied().fold(f64::from(i32::MIN), f64::max),
        (Reduce::Max, Dtype::Bool) => elements.iter().copied().fold(0.0, f64::max),
    }
}

fn as_f64(data: &Data) -> Vec<f64> {
    match data {
        Data::F32(elements) => elements.iter().map(|x| f64::from(*x)).collect(),
        Data::I32(elements) => elements.iter().map(|x| f64::from(*x)).collect(),
        Data::Bool(elements) => elements.iter().map(|x| f64::from(u8::from(*x))).collect(),
    }
}

/// All indices of a shape, in row-major order.
fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut indices = vec![vec![]];
    for size in sizes {
        let longer = |index: &Vec<usize>| {
            let index = index.clone();
            (0..*size).map(move |last| [&index[..], &[last]].concat())
        };
        indices = indices.iter().flat_map(longer).collect();
    }
    indices
}

/// Compares all nodes of a graph with the simple definition, for one limit of stored elements.
fn check(graph: &Graph, feeds: &Feeds, free: &[usize], limit: usize) -> usize {
    let evaluation =
        run_with_limit(graph, feeds, free, limit).unwrap_or_else(|error| panic!("{error}\n{graph}"));
    let mut simple = Simple { graph, free, values: vec![] };
    for (id, node) in graph.nodes.iter().enumerate() {
        let expected: Vec<f64> = match &node.op {
            Op::Input(name) | Op::Param(name) | Op::State(name) => as_f64(&feeds[name].data),
            _ => indices(&graph.sizes(id, free)).iter().map(|index| simple.element(id, index)).collect(),
        };
        let value = as_f64(&evaluation.value(id).unwrap().data);
        assert_eq!(value.len(), expected.len());
        for (position, (x, y)) in value.iter().zip(&expected).enumerate() {
            let same = x == y || (x.is_nan() && y.is_nan());
            assert!(same, "node %{id} = {node}, element {position}: {x} is not {y}\n{graph}");
        }
        simple.values.push(expected);
    }
    graph.nodes.len()
}

#[test]
fn random_graphs_agree_with_the_simple_definition() {
    let mut checked = 0;
    for seed in 0..400 {
        let graph = random_graph(seed, 30);
        let free = [(seed % 4) as usize];
        let feeds = random_feeds(&graph, &free, seed);
        // With nothing stored that need not be, and with everything stored.
        let feeds = feeds.unwrap_or_else(|error| panic!("{error}\n{graph}"));
        checked += check(&graph, &feeds, &free, 0);
        check(&graph, &feeds, &free, usize::MAX);
    }
    assert!(checked > 10_000, "{checked} nodes");
}

#[test]
fn every_op_agrees_with_the_simple_definition() {
    let graph = every_op();
    for (seed, free) in [[4, 6], [3, 5], [1, 2], [0, 2]].into_iter().enumerate() {
        let feeds = random_feeds(&graph, &free, seed as u64).unwrap();
        check(&graph, &feeds, &free, 0);
        check(&graph, &feeds, &free, usize::MAX);
    }
}
