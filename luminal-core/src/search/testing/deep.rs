//! Whole models of many layers.

use super::build::*;
use super::models::{Positions, Sizes, bert_layer, llama_layer};
use crate::dtype::Dtype::{F32, I32};
use crate::graph::{Graph, NodeId};

fn embedding(g: &mut Graph, tokens: NodeId, name: &str, rows: usize, width: usize) -> NodeId {
    let table = g.param(name, &[fixed(rows), fixed(width)], F32);
    g.gather(table, tokens)
}

/// A sentence encoder: embeddings of tokens and positions, blocks with a mask that all share, the mean over positions.
pub fn bert(z: Sizes, layers: usize, vocabulary: usize) -> Graph {
    let mut g = Graph::default();
    let tokens = g.input("tokens", &[fixed(z.s)], I32);
    let allowed = g.input("allowed", &[fixed(z.s)], F32);
    let width = z.h * z.d;
    let x = embedding(&mut g, tokens, "embed", vocabulary, width);
    let positions = g.param("positions", &[fixed(z.s), fixed(width)], F32);
    let x = add(&mut g, x, positions);
    let mut x = layer_norm(&mut g, x, "norm");
    let mask = offset(&mut g, allowed, -1.0);
    let mask = scale(&mut g, mask, 1e4);
    for layer in 0..layers {
        x = bert_layer(&mut g, x, mask, z, &format!("layers.{layer}."));
    }
    let x = g.permute(x, &[1, 0]);
    let x = mul(&mut g, x, allowed);
    let x = g.reduce(crate::graph::Reduce::Sum, x, 1);
    output(g, x)
}

/// A decoder: over all positions, or one token with a cache. The table of tokens is also the last product.
pub fn llama(z: Sizes, layers: usize, vocabulary: usize, cache: Option<usize>) -> Graph {
    let mut g = Graph::default();
    let tokens = g.input("tokens", &[fixed(z.s)], I32);
    let [cos, sin] = ["cos", "sin"].map(|n| g.input(n, &[fixed(z.s), fixed(z.d)], F32));
    let cache = cache.map(|bound| {
        let position = g.input("position", &[], I32);
        (position, g.free_dim("Length", bound), bound)
    });
    let mut x = embedding(&mut g, tokens, "embed.weight", vocabulary, z.h * z.d);
    for layer in 0..layers {
        x = llama_layer(&mut g, x, Positions { cos, sin, cache }, z, &format!("layers.{layer}."));
    }
    let x = rms_norm(&mut g, x, "norm");
    let table = g.param("embed.weight", &[fixed(vocabulary), fixed(z.h * z.d)], F32);
    let table = g.permute(table, &[1, 0]);
    let y = matmul(&mut g, x, table);
    output(g, y)
}

/// Residual blocks in stages of falling size and growing width, as vision networks have, then a classifier.
pub fn vision(size: usize, channels: &[usize], blocks: usize) -> Graph {
    let mut g = Graph::default();
    let x = g.input("image", &[fixed(3), fixed(size), fixed(size)], F32);
    let mut x = conv3(&mut g, x, "stem", channels[0], 1);
    for (stage, width) in channels.iter().enumerate() {
        let stride = 1 + usize::from(stage > 0);
        for block in 0..blocks {
            let name = |part: &str| format!("stages.{stage}.{block}.{part}");
            let (first, changes) = (if block == 0 { stride } else { 1 }, block == 0 && stage > 0);
            let y = conv3(&mut g, x, &name("conv1"), *width, first);
            let y = batch_norm(&mut g, y, &name("norm1"));
            let y = relu(&mut g, y);
            let y = conv3(&mut g, y, &name("conv2"), *width, 1);
            let y = batch_norm(&mut g, y, &name("norm2"));
            let skip = if changes { conv3(&mut g, x, &name("skip"), *width, first) } else { x };
            let y = add(&mut g, skip, y);
            x = relu(&mut g, y);
        }
    }
    let pooled = g.merge(x, 1);
    let pooled = g.reduce(crate::graph::Reduce::Sum, pooled, 1);
    let y = linear(&mut g, pooled, "classes", 10, true);
    output(g, y)
}
