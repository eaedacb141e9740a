//! Compositions of primitives, with leading dimensions broadcast.

use crate::dtype::Dtype;
use crate::graph::{Binary, Dim, Graph, NodeId, Reduce, Unary};

/// `log2(e)`
pub const LOG2E: f64 = std::f64::consts::LOG2_E;

/// A known size.
pub fn fixed(n: usize) -> Dim {
    Dim::Fixed(n)
}

/// Sizes of a node.
pub fn shape(g: &Graph, x: NodeId) -> Vec<Dim> {
    g.nodes[x].shape.clone()
}

/// A literal, rounded to `f32`.
pub fn literal(g: &mut Graph, value: f64) -> NodeId {
    g.constant(f64::from(value as f32), Dtype::F32)
}

/// Repeats along new leading dimensions until the shape is this one.
pub fn lead(g: &mut Graph, mut x: NodeId, to: &[Dim]) -> NodeId {
    while g.nodes[x].shape.len() < to.len() {
        let size = to[to.len() - g.nodes[x].shape.len() - 1];
        x = g.expand(x, 0, size);
    }
    assert_eq!(g.nodes[x].shape, to);
    x
}

/// Pointwise function of two, the one of lower rank broadcast.
pub fn binary(g: &mut Graph, op: Binary, x: NodeId, y: NodeId) -> NodeId {
    let to = if shape(g, x).len() >= shape(g, y).len() { shape(g, x) } else { shape(g, y) };
    let (x, y) = (lead(g, x, &to), lead(g, y, &to));
    g.binary(op, x, y)
}

/// Sum.
pub fn add(g: &mut Graph, x: NodeId, y: NodeId) -> NodeId {
    binary(g, Binary::Add, x, y)
}

/// Product.
pub fn mul(g: &mut Graph, x: NodeId, y: NodeId) -> NodeId {
    binary(g, Binary::Mul, x, y)
}

/// `x * by`
pub fn scale(g: &mut Graph, x: NodeId, by: f64) -> NodeId {
    let by = literal(g, by);
    mul(g, x, by)
}

/// `x + by`
pub fn offset(g: &mut Graph, x: NodeId, by: f64) -> NodeId {
    let by = literal(g, by);
    add(g, x, by)
}

/// Difference.
pub fn sub(g: &mut Graph, x: NodeId, y: NodeId) -> NodeId {
    let y = scale(g, y, -1.0);
    add(g, x, y)
}

/// `x < y`
pub fn less(g: &mut Graph, x: NodeId, y: NodeId) -> NodeId {
    binary(g, Binary::LessThan, x, y)
}

/// `condition ? x : y`, those of lower rank broadcast.
pub fn select(g: &mut Graph, condition: NodeId, x: NodeId, y: NodeId) -> NodeId {
    let to = [condition, x, y].map(|n| shape(g, n)).into_iter().max_by_key(Vec::len).unwrap();
    let [condition, x, y] = [condition, x, y].map(|n| lead(g, n, &to));
    g.select(condition, x, y)
}

/// `max(x, 0)`
pub fn relu(g: &mut Graph, x: NodeId) -> NodeId {
    let zero = literal(g, 0.0);
    binary(g, Binary::Max, x, zero)
}

/// `e^x`
pub fn exp(g: &mut Graph, x: NodeId) -> NodeId {
    let y = scale(g, x, LOG2E);
    g.unary(Unary::Exp2, y)
}

/// Logistic function.
pub fn sigmoid(g: &mut Graph, x: NodeId) -> NodeId {
    let y = scale(g, x, -LOG2E);
    let e = g.unary(Unary::Exp2, y);
    let d = offset(g, e, 1.0);
    g.unary(Unary::Recip, d)
}

/// Hyperbolic tangent.
pub fn tanh(g: &mut Graph, x: NodeId) -> NodeId {
    let x = scale(g, x, 2.0);
    let s = sigmoid(g, x);
    let y = scale(g, s, 2.0);
    offset(g, y, -1.0)
}

/// The tanh form of GELU.
pub fn gelu(g: &mut Graph, x: NodeId) -> NodeId {
    let square = mul(g, x, x);
    let cube = mul(g, square, x);
    let cube = scale(g, cube, 0.044715);
    let inner = add(g, x, cube);
    let inner = scale(g, inner, 0.797_884_560_802_865_4);
    let t = tanh(g, inner);
    let t = offset(g, t, 1.0);
    let half = scale(g, x, 0.5);
    mul(g, half, t)
}

/// `[.., k] x [k, n]`
pub fn matmul(g: &mut Graph, x: NodeId, w: NodeId) -> NodeId {
    let columns = g.nodes[w].shape[1];
    let rank = g.nodes[x].shape.len();
    let wide = g.expand(x, rank, columns);
    let product = mul(g, wide, w);
    g.reduce(Reduce::Sum, product, rank - 1)
}

