//! Layers against loops in `f64`, in the terms of PyTorch's documentation; names and shapes of their weights.

use super::*;
use crate::dtype::Dtype;
use crate::graph::Op;
use crate::tensor::nn::{
    BatchNorm, Bidirectional, Conv1d, Conv2d, Embedding, FeedForward, GroupNorm, Gru, GruKind, LayerNorm,
    Linear, Lstm, LstmKind, MultiHeadAttention, RecurrentState, RmsNorm, Rnn, RnnKind, SwiGlu,
};
use crate::tensor::{Axis, D, Module, One, Tensor as T, attention, input, output, weights};
use half::f16;
use std::collections::HashMap;

/// Weights by name, in `f64`.
type Named = HashMap<String, (Vec<usize>, Vec<f64>)>;

/// Runs a model on random weights, all different. Gives its inputs, weights and outputs.
fn run_layer(model: impl FnOnce(), free: &[usize]) -> (Named, Vec<Tensor>) {
    let graph = graph(model);
    let mut feeds = Feeds::new();
    let mut named = Named::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        if let Op::Input(name) | Op::Param(name) | Op::State(name) = &node.op {
            let shape: Vec<usize> = node.shape.iter().map(|dim| dim.size(free)).collect();
            let mut values = floats(&mixed(&shape, number as u64 + 1)).to_vec();
            if name.ends_with("running_var") {
                values.iter_mut().for_each(|x| *x = x.abs() + 0.1);
            }
            named.insert(name.clone(), (shape.clone(), values.iter().map(|x| f64::from(*x)).collect()));
            feeds.insert(name.clone(), tensor(&shape, values));
        }
    }
    (named, reference::run(&graph, &feeds, free).unwrap().outputs)
}

fn close(expected: Vec<f64>, actual: &Tensor, relative: f32) {
    let expected = tensor(&actual.shape, expected.iter().map(|x| *x as f32).collect::<Vec<_>>());
    assert_close(&expected, actual, relative);
}

/// `x W^T + b` of each row.
fn affine(x: &[f64], weight: &[f64], bias: Option<&[f64]>, inputs: usize) -> Vec<f64> {
    let outputs = weight.len() / inputs;
    let row = |x: &[f64]| -> Vec<f64> {
        let dot = |o: usize| (0..inputs).map(|i| x[i] * weight[o * inputs + i]).sum::<f64>();
        (0..outputs).map(|o| dot(o) + bias.map_or(0.0, |bias| bias[o])).collect()
    };
    x.chunks(inputs).flat_map(row).collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Mean and variance.
fn moments(x: &[f64]) -> (f64, f64) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    (mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64)
}

#[test]
fn normalisation_of_rows() {
    let (named, out) = run_layer(
        || {
            let x: T<(D<2>, D<3>, D<5>)> = input("x");
            let (layer, plain): (LayerNorm<5>, LayerNorm<5, f32, false>) =
                (weights("a"), Module::build(&crate::tensor::weights_scope("b").field("plain", "plain")));
            let rms: RmsNorm<5> = Module::build(&crate::tensor::weights_scope("c").element(0));
            output(&(
                (layer.forward(x), plain.epsilon(0.5).forward(x)),
                (rms.forward(x), rms.unit_offset().epsilon(0.25).forward(x)),
            ));
        },
        &[],
    );
    let get = |name: &str| &named[name].1;
    let normed = |epsilon: f64, weight: &str, bias: Option<&str>| -> Vec<f64> {
        let row = |row: &[f64]| -> Vec<f64> {
            let (mean, variance) = moments(row);
            let scale = (variance + epsilon).sqrt().recip();
            let shift = |i: usize| bias.map_or(0.0, |bias| get(bias)[i]);
            (0..5).map(|i| (row[i] - mean) * scale * get(weight)[i] + shift(i)).collect()
        };
        get("x").chunks(5).flat_map(row).collect()
    };
    close(normed(1e-5, "weight", Some("bias")), &out[0], 2e-6);
    close(normed(0.5, "plain.weight", None), &out[1], 2e-6);
    let rms = |epsilon: f64, offset: f64| -> Vec<f64> {
        let row = |row: &[f64]| -> Vec<f64> {
            let mean = row.iter().map(|x| x * x).sum::<f64>() / 5.0;
            (0..5).map(|i| row[i] / (mean + epsilon).sqrt() * (get("c.0.weight")[i] + offset)).collect()
        };
        get("x").chunks(5).flat_map(row).collect()
    };
    close(rms(1e-6, 0.0), &out[2], 2e-6);
    close(rms(0.25, 1.0), &out[3], 2e-6);
}

