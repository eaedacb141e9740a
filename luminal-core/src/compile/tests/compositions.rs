//! Compositions of the language as compiled code: special values, tiny numbers and integers against the reference.

use super::*;
use crate::dtype::Dtype;
use crate::graph::NodeId;
use crate::reference::{self, Data, Feeds, Tensor, Tolerance};
use crate::runtime::{InputRef, Session};
use crate::tensor::Scan;
use crate::weights::Weights;

/// Runs functions of `x` and `y` as compiled code and compares with the reference; `tiny` is the absolute tolerance.
fn agree(
    name: &str,
    [x, y]: [Tensor; 2],
    as_weights: bool,
    functions: impl FnOnce(&mut Graph, NodeId, NodeId) -> Vec<NodeId>,
    tiny: f32,
) {
    let mut graph = Graph::default();
    let [first, second] = [("x", &x), ("y", &y)].map(|(name, tensor)| {
        let shape: Vec<_> = tensor.shape.iter().map(|size| Dim::Fixed(*size)).collect();
        match as_weights {
            true => graph.param(name, &shape, tensor.dtype()),
            false => graph.input(name, &shape, tensor.dtype()),
        }
    });
    let results = functions(&mut graph, first, second);
    for (number, result) in results.into_iter().enumerate() {
        graph.outputs.push((format!("output{number}"), result));
    }
    let data = [x.data.to_bytes(), y.data.to_bytes()];
    let tensors = [("x", &x, &data[0]), ("y", &y, &data[1])];
    let weights =
        tensors.iter().map(|(name, t, data)| (name.to_string(), t.dtype(), t.shape.clone(), data.to_vec()));
    let weights = Weights::from_tensors(weights.filter(|_| as_weights)).unwrap();
    let feeds = Feeds::from(tensors.map(|(name, tensor, _)| (name.to_string(), tensor.clone())));
    let expected = reference::run(&graph, &feeds, &[]).unwrap().outputs;
    for fuse in [true, false] {
        with_plan(name, &graph, fuse, |plan| {
            let mut session = Session::new(plan, Device::cpu(), &weights).unwrap();
            let inputs = [&data[0][..], &data[1]].map(|data| InputRef { data, sizes: &x.shape });
            session.run(if as_weights { &[] } else { &inputs }).unwrap();
            for (position, expected) in expected.iter().enumerate() {
                let computed = session.output(position);
                let data = Data::from_bytes(expected.dtype(), computed.data);
                let computed = Tensor::new(computed.sizes, data).unwrap();
                let tolerance = Tolerance { absolute: tiny, relative: 4e-6 };
                reference::compare(expected, &computed, tolerance)
                    .unwrap_or_else(|e| panic!("{name}, output {position}, fuse = {fuse}: {e}\n{graph}"));
            }
        });
    }
}

fn row(values: impl Into<Data>) -> Tensor {
    let data = values.into();
    Tensor::new(&[data.len()], data).unwrap()
}

/// The search may reorder sums and products of constants and weights. What the functions give near 0 does not depend
/// on it.
#[test]
fn functions_near_zero_are_exact_as_compiled_code() {
    let values: Vec<f32> = (0..90)
        .map(|i| (if i % 2 == 0 { 1.0 } else { -1.0 }) * 10f32.powf(-f32::from(i as i16) / 3.0))
        .collect();
    let functions =
        [Graph::tanh, Graph::expm1, Graph::log1p, Graph::erf, Graph::asin, Graph::atan, Graph::sinh];
    for as_weights in [false, true] {
        let x = [row(values.clone()), row(values.clone())];
        agree("near zero", x, as_weights, |g, x, _| functions.map(|function| function(g, x)).to_vec(), 1e-35);
    }
}