/// Matrix product with a weight, and a bias.
pub fn linear(g: &mut Graph, x: NodeId, name: &str, outputs: usize, bias: bool) -> NodeId {
    let inputs = *g.nodes[x].shape.last().unwrap();
    let w = g.param(&format!("{name}.weight"), &[inputs, fixed(outputs)], Dtype::F32);
    let y = matmul(g, x, w);
    if !bias {
        return y;
    }
    let b = g.param(&format!("{name}.bias"), &[fixed(outputs)], Dtype::F32);
    add(g, y, b)
}

/// A row statistic, repeated along the last axis of `like`.
pub fn along_last(g: &mut Graph, x: NodeId, like: NodeId) -> NodeId {
    let to = shape(g, like);
    g.expand(x, to.len() - 1, to[to.len() - 1])
}

/// Mean over the last axis.
pub fn mean(g: &mut Graph, x: NodeId) -> NodeId {
    let to = shape(g, x);
    let sum = g.reduce(Reduce::Sum, x, to.len() - 1);
    scale(g, sum, 1.0 / to[to.len() - 1].max() as f64)
}

/// Mean of squared differences from the mean.
pub fn variance(g: &mut Graph, x: NodeId) -> NodeId {
    let m = mean(g, x);
    let m = along_last(g, m, x);
    let centred = sub(g, x, m);
    let square = mul(g, centred, centred);
    mean(g, square)
}

/// Layer normalisation over the last axis.
pub fn layer_norm(g: &mut Graph, x: NodeId, name: &str) -> NodeId {
    let width = *g.nodes[x].shape.last().unwrap();
    let m = mean(g, x);
    let m = along_last(g, m, x);
    let centred = sub(g, x, m);
    let square = mul(g, centred, centred);
    let v = mean(g, square);
    let v = offset(g, v, 1e-5);
    let deviation = g.unary(Unary::Sqrt, v);
    let r = g.unary(Unary::Recip, deviation);
    let r = along_last(g, r, x);
    let y = mul(g, centred, r);
    let gain = g.param(&format!("{name}.weight"), &[width], Dtype::F32);
    let bias = g.param(&format!("{name}.bias"), &[width], Dtype::F32);
    let y = mul(g, y, gain);
    add(g, y, bias)
}

/// Root-mean-square normalisation over the last axis.
pub fn rms_norm(g: &mut Graph, x: NodeId, name: &str) -> NodeId {
    let width = *g.nodes[x].shape.last().unwrap();
    let square = mul(g, x, x);
    let v = mean(g, square);
    let v = offset(g, v, 1e-5);
    let root = g.unary(Unary::Sqrt, v);
    let r = g.unary(Unary::Recip, root);
    let r = along_last(g, r, x);
    let y = mul(g, x, r);
    let gain = g.param(&format!("{name}.weight"), &[width], Dtype::F32);
    mul(g, y, gain)
}

/// Maximum over the last axis; `guard` makes it 0 for a row that is -inf everywhere.
pub fn row_maximum(g: &mut Graph, x: NodeId, guard: bool) -> NodeId {
    let last = g.nodes[x].shape.len() - 1;
    let m = g.reduce(Reduce::Max, x, last);
    if !guard {
        return m;
    }
    let (lowest, zero) = (literal(g, -3e38), literal(g, 0.0));
    let empty = less(g, m, lowest);
    select(g, empty, zero, m)
}

/// Softmax over the last axis; `guard` makes a fully masked row 0.
pub fn softmax(g: &mut Graph, x: NodeId, guard: bool) -> NodeId {
    let last = g.nodes[x].shape.len() - 1;
    let m = row_maximum(g, x, guard);
    let m = along_last(g, m, x);
    let d = sub(g, x, m);
    let e = exp(g, d);
    let l = g.reduce(Reduce::Sum, e, last);
    let mut r = g.unary(Unary::Recip, l);
    if guard {
        let zero = literal(g, 0.0);
        let some = less(g, zero, l);
        r = select(g, some, r, zero);
    }
    let r = along_last(g, r, x);
    mul(g, e, r)
}

/// `[h, i, d] x [h, j, d] -> [h, i, j]`
pub fn scores(g: &mut Graph, q: NodeId, k: NodeId) -> NodeId {
    let (i, j) = (g.nodes[q].shape[1], g.nodes[k].shape[1]);
    let q = g.expand(q, 2, j);
    let k = g.expand(k, 1, i);
    let product = mul(g, q, k);
    g.reduce(Reduce::Sum, product, 3)
}

/// `[h, i, j] x [h, j, d] -> [h, i, d]`
pub fn weighted(g: &mut Graph, p: NodeId, v: NodeId) -> NodeId {
    let (i, d) = (g.nodes[p].shape[1], g.nodes[v].shape[2]);
    let p = g.expand(p, 3, d);
    let v = g.expand(v, 1, i);
    let product = mul(g, p, v);
    g.reduce(Reduce::Sum, product, 2)
}

/// Row and column numbers of `[i, j]`.
pub fn iotas(g: &mut Graph, i: Dim, j: Dim) -> (NodeId, NodeId) {
    let rows = g.iota(i);
    let rows = g.expand(rows, 1, j);
    let columns = g.iota(j);
    (rows, lead(g, columns, &[i, j]))
}

