//! Models of the kinds that users write, at any size.

use super::build::*;
use crate::dtype::Dtype::{F32, I32};
use crate::graph::{Binary, Dim, Graph, NodeId};

/// Sizes of a transformer block.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Positions.
    pub s: usize,
    /// Heads.
    pub h: usize,
    /// Heads of keys and values.
    pub kv: usize,
    /// Width of a head.
    pub d: usize,
    /// Width of the hidden layer.
    pub f: usize,
}

impl Sizes {
    /// Small enough to evaluate.
    pub const SMALL: Sizes = Sizes { s: 5, h: 4, kv: 2, d: 6, f: 10 };
    /// Of a real block.
    pub const REAL: Sizes = Sizes { s: 128, h: 12, kv: 4, d: 64, f: 3072 };

    fn width(&self) -> usize {
        self.h * self.d
    }

    fn tokens(&self, g: &mut Graph) -> NodeId {
        g.input("x", &[fixed(self.s), fixed(self.width())], F32)
    }
}

/// Layer normalisation.
pub fn layer_norm_model(z: Sizes) -> Graph {
    let mut g = Graph::default();
    let x = z.tokens(&mut g);
    let y = layer_norm(&mut g, x, "norm");
    output(g, y)
}

/// Root-mean-square normalisation, then a matrix product.
pub fn rms_matmul_model(z: Sizes) -> Graph {
    let mut g = Graph::default();
    let x = z.tokens(&mut g);
    let y = rms_norm(&mut g, x, "norm");
    let y = linear(&mut g, y, "linear", z.f, false);
    output(g, y)
}

/// Softmax of rows.
pub fn softmax_model(z: Sizes) -> Graph {
    let mut g = Graph::default();
    let x = g.input("x", &[fixed(z.s), fixed(z.f)], F32);
    let y = softmax(&mut g, x, false);
    output(g, y)
}

/// Causal scaled attention with shared keys and values.
pub fn attention_model(z: Sizes) -> Graph {
    let mut g = Graph::default();
    let q = g.input("q", &[fixed(z.h), fixed(z.s), fixed(z.d)], F32);
    let [k, v] = ["k", "v"].map(|n| {
        let x = g.input(n, &[fixed(z.kv), fixed(z.s), fixed(z.d)], F32);
        group(&mut g, x, z.h / z.kv)
    });
    let s = scores(&mut g, q, k);
    let s = scale(&mut g, s, 1.0 / (z.d as f64).sqrt());
    let s = causal(&mut g, s);
    let p = softmax(&mut g, s, false);
    let o = weighted(&mut g, p, v);
    output(g, o)
}

fn swiglu(g: &mut Graph, x: NodeId, hidden: usize, layer: &str) -> NodeId {
    let width = g.nodes[x].shape[1].max();
    let gate = linear(g, x, &format!("{layer}gate"), hidden, false);
    let up = linear(g, x, &format!("{layer}up"), hidden, false);
    let s = sigmoid(g, gate);
    let gate = mul(g, gate, s);
    let y = mul(g, gate, up);
    linear(g, y, &format!("{layer}down"), width, false)
}

/// The gated feed-forward half of a Llama block.
pub fn swiglu_model(z: Sizes) -> Graph {
    let mut g = Graph::default();
    let x = z.tokens(&mut g);
    let y = swiglu(&mut g, x, z.f, "");
    output(g, y)
}

/// A BERT block with an additive mask.
pub fn bert_block(z: Sizes) -> Graph {
    let mut g = Graph::default();
    let x = z.tokens(&mut g);
    let mask = g.input("mask", &[fixed(z.s)], F32);
    let y = bert_layer(&mut g, x, mask, z, "");
    output(g, y)
}

