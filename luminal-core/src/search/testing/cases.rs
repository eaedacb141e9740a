//! Small graphs for folds, for what must not become a fold, and for index expressions.

use super::build::*;
use crate::dtype::Dtype::{Bool, F32, I32};
use crate::graph::{Binary, Graph, NodeId, Reduce, Unary};

/// A variation of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// No mask.
    Plain,
    /// Later positions masked.
    Causal,
    /// A mask that is added.
    Additive,
    /// A mask of truth values.
    Boolean,
    /// Two heads share keys and values.
    Grouped,
    /// A bias by distance.
    Alibi,
    /// Scores limited by a hyperbolic tangent.
    SoftCap,
    /// A sliding window.
    Window,
}

/// Attention of 5 queries over 9 keys.
pub fn attention(kind: Attention, guard: bool) -> Graph {
    attention_of(kind, guard, [5, 9, 3])
}

/// Attention of so many queries over so many keys, in heads of this width.
pub fn attention_of(kind: Attention, guard: bool, [queries, keys, width]: [usize; 3]) -> Graph {
    let mut g = Graph::default();
    let shared = kind == Attention::Grouped;
    let q = g.input("q", &[fixed(4), fixed(queries), fixed(width)], F32);
    let [k, v] = ["k", "v"].map(|name| {
        let x = g.input(name, &[fixed(if shared { 2 } else { 4 }), fixed(keys), fixed(width)], F32);
        if shared { group(&mut g, x, 2) } else { x }
    });
    let s = scores(&mut g, q, k);
    let mut s = scale(&mut g, s, 0.577);
    let (i, j) = iotas(&mut g, fixed(queries), fixed(keys));
    let after = keys as f64 - queries as f64;
    let lowest = literal(&mut g, f64::NEG_INFINITY);
    let integer = |g: &mut Graph, n: f64| g.constant(n, I32);
    match kind {
        Attention::Plain | Attention::Grouped => {}
        Attention::Causal => {
            let after = integer(&mut g, after);
            let last = add(&mut g, i, after);
            let masked = less(&mut g, last, j);
            s = select(&mut g, masked, lowest, s);
        }
        Attention::Additive => {
            let mask = g.input("additive", &[fixed(queries), fixed(keys)], F32);
            s = add(&mut g, s, mask);
        }
        Attention::Boolean => {
            let mask = g.input("boolean", &[fixed(queries), fixed(keys)], Bool);
            s = select(&mut g, mask, s, lowest);
        }
        Attention::Alibi => {
            let slope = g.param("slope", &[fixed(4)], F32);
            let minus = integer(&mut g, -1.0);
            let i = mul(&mut g, i, minus);
            let distance = add(&mut g, j, i);
            let distance = g.cast(distance, F32);
            let slope = g.expand(slope, 1, fixed(queries));
            let slope = g.expand(slope, 2, fixed(keys));
            let bias = mul(&mut g, distance, slope);
            s = add(&mut g, s, bias);
        }
        Attention::SoftCap => {
            let t = scale(&mut g, s, 1.0 / 30.0);
            let t = tanh(&mut g, t);
            s = scale(&mut g, t, 30.0);
        }
        Attention::Window => {
            let (after, first) = (integer(&mut g, after), integer(&mut g, after - 3.0));
            let last = add(&mut g, i, after);
            let first = add(&mut g, i, first);
            for masked in [less(&mut g, last, j), less(&mut g, j, first)] {
                s = select(&mut g, masked, lowest, s);
            }
        }
    }
    let p = softmax(&mut g, s, guard);
    let o = weighted(&mut g, p, v);
    output(g, o)
}

/// A function of rows of `[4, 11]`.
pub fn rows(f: impl Fn(&mut Graph, NodeId) -> NodeId) -> Graph {
    rows_of([4, 11], f)
}

/// A function of so many rows of this length.
pub fn rows_of([count, length]: [usize; 2], f: impl Fn(&mut Graph, NodeId) -> NodeId) -> Graph {
    let mut g = Graph::default();
    let x = g.input("x", &[fixed(count), fixed(length)], F32);
    let y = f(&mut g, x);
    output(g, y)
}

/// `log sum e^x` along the last axis; `guard` makes the maximum of a row of -inf 0.
pub fn log_sum_exp(g: &mut Graph, x: NodeId, guard: bool) -> NodeId {
    let last = g.nodes[x].shape.len() - 1;
    let m = row_maximum(g, x, guard);
    let wide = along_last(g, m, x);
    let d = sub(g, x, wide);
    let e = exp(g, d);
    let l = g.reduce(Reduce::Sum, e, last);
    let l = g.unary(Unary::Log2, l);
    let l = scale(g, l, std::f64::consts::LN_2);
    add(g, m, l)
}