#[test]
fn special_values_as_compiled_code() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let special =
        [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 200.0, -200.0, 8388607.5, 1e30, -1e30, 20.0];
    let x: Vec<f32> = special.iter().flat_map(|x| [*x; 16]).collect();
    let y: Vec<f32> = special.repeat(16);
    let of_one = |g: &mut Graph, x| {
        vec![
            g.floor(x),
            g.round(x),
            g.sign(x),
            g.gelu(x),
            g.gelu_tanh(x),
            g.silu(x),
            g.mish(x),
            g.softplus(x),
            g.hardswish(x),
            g.elu(x, 0.5),
            g.is_nan(x),
            g.is_inf(x),
            g.atan(x),
        ]
    };
    let of_two = |g: &mut Graph, x, y| {
        vec![g.less_equal(x, y), g.equal(x, y), g.not_equal(x, y), g.minimum(x, y), g.fmod(x, y)]
    };
    let inputs = || [row(x.clone()), row(y.clone())];
    agree("one operand", inputs(), false, |g, x, _| of_one(g, x), 1e-35);
    agree("two operands", inputs(), false, of_two, 1e-35);
    // Large powers amplify the rounding of the logarithm, so exponents are moderate.
    let y = y.iter().map(|y| if y.is_finite() { y % 7.0 } else { *y }).collect::<Vec<_>>();
    let x = x.iter().map(|x| if x.is_finite() { x % 7.0 } else { *x }).collect::<Vec<_>>();
    agree("powers", [row(x), row(y)], false, |g, x, y| vec![g.pow(x, y)], 1e-35);
}

#[test]
fn integers_divide_exactly_as_compiled_code() {
    let special = [0, 1, -1, 3, 7, -7, 10, 65535, -65536, (1 << 24) + 1, i32::MAX, i32::MIN, i32::MIN + 1];
    let mut x: Vec<i32> = special.iter().flat_map(|x| [*x; 13]).collect();
    let mut y: Vec<i32> = special.repeat(13);
    let mut random = reference::SplitMix64::new(3);
    let mut number = || ((random.unit() - 0.5) * 2f64.powi(1 + (random.unit() * 32.0) as i32)) as i32;
    for _ in 0..2000 {
        x.push(number());
        y.push(number());
    }
    let functions =
        |g: &mut Graph, x, y| vec![g.div(x, y), g.fmod(x, y), g.floor_divide(x, y), g.less_equal(x, y)];
    agree("integers", [row(x), row(y)], false, functions, 0.0);
}

#[test]
fn reductions_as_compiled_code() {
    let mut random = reference::SplitMix64::new(5);
    let mut values: Vec<f32> = (0..6 * 37).map(|_| (random.unit() as f32 * 8.0).floor() - 3.5).collect();
    // A NaN that is not the first of its row, a row of -inf and one with +inf.
    values[2 * 37 + 5] = f32::NAN;
    values[2 * 37 + 9] = f32::NAN;
    values[3 * 37..4 * 37].fill(f32::NEG_INFINITY);
    values[4 * 37 + 1] = f32::INFINITY;
    let x = Tensor::new(&[6, 37], values).unwrap();
    let functions = |g: &mut Graph, x, _| {
        let scan = |exclusive, reverse| Scan { exclusive, reverse };
        let positive = g.less_equal(x, x);
        vec![
            g.argmax(x, 1),
            g.argmin(x, 1),
            g.argmax_last(x, 0),
            g.logsumexp(x, 1),
            g.logsumexp(x, [0, 1]),
            g.var(x, [1], 1.0),
            g.norm(x, 1, 2.0),
            g.norm(x, [0, 1], 1.0),
            g.mean(x, [0, 1]),
            g.any(positive, 1),
            g.all(positive, [0, 1]),
            g.cumsum(x, 1, scan(false, false)),
            g.cumsum(x, 0, scan(true, true)),
            g.prod(x, 0),
            g.cumprod(x, 0, scan(false, false)),
        ]
    };
    agree("reductions", [x.clone(), x], false, functions, 1e-5);
}

#[test]
fn a_long_product_compiles() {
    let mut graph = Graph::default();
    let x = graph.input("x", &[Dim::Fixed(2), Dim::Fixed(100)], Dtype::F32);
    let product = graph.prod(x, 1);
    graph.outputs.push(("output".into(), product));
    check("a long product", &graph, true);
}
