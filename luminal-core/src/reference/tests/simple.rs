//! A second interpreter, which is even simpler: the interpreter of [`crate::reference`] must agree with it on every
//! element of every node.

use super::super::scalar::{max_f32, mod_f32, unary};
use super::super::{Data, Feeds, random_feeds, run_with_limit};
use crate::dtype::{Dtype, nearest_bf16, nearest_f16};
use crate::graph::samples::{every_op, random_graph};
use crate::graph::{Binary, Graph, NodeId, Op, Reduce};

/// A value of any type.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// Binary64 holds every float exactly.
    Float(f64),
    /// All integers, and truth values.
    Int(i64),
}
use Value::{Float, Int};

impl Value {
    fn new(value: f64, dtype: Dtype) -> Value {
        if dtype.is_float() { Float(value) } else { Int(value as i64) }
    }

    fn int(self) -> i64 {
        if let Int(x) = self { x } else { panic!("{self:?} is not an integer") }
    }

    fn is(self, other: Value) -> bool {
        match (self, other) {
            (Float(x), Float(y)) => x == y || x.is_nan() && y.is_nan(),
            (Int(x), Int(y)) => x == y,
            _ => false,
        }
    }
}

/// One element of a node, from elements of its operands: the definition of each operation written with indices.
struct Simple<'a> {
    graph: &'a Graph,
    free: &'a [usize],
    values: Vec<Vec<Value>>,
}

