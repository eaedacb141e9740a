//! Movement and indexing along axes whose sizes are known at run time only.

use super::*;
use crate::graph::determined;
use crate::tensor::{Axis, D, Order, Tensor as T, concat_all, input, output};

free_dim!(Past, 6);
free_dim!(New, 4);
free_dim!(Total, 8);
free_dim!(Seq, 9);
free_dim!(Half, 4);
free_dim!(Longer, 12);
free_dim!(Batch, 3);

/// Free sizes by name; what follows from them is computed as a run does.
fn sizes(graph: &Graph, named: &[(&str, usize)]) -> Vec<usize> {
    let size = |name: &str| named.iter().find(|(known, _)| *known == name).map(|(_, size)| *size);
    let mut sizes: Vec<usize> = graph.free.iter().map(|free| size(&free.name).unwrap_or(0)).collect();
    let mut known: Vec<bool> = graph.free.iter().map(|free| size(&free.name).is_some()).collect();
    determined(&graph.relations, &mut known, |relation, free| sizes[free] = relation.solve(free, &sizes));
    assert!(known.iter().all(|known| *known), "{graph}");
    sizes
}

fn run_named(model: impl FnOnce(), feeds: &[(&str, &Tensor)], named: &[(&str, usize)]) -> Vec<Tensor> {
    let graph = graph(model);
    let feeds: Feeds = feeds.iter().map(|(name, tensor)| (name.to_string(), (*tensor).clone())).collect();
    reference::run(&graph, &feeds, &sizes(&graph, named)).unwrap().outputs
}

/// The elements of a vector at these positions.
fn chosen(x: &Tensor, positions: impl IntoIterator<Item = usize>) -> Tensor {
    let values: Vec<f32> = positions.into_iter().map(|at| floats(x)[at]).collect();
    tensor(&[values.len()], values)
}

#[test]
fn concat_of_free_sizes() {
    for (past, new) in [(3, 2), (0, 2), (3, 0), (0, 0), (4, 4)] {
        let (x, y, z) = (mixed(&[past, 2], 1), mixed(&[new, 2], 2), mixed(&[1, 2], 3));
        let model = || {
            let (x, y): (T<(Past, D<2>)>, T<(New, D<2>)>) = (input("x"), input("y"));
            let joined: T<(Total, D<2>)> = x.concat(Axis::<0>, y);
            let z: T<(D<1>, D<2>)> = input("z");
            let longer: T<(Longer, D<2>)> = z.concat(Axis::<0>, joined);
            output(&(joined, longer));
        };
        let out = run_named(model, &[("x", &x), ("y", &y), ("z", &z)], &[("Past", past), ("New", new)]);
        let joined = [floats(&x), floats(&y)].concat();
        assert_eq!(out[0], tensor(&[past + new, 2], joined.clone()));
        assert_eq!(out[1], tensor(&[past + new + 1, 2], [floats(&z), &joined].concat()));
    }
}

#[test]
fn a_size_that_does_not_fit_is_named() {
    let graph = graph(|| {
        let (x, y): (T<(Past,)>, T<(New,)>) = (input("x"), input("y"));
        let mask: T<(Total,)> = input("mask");
        output(&(x.concat::<Total, _, 0>(Axis::<0>, y) + mask));
    });
    let check = |total| graph.check_sizes(&sizes(&graph, &[("Past", 3), ("New", 2), ("Total", total)]));
    let error = check(6).unwrap_err().to_string();
    let (message, place) = error.split_once("; from ").unwrap();
    assert_eq!(message, "relation: `Total` is 6, but it must be `Past + New`, which is 3 + 2 = 5");
    assert!(place.starts_with("concat at ") && place.contains("free_sizes.rs:"), "{place}");
    assert!(check(5).is_ok());
}

