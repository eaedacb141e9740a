//! Several reductions over a row, and contractions around them.

use super::build::{acc, map, reduce, select};
use super::{Builder, add, load, max, mul, number, sub, unary};
use crate::dtype::Dtype;
use crate::graph::{Reduce, Unary};
use crate::kernel::ir::{Affine, AxisId, BufferId, E, Expr, Item, Kernel};
use std::rc::Rc;

const F32: Dtype = Dtype::F32;
const LOG2_E: f32 = std::f32::consts::LOG2_E;

/// The three definitions of a softmax of `score(i, j)` over `j`.
fn softmax_of(
    b: &mut Builder,
    rows: &[AxisId],
    j: AxisId,
    score: &E,
    greatest: BufferId,
    total: BufferId,
) -> E {
    let exp = unary(Unary::Exp2, &mul(&sub(score, &load(greatest, rows)), &number(LOG2_E)));
    b.reduce(greatest, rows, Reduce::Max, &[j], score.clone());
    b.reduce(total, rows, Reduce::Sum, &[j], exp.clone());
    mul(&exp, &unary(Unary::Recip, &load(total, rows)))
}

fn softmax_over(mut b: Builder, (i, rows): (usize, usize), (j, columns): (usize, usize)) -> Kernel {
    let x = b.input("x", F32, &[rows, columns]);
    let y = b.output("y", F32, &[rows, columns]);
    let (greatest, total) = (b.local("greatest", F32, &[rows]), b.local("total", F32, &[rows]));
    let result = softmax_of(&mut b, &[i], j, &load(x, &[i, j]), greatest, total);
    b.map(y, &[i, j], result);
    b.kernel
}

/// Softmax of rows.
pub fn softmax(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    softmax_over(b, (i, rows), (j, columns))
}

/// Softmax of rows of a free length.
pub fn free_softmax(rows: usize, max_columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.free("j", max_columns, 0));
    softmax_over(b, (i, rows), (j, max_columns))
}

/// Layer normalisation of rows, with gain and bias.
pub fn layer_norm(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", F32, &[rows, columns]);
    let (gain, bias) = (b.weight("gain", &[columns]), b.weight("bias", &[columns]));
    let y = b.output("y", F32, &[rows, columns]);
    let (mean, scale) = (b.local("mean", F32, &[rows]), b.local("scale", F32, &[rows]));
    let average = mul(&acc(), &number(1.0 / columns as f32));
    let centred = sub(&load(x, &[i, j]), &load(mean, &[i]));
    b.reduce(mean, &[i], Reduce::Sum, &[j], load(x, &[i, j])).epilogue = Some(average.clone());
    let deviation = unary(Unary::Sqrt, &add(&average, &number(1e-5)));
    b.reduce(scale, &[i], Reduce::Sum, &[j], mul(&centred, &centred)).epilogue =
        Some(unary(Unary::Recip, &deviation));
    let normal = mul(&centred, &load(scale, &[i]));
    b.map(y, &[i, j], add(&mul(&normal, &load(gain, &[j])), &load(bias, &[j])));
    b.kernel
}

/// A linear layer and the softmax of what it gives: a contraction feeds a row.
pub fn linear_softmax(rows: usize, outputs: usize, inputs: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j, k) = (b.axis("i", rows), b.axis("j", outputs), b.axis("k", inputs));
    let x = b.input("x", F32, &[rows, inputs]);
    let (w, bias) = (b.weight("W", &[outputs, inputs]), b.weight("bias", &[outputs]));
    let y = b.output("y", F32, &[rows, outputs]);
    let logits = b.local("logits", F32, &[rows, outputs]);
    let (greatest, total) = (b.local("greatest", F32, &[rows]), b.local("total", F32, &[rows]));
    let product = mul(&load(x, &[i, k]), &load(w, &[j, k]));
    b.reduce(logits, &[i, j], Reduce::Sum, &[k], product).epilogue = Some(add(&acc(), &load(bias, &[j])));
    let result = softmax_of(&mut b, &[i], j, &load(logits, &[i, j]), greatest, total);
    b.map(y, &[i, j], result);
    b.kernel
}

/// Statistics of columns over all rows, then a contraction of the normalised columns: nothing but the output axis of
/// the contraction may be cut.
pub fn column_statistics(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j, o) = (b.axis("i", rows), b.axis("j", columns), b.axis("o", 9));
    let x = b.input("x", F32, &[rows, columns]);
    let w = b.weight("W", &[columns, 9]);
    let y = b.output("y", F32, &[rows, 9]);
    let mean = b.local("mean", F32, &[columns]);
    b.reduce(mean, &[j], Reduce::Sum, &[i], load(x, &[i, j])).epilogue =
        Some(mul(&acc(), &number(1.0 / rows as f32)));
    let centred = sub(&load(x, &[i, j]), &load(mean, &[j]));
    b.reduce(y, &[i, o], Reduce::Sum, &[j], mul(&centred, &load(w, &[j, o])));
    b.kernel
}