/// The block, its weights named after the layer.
pub fn bert_layer(g: &mut Graph, x: NodeId, mask: NodeId, z: Sizes, layer: &str) -> NodeId {
    let name = |part: &str| format!("{layer}{part}");
    let [q, k, v] = ["q", "k", "v"].map(|part| {
        let y = linear(g, x, &name(part), z.width(), true);
        heads(g, y, z.d)
    });
    let s = scores(g, q, k);
    let s = scale(g, s, 1.0 / (z.d as f64).sqrt());
    let s = add(g, s, mask);
    let p = softmax(g, s, false);
    let o = weighted(g, p, v);
    let o = unheads(g, o);
    let o = linear(g, o, &name("o"), z.width(), true);
    let x = add(g, x, o);
    let x = layer_norm(g, x, &name("norm1"));
    let y = linear(g, x, &name("fc1"), z.f, true);
    let y = gelu(g, y);
    let y = linear(g, y, &name("fc2"), z.width(), true);
    let x = add(g, x, y);
    layer_norm(g, x, &name("norm2"))
}

/// What the layers of a Llama share.
#[derive(Clone, Copy)]
pub struct Positions {
    /// Of the rotation.
    pub cos: NodeId,
    /// Of the rotation.
    pub sin: NodeId,
    /// Where the position goes in the cache, the length in use, and the bound.
    pub cache: Option<(NodeId, Dim, usize)>,
}

/// A Llama block: over all positions, or one position with a cache of this bound.
pub fn llama_block(z: Sizes, cache: Option<usize>) -> Graph {
    let mut g = Graph::default();
    let x = z.tokens(&mut g);
    let [cos, sin] = ["cos", "sin"].map(|n| g.input(n, &[fixed(z.s), fixed(z.d)], F32));
    let cache = cache.map(|bound| {
        let position = g.input("position", &[], I32);
        (position, g.free_dim("Length", bound), bound)
    });
    let y = llama_layer(&mut g, x, Positions { cos, sin, cache }, z, "");
    output(g, y)
}

/// The block, its weights named after the layer.
pub fn llama_layer(g: &mut Graph, x0: NodeId, positions: Positions, z: Sizes, layer: &str) -> NodeId {
    let name = |part: &str| format!("{layer}{part}");
    let Positions { cos, sin, cache } = positions;
    let x = rms_norm(g, x0, &name("norm1"));
    let [q, k, mut v] = [("q", z.h), ("k", z.kv), ("v", z.kv)].map(|(part, n)| {
        let y = linear(g, x, &name(part), n * z.d, false);
        heads(g, y, z.d)
    });
    let q = rope(g, q, cos, sin);
    let mut k = rope(g, k, cos, sin);
    if let Some((position, length, bound)) = cache {
        for (value, part) in [(&mut k, "keys"), (&mut v, "values")] {
            let updated = cache_update(g, *value, &name(part), position, bound, z);
            *value = g.slice(updated, 1, 0, 1, length);
        }
    }
    let (k, v) = (group(g, k, z.h / z.kv), group(g, v, z.h / z.kv));
    let s = scores(g, q, k);
    let mut s = scale(g, s, 1.0 / (z.d as f64).sqrt());
    if cache.is_none() {
        s = causal(g, s);
    }
    let p = softmax(g, s, false);
    let o = weighted(g, p, v);
    let o = unheads(g, o);
    let o = linear(g, o, &name("o"), z.width(), false);
    let x1 = add(g, x0, o);
    let x = rms_norm(g, x1, &name("norm2"));
    let y = swiglu(g, x, z.f, layer);
    add(g, x1, y)
}

/// `state' = select(t == position, new, state)`
fn cache_update(g: &mut Graph, x: NodeId, name: &str, position: NodeId, bound: usize, z: Sizes) -> NodeId {
    let old = g.state(name, &[fixed(z.kv), fixed(bound), fixed(z.d)], F32);
    let t = g.iota(fixed(bound));
    let (before, after) = (less(g, t, position), less(g, position, t));
    let other = binary(g, Binary::Max, before, after);
    let other = g.expand(other, 1, fixed(z.d));
    let new = g.slice(x, 1, 0, 1, fixed(1));
    let new = g.permute(new, &[1, 0, 2]);
    let new = squeeze(g, new);
    let new = g.expand(new, 1, fixed(bound));
    let updated = select(g, other, old, new);
    g.writes.push((old, updated));
    updated
}