/// `x - log sum e^x` along the last axis.
pub fn log_softmax(g: &mut Graph, x: NodeId) -> NodeId {
    let l = log_sum_exp(g, x, false);
    let l = along_last(g, l, x);
    sub(g, x, l)
}

/// First position of the maximum; of the first NaN, if there is one.
pub fn argmax(g: &mut Graph, y: NodeId) -> NodeId {
    let last = g.nodes[y].shape.len() - 1;
    g.argmax(y, last)
}

/// The mean over rows of `log sum e^y - y[target]`: what a classifier is trained with.
pub fn cross_entropy(g: &mut Graph, y: NodeId) -> NodeId {
    let to = shape(g, y);
    let target = g.input("target", &to[..1], I32);
    let target = g.expand(target, 1, to[1]);
    let position = g.iota(to[1]);
    let position = g.expand(position, 0, to[0]);
    let (before, after) = (less(g, position, target), less(g, target, position));
    let other = binary(g, Binary::Max, before, after);
    let zero = literal(g, 0.0);
    let chosen = select(g, other, zero, y);
    let chosen = g.reduce(Reduce::Sum, chosen, 1);
    let l = log_sum_exp(g, y, false);
    sub(g, l, chosen)
}

fn floor(g: &mut Graph, x: NodeId) -> NodeId {
    let one = literal(g, 1.0);
    let rest = binary(g, Binary::Mod, x, one);
    sub(g, x, rest)
}

/// Rows scaled by their greatest absolute value, multiplied, and scaled back.
pub fn quantised_matmul(g: &mut Graph, x: NodeId, round: bool) -> NodeId {
    let negative = scale(g, x, -1.0);
    let magnitude = binary(g, Binary::Max, x, negative);
    let m = g.reduce(Reduce::Max, magnitude, 1);
    let r = g.unary(Unary::Recip, m);
    let r = scale(g, r, 127.0);
    let r = along_last(g, r, x);
    let mut q = mul(g, x, r);
    if round {
        q = offset(g, q, 0.5);
        q = floor(g, q);
    }
    let y = linear(g, q, "linear", 6, false);
    let m = scale(g, m, 1.0 / 127.0);
    let m = g.expand(m, 1, fixed(6));
    mul(g, y, m)
}

/// What can be computed in one pass over a stream, at least in part.
pub fn folds() -> Vec<(String, Graph)> {
    use Attention::*;
    let mut cases = Vec::new();
    for kind in [Plain, Causal, Additive, Boolean, Grouped, Alibi, SoftCap, Window] {
        cases.push((format!("attention {kind:?}"), attention(kind, false)));
    }
    for kind in [Boolean, Causal, Additive] {
        cases.push((format!("attention {kind:?} guarded"), attention(kind, true)));
    }
    let mut add = |name: &str, graph: Graph| cases.push((String::from(name), graph));
    add("softmax", rows(|g, x| softmax(g, x, false)));
    add("log softmax", rows(log_softmax));
    add("log sum exp", rows(|g, x| log_sum_exp(g, x, false)));
    add("log sum exp guarded", rows(|g, x| log_sum_exp(g, x, true)));
    add("argmax", rows(argmax));
    add("variance", rows(variance));
    add("layer norm", rows(|g, x| layer_norm(g, x, "norm")));
    add(
        "rms norm + matmul",
        rows(|g, x| {
            let y = rms_norm(g, x, "norm");
            linear(g, y, "linear", 6, false)
        }),
    );
    add(
        "argmax of matmul",
        rows(|g, x| {
            let y = linear(g, x, "linear", 9, false);
            argmax(g, y)
        }),
    );
    add(
        "cross-entropy of matmul",
        rows(|g, x| {
            let y = linear(g, x, "linear", 9, false);
            cross_entropy(g, y)
        }),
    );
    add(
        "log sum exp of matmul",
        rows(|g, x| {
            let y = linear(g, x, "linear", 9, false);
            log_sum_exp(g, y, false)
        }),
    );
    add("scaled matmul", rows(|g, x| quantised_matmul(g, x, false)));
    cases
}

/// What must not become one fold.
pub fn traps() -> Vec<(String, Graph)> {
    let mut cases = Vec::new();
    let mut add = |name: &str, graph: Graph| cases.push((String::from(name), graph));
    add("rounded matmul", rows(|g, x| quantised_matmul(g, x, true)));
    add("maximum and sum under different masks", rows(different_masks));
    add(
        "maximum of values divided by their sum",
        rows(|g, x| {
            let square = mul(g, x, x);
            let s = g.reduce(Reduce::Sum, square, 1);
            let s = g.unary(Unary::Recip, s);
            let s = along_last(g, s, x);
            let y = mul(g, x, s);
            g.reduce(Reduce::Max, y, 1)
        }),
    );
    add("count above the mean", rows(count_above_mean));
    cases
}