/// Softmax attention, row by row: two contractions around a row.
pub fn attention(heads: usize, queries: usize, keys: usize, width: usize) -> Kernel {
    let mut b = Builder::default();
    let (h, q, t) = (b.axis("h", heads), b.axis("q", queries), b.axis("t", keys));
    let (d, v) = (b.axis("d", width), b.axis("v", width));
    let query = b.input("query", F32, &[heads, queries, width]);
    let key = b.input("key", F32, &[heads, keys, width]);
    let value = b.input("value", F32, &[heads, keys, width]);
    let out = b.output("out", F32, &[heads, queries, width]);
    let scores = b.local("scores", F32, &[heads, queries, keys]);
    let weights = b.local("weights", F32, &[heads, queries, keys]);
    let (greatest, total) =
        (b.local("greatest", F32, &[heads, queries]), b.local("total", F32, &[heads, queries]));
    let product = mul(&load(query, &[h, q, d]), &load(key, &[h, t, d]));
    b.reduce(scores, &[h, q, t], Reduce::Sum, &[d], product).epilogue = Some(mul(&acc(), &number(0.3)));
    let score = load(scores, &[h, q, t]);
    let result = softmax_of(&mut b, &[h, q], t, &score, greatest, total);
    b.map(weights, &[h, q, t], result);
    b.reduce(out, &[h, q, v], Reduce::Sum, &[t], mul(&load(weights, &[h, q, t]), &load(value, &[h, t, v])));
    b.kernel
}

/// The same as a fold over blocks of keys, with its running maximum, sum and output.
pub fn attention_fold(heads: usize, length: usize, width: usize, causal: bool) -> Kernel {
    let mut b = Builder::default();
    let (h, q, t) = (b.axis("h", heads), b.axis("q", length), b.axis("t", length));
    let (d, v) = (b.axis("d", width), b.axis("v", width));
    let query = b.input("query", F32, &[heads, length, width]);
    let key = b.input("key", F32, &[heads, length, width]);
    let value = b.input("value", F32, &[heads, length, width]);
    let out = b.output("out", F32, &[heads, length, width]);
    let scores = b.local("scores", F32, &[heads, length, length]);
    let state = [heads, length];
    let (most, total) = (b.local("most", F32, &state), b.local("total", F32, &state));
    let (before, repair) = (b.local("before", F32, &state), b.local("repair", F32, &state));
    let sum = b.local("sum", F32, &[heads, length, width]);
    let exp = b.local("exp", F32, &[heads, length, length]);
    let row = |buffer| load(buffer, &[h, q]);
    let score = load(scores, &[h, q, t]);
    let never = number(-1e30);
    b.map(most, &[h, q], never.clone());
    b.map(total, &[h, q], number(0.0));
    b.map(sum, &[h, q, v], number(0.0));
    let mut contraction =
        reduce(scores, &[h, q, t], Reduce::Sum, &[d], mul(&load(query, &[h, q, d]), &load(key, &[h, t, d])));
    if causal {
        let past = Rc::new(Expr::NotNegative(Affine::new([(q, 1), (t, -1)], 0)));
        contraction.epilogue = Some(select(&past, &acc(), &never));
    }
    let mut greatest = reduce(most, &[h, q], Reduce::Max, &[t], score.clone());
    greatest.init = Some(row(most));
    let mut denominator = reduce(total, &[h, q], Reduce::Sum, &[t], load(exp, &[h, q, t]));
    denominator.init = Some(mul(&row(total), &row(repair)));
    denominator.pre = vec![
        map(exp, &[h, q, t], unary(Unary::Exp2, &sub(&score, &row(most)))),
        map(scores, &[h, q, t], load(exp, &[h, q, t])),
    ];
    let mut output = reduce(sum, &[h, q, v], Reduce::Sum, &[t], mul(&score, &load(value, &[h, t, v])));
    output.init = Some(mul(&load(sum, &[h, q, v]), &row(repair)));
    let defs = vec![
        contraction,
        map(before, &[h, q], row(most)),
        greatest,
        map(repair, &[h, q], unary(Unary::Exp2, &sub(&row(before), &row(most)))),
        denominator,
        output,
    ];
    b.kernel.items.push(Item::Fold { axis: t, until: causal.then_some(q), defs });
    b.map(out, &[h, q, v], mul(&load(sum, &[h, q, v]), &unary(Unary::Recip, &row(total))));
    b.kernel
}

/// The greatest of each row and of a constant: used where NaN must pass.
pub fn clamp(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", F32, &[rows, columns]);
    let y = b.output("y", F32, &[rows, columns]);
    b.map(y, &[i, j], max(&number(0.0), &max(&load(x, &[i, j]), &number(-0.5))));
    b.kernel
}