impl Simple<'_> {
    fn at(&self, node: NodeId, index: &[usize]) -> Value {
        let sizes = self.graph.sizes(node, self.free);
        assert_eq!(sizes.len(), index.len());
        let mut position = 0;
        for (size, index) in sizes.iter().zip(index) {
            assert!(index < size, "index {index} on an axis of {size}");
            position = position * size + index;
        }
        self.values[node][position]
    }

    fn element(&self, node: NodeId, index: &[usize]) -> Value {
        let dtype = self.graph.nodes[node].dtype;
        let mut moved = index.to_vec();
        match &self.graph.nodes[node].op {
            Op::Input(_) | Op::Param(_) | Op::State(_) => unreachable!("given"),
            Op::Const(value) => Value::new(*value, dtype),
            Op::Iota => Int(index[0] as i64),
            Op::Unary(op, x) => match self.at(*x, index) {
                Float(x) => Float(f64::from(unary(*op, x as f32))),
                Int(_) => unreachable!("function of an integer"),
            },
            Op::Binary(op, x, y) => {
                let operands = self.graph.nodes[*x].dtype;
                binary(*op, operands, self.at(*x, index), self.at(*y, index))
            }
            Op::Select(condition, x, y) => {
                self.at(if self.at(*condition, index).int() == 1 { *x } else { *y }, index)
            }
            Op::Cast(x) => cast(self.at(*x, index), dtype),
            Op::Reduce(op, x, axis) => {
                let size = self.graph.sizes(*x, self.free)[*axis];
                let elements: Vec<Value> = (0..size)
                    .map(|k| {
                        let mut index = index.to_vec();
                        index.insert(*axis, k);
                        self.at(*x, &index)
                    })
                    .collect();
                reduce(*op, dtype, &elements)
            }
            Op::Gather(table, indices) => {
                let (place, rest) = index.split_at(self.graph.nodes[*indices].shape.len());
                let mut index = vec![self.at(*indices, place).int() as usize];
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
                    return Value::new(*fill, dtype);
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

/// The integer within the bits of its type.
fn wrap(x: i128, dtype: Dtype) -> Value {
    Int(match dtype {
        Dtype::I32 => (x as i32).into(),
        Dtype::U8 => (x as u8).into(),
        _ => x as i64,
    })
}

fn binary(op: Binary, operands: Dtype, x: Value, y: Value) -> Value {
    match (x, y) {
        (Float(x), Float(y)) => {
            let (x, y) = (x as f32, y as f32);
            Float(f64::from(match op {
                Binary::LessThan => return Int((x < y).into()),
                Binary::Add => x + y,
                Binary::Mul => x * y,
                Binary::Mod => mod_f32(x, y),
                Binary::Max => max_f32(x, y),
            }))
        }
        (Int(x), Int(y)) => {
            let (x, y) = (i128::from(x), i128::from(y));
            let result = match op {
                Binary::LessThan => return Int((x < y).into()),
                Binary::Add => x + y,
                Binary::Mul => x * y,
                // The Euclidean remainder is never negative.
                Binary::Mod if y == 0 => 0,
                Binary::Mod if y > 0 => x.rem_euclid(y),
                Binary::Mod => -(-x).rem_euclid(-y),
                Binary::Max => x.max(y),
            };
            wrap(result, operands)
        }
        _ => unreachable!("{x:?} and {y:?}"),
    }
}

fn cast(x: Value, to: Dtype) -> Value {
    let float = match x {
        Float(x) => x,
        Int(x) => f64::from(x as f32),
    };
    match to {
        Dtype::F32 => Float(f64::from(float as f32)),
        Dtype::F16 => Float(nearest_f16(float).to_f64()),
        Dtype::BF16 => Float(nearest_bf16(float).to_f64()),
        Dtype::Bool => Int((float != 0.0).into()),
        Dtype::I32 | Dtype::I64 | Dtype::U8 => match x {
            Int(x) => wrap(x.into(), to),
            Float(x) if to == Dtype::I32 => Int((x as i32).into()),
            Float(x) if to == Dtype::U8 => Int((x as u8).into()),
            Float(x) => Int(x as i64),
        },
    }
}

fn reduce(op: Reduce, dtype: Dtype, elements: &[Value]) -> Value {
    let least = match dtype {
        Dtype::F32 => Float(f64::NEG_INFINITY),
        Dtype::I32 => Int(i32::MIN.into()),
        Dtype::I64 => Int(i64::MIN),
        _ => Int(0),
    };
    match (op, dtype) {
        (Reduce::Max, _) => {
            elements.iter().fold(least, |greatest, x| binary(Binary::Max, dtype, greatest, *x))
        }
        (Reduce::Sum, Dtype::F32) => {
            let float = |x: &Value| if let Float(x) = x { *x } else { panic!("{x:?} is not a float") };
            Float(f64::from(elements.iter().map(float).fold(0.0, |sum, x| sum + x) as f32))
        }
        (Reduce::Sum, _) => elements.iter().fold(Int(0), |sum, x| binary(Binary::Add, dtype, sum, *x)),
    }
}

fn values(data: &Data) -> Vec<Value> {
    match data {
        Data::F32(elements) => elements.iter().map(|x| Float(f64::from(*x))).collect(),
        Data::F16(elements) => elements.iter().map(|x| Float(x.to_f64())).collect(),
        Data::BF16(elements) => elements.iter().map(|x| Float(x.to_f64())).collect(),
        Data::I32(elements) => elements.iter().map(|x| Int((*x).into())).collect(),
        Data::I64(elements) => elements.iter().map(|x| Int(*x)).collect(),
        Data::U8(elements) => elements.iter().map(|x| Int((*x).into())).collect(),
        Data::Bool(elements) => elements.iter().map(|x| Int((*x).into())).collect(),
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
        let expected: Vec<Value> = match &node.op {
            Op::Input(name) | Op::Param(name) | Op::State(name) => values(&feeds[name].data),
            _ => indices(&graph.sizes(id, free)).iter().map(|index| simple.element(id, index)).collect(),
        };
        let value = values(&evaluation.value(id).unwrap().data);
        assert_eq!(value.len(), expected.len());
        for (position, (x, y)) in value.iter().zip(&expected).enumerate() {
            assert!(x.is(*y), "node %{id} = {node}, element {position}: {x:?} is not {y:?}\n{graph}");
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