/// How many elements of a row are greater than its mean.
pub fn count_above_mean(g: &mut Graph, x: NodeId) -> NodeId {
    let m = mean(g, x);
    let m = along_last(g, m, x);
    let above = less(g, m, x);
    let one = g.cast(above, F32);
    g.reduce(Reduce::Sum, one, 1)
}

/// A sum of exponentials reduced by the maximum of fewer elements: some may be positive.
pub fn different_masks(g: &mut Graph, x: NodeId) -> NodeId {
    let length = shape(g, x)[1];
    let j = g.iota(length);
    let (five, eight) = (g.constant(5.0, I32), g.constant(8.0, I32));
    let (lowest, zero) = (literal(g, f64::NEG_INFINITY), literal(g, 0.0));
    let near = less(g, j, five);
    let masked = select(g, near, x, lowest);
    let m = g.reduce(Reduce::Max, masked, 1);
    let m = along_last(g, m, x);
    let d = sub(g, x, m);
    let e = exp(g, d);
    let far = less(g, j, eight);
    let e = select(g, far, e, zero);
    g.reduce(Reduce::Sum, e, 1)
}

/// Softmax along the rows, then along the columns of what comes out.
pub fn two_softmaxes(g: &mut Graph, x: NodeId) -> NodeId {
    let y = softmax(g, x, false);
    let y = g.permute(y, &[1, 0]);
    softmax(g, y, false)
}

/// Attention that also returns its weights.
pub fn attention_and_weights(sizes: [usize; 3]) -> Graph {
    let mut g = attention_of(Attention::Plain, false, sizes);
    let weights = [fixed(4), fixed(sizes[0]), fixed(sizes[1])];
    let p = (0..g.nodes.len()).rev().find(|n| g.nodes[*n].shape == weights).unwrap();
    g.outputs.push((String::from("weights"), p));
    g
}

/// Graphs whose reductions run over different axes or whose inner values are outputs: several kernels, all right.
pub fn separate() -> Vec<(String, Graph)> {
    let mut cases = Vec::new();
    let mut add = |name: &str, graph: Graph| cases.push((String::from(name), graph));
    add("two softmaxes over different axes", rows(two_softmaxes));
    add(
        "sums over different axes",
        rows(|g, x| {
            let columns = g.reduce(Reduce::Sum, x, 0);
            let sums = g.reduce(Reduce::Sum, x, 1);
            let sums = along_last(g, sums, x);
            let product = mul(g, x, sums);
            let total = g.reduce(Reduce::Sum, product, 0);
            mul(g, columns, total)
        }),
    );
    add("softmax weights also an output", attention_and_weights([5, 9, 3]));
    cases
}

