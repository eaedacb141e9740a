//! Graphs for tests.

use super::{Binary, Dim, Graph, NodeId, Reduce, Unary};
use crate::dtype::Dtype;
use crate::reference::SplitMix64;

/// A legal graph with every operation in every variant, hostile names, free dimensions and special constants.
pub(crate) fn every_op() -> Graph {
    let mut graph = Graph::default();
    let batch = graph.free_dim("Batch", 4);
    let length = graph.free_dim("a \"strange\"\nname \\ Länge", 6);
    let x = graph.input("x", &[batch, Dim::Fixed(6)], Dtype::F32);
    let index = graph.input("index", &[batch], Dtype::I32);
    let mask = graph.input("mask", &[batch, Dim::Fixed(6)], Dtype::Bool);
    let table = graph.param("embed.\"weight\"\t\u{1}é", &[Dim::Fixed(5), Dim::Fixed(6)], Dtype::F32);
    let state = graph.state("cache", &[batch, Dim::Fixed(6)], Dtype::F32);
    let longer = graph.input("longer", &[length, Dim::Fixed(2)], Dtype::F32);

    let mut pointwise = x;
    for op in [Unary::Exp2, Unary::Log2, Unary::Sin, Unary::Sqrt, Unary::Recip] {
        pointwise = graph.unary(op, pointwise);
    }
    let rows = graph.gather(table, index);
    for op in [Binary::Add, Binary::Mul, Binary::Mod, Binary::Max] {
        pointwise = graph.binary(op, pointwise, rows);
    }
    let less = graph.binary(Binary::LessThan, x, pointwise);
    let both = graph.binary(Binary::Mul, less, mask);
    let chosen = graph.select(both, x, state);
    let total = graph.reduce(Reduce::Sum, chosen, 0);
    let highest = graph.reduce(Reduce::Max, chosen, 1);

    for value in
        [f64::INFINITY, f64::NEG_INFINITY, 0.1f32 as f64, -0.0, 1e30f32 as f64, f32::MIN_POSITIVE as f64]
    {
        graph.constant(value, Dtype::F32);
    }
    graph.constant(i32::MIN as f64, Dtype::I32);
    let yes = graph.constant(1.0, Dtype::Bool);
    let number = graph.cast(yes, Dtype::I32);
    let counts = graph.iota(length);
    let repeated = graph.expand(number, 0, length);
    let counted = graph.binary(Binary::Add, counts, repeated);

    let permuted = graph.permute(longer, &[1, 0]);
    let first = graph.slice(longer, 0, 0, 1, Dim::Fixed(2));
    let every_other = graph.slice(total, 0, 1, 2, Dim::Fixed(3));
    let padded = graph.pad(total, 0, 2, Dim::Fixed(9), f64::NEG_INFINITY);
    let split = graph.split(total, 0, 3);
    let merged = graph.merge(split, 0);
    let windows = graph.window(padded, 0, 3, 2, 1);
    let dilated = graph.window(padded, 0, 2, 1, 3);

    let mut narrow = vec![];
    for (dtype, value) in [(Dtype::F16, 0.25), (Dtype::BF16, f64::INFINITY), (Dtype::U8, 255.0)] {
        let stored = graph.cast(total, dtype);
        let fill = graph.constant(value, dtype);
        let fill = graph.expand(fill, 0, Dim::Fixed(6));
        let given = graph.input(dtype.name(), &[Dim::Fixed(6)], dtype);
        let condition = graph.cast(given, Dtype::Bool);
        let chosen = graph.select(condition, stored, fill);
        narrow.push(graph.pad(chosen, 0, 1, Dim::Fixed(8), value));
    }
    let long = graph.input("i64", &[Dim::Fixed(6)], Dtype::I64);
    let factor = graph.constant(-9_007_199_254_740_992.0, Dtype::I64);
    let factor = graph.expand(factor, 0, Dim::Fixed(6));
    for op in [Binary::Add, Binary::Mul, Binary::Mod, Binary::Max] {
        let long = graph.binary(op, long, factor);
        narrow.push(graph.reduce(Reduce::Sum, long, 0));
    }

    let results =
        [highest, counted, permuted, first, every_other, merged, windows, dilated].into_iter().chain(narrow);
    for (number, node) in results.enumerate() {
        graph.outputs.push((format!("result.{number}"), node));
    }
    graph.writes.push((state, chosen));
    graph
}

