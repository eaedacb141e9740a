//! Movement and indexing, along fixed and free axes, on the whole road.

use super::*;
use crate::dtype::Dtype;
use crate::graph::NodeId;
use crate::tensor::{Padding, Scatter};

fn free(graph: &mut Graph) -> (Dim, NodeId) {
    let seq = graph.free_dim("Seq", 7);
    let x = graph.input("x", &[seq, Dim::Fixed(3)], Dtype::F32);
    (seq, x)
}

#[track_caller]
fn road(name: &str, build: impl FnOnce(&mut Graph) -> Vec<NodeId>) {
    let mut graph = Graph::default();
    for (number, node) in build(&mut graph).into_iter().enumerate() {
        graph.outputs.push((format!("y{number}"), node));
    }
    graph.verify().unwrap();
    check(name, &graph, true);
}

#[test]
fn free_axes_are_joined() {
    road("concat of free axes", |g| {
        let (past, new) = (g.free_dim("Past", 9), g.free_dim("New", 4));
        let total = g.free_dim("Total", 9);
        let x = g.input("past", &[Dim::Fixed(2), past, Dim::Fixed(3)], Dtype::F32);
        let y = g.input("new", &[Dim::Fixed(2), new, Dim::Fixed(3)], Dtype::F32);
        let row = g.input("row", &[Dim::Fixed(2), Dim::Fixed(1), Dim::Fixed(3)], Dtype::F32);
        let longer = g.derived(&[(1, past), (1, new)], 1, 1);
        vec![g.concat_to(&[x, y], 1, total), g.concat_to(&[row, y, x], 1, longer)]
    });
}

#[test]
fn free_axes_are_cut_and_padded() {
    road("cuts of free axes", |g| {
        let (seq, x) = free(g);
        let half = g.free_dim("Half", 3);
        let y = g.input("y", &[half, Dim::Fixed(3)], Dtype::F32);
        let mut parts = g.split_sizes(x, 0, &[half, half, Dim::Fixed(1)]);
        let shorter = g.derived(&[(1, seq)], -1, 1);
        parts.extend([y, g.slice_last(x, 0, shorter), g.slice(x, 0, 1, 1, shorter)]);
        parts
    });
    road("pads of free axes", |g| {
        let (_, x) = free(g);
        let padded = g.pad_constant(x, 0, 1, 1, 0.0);
        let windows = g.window(padded, 0, 3, 2, 1);
        let pooled = g.sum(windows, 1);
        let modes = [Padding::Reflect, Padding::Edge, Padding::Wrap];
        let mut out =
            vec![pooled, g.flip(x, 0), g.roll(x, 0, 2), g.repeat(x, 0, 2), g.repeat_interleave(x, 0, 2)];
        out.extend(modes.map(|mode| g.pad_with(x, 0, 2, 1, mode)));
        out
    });
}

#[test]
fn positions_become_indices() {
    road("fixed axes", |g| {
        let x = g.input("x", &[4, 6].map(Dim::Fixed), Dtype::F32);
        let doubled = g.add(x, x);
        vec![
            g.flip(doubled, 1),
            g.roll(doubled, 1, 4),
            g.slice_range(doubled, 1, None, None, -2),
            g.pad_with(doubled, 1, 2, 3, Padding::Reflect),
            g.repeat(doubled, 0, 2),
            g.tril(doubled, 1),
            g.concat(&[x, doubled], 1),
        ]
    });
}

#[test]
fn lookups_and_writes() {
    for is_free in [false, true] {
        let inputs = |g: &mut Graph| {
            let batch = if is_free { g.free_dim("Batch", 4) } else { Dim::Fixed(4) };
            let x = g.input("x", &[batch, Dim::Fixed(6)], Dtype::F32);
            let index = g.input("index", &[batch, Dim::Fixed(2)], Dtype::I32);
            (x, index, batch)
        };
        road(&format!("lookups, free {is_free}"), |g| {
            let (x, index, _) = inputs(g);
            let rows = g.input("rows", &[Dim::Fixed(3)], Dtype::I32);
            let line = g.input("line", &[Dim::Fixed(3), Dim::Fixed(6)], Dtype::F32);
            let put = g.index_put(x, 0, rows, line, Scatter::Set);
            vec![g.index_select(x, 0, rows), g.gather_along(x, 1, index), put]
        });
        road(&format!("writes, free {is_free}"), |g| {
            let (x, index, batch) = inputs(g);
            let new = g.input("new", &[batch, Dim::Fixed(2)], Dtype::F32);
            [Scatter::Set, Scatter::Add].map(|how| g.scatter_along(x, 1, index, new, how)).to_vec()
        });
        road(&format!("order, free {is_free}"), |g| {
            let (x, _, _) = inputs(g);
            let (sorted, order) = g.sort(x, 1, true, Dim::Fixed(4));
            vec![sorted, order]
        });
    }
}

#[test]
fn caches_are_written_at_a_position() {
    for is_free in [false, true] {
        road(&format!("cache, free {is_free}"), |g| {
            let length = if is_free { g.free_dim("New", 5) } else { Dim::Fixed(2) };
            let cache = g.state("cache", &[2, 8, 3].map(Dim::Fixed), Dtype::F32);
            let position = g.input("position", &[], Dtype::I32);
            let new = g.input("new", &[Dim::Fixed(2), length, Dim::Fixed(3)], Dtype::F32);
            let written = g.write_at(cache, 1, position, new);
            g.writes.push((cache, written));
            vec![g.slice_at(written, 1, position, Dim::Fixed(3))]
        });
    }
}