/// Index expressions of every kind.
pub fn views() -> Vec<(String, Graph)> {
    let mut cases = Vec::new();
    let mut add_case = |name: &str, build: &dyn Fn(&mut Graph) -> NodeId| {
        let mut g = Graph::default();
        let y = build(&mut g);
        cases.push((String::from(name), output(g, y)));
    };
    add_case("embedding and norm", &|g| {
        let table = g.param("embedding", &[fixed(5), fixed(6)], F32);
        let ids = g.input("ids", &[fixed(4)], I32);
        let x = g.gather(table, ids);
        rms_norm(g, x, "norm")
    });
    add_case("gather from a computed table", &|g| {
        let table = g.input("x", &[fixed(5), fixed(6)], F32);
        let table = rms_norm(g, table, "norm");
        let ids = g.input("ids", &[fixed(4)], I32);
        g.gather(table, ids)
    });
    add_case("gather from a view", &|g| {
        let table = g.input("x", &[fixed(6), fixed(5)], F32);
        let table = g.permute(table, &[1, 0]);
        let ids = g.input("ids", &[fixed(4)], I32);
        g.gather(table, ids)
    });
    add_case("gather from a padded table", &|g| {
        let table = g.input("x", &[fixed(3), fixed(6)], F32);
        let table = g.pad(table, 0, 1, fixed(5), 0.5);
        let ids = g.input("ids", &[fixed(4)], I32);
        g.gather(table, ids)
    });
    add_case("gather of a gather", &|g| {
        let table = g.input("x", &[fixed(5), fixed(6)], F32);
        let ids = g.input("ids", &[fixed(5)], I32);
        let more = g.input("more", &[fixed(3)], I32);
        let x = g.gather(table, ids);
        g.gather(x, more)
    });
    add_case("gather from a literal and from positions", &|g| {
        let ids = g.input("ids", &[fixed(4)], I32);
        let two = literal(g, 2.0);
        let table = g.expand(two, 0, fixed(5));
        let x = g.gather(table, ids);
        let positions = g.iota(fixed(5));
        let y = g.gather(positions, ids);
        let y = g.cast(y, F32);
        add(g, x, y)
    });
    add_case("two incompatible splits of one axis", &|g| {
        let x = g.input("x", &[fixed(24)], F32);
        let [a, b] = [6, 8].map(|inner| {
            let y = g.split(x, 0, inner);
            let y = g.permute(y, &[1, 0]);
            g.merge(y, 0)
        });
        add(g, a, b)
    });
    add_case("split of a reduced axis", &|g| {
        let x = g.input("x", &[fixed(3), fixed(4), fixed(6)], F32);
        let y = g.merge(x, 1);
        let y = scale(g, y, 2.0);
        g.reduce(Reduce::Sum, y, 1)
    });
    add_case("product with its own transpose", &|g| {
        let x = g.input("x", &[fixed(5), fixed(6)], F32);
        let y = rms_norm(g, x, "norm");
        let (a, b) = (g.expand(y, 1, fixed(5)), g.expand(y, 0, fixed(5)));
        let product = mul(g, a, b);
        g.reduce(Reduce::Sum, product, 2)
    });
    add_case("concatenation of two products", &|g| {
        let x = g.input("x", &[fixed(4), fixed(6)], F32);
        let (a, b) = (linear(g, x, "a", 3, true), linear(g, x, "b", 5, true));
        let (a, b) = (g.pad(a, 1, 0, fixed(8), 0.0), g.pad(b, 1, 3, fixed(8), 0.0));
        let y = add(g, a, b);
        relu(g, y)
    });
    add_case("strided convolution, then sums", &|g| {
        let x = g.input("x", &[fixed(2), fixed(7), fixed(7)], F32);
        let y = conv3(g, x, "conv", 3, 2);
        let y = relu(g, y);
        let y = g.reduce(Reduce::Sum, y, 2);
        g.reduce(Reduce::Sum, y, 1)
    });
    add_case("one product sliced into three", &|g| {
        let x = g.input("x", &[fixed(5), fixed(6)], F32);
        let y = linear(g, x, "qkv", 18, true);
        let [q, k, v] = [0, 6, 12].map(|start| {
            let part = g.slice(y, 1, start, 1, fixed(6));
            heads(g, part, 3)
        });
        let s = scores(g, q, k);
        let p = softmax(g, s, false);
        let o = weighted(g, p, v);
        unheads(g, o)
    });
    add_case("shifted difference", &|g| {
        let x = g.input("x", &[fixed(9)], F32);
        let y = exp(g, x);
        let (a, b) = (g.slice(y, 0, 1, 1, fixed(8)), g.slice(y, 0, 0, 1, fixed(8)));
        sub(g, a, b)
    });
    add_case("steps and dilation", &|g| {
        let x = g.input("x", &[fixed(17)], F32);
        let y = g.slice(x, 0, 1, 2, fixed(8));
        let y = g.window(y, 0, 3, 2, 2);
        g.reduce(Reduce::Max, y, 1)
    });
    add_case("casts and integers", &|g| {
        let x = g.input("x", &[fixed(4), fixed(5)], F32);
        let y = scale(g, x, 7.5);
        let y = g.cast(y, I32);
        let three = g.constant(3.0, I32);
        let y = binary(g, Binary::Mod, y, three);
        let y = g.cast(y, F32);
        let s = g.unary(Unary::Sin, y);
        let truth = g.cast(s, Bool);
        let any = g.reduce(Reduce::Max, truth, 1);
        g.cast(any, F32)
    });
    add_case("a view of an input", &|g| {
        let x = g.input("x", &[fixed(4), fixed(6)], F32);
        let y = g.permute(x, &[1, 0]);
        g.pad(y, 0, 1, fixed(8), -1.0)
    });
    add_case("positions alone", &|g| {
        let x = g.iota(fixed(12));
        let y = g.split(x, 0, 4);
        g.permute(y, &[1, 0])
    });
    add_case("weights alone", &|g| {
        let w = g.param("w", &[fixed(4), fixed(6)], F32);
        let y = exp(g, w);
        g.reduce(Reduce::Sum, y, 1)
    });
    cases
}