/// A residual block with batch normalisation, of `f` channels and `s` x `s` positions.
pub fn resnet_block(z: Sizes) -> Graph {
    let mut g = Graph::default();
    let x = g.input("x", &[fixed(z.f), fixed(z.s), fixed(z.s)], F32);
    let y = conv3(&mut g, x, "conv1", z.f, 1);
    let y = batch_norm(&mut g, y, "norm1");
    let y = relu(&mut g, y);
    let y = conv3(&mut g, y, "conv2", z.f, 1);
    let y = batch_norm(&mut g, y, "norm2");
    let y = add(&mut g, x, y);
    let y = relu(&mut g, y);
    output(g, y)
}

/// A small convolutional network over images of `size` x `size`; `channels` of the two stages, then `hidden` and 10.
pub fn cnn(size: usize, channels: [usize; 2], hidden: usize) -> Graph {
    let mut g = Graph::default();
    let x = g.input("image", &[fixed(1), fixed(size), fixed(size)], F32);
    let mut y = x;
    for (stage, outputs) in channels.into_iter().enumerate() {
        for step in 0..2 {
            let name = format!("conv{}", 2 * stage + step + 1);
            y = conv3(&mut g, y, &name, outputs, 1);
            y = channel_bias(&mut g, y, &name);
            y = relu(&mut g, y);
        }
        y = max_pool2(&mut g, y);
    }
    let y = g.merge(y, 0);
    let y = g.merge(y, 0);
    let y = linear(&mut g, y, "hidden", hidden, true);
    let y = relu(&mut g, y);
    let y = linear(&mut g, y, "out", 10, true);
    let y = softmax(&mut g, y, false);
    output(g, y)
}

/// Two layers over a batch of free size.
pub fn mlp(batch: usize, sizes: [usize; 3]) -> Graph {
    let mut g = Graph::default();
    let batch = g.free_dim("Batch", batch);
    let x = g.input("x", &[batch, fixed(sizes[0])], F32);
    let y = linear(&mut g, x, "hidden", sizes[1], true);
    let y = relu(&mut g, y);
    let y = linear(&mut g, y, "out", sizes[2], true);
    let y = softmax(&mut g, y, false);
    output(g, y)
}

/// All models with names.
pub fn all(z: Sizes, image: Sizes, cache: usize) -> Vec<(&'static str, Graph)> {
    let decode = Sizes { s: 1, ..z };
    vec![
        ("layer norm", layer_norm_model(z)),
        ("rms norm + matmul", rms_matmul_model(z)),
        ("softmax", softmax_model(z)),
        ("attention, causal, grouped", attention_model(z)),
        ("swiglu", swiglu_model(z)),
        ("bert block", bert_block(z)),
        ("llama block, prefill", llama_block(z, None)),
        ("llama block, decode", llama_block(decode, Some(cache))),
        ("resnet block", resnet_block(image)),
        ("mlp, free batch", mlp(z.s, [z.d, z.f, 10])),
    ]
}

/// All models, small enough to evaluate.
pub fn small() -> Vec<(&'static str, Graph)> {
    let image = Sizes { s: 5, f: 3, ..Sizes::SMALL };
    let mut models = all(Sizes::SMALL, image, 7);
    models.push(("cnn", cnn(8, [2, 3], 5)));
    models
}

/// All models at sizes that matter.
pub fn real() -> Vec<(&'static str, Graph)> {
    let image = Sizes { s: 28, f: 64, ..Sizes::REAL };
    let mut models = all(Sizes::REAL, image, 512);
    models.push(("cnn", cnn(8, [16, 32], 64)));
    models
}