/// A random legal graph of about this many nodes after the inputs, sizes 0 and 1 included.
pub(crate) fn random_graph(seed: u64, nodes: usize) -> Graph {
    random_graph_of(&Dtype::ALL, seed, nodes)
}

/// As [`random_graph`], with elements of these types: `f32`, `i32` and `bool`, and perhaps others.
pub(crate) fn random_graph_of(types: &[Dtype], seed: u64, nodes: usize) -> Graph {
    let mut random = SplitMix64::new(seed);
    let mut graph = Graph::default();
    let free = graph.free_dim("N", 3);
    let sizes =
        [Dim::Fixed(0), Dim::Fixed(1), Dim::Fixed(2), Dim::Fixed(3), Dim::Fixed(4), Dim::Fixed(6), free];
    for number in 0..6 {
        let rank = random.below(4) as usize;
        let shape: Vec<Dim> = (0..rank).map(|_| sizes[random.below(7) as usize]).collect();
        let common = [Dtype::F32, Dtype::F32, Dtype::I32, Dtype::Bool].get(number).copied();
        let dtype = common.unwrap_or_else(|| types[random.below(types.len() as u64) as usize]);
        match random.below(3) {
            0 => graph.input(&format!("input {number}"), &shape, dtype),
            1 => graph.param(&format!("param {number}"), &shape, dtype),
            _ => graph.state(&format!("state {number}"), &shape, dtype),
        };
    }
    while graph.nodes.len() < nodes + 6 {
        add_random_node(&mut graph, &mut random, &sizes, types);
    }
    graph.outputs.push(("last".into(), graph.nodes.len() - 1));
    graph
}

