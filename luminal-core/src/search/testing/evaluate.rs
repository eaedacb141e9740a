//! Direct evaluation of a graph in `f64`, random inputs, and comparison.

use super::Random;
use crate::dtype::Dtype;
use crate::graph::{Binary, Graph, NodeId, Op, Reduce, Unary};
use crate::search::term::{Buffers, Dag, Evaluator, Precision, convert, positions};
use std::collections::BTreeMap;

/// Values of inputs, weights and states by name.
pub type Inputs = BTreeMap<String, Vec<f64>>;

/// Random values, in the ranges that the test graphs want by name.
pub fn random_inputs(g: &Graph, free: &[usize], random: &mut Random) -> Inputs {
    let mut inputs = Inputs::new();
    for (id, node) in g.nodes.iter().enumerate() {
        let (Op::Input(name) | Op::Param(name) | Op::State(name)) = &node.op else { continue };
        let len: usize = g.sizes(id, free).iter().product();
        let value = |random: &mut Random| match (node.dtype, name.as_str()) {
            (Dtype::Bool, _) => random.below(2) as f64,
            (Dtype::I32, "position") => 2.0,
            (Dtype::I32, _) => random.below(5) as f64,
            (Dtype::F32, name) if name.ends_with("variance") => random.unit() + 0.5,
            (Dtype::F32, _) => f64::from((random.unit() * 2.0 - 1.0) as f32),
            (Dtype::I64 | Dtype::U8, _) => random.below(5) as f64,
            (Dtype::F16 | Dtype::BF16, _) => {
                convert(f64::from((random.unit() * 2.0 - 1.0) as f32), Dtype::F32, node.dtype)
            }
        };
        inputs.insert(name.clone(), (0..len).map(|_| value(random)).collect());
    }
    inputs
}

/// The buffers that hold given values, from the values of all nodes.
pub fn buffers(g: &Graph, values: &[Vec<f64>], free: &[usize]) -> Buffers {
    let given = |id: &NodeId| matches!(g.nodes[*id].op, Op::Input(_) | Op::Param(_) | Op::State(_));
    (0..g.nodes.len()).filter(given).map(|id| (id, (g.sizes(id, free), values[id].clone()))).collect()
}

/// Greatest error relative to the greatest finite value; infinite where NaN or infinity differ.
pub fn difference(found: &[f64], right: &[f64]) -> f64 {
    assert_eq!(found.len(), right.len());
    let scale = right.iter().filter(|x| x.is_finite()).fold(1e-300f64, |a, x| a.max(x.abs()));
    let error = |(x, y): (&f64, &f64)| match (x, y) {
        _ if x == y || (x.is_nan() && y.is_nan()) => 0.0,
        _ if x.is_finite() && y.is_finite() => (x - y).abs() / scale,
        _ => f64::INFINITY,
    };
    found.iter().zip(right).map(error).fold(0.0, f64::max)
}

fn offset(sizes: &[usize], at: &[usize]) -> usize {
    sizes.iter().zip(at).fold(0, |offset, (size, i)| offset * size + i)
}

/// Values of all nodes, dense and row-major.
pub fn evaluate(g: &Graph, inputs: &Inputs, free: &[usize]) -> Vec<Vec<f64>> {
    let mut values: Vec<Vec<f64>> = Vec::new();
    for id in 0..g.nodes.len() {
        let next = match &g.nodes[id].op {
            Op::Input(name) | Op::Param(name) | Op::State(name) => inputs[name].clone(),
            _ => {
                let mut out = Vec::new();
                positions(&g.sizes(id, free), |at| out.push(element(g, id, at, &values, free)));
                out
            }
        };
        values.push(next);
    }
    values
}