/// A common part much greater than the differences: 16 values 1000 + i/1000, and rows of equal values.
#[test]
fn normalisation_keeps_small_differences() {
    let rows: Vec<f32> = [0.0f32, 1000.0, 10_000.0]
        .iter()
        .flat_map(|base| (0..16).map(move |i| (f64::from(*base) + f64::from(i) * 1e-3) as f32))
        .collect();
    let x = tensor(&[3, 16], rows.clone());
    let equal = tensor(&[4, 7], [1000.1f32, -15.94, 0.0, 3e20].map(|x| [x; 7]).concat());
    let out = run(
        || {
            let (x, equal): (T<(D<3>, D<16>)>, T<(D<4>, D<7>)>) = (input("x"), input("equal"));
            output(&(x.layer_norm(Axis::<-1>, 1e-5), equal.layer_norm(Axis::<1>, 1e-5)));
        },
        &[("x", &x), ("equal", &equal)],
    );
    let expected: Vec<f64> = rows
        .chunks(16)
        .flat_map(|row| {
            let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            let (mean, variance) = moments(&row);
            row.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect::<Vec<_>>()
        })
        .collect();
    assert!((expected[0] + 1.3416).abs() < 1e-3, "{}", expected[0]);
    close(expected, &out[0], 1e-5);
    assert!(floats(&out[1]).iter().all(|x| *x == 0.0), "{:?}", out[1]);
}

/// 300^2 is beyond `f16`, and every step would round: it is computed in `f32`.
#[test]
fn normalisation_of_16_bits_is_rounded_once() {
    let halves = |values: &[f32]| values.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>();
    let row = [300.0, -300.0, 300.0, -300.0, 299.0, 300.5, 2.0, 0.125];
    let out = run(
        || {
            let x: T<(D<8>,), f16> = input("x");
            let (norm, gain): (LayerNorm<8, f16>, RmsNorm<8, f32>) =
                (weights("norm"), Module::build(&crate::tensor::weights_scope("gain").element(0)));
            output(&(x.rms_norm(Axis::<0>, 1e-6), norm.forward(x), gain.forward(x)));
        },
        &[
            ("x", &tensor(&[8], halves(&row))),
            ("weight", &tensor(&[8], halves(&[0.3; 8]))),
            ("bias", &tensor(&[8], halves(&[0.7; 8]))),
            ("gain.0.weight", &tensor(&[8], vec![0.1f32; 8])),
        ],
    );
    let row = halves(&row).iter().map(|x| f64::from(f32::from(*x))).collect::<Vec<_>>();
    let (mean, variance) = moments(&row);
    let square = row.iter().map(|x| x * x).sum::<f64>() / 8.0;
    let [weight, bias] = [0.3, 0.7].map(|x| f64::from(f16::from_f64(x)));
    let rounded = |f: &dyn Fn(f64) -> f64| row.iter().map(|x| f16::from_f64(f(*x))).collect::<Vec<_>>();
    let wanted = [
        rounded(&|x| x / (square + 1e-6).sqrt()),
        rounded(&|x| (x - mean) / (variance + 1e-5).sqrt() * weight + bias),
        rounded(&|x| x / (square + 1e-6).sqrt() * 0.1),
    ];
    for (out, wanted) in out.iter().zip(wanted) {
        assert_eq!(out.dtype(), Dtype::F16);
        assert_eq!(*out, tensor(&[8], wanted));
    }
}

