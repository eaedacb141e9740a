//! Graphs of convolutions, pools, resizing and equations, as the language composes them.

use super::fixed;
use crate::dtype::Dtype::F32;
use crate::graph::{Graph, NodeId};
use crate::tensor::{Nearest, Positions, Weights, Window};

/// A composition of one input and one weight.
fn of(x: &[usize], kernel: &[usize], work: impl FnOnce(&mut Graph, NodeId, NodeId) -> NodeId) -> Graph {
    let mut g = Graph::default();
    let dims = |shape: &[usize]| shape.iter().map(|size| fixed(*size)).collect::<Vec<_>>();
    let x = g.input("x", &dims(x), F32);
    let kernel = g.param("kernel", &dims(kernel), F32);
    let result = work(&mut g, x, kernel);
    g.outputs.push(("result".into(), result));
    g
}

/// A weight that the composition does not need, so that all have one.
fn alone(x: &[usize], work: impl FnOnce(&mut Graph, NodeId) -> NodeId) -> Graph {
    of(x, &[], |g, x, scale| {
        let result = work(g, x);
        let shape = g.nodes[result].shape.clone();
        let scale = g.spread(scale, &[], &shape);
        g.mul(result, scale)
    })
}

/// A composition of `[1, 2, length]`.
fn free(kernel: &[usize], work: impl FnOnce(&mut Graph, NodeId, NodeId) -> NodeId) -> Graph {
    let mut g = Graph::default();
    let length = g.free_dim("length", 11);
    let x = g.input("x", &[fixed(1), fixed(2), length], F32);
    let kernel = g.param("kernel", &kernel.iter().map(|size| fixed(*size)).collect::<Vec<_>>(), F32);
    let result = work(&mut g, x, kernel);
    g.outputs.push(("result".into(), result));
    g
}

/// All of them.
pub fn windows() -> Vec<(String, Graph)> {
    let uneven = [
        Window { stride: 2, before: 1, ..Window::of(3) },
        Window { before: 2, after: 3, dilation: 2, ..Window::of(2) },
    ];
    let same = [Window { before: 1, after: 1, ..Window::of(3) }; 2];
    let double = [Window { stride: 2, before: 1, after: 1, ..Window::of(4) }; 2];
    let ceil = [Window { stride: 2, ceil: true, ..Window::of(3) }; 2];
    let padded = [Window { stride: 2, before: 1, after: 1, ..Window::of(3) }; 2];
    let image = [2, 4, 7, 6];
    let all = [
        ("grouped convolution", of(&image, &[6, 2, 3, 2], |g, x, k| g.conv(x, k, &uneven, 2))),
        ("depthwise convolution", of(&image, &[4, 1, 3, 3], |g, x, k| g.conv(x, k, &same, 4))),
        ("two kernels a channel", of(&image, &[8, 1, 3, 3], |g, x, k| g.conv(x, k, &same, 4))),
        (
            "transposed convolution",
            of(&[2, 4, 3, 5], &[4, 3, 4, 4], |g, x, k| g.conv_transpose(x, k, &double, &[0, 0], 1)),
        ),
        (
            "grouped transposed convolution",
            of(&[1, 4, 5], &[4, 3, 3], |g, x, k| {
                g.conv_transpose(x, k, &[Window { stride: 3, ..Window::of(3) }], &[1], 2)
            }),
        ),
        ("greatest of incomplete windows", alone(&image, |g, x| g.max_pool(x, &ceil))),
        ("mean of incomplete windows", alone(&image, |g, x| g.avg_pool(x, &ceil, true))),
        ("mean without padding", alone(&image, |g, x| g.avg_pool(x, &padded, false))),
        ("adaptive mean", alone(&[2, 3, 7], |g, x| g.adaptive_avg_pool(x, 2, 3))),
        (
            "bilinear",
            alone(&[1, 2, 4, 5], |g, x| {
                let rows = Positions::half_pixel(4, 7);
                let x = g.resize_weighted(x, 2, 7, rows, Weights::Linear, false);
                g.resize_weighted(x, 3, 10, Positions::half_pixel(5, 10), Weights::Linear, false)
            }),
        ),
        (
            "cubic",
            alone(&[3, 5], |g, x| {
                let positions = Positions::align_corners(5, 8);
                g.resize_weighted(x, 1, 8, positions, Weights::Cubic { a: -0.75 }, false)
            }),
        ),
        (
            "nearest",
            alone(&[2, 5, 3], |g, x| {
                let x = g.resize_nearest(x, 1, 7, Positions::asymmetric(5, 7), Nearest::Floor);
                g.resize_nearest(x, 2, 6, Positions::half_pixel(3, 6), Nearest::PreferFloor)
            }),
        ),
        ("diagonal", of(&[4, 4, 3], &[3, 2], |g, x, k| g.einsum("iij,jk->ki", &[x, k]).unwrap())),
        ("three factors", of(&[3, 4], &[4, 5], |g, x, k| g.einsum("ij,jk,ij->k", &[x, k, x]).unwrap())),
    ];
    let free = [
        (
            "convolution over a free size",
            free(&[3, 2, 3], |g, x, k| {
                g.conv(x, k, &[Window { stride: 2, before: 1, after: 1, ..Window::of(3) }], 1)
            }),
        ),
        (
            "mean over a free size",
            free(&[], |g, x, scale| {
                let mean = g.avg_pool(x, &[Window { before: 1, after: 1, ..Window::of(3) }], false);
                let shape = g.nodes[mean].shape.clone();
                let scale = g.spread(scale, &[], &shape);
                g.mul(mean, scale)
            }),
        ),
    ];
    all.into_iter().chain(free).map(|(name, graph)| (name.to_string(), graph)).collect()
}
