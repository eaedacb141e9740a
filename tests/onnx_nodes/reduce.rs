//! Reductions, and what is normalised by them.

use super::import::{Call, Held, Operator, Outcome, outside};
use super::numpy::{self, Numpy, Reduction, dims};
use super::value::Elem;
use luminal::graph::{Binary, Dim, Graph, NodeId, Unary};
use luminal::rt::Dtype;
use luminal_core::tensor::Scan;

pub fn operator(name: &str) -> Option<Operator> {
    if REDUCTIONS.iter().any(|(known, _)| *known == name) {
        return Some(reduction);
    }
    Some(match name {
        "ArgMax" | "ArgMin" => position,
        "Softmax" | "LogSoftmax" | "Hardmax" => along,
        "CumSum" => cumulative,
        "LayerNormalization" => layer_norm,
        "InstanceNormalization" => instance_norm,
        "BatchNormalization" => batch_norm,
        "MeanVarianceNormalization" => mean_variance_norm,
        "LRN" => local_response_norm,
        "NegativeLogLikelihoodLoss" => negative_log_likelihood,
        "SoftmaxCrossEntropyLoss" => cross_entropy,
        _ => return None,
    })
}

/// Functions of several axes at once.
const REDUCTIONS: &[(&str, Reduction)] = &[
    ("ReduceSum", |graph, x, axes| graph.sum(x, axes)),
    ("ReduceMean", |graph, x, axes| graph.mean(x, axes)),
    ("ReduceMax", |graph, x, axes| graph.max(x, axes)),
    ("ReduceMin", |graph, x, axes| graph.min(x, axes)),
    ("ReduceProd", |graph, x, axes| graph.prod(x, axes)),
    ("ReduceLogSumExp", |graph, x, axes| graph.logsumexp(x, axes)),
    ("ReduceL1", |graph, x, axes| graph.norm(x, axes, 1.0)),
    ("ReduceL2", |graph, x, axes| graph.norm(x, axes, 2.0)),
    ("ReduceSumSquare", |graph, x, axes| graph.sum_square(x, axes)),
    ("ReduceLogSum", |graph, x, axes| {
        let sum = graph.sum(x, axes);
        graph.log(sum)
    }),
];

fn reduction(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let Some((_, function)) = REDUCTIONS.iter().find(|(name, _)| *name == call.node.op_type) else {
        return Ok(vec![]);
    };
    let axes = call.axes(1)?.filter(|axes| !axes.is_empty());
    if axes.is_none() && call.int("noop_with_empty_axes", 0) != 0 {
        return Ok(vec![x]);
    }
    let (keep, wide) = (call.int("keepdims", 1) != 0, call.wide(x));
    let result = call.graph().reduced(wide, axes.as_deref(), keep, *function)?;
    Ok(vec![call.give(result, x.elem)?])
}

fn position(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let axis = numpy::axis(call.int("axis", 0), call.sizes(x).len())?;
    let last = call.int("select_last_index", 0) != 0;
    let keep = call.int("keepdims", 1) != 0;
    let greatest = call.node.op_type == "ArgMax";
    let wide = call.wide(x);
    let graph = call.graph();
    let mut result = match (greatest, last) {
        (true, false) => graph.argmax(wide, axis),
        (true, true) => graph.argmax_last(wide, axis),
        (false, false) => graph.argmin(wide, axis),
        (false, true) => graph.argmin_last(wide, axis),
    };
    if keep {
        result = graph.unsqueeze(result, axis);
    }
    Ok(vec![call.give(result, Elem::Int64)?])
}

/// Before version 13 all axes from the given one on are one.
fn along(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let shape = call.sizes(x);
    let recent = call.import.opset >= 13;
    let axis = numpy::axis(call.int("axis", if recent { -1 } else { 1 }), shape.len())?;
    let mut wide = call.wide(x);
    if !recent {
        let sizes = [shape[..axis].iter().product::<usize>(), shape[axis..].iter().product()];
        wide = call.graph().reshape(wide, &dims(&sizes));
    }
    let axis = if recent { axis } else { 1 };
    let kind = call.node.op_type.clone();
    let graph = call.graph();
    let result = match &kind[..] {
        "Softmax" => graph.softmax(wide, axis),
        "LogSoftmax" => graph.log_softmax(wide, axis),
        // 1 at the first of the greatest elements.
        _ => {
            let first = graph.argmax(wide, axis);
            let size = graph.sizes_of(wide)[axis];
            graph.one_hot(first, axis, Dim::Fixed(size), Dtype::F32)
        }
    };
    let result = call.graph().reshape(result, &dims(&shape));
    Ok(vec![call.give(result, x.elem)?])
}