#[test]
fn normalisation_of_groups_and_batches() {
    let (named, out) = run_layer(
        || {
            let x: T<(D<2>, D<4>, D<3>, D<2>)> = input("x");
            let groups: GroupNorm<2, 4> = weights("groups");
            let batch: [BatchNorm<4>; 1] = weights("batch");
            let one: T<(One, D<4>)> = input("one");
            output(&(groups.forward(x), batch[0].epsilon(0.01).forward(x), batch[0].forward(one)));
        },
        &[],
    );
    let get = |name: &str| &named[name].1;
    let x = get("x");
    let groups = x.chunks(12).enumerate().flat_map(|(number, group)| {
        let (mean, variance) = moments(group);
        let channel = move |i: usize| number % 2 * 2 + i / 6;
        let (weight, bias) = (get("weight"), get("bias"));
        let normed = move |i: usize| {
            (group[i] - mean) / (variance + 1e-5).sqrt() * weight[channel(i)] + bias[channel(i)]
        };
        (0..12).map(normed).collect::<Vec<_>>()
    });
    close(groups.collect(), &out[0], 5e-6);
    let [mean, variance, weight, bias] =
        ["running_mean", "running_var", "weight", "bias"].map(|name| get(&format!("batch.0.{name}")).clone());
    let normed =
        |x: f64, c: usize, epsilon: f64| (x - mean[c]) / (variance[c] + epsilon).sqrt() * weight[c] + bias[c];
    close((0..48).map(|i| normed(x[i], i / 6 % 4, 0.01)).collect(), &out[1], 5e-6);
    close((0..4).map(|c| normed(get("one")[c], c, 1e-5)).collect(), &out[2], 5e-6);
}

#[test]
fn convolutions_in_groups_with_bias() {
    let (named, out) = run_layer(
        || {
            let x: T<(D<1>, D<4>, D<7>)> = input("x");
            let image: T<(D<1>, D<2>, D<5>, D<4>)> = input("image");
            let a: Conv1d<4, 6, 3, 2, 2, true, 2, 2> = weights("a");
            let b: [Conv2d<2, 2, 3, 1, 1, false, 2>; 1] = weights("b");
            let sequence: T<(D<1>, D<6>, D<4>)> = a.forward(x);
            let maps: T<(D<1>, D<2>, D<5>, D<4>)> = b[0].forward(image);
            output(&(sequence, maps));
        },
        &[],
    );
    let get = |name: &str, index: usize| named[name].1[index];
    assert_eq!(named["weight"].0, [6, 2, 3]);
    let mut sequence = vec![];
    for (o, at) in (0..6).flat_map(|o| (0..4).map(move |at| (o, at))) {
        let mut sum = get("bias", o);
        for (c, tap) in (0..2).flat_map(|c| (0..3).map(move |tap| (c, tap))) {
            let place = 2 * at + 2 * tap;
            if (2..9).contains(&place) {
                let channel = o / 3 * 2 + c;
                sum += get("weight", (o * 2 + c) * 3 + tap) * get("x", channel * 7 + place - 2);
            }
        }
        sequence.push(sum);
    }
    close(sequence, &out[0], 2e-6);
    let mut maps = vec![];
    for (c, i, j) in (0..2).flat_map(|c| (0..5).flat_map(move |i| (0..4).map(move |j| (c, i, j)))) {
        let taps = (0..3usize).flat_map(|y| (0..3usize).map(move |x| (y, x)));
        let inside = taps.filter(|(y, x)| (1..6).contains(&(i + y)) && (1..5).contains(&(j + x)));
        let sum: f64 = inside
            .map(|(y, x)| {
                get("b.0.weight", (c * 3 + y) * 3 + x) * get("image", (c * 5 + i + y - 1) * 4 + j + x - 1)
            })
            .sum();
        maps.push(sum);
    }
    close(maps, &out[1], 2e-6);
}

#[test]
fn embedding_and_its_head() {
    let (named, out) = run_layer(
        || {
            let table: Embedding<5, 3> = weights("table");
            let x: T<(D<2>, D<3>)> = input("x");
            let tokens = T::<(D<4>,), i32>::iota() + 2;
            output(&(table.forward(tokens), table.logits(x)));
        },
        &[],
    );
    let weight = &named["weight"].1;
    // The last index, 5, is out of range and means the last row.
    close([2, 3, 4, 4].iter().flat_map(|row| weight[row * 3..][..3].to_vec()).collect(), &out[0], 0.0);
    close(affine(&named["x"].1, weight, None, 3), &out[1], 1e-6);
}