fn element(g: &Graph, id: NodeId, at: &[usize], values: &[Vec<f64>], free: &[usize]) -> f64 {
    let node = &g.nodes[id];
    let read = |x: NodeId, at: &[usize]| values[x][offset(&g.sizes(x, free), at)];
    let wrap = |value: f64| Precision::Double.round(value, node.dtype);
    let maximum = |x: f64, y: f64| if x.is_nan() || y.is_nan() { f64::NAN } else { x.max(y) };
    let mut at = at.to_vec();
    match &node.op {
        Op::Input(_) | Op::Param(_) | Op::State(_) => f64::NAN,
        Op::Const(value) => *value,
        Op::Iota => at[0] as f64,
        Op::Unary(op, x) => {
            let x = read(*x, &at);
            match op {
                Unary::Exp2 => x.exp2(),
                Unary::Log2 => x.log2(),
                Unary::Sin => x.sin(),
                Unary::Sqrt => x.sqrt(),
                Unary::Recip => 1.0 / x,
            }
        }
        Op::Binary(op, x, y) => {
            let (x, y) = (read(*x, &at), read(*y, &at));
            match op {
                Binary::Add => wrap(x + y),
                Binary::Mul => wrap(x * y),
                Binary::Max => maximum(x, y),
                Binary::LessThan => f64::from(u8::from(x < y)),
                Binary::Mod => x - y * (x / y).floor(),
            }
        }
        Op::Select(c, x, y) => read(if read(*c, &at) != 0.0 { *x } else { *y }, &at),
        Op::Cast(x) => convert(read(*x, &at), g.nodes[*x].dtype, node.dtype),
        Op::Reduce(op, x, axis) => {
            let elements = g.sizes(*x, free)[*axis];
            at.insert(*axis, 0);
            let mut all = (0..elements).map(|i| {
                at[*axis] = i;
                read(*x, &at)
            });
            match op {
                Reduce::Sum => wrap(all.sum()),
                Reduce::Max if node.dtype == Dtype::I32 => all.fold(f64::from(i32::MIN), f64::max),
                Reduce::Max if node.dtype == Dtype::I64 => all.fold(i64::MIN as f64, f64::max),
                Reduce::Max if node.dtype == Dtype::Bool => f64::from(u8::from(all.any(|x| x != 0.0))),
                Reduce::Max => all.fold(f64::NEG_INFINITY, maximum),
            }
        }
        Op::Gather(table, index) => {
            let rank = g.nodes[*index].shape.len();
            let mut row = vec![read(*index, &at[..rank]) as usize];
            row.extend(&at[rank..]);
            read(*table, &row)
        }
        Op::Permute(x, order) => {
            let mut from = at.clone();
            order.iter().enumerate().for_each(|(dim, source)| from[*source] = at[dim]);
            read(*x, &from)
        }
        Op::Expand(x, axis) => {
            at.remove(*axis);
            read(*x, &at)
        }
        Op::Slice { x, axis, start, step } => {
            at[*axis] = start + step * at[*axis];
            read(*x, &at)
        }
        Op::Pad { x, axis, before, fill } => {
            let from = at[*axis].wrapping_sub(*before);
            if from >= g.sizes(*x, free)[*axis] {
                return *fill;
            }
            at[*axis] = from;
            read(*x, &at)
        }
        Op::Split(x, axis) => {
            let inner = g.sizes(id, free)[axis + 1];
            let low = at.remove(axis + 1);
            at[*axis] = at[*axis] * inner + low;
            read(*x, &at)
        }
        Op::Merge(x, axis) => {
            let inner = g.sizes(*x, free)[axis + 1];
            let position = at[*axis];
            at[*axis] = position / inner;
            at.insert(axis + 1, position % inner);
            read(*x, &at)
        }
        Op::Window { x, axis, stride, dilation } => {
            let tap = at.remove(axis + 1);
            at[*axis] = at[*axis] * stride + tap * dilation;
            read(*x, &at)
        }
    }
}

/// Worst error of all roots of a DAG against direct evaluation of the graph.
pub fn worst_error(g: &Graph, dag: &Dag, seed: u64) -> f64 {
    let free = vec![4; g.free.len()];
    let inputs = random_inputs(g, &free, &mut Random(seed));
    let values = evaluate(g, &inputs, &free);
    let mut known = buffers(g, &values, &free);
    let mut worst: f64 = 0.0;
    for root in &dag.roots {
        let shape = g.sizes(root.node, &free);
        let out = Evaluator::new(dag, &known, &free, Precision::Double).store(root.term, &root.index, &shape);
        worst = worst.max(difference(&out, &values[root.node]));
        known.insert(root.node, (shape, out));
    }
    worst
}