#[test]
fn parts_of_free_axes() {
    let (seq, half) = (7, 3);
    let (x, y) = (mixed(&[seq], 1), mixed(&[half], 2));
    let model = || {
        let x: T<(Seq,)> = input("x");
        let y: T<(Half,)> = input("y");
        let (first, second, end): (T<(Half,)>, T<(Half,)>, T<(D<1>,)>) = x.split(Axis::<0>);
        let front: T<(Half,)> = x.slice(Axis::<0>, 2);
        let last: T<(Half,)> = x.last(Axis::<0>);
        let two: T<(D<2>,)> = x.slice(Axis::<0>, 1);
        let last_two: T<(D<2>,)> = x.last(Axis::<0>);
        let position: T<(), i32> = input("position");
        let moved: T<(D<4>,)> = x.slice_at(Axis::<0>, position);
        output(&((first, second, end, front), (last, two, last_two, moved), y));
    };
    let position = tensor(&[], vec![100]);
    let feeds = [("x", &x), ("y", &y), ("position", &position)];
    let out = run_named(model, &feeds, &[("Seq", seq), ("Half", half)]);
    let expected = [0..3, 3..6, 6..7, 2..5, 4..7, 1..3, 5..7, 3..7];
    for (part, range) in expected.into_iter().enumerate() {
        assert_eq!(out[part], chosen(&x, range), "{part}");
    }
    let doubled = || {
        let [first, second]: [T<(Half,)>; 2] = input::<T<(Seq,)>>("x").chunk(Axis::<0>);
        output(&(first, second));
    };
    // The size of a part follows from that of the whole.
    let out = run_named(doubled, &[("x", &mixed(&[6], 4))], &[("Seq", 6)]);
    assert_eq!((&out[0].shape[..], &out[1].shape[..]), (&[3][..], &[3][..]));
    let graph = graph(doubled);
    let error = graph.check_sizes(&[7, 3]).unwrap_err().to_string();
    assert!(
        error.starts_with("relation: `Seq` is 7, but it must be `2 * Half`, which is 2 * 3 = 6; from chunk")
    );
}

#[test]
fn padding_of_free_axes() {
    for seq in [1, 2, 5, 9] {
        let x = mixed(&[seq], 1);
        let model = || {
            let x: T<(Seq,)> = input("x");
            let constant: T<(Longer,)> = x.pad_constant(Axis::<0>, 2, 1, 7.0);
            let reflect: T<(Longer,)> = x.pad_reflect(Axis::<0>, 2, 1);
            let edge: T<(Longer,)> = x.pad_edge(Axis::<0>, 2, 1);
            let wrap: T<(Longer,)> = x.pad_wrap(Axis::<0>, 2, 1);
            let filled: T<(D<10>,)> = x.pad(Axis::<0>, 1, -1.0);
            output(&(constant, reflect, edge, wrap, filled));
        };
        let out = run_named(model, &[("x", &x)], &[("Seq", seq)]);
        let n = seq as i64;
        let around = |place: fn(i64, i64) -> i64| chosen(&x, (-2..n + 1).map(|at| place(at, n) as usize));
        let mirrored = |at: i64, n: i64| {
            let period = (2 * (n - 1)).max(1);
            let at = if n == 1 { 0 } else { at.rem_euclid(period) };
            if at < n { at } else { period - at }
        };
        let padded = [&[7.0, 7.0], floats(&x), &[7.0]].concat();
        assert_eq!(out[0], tensor(&[seq + 3], padded));
        assert_eq!(out[1], around(mirrored), "{seq}");
        assert_eq!(out[2], around(|at, n| at.clamp(0, n - 1)));
        assert_eq!(out[3], around(|at, n| at.rem_euclid(n)));
        let filled: Vec<f32> = [&[-1.0][..], floats(&x), &vec![-1.0; 9 - seq]].concat();
        assert_eq!(out[4], tensor(&[10], filled));
    }
}

#[test]
fn orders_of_free_axes() {
    for half in [0, 1, 3] {
        let x = mixed(&[half], 1);
        let model = || {
            let x: T<(Half,)> = input("x");
            let twice: T<(Seq,)> = x.repeat(Axis::<0>, 2);
            let each: T<(Seq,)> = x.repeat_interleave(Axis::<0>, 2);
            let order = x.argsort(Axis::<0>, Order::Descending);
            let sorted = x.sort(Axis::<0>, Order::Ascending);
            output(&(x.flip(Axis::<0>), x.roll(Axis::<0>, 5), twice, each, (order, sorted)));
        };
        let out = run_named(model, &[("x", &x)], &[("Half", half)]);
        let n = half;
        assert_eq!(out[0], chosen(&x, (0..n).rev()));
        assert_eq!(out[1], chosen(&x, (0..n).map(|at| (at + 4 * n + n - 5 % n) % n)));
        assert_eq!(out[2], chosen(&x, (0..2 * n).map(|at| at % n)));
        assert_eq!(out[3], chosen(&x, (0..2 * n).map(|at| at / 2)));
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|i, j| floats(&x)[*i].total_cmp(&floats(&x)[*j]));
        assert_eq!(out[5], chosen(&x, order.iter().copied()));
        let descending: Vec<i32> = order.iter().rev().map(|at| *at as i32).collect();
        assert_eq!(out[4], tensor(&[n], descending));
    }
}