/// Weights of 16 bits work on activations of either width; the result has the type of the activations.
#[test]
fn linear_layers_of_other_element_types() {
    let narrow =
        |x: &Tensor| tensor(&x.shape, floats(x).iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>());
    let (x, w, b) = (mixed(&[2, 3], 1), narrow(&mixed(&[4, 3], 2)), narrow(&mixed(&[4], 3)));
    let feeds = [("x", &x), ("weight", &w), ("bias", &b)];
    let wide = run(
        || {
            let layer: Linear<3, 4, f16> = weights("layer");
            let x = input::<T<(D<2>, D<3>)>>("x");
            output(&(layer.forward(x), layer.forward(x.cast::<f16>())));
        },
        &feeds,
    );
    let numbers = |x: &Tensor| match &x.data {
        Data::F16(x) => x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(),
        _ => floats(x).iter().map(|x| f64::from(*x)).collect(),
    };
    close(affine(&numbers(&x), &numbers(&w), Some(&numbers(&b)), 3), &wide[0], 1e-6);
    assert_eq!(wide[1].dtype(), Dtype::F16);
    let exact = affine(&numbers(&narrow(&x)), &numbers(&w), Some(&numbers(&b)), 3);
    for (is, exact) in numbers(&wide[1]).iter().zip(exact) {
        assert!((is - exact).abs() <= 2f64.powi(-11) * exact.abs() + 1e-6, "{is} {exact}");
    }
}

#[test]
fn feed_forward_layers() {
    let (named, out) = run_layer(
        || {
            let x: T<(D<2>, D<3>)> = input("x");
            let (mlp, gated): (FeedForward<3, 5>, SwiGlu<3, 4>) = (weights("mlp"), weights("gated"));
            output(&(mlp.forward(x), mlp.forward_with(x, |x| x.relu()), gated.forward(x)));
        },
        &[],
    );
    let get = |name: &str| &named[name].1[..];
    let x = get("x");
    let mlp = |f: &dyn Fn(f64) -> f64| {
        let hidden = affine(x, get("linear1.weight"), Some(get("linear1.bias")), 3);
        let hidden: Vec<f64> = hidden.into_iter().map(f).collect();
        affine(&hidden, get("linear2.weight"), Some(get("linear2.bias")), 5)
    };
    close(mlp(&|x| x * 0.5 * (1.0 + erf(x * 0.5f64.sqrt()))), &out[0], 1e-5);
    close(mlp(&|x| x.max(0.0)), &out[1], 2e-6);
    let (gate, up) = (affine(x, get("gate_proj.weight"), None, 3), affine(x, get("up_proj.weight"), None, 3));
    let hidden: Vec<f64> = gate.iter().zip(up).map(|(gate, up)| gate * sigmoid(*gate) * up).collect();
    close(affine(&hidden, get("down_proj.weight"), None, 4), &out[2], 2e-6);
}

/// Error function by its power series, enough for small arguments.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn attention_of_several_heads() {
    let (named, out) = run_layer(
        || {
            let x: T<(D<2>, D<3>, D<8>)> = input("x");
            let memory: T<(D<2>, D<4>, D<8>)> = input("memory");
            let layer: MultiHeadAttention<8, 2> = weights("layer");
            output(&(
                layer.forward(x, x, x, attention().causal()),
                layer.forward(x, memory, memory, attention()),
            ));
        },
        &[],
    );
    let get = |name: &str| &named[name].1[..];
    let part = |number: usize, x: &[f64]| {
        let (weight, bias) =
            (&get("in_proj_weight")[number * 64..][..64], &get("in_proj_bias")[number * 8..][..8]);
        affine(x, weight, Some(bias), 8)
    };
    for (number, memory) in ["x", "memory"].iter().enumerate() {
        let (q, k, v) = (part(0, get("x")), part(1, get(memory)), part(2, get(memory)));
        let keys = k.len() / 16;
        let mut seen = vec![0.0; 48];
        for (b, t, h) in (0..2).flat_map(|b| (0..3).flat_map(move |t| (0..2).map(move |h| (b, t, h)))) {
            let weight = |j: usize| {
                let dot = |i: usize| q[(b * 3 + t) * 8 + h * 4 + i] * k[(b * keys + j) * 8 + h * 4 + i];
                ((0..4).map(dot).sum::<f64>() * 0.5).exp()
            };
            let visible = if number == 0 { t + 1 } else { keys };
            let sum: f64 = (0..visible).map(weight).sum();
            for i in 0..4 {
                let value = |j: usize| v[(b * keys + j) * 8 + h * 4 + i];
                seen[(b * 3 + t) * 8 + h * 4 + i] =
                    (0..visible).map(|j| weight(j) * value(j)).sum::<f64>() / sum;
            }
        }
        close(affine(&seen, get("out_proj.weight"), Some(get("out_proj.bias")), 8), &out[number], 5e-6);
    }
}