/// -inf above the diagonal of `[h, i, j]`.
pub fn causal(g: &mut Graph, s: NodeId) -> NodeId {
    let to = shape(g, s);
    let (i, j) = iotas(g, to[1], to[2]);
    let masked = less(g, i, j);
    let lowest = literal(g, f64::NEG_INFINITY);
    select(g, masked, lowest, s)
}

/// `[s, heads * d] -> [heads, s, d]`
pub fn heads(g: &mut Graph, x: NodeId, d: usize) -> NodeId {
    let y = g.split(x, 1, d);
    g.permute(y, &[1, 0, 2])
}

/// `[heads, s, d] -> [s, heads * d]`
pub fn unheads(g: &mut Graph, x: NodeId) -> NodeId {
    let y = g.permute(x, &[1, 0, 2]);
    g.merge(y, 1)
}

/// Each of the leading entries `n` times.
pub fn group(g: &mut Graph, x: NodeId, n: usize) -> NodeId {
    let y = g.expand(x, 1, fixed(n));
    g.merge(y, 0)
}

/// Rotary embedding of `[h, s, d]`: halves are rotated by slices and pads.
pub fn rope(g: &mut Graph, x: NodeId, cos: NodeId, sin: NodeId) -> NodeId {
    let width = g.nodes[x].shape[2];
    let half = width.max() / 2;
    let first = g.slice(x, 2, 0, 1, fixed(half));
    let second = g.slice(x, 2, half, 1, fixed(half));
    let second = scale(g, second, -1.0);
    let second = g.pad(second, 2, 0, width, 0.0);
    let first = g.pad(first, 2, half, width, 0.0);
    let rotated = add(g, second, first);
    let (x, rotated) = (mul(g, x, cos), mul(g, rotated, sin));
    add(g, x, rotated)
}

/// Removes a leading dimension of size 1.
pub fn squeeze(g: &mut Graph, x: NodeId) -> NodeId {
    g.reduce(Reduce::Sum, x, 0)
}

/// Convolution of `[c, h, w]`, 3 x 3, padded by 1.
pub fn conv3(g: &mut Graph, x: NodeId, name: &str, outputs: usize, stride: usize) -> NodeId {
    let from = shape(g, x);
    let p = g.pad(x, 1, 1, fixed(from[1].max() + 2), 0.0);
    let p = g.pad(p, 2, 1, fixed(from[2].max() + 2), 0.0);
    let p = g.window(p, 1, 3, stride, 1);
    let p = g.window(p, 3, 3, stride, 1);
    let windows = shape(g, p);
    let w = g.param(&format!("{name}.weight"), &[fixed(outputs), from[0], fixed(3), fixed(3)], Dtype::F32);
    let w = g.expand(w, 2, windows[1]);
    let w = g.expand(w, 4, windows[3]);
    let p = g.expand(p, 0, fixed(outputs));
    let product = g.binary(Binary::Mul, p, w);
    let sum = g.reduce(Reduce::Sum, product, 5);
    let sum = g.reduce(Reduce::Sum, sum, 3);
    g.reduce(Reduce::Sum, sum, 1)
}

/// One value for each channel, added to `[c, h, w]`.
pub fn channel_bias(g: &mut Graph, x: NodeId, name: &str) -> NodeId {
    let to = shape(g, x);
    let b = g.param(&format!("{name}.bias"), &[to[0]], Dtype::F32);
    let b = g.expand(b, 1, to[1]);
    let b = g.expand(b, 2, to[2]);
    add(g, x, b)
}

/// Batch normalisation of `[c, h, w]` with stored statistics.
pub fn batch_norm(g: &mut Graph, x: NodeId, name: &str) -> NodeId {
    let to = shape(g, x);
    let [gain, bias, mean, variance] = ["weight", "bias", "mean", "variance"]
        .map(|part| g.param(&format!("{name}.{part}"), &[to[0]], Dtype::F32));
    let v = offset(g, variance, 1e-5);
    let v = g.unary(Unary::Sqrt, v);
    let v = g.unary(Unary::Recip, v);
    let [gain, bias, mean, v] = [gain, bias, mean, v].map(|n| {
        let n = g.expand(n, 1, to[1]);
        g.expand(n, 2, to[2])
    });
    let y = sub(g, x, mean);
    let y = mul(g, y, v);
    let y = mul(g, y, gain);
    add(g, y, bias)
}

/// Maximum over 2 x 2 squares of `[c, h, w]`.
pub fn max_pool2(g: &mut Graph, x: NodeId) -> NodeId {
    let x = g.window(x, 1, 2, 2, 1);
    let x = g.window(x, 3, 2, 2, 1);
    let x = g.reduce(Reduce::Max, x, 4);
    g.reduce(Reduce::Max, x, 2)
}

/// The graph with one output.
pub fn output(mut g: Graph, y: NodeId) -> Graph {
    g.outputs.push((String::from("y"), y));
    g
}