fn cumulative(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let axis = numpy::axis(call.known(1)?.unwrap_or_default()[0], call.sizes(x).len())?;
    let scan = Scan { exclusive: call.int("exclusive", 0) != 0, reverse: call.int("reverse", 0) != 0 };
    let wide = call.wide(x);
    let result = call.graph().cumsum(wide, axis, scan);
    Ok(vec![call.give(result, x.elem)?])
}

/// Mean and `1 / sqrt(variance + epsilon)` over axes, which stay as size 1.
fn moments(graph: &mut Graph, x: NodeId, axes: &[i64], epsilon: f64) -> luminal::Result<[NodeId; 2]> {
    let mean = graph.reduced(x, Some(axes), true, |graph, x, axes| graph.mean(x, axes))?;
    let variance = graph.reduced(x, Some(axes), true, |graph, x, axes| graph.var(x, axes, 0.0))?;
    let shifted = graph.add_number(variance, f64::from(epsilon as f32));
    let root = graph.unary(Unary::Sqrt, shifted);
    Ok([mean, graph.unary(Unary::Recip, root)])
}

/// `(x - mean) * scale`, all broadcast.
fn normalised(graph: &mut Graph, x: NodeId, [mean, scale]: [NodeId; 2]) -> luminal::Result<NodeId> {
    let [x, mean, scale] = graph.broadcast_all([x, mean, scale])?;
    let centred = graph.sub(x, mean);
    Ok(graph.mul(centred, scale))
}

/// `x * weight + bias`, broadcast; the bias may be missing.
fn affine(graph: &mut Graph, x: NodeId, weight: NodeId, bias: Option<NodeId>) -> luminal::Result<NodeId> {
    let (x, weight) = graph.broadcast(x, weight)?;
    let scaled = graph.mul(x, weight);
    let Some(bias) = bias else { return Ok(scaled) };
    let (scaled, bias) = graph.broadcast(scaled, bias)?;
    Ok(graph.add(scaled, bias))
}

fn layer_norm(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, weight, bias) = (call.input(0)?, call.input(1)?, call.optional(2));
    let rank = call.sizes(x).len();
    let first = numpy::axis(call.int("axis", -1), rank)?;
    let axes: Vec<i64> = (first as i64..rank as i64).collect();
    let epsilon = call.float("epsilon", 1e-5);
    let (wide, weight) = (call.wide(x), call.wide(weight));
    let bias = bias.map(|bias| call.wide(bias));
    let graph = call.graph();
    let [mean, scale] = moments(graph, wide, &axes, epsilon)?;
    let result = normalised(graph, wide, [mean, scale])?;
    let result = affine(graph, result, weight, bias)?;
    Ok(vec![call.give(result, x.elem)?, call.give(mean, Elem::Float)?, call.give(scale, Elem::Float)?])
}

/// A vector of one number a channel, as `[C, 1, ..]` for tensors of this rank.
fn channels(call: &mut Call<'_>, position: usize, rank: usize) -> Outcome<NodeId> {
    let vector = call.input(position)?;
    let mut shape = vec![1i64; rank - 1];
    shape[0] = -1;
    let wide = call.wide(vector);
    Ok(call.graph().shaped(wide, &shape)?)
}

fn instance_norm(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let rank = call.sizes(x).len();
    let (weight, bias) = (channels(call, 1, rank)?, channels(call, 2, rank)?);
    let epsilon = call.float("epsilon", 1e-5);
    let wide = call.wide(x);
    let graph = call.graph();
    let axes: Vec<i64> = (2..rank as i64).collect();
    let factors = moments(graph, wide, &axes, epsilon)?;
    let result = normalised(graph, wide, factors)?;
    let result = affine(graph, result, weight, Some(bias))?;
    Ok(vec![call.give(result, x.elem)?])
}

/// With statistics that are given, or, in training, those of the batch, which are mixed into the given ones.
fn batch_norm(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let rank = call.sizes(x).len();
    let mut parts = [0; 4];
    for (position, part) in parts.iter_mut().enumerate() {
        *part = channels(call, position + 1, rank)?;
    }
    let [weight, bias, mut mean, mut variance] = parts;
    let (epsilon, momentum) = (call.float("epsilon", 1e-5), call.float("momentum", f64::from(0.9f32)));
    let training = call.int("training_mode", 0) != 0;
    let wide = call.wide(x);
    let graph = call.graph();
    let mut results = vec![];
    if training {
        let axes: Vec<i64> = (0..rank as i64).filter(|axis| *axis != 1).collect();
        let now_mean = graph.reduced(wide, Some(&axes), false, |graph, x, axes| graph.mean(x, axes))?;
        let now_variance =
            graph.reduced(wide, Some(&axes), false, |graph, x, axes| graph.var(x, axes, 0.0))?;
        for (now, old) in [(now_mean, &mut mean), (now_variance, &mut variance)] {
            let flat = graph.shaped(*old, &[-1])?;
            let kept = graph.mul_number(flat, momentum);
            let added = graph.mul_number(now, f64::from((1.0 - momentum) as f32));
            results.push(graph.add(kept, added));
            let mut shape = vec![1i64; rank - 1];
            shape[0] = -1;
            *old = graph.shaped(now, &shape)?;
        }
    }
    let shifted = graph.add_number(variance, f64::from(epsilon as f32));
    let root = graph.unary(Unary::Sqrt, shifted);
    let scale = graph.unary(Unary::Recip, root);
    let result = normalised(graph, wide, [mean, scale])?;
    let result = affine(graph, result, weight, Some(bias))?;
    let mut outputs = vec![call.give(result, x.elem)?];
    for statistic in results {
        outputs.push(call.give(statistic, x.elem)?);
    }
    Ok(outputs)
}