/// One layer over one sequence: what PyTorch's documentation says, step by step.
fn recurrent(kind: &str, get: &dyn Fn(&str) -> Vec<f64>, suffix: &str, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let weight = |name: &str| get(&format!("{name}{suffix}"));
    let (w_hh, b_ih, b_hh) = (weight("weight_hh"), weight("bias_ih"), weight("bias_hh"));
    let gates = match kind {
        "lstm" => 4,
        "gru" => 3,
        _ => 1,
    };
    let size = b_ih.len() / gates;
    let (mut h, mut c) = (vec![0.0; size], vec![0.0; size]);
    let mut steps = vec![];
    for x in x {
        let from_x = affine(x, &weight("weight_ih"), Some(&b_ih), x.len());
        let from_h = affine(&h, &w_hh, Some(&b_hh), size);
        let both = |gate: usize, i: usize| from_x[gate * size + i] + from_h[gate * size + i];
        let old = h.clone();
        for i in 0..size {
            h[i] = match kind {
                "lstm" => {
                    c[i] = sigmoid(both(1, i)) * c[i] + sigmoid(both(0, i)) * both(2, i).tanh();
                    sigmoid(both(3, i)) * c[i].tanh()
                }
                "gru" => {
                    let (r, z) = (sigmoid(both(0, i)), sigmoid(both(1, i)));
                    let n = (from_x[2 * size + i] + r * from_h[2 * size + i]).tanh();
                    (1.0 - z) * n + z * old[i]
                }
                _ => both(0, i).tanh(),
            };
        }
        steps.push(h.clone());
    }
    steps
}

fn rows(x: &[f64], width: usize) -> Vec<Vec<f64>> {
    x.chunks(width).map(|row| row.to_vec()).collect()
}

#[test]
fn recurrent_layers() {
    let check = |kind: &str, model: fn(), layers: usize| {
        let (named, out) = run_layer(model, &[]);
        let get = |name: &str| named[name].1.clone();
        let mut all = vec![];
        for batch in named["x"].1.chunks(12) {
            let mut x = rows(batch, 3);
            for layer in 0..layers {
                x = recurrent(kind, &get, &format!("_l{layer}"), &x);
            }
            all.extend(x.concat());
        }
        close(all, &out[0], 5e-6);
        // The same in steps, with the state kept.
        assert_close(&out[0], &out[1], 1e-6);
    };
    fn steps<K: crate::tensor::nn::RecurrentKind, const LAYERS: usize>() {
        let net: crate::tensor::nn::Recurrent<K, 3, 2, LAYERS> = weights("net");
        let x: T<(D<2>, D<4>, D<3>)> = input("x");
        let mut state = RecurrentState::<K, D<2>, 2, LAYERS>::zeros();
        let first: T<(D<2>, D<3>)> = x.slice::<D<1>, 1>(Axis::<1>, 0).reshape();
        let first: T<(D<2>, D<1>, D<2>)> = net.step(first, &mut state).reshape();
        let rest: T<(D<2>, D<3>, D<3>)> = x.slice(Axis::<1>, 1);
        let rest = net.forward_from(rest, &mut state);
        let joined: T<(D<2>, D<4>, D<2>)> = first.concat(Axis::<1>, rest);
        output(&(net.forward(x), joined));
    }
    check("lstm", steps::<LstmKind, 2>, 2);
    check("gru", steps::<GruKind, 1>, 1);
    check("rnn", steps::<RnnKind, 2>, 2);
}