fn add_random_node(graph: &mut Graph, random: &mut SplitMix64, sizes: &[Dim], types: &[Dtype]) {
    let x = random.below(graph.nodes.len() as u64) as usize;
    let shape = graph.nodes[x].shape.clone();
    let dtype = graph.nodes[x].dtype;
    let rank = shape.len();
    if shape.iter().map(|dim| (*dim).max()).product::<usize>() > 1000 {
        return; // Not `x`: the graph would grow without bound.
    }
    let axis = random.below(rank.max(1) as u64) as usize;
    let like_x =
        |node: NodeId, graph: &Graph| graph.nodes[node].shape == shape && graph.nodes[node].dtype == dtype;
    let y = (0..graph.nodes.len()).rev().find(|y| like_x(*y, graph) && random.below(2) == 0).unwrap_or(x);
    let fixed = |axis: usize| if let Some(Dim::Fixed(n)) = shape.get(axis) { Some(*n) } else { None };
    match random.below(15) {
        0 if dtype == Dtype::F32 => {
            let ops = [Unary::Exp2, Unary::Log2, Unary::Sin, Unary::Sqrt, Unary::Recip];
            graph.unary(ops[random.below(5) as usize], x);
        }
        1 if !dtype.is_storage() => {
            let ops = [Binary::Mul, Binary::LessThan, Binary::Max, Binary::Add, Binary::Mod];
            let count = if dtype == Dtype::Bool { 3 } else { 5 };
            graph.binary(ops[random.below(count) as usize], x, y);
        }
        2 => {
            let same_shape =
                |c: &NodeId| graph.nodes[*c].shape == shape && graph.nodes[*c].dtype == Dtype::Bool;
            let found = (0..graph.nodes.len()).rev().find(same_shape);
            let condition = found.unwrap_or_else(|| graph.cast(x, Dtype::Bool));
            graph.select(condition, x, y);
        }
        3 if rank > 0 && dtype != Dtype::Bool && !dtype.is_storage() => {
            let _ = graph.reduce(Reduce::Sum, x, axis);
        }
        4 if rank > 0 && !dtype.is_storage() => drop(graph.reduce(Reduce::Max, x, axis)),
        5 if rank > 0 && fixed(0).is_some_and(|n| n > 0) => {
            // Row numbers in range: iota modulo the number of rows.
            let size = sizes[random.below(sizes.len() as u64) as usize];
            let rows = graph.iota(size);
            let count = graph.constant(shape[0].max() as f64, Dtype::I32);
            let count = graph.expand(count, 0, size);
            let index = graph.binary(Binary::Mod, rows, count);
            graph.gather(x, index);
        }
        6 => drop(graph.cast(x, types[random.below(types.len() as u64) as usize])),
        7 => {
            let mut order: Vec<usize> = (0..rank).collect();
            for last in (1..rank).rev() {
                order.swap(last, random.below(last as u64 + 1) as usize);
            }
            graph.permute(x, &order);
        }
        8 if rank < 4 => {
            let axis = random.below(rank as u64 + 1) as usize;
            graph.expand(x, axis, sizes[random.below(sizes.len() as u64) as usize]);
        }
        9 => {
            if let Some(n) = fixed(axis).filter(|n| *n > 0) {
                let start = random.below(n as u64) as usize;
                let step = 1 + random.below(2) as usize;
                let longest = (n - start).div_ceil(step);
                let size = random.below(longest as u64 + 1) as usize;
                graph.slice(x, axis, start, step, Dim::Fixed(size));
            }
        }
        10 => {
            if let Some(n) = fixed(axis).filter(|n| *n < 8) {
                let before = random.below(3) as usize;
                let size = Dim::Fixed(n + before + random.below(3) as usize);
                graph.pad(x, axis, before, size, random.below(2) as f64);
            }
        }
        11 if rank < 4 => {
            if let Some(n) = fixed(axis) {
                let inner =
                    [1, 2, 3].into_iter().filter(|inner| n % inner == 0).max().expect("1 divides all");
                graph.split(x, axis, inner);
            }
        }
        12 => {
            if let (Some(a), Some(b)) = (fixed(axis), fixed(axis + 1))
                && a * b < 40
            {
                graph.merge(x, axis);
            }
        }
        13 if rank < 4 => {
            if let Some(n) = fixed(axis).filter(|n| *n > 0) {
                let taps = 1 + random.below(n as u64) as usize;
                let dilation = if (taps - 1) * 2 < n && random.below(2) == 0 { 2 } else { 1 };
                graph.window(x, axis, taps, 1 + random.below(2) as usize, dilation);
            }
        }
        14 => drop(graph.constant(random.below(2) as f64, dtype)),
        _ => {}
    }
}

/// Changes a legal text in a few places: what comes out is often nearly legal.
pub(crate) fn mutated(text: &str, random: &mut SplitMix64) -> String {
    const PIECES: [&str; 16] = [
        "%",
        "\"",
        "\\",
        "\\u{",
        "[",
        "]",
        ",",
        ":",
        "18446744073709551616",
        "-inf",
        "nan",
        "d9",
        "é",
        "\n",
        " ",
        "axis",
    ];
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(characters.len() as u64) as usize;
        let end = (at + random.below(6) as usize).min(characters.len());
        match random.below(4) {
            0 => drop(characters.drain(at..end)),
            1 => {
                let piece = PIECES[random.below(PIECES.len() as u64) as usize];
                characters.splice(at..at, piece.chars());
            }
            2 => {
                let copied = characters[at..end].to_vec();
                let to = random.below(characters.len() as u64) as usize;
                characters.splice(to..to, copied);
            }
            _ => characters[at] = char::from(random.below(128) as u8),
        }
    }
    characters.into_iter().collect()
}