#[test]
fn lookups_in_free_axes() {
    for seq in [0, 1, 5] {
        let x = mixed(&[seq, 2], 1);
        let index = tensor(&[4], vec![3, -1, 0, i32::MAX]);
        let model = || {
            let x: T<(Seq, D<2>)> = input("x");
            let index: T<(D<4>,), i32> = input("index");
            output(&(x.gather(index), x.index_select(Axis::<0>, index)));
        };
        let out = run_named(model, &[("x", &x), ("index", &index)], &[("Seq", seq)]);
        // Without any row there is nothing but zeros.
        let row = |at: i64| match seq {
            0 => [0.0; 2],
            n => std::array::from_fn(|i| floats(&x)[at.clamp(0, n as i64 - 1) as usize * 2 + i]),
        };
        let expected: Vec<f32> = [3, -1, 0, i64::from(i32::MAX)].into_iter().flat_map(row).collect();
        assert_eq!(out[0], tensor(&[4, 2], expected));
        assert_eq!(out[1], out[0]);
    }
}

#[test]
fn free_axes_beside_the_one_of_an_operation() {
    let (x, batch) = (tensor(&[2, 4], vec![3.0, f32::NAN, -1.0, 2.0, 0.0, 5.0, 5.0, f32::NEG_INFINITY]), 2);
    let index = tensor(&[2, 3], vec![0, 3, 9, -5, 2, 1]);
    let model = || {
        let x: T<(Batch, D<4>)> = input("x");
        let index: T<(Batch, D<3>), i32> = input("index");
        let (values, positions) = x.topk::<D<3>, 1>(Axis::<1>, Order::Descending);
        let written = x.scatter(Axis::<1>, index, T::full(9.0));
        output(&(x.gather_along(Axis::<1>, index), values, positions, written));
    };
    let out = run_named(model, &[("x", &x), ("index", &index)], &[("Batch", batch)]);
    assert_close(&tensor(&[2, 3], vec![3.0, 2.0, 2.0, 0.0, 5.0, 5.0]), &out[0], 0.0);
    assert_close(&tensor(&[2, 3], vec![f32::NAN, 3.0, 2.0, 5.0, 5.0, 0.0]), &out[1], 0.0);
    assert_eq!(out[2], tensor(&[2, 3], vec![1, 0, 3, 1, 2, 0]));
    let written = vec![9.0, f32::NAN, -1.0, 9.0, 0.0, 9.0, 9.0, f32::NEG_INFINITY];
    assert_close(&tensor(&[2, 4], written), &out[3], 0.0);
}

#[test]
fn caches_take_as_many_rows_as_come() {
    let cache = mixed(&[6], 1);
    for (position, new) in [(0, 4), (3, 2), (5, 4), (2, 0), (-1, 3)] {
        let rows = mixed(&[new], 2);
        let model = || {
            let cache: T<(D<6>,)> = input("cache");
            let position: T<(), i32> = input("position");
            output(&cache.write_at(Axis::<0>, position, input::<T<(New,)>>("new")));
        };
        let at = tensor(&[], vec![position]);
        let out = run_named(model, &[("cache", &cache), ("position", &at), ("new", &rows)], &[("New", new)]);
        let mut expected = floats(&cache).to_vec();
        for (offset, value) in floats(&rows).iter().enumerate() {
            if let Some(place) = expected.get_mut((i64::from(position) + offset as i64) as usize) {
                *place = *value;
            }
        }
        assert_eq!(out[0], tensor(&[6], expected), "{position}");
    }
}

#[test]
fn many_free_parts() {
    let parts: Vec<Tensor> = (0..3).map(|i| mixed(&[2], i)).collect();
    let model = || {
        let parts: [T<(New,)>; 3] = ["a", "b", "c"].map(input);
        let joined: T<(Longer,)> = concat_all(parts, Axis::<0>);
        output(&joined);
    };
    let feeds = [("a", &parts[0]), ("b", &parts[1]), ("c", &parts[2])];
    let out = run_named(model, &feeds, &[("New", 2)]);
    let expected: Vec<f32> = parts.iter().flat_map(|part| floats(part).to_vec()).collect();
    assert_eq!(out[0], tensor(&[6], expected));
}