/// `(x - mean) / (sqrt(mean(x^2) - mean^2) + 1e-9)`
fn mean_variance_norm(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let axes = call.ints("axes").unwrap_or(vec![0, 2, 3]);
    let wide = call.wide(x);
    let graph = call.graph();
    let mean = graph.reduced(wide, Some(&axes), true, |graph, x, axes| graph.mean(x, axes))?;
    let variance = graph.reduced(wide, Some(&axes), true, |graph, x, axes| graph.var(x, axes, 0.0))?;
    let deviation = graph.unary(Unary::Sqrt, variance);
    let deviation = graph.add_number(deviation, f64::from(1e-9f32));
    let scale = graph.unary(Unary::Recip, deviation);
    let result = normalised(graph, wide, [mean, scale])?;
    Ok(vec![call.give(result, x.elem)?])
}

/// `x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta`
fn local_response_norm(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let size = call.int("size", 1) as usize;
    let (alpha, beta) = (call.float("alpha", 1e-4), call.float("beta", 0.75));
    let bias = call.float("bias", 1.0);
    let wide = call.wide(x);
    let graph = call.graph();
    let squares = graph.mul(wide, wide);
    let padded = graph.pad_constant(squares, 1, (size as i64 - 1) / 2, size as i64 / 2, 0.0);
    let windows = graph.window(padded, 1, size, 1, 1);
    let sum = graph.sum(windows, 2);
    let scaled = graph.mul_number(sum, f64::from((alpha / size as f64) as f32));
    let base = graph.add_number(scaled, bias);
    let exponent = graph.full_like(f64::from(beta as f32), base);
    let power = graph.pow(base, exponent);
    let result = graph.div(wide, power);
    Ok(vec![call.give(result, x.elem)?])
}

/// `-input[target] * weight[target]`, 0 where the target is to be ignored; reduced.
fn loss(call: &mut Call<'_>, log_probabilities: NodeId, elem: Elem) -> Outcome<Held> {
    let target = call.input(1)?;
    let weight = call.optional(2);
    let ignore = call.has("ignore_index").then(|| call.int("ignore_index", 0));
    let reduction = call.string("reduction", "mean");
    let weight = weight.map(|weight| call.wide(weight));
    let graph = call.graph();
    let target = target.node;
    let shape = graph.sizes_of(target);
    let index = graph.unsqueeze(target, 1);
    let chosen = graph.gather_along(log_probabilities, 1, index);
    let chosen = graph.squeeze(chosen, 1);
    let mut loss = graph.neg(chosen);
    let mut share = match weight {
        Some(weight) => graph.index_select(weight, 0, target),
        None => graph.full(1.0, Dtype::F32, &dims(&shape)),
    };
    if let Some(ignore) = ignore {
        let ignored = graph.full_like(ignore as f64, target);
        let ignored = graph.equal(target, ignored);
        let zero = graph.full_like(0.0, share);
        share = graph.select(ignored, zero, share);
        loss = graph.select(ignored, zero, loss);
    }
    loss = graph.binary(Binary::Mul, loss, share);
    if reduction != "none" {
        loss = graph.reduced(loss, None, false, |graph, x, axes| graph.sum(x, axes))?;
    }
    if reduction == "mean" {
        let shares = graph.reduced(share, None, false, |graph, x, axes| graph.sum(x, axes))?;
        loss = graph.div(loss, shares);
    }
    call.give(loss, elem)
}

fn negative_log_likelihood(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let wide = call.wide(x);
    Ok(vec![loss(call, wide, x.elem)?])
}

fn cross_entropy(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    if call.sizes(x).len() < 2 {
        return outside("inputs without classes");
    }
    let wide = call.wide(x);
    let logarithms = call.graph().log_softmax(wide, 1);
    Ok(vec![loss(call, logarithms, x.elem)?, call.give(logarithms, x.elem)?])
}