#[test]
fn recurrent_layers_in_both_directions() {
    let (named, out) = run_layer(
        || {
            let net: Bidirectional<GruKind, 3, 2, 2> = weights("net");
            let both: T<(One, D<4>, D<4>)> = net.forward(input::<T<(One, D<4>, D<3>)>>("x"));
            output(&both);
        },
        &[],
    );
    let get = |name: &str| named[name].1.clone();
    let mut x = rows(&named["x"].1, 3);
    for layer in 0..2 {
        let forwards = recurrent("gru", &get, &format!("_l{layer}"), &x);
        let turned: Vec<_> = x.iter().rev().cloned().collect();
        let backwards = recurrent("gru", &get, &format!("_l{layer}_reverse"), &turned);
        x = forwards.iter().zip(backwards.iter().rev()).map(|(f, b)| [&f[..], b].concat()).collect();
    }
    close(x.concat(), &out[0], 5e-6);
}

/// Names and shapes as in files of PyTorch.
#[test]
fn weights_are_named_as_in_pytorch() {
    let names = |model: fn()| -> Vec<String> {
        let params = graph(model).nodes.into_iter().filter_map(|node| match node.op {
            Op::Param(name) => {
                Some(format!("{name}{:?}", node.shape.iter().map(|&dim| dim.max()).collect::<Vec<_>>()))
            }
            _ => None,
        });
        params.collect()
    };
    macro_rules! named {
        ($layer:ty) => {
            names(|| {
                let _: $layer = weights("layer");
                output(&T::<()>::full(0.0));
            })
        };
    }
    assert_eq!(
        named!(MultiHeadAttention<4, 2>),
        ["in_proj_weight[12, 4]", "in_proj_bias[12]", "out_proj.weight[4, 4]", "out_proj.bias[4]"]
    );
    assert_eq!(
        named!(MultiHeadAttention<4, 2, f32, false>),
        ["in_proj_weight[12, 4]", "out_proj.weight[4, 4]"]
    );
    assert_eq!(named!(BatchNorm<3>), ["weight[3]", "bias[3]", "running_mean[3]", "running_var[3]"]);
    assert_eq!(
        named!(Lstm<3, 2, 2>),
        [
            "weight_ih_l0[8, 3]",
            "weight_hh_l0[8, 2]",
            "bias_ih_l0[8]",
            "bias_hh_l0[8]",
            "weight_ih_l1[8, 2]",
            "weight_hh_l1[8, 2]",
            "bias_ih_l1[8]",
            "bias_hh_l1[8]"
        ]
    );
    assert_eq!(named!(Gru<3, 2, 1, f32, false>), ["weight_ih_l0[6, 3]", "weight_hh_l0[6, 2]"]);
    assert_eq!(named!(Rnn<3, 2, 1, f32, false>), ["weight_ih_l0[2, 3]", "weight_hh_l0[2, 2]"]);
    let both = named!(Bidirectional<LstmKind, 3, 2, 2, f32, false>);
    assert_eq!(both[..2], ["weight_ih_l0[8, 3]", "weight_hh_l0[8, 2]"]);
    assert_eq!(both[6..], ["weight_ih_l1_reverse[8, 4]", "weight_hh_l1_reverse[8, 2]"]);
    assert_eq!(named!(Conv1d<4, 6, 3, 1, 0, true, 2>), ["weight[6, 2, 3]", "bias[6]"]);
    assert_eq!(named!(LayerNorm<3, f32, false>), ["weight[3]"]);
}

#[test]
fn what_is_wrong_with_a_layer_is_said() {
    let found = mistakes(|| {
        let attend: MultiHeadAttention<8, 3> = weights("attend");
        let x: T<(D<2>, D<3>, D<8>)> = input("x");
        let groups: [GroupNorm<3, 8>; 1] = weights("groups");
        let net: [Bidirectional<GruKind, 8, 2>; 1] = weights("net");
        let both: T<(D<2>, D<3>, D<5>)> = net[0].forward(x);
        let turned: T<(D<2>, D<8>, D<3>)> = x.permute(crate::axes![0, 2, 1]);
        output(&(attend.forward(x, x, x, attention()), groups[0].forward(turned), both));
    });
    let wanted = [
        "bidirectional: both directions have 4 elements, but the result names 5",
        "multi_head_attention: 8 elements cannot be divided among 3 heads",
        "group_norm: 8 channels cannot be divided into 3 groups",
    ];
    assert_eq!(found, wanted);
}
