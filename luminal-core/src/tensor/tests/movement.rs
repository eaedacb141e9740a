//! Reshape, permute, slice, pad, concat.

use super::*;
use crate::axes;
use crate::graph::Op;
use crate::tensor::{Axis, D, DimInfo, One, Order, Shape, Tensor as T, concat_all, input, output, stack};

free_dim!(Batch, 5);
free_dim!(Seq, 7);

/// A reshape keeps the row-major order, whatever the two factorisations are.
#[track_caller]
fn check_reshape<S: Shape, R: Shape>(views_only: bool) {
    let free: Vec<usize> = S::DIMS.iter().filter(|dim| dim.is_free()).map(|dim| dim.max() - 1).collect();
    let sizes = |dims: &[DimInfo]| -> Vec<usize> {
        let mut free = free.iter();
        dims.iter().map(|dim| dim.fixed().unwrap_or_else(|| *free.next().unwrap())).collect()
    };
    let (from, to) = (sizes(S::DIMS), sizes(R::DIMS));
    let x = counting(&from);
    let model = || output(&input::<T<S>>("x").reshape::<R>());
    let out = run_free(model, &[("x", &x)], &free);
    assert_eq!(out[0], tensor(&to, floats(&x).to_vec()));
    let graph = graph(model);
    let only_views = graph.nodes.iter().skip(1).all(|node| node.op.is_view());
    assert_eq!(only_views, views_only, "{graph}");
}

#[test]
fn reshape() {
    check_reshape::<(D<28>, D<28>), (D<784>,)>(true);
    check_reshape::<(D<784>,), (D<4>, D<7>, D<28>)>(true);
    check_reshape::<(D<2>, D<3>, D<4>), (D<6>, D<2>, D<2>)>(true);
    check_reshape::<(D<4>, D<6>), (D<2>, D<12>)>(true);
    check_reshape::<(D<4>, D<6>), (D<6>, D<4>)>(true);
    check_reshape::<(D<5>, D<4>, D<6>), (D<5>, D<3>, D<8>)>(true);
    check_reshape::<(D<4>, D<6>, D<10>), (D<6>, D<4>, D<2>, D<5>)>(true);
    check_reshape::<(D<3>, D<4>), (D<3>, D<4>)>(true);
}

#[test]
fn reshape_with_free_dimensions() {
    check_reshape::<(Batch, D<784>), (Batch, D<28>, D<28>)>(true);
    check_reshape::<(D<6>, Batch, D<4>, Seq), (D<2>, D<3>, Batch, D<2>, D<2>, Seq)>(true);
}

#[test]
fn reshape_with_axes_of_one_element() {
    check_reshape::<(D<1>, D<6>), (D<6>, D<1>)>(true);
    check_reshape::<(D<1>, D<6>, D<1>, D<1>), (D<2>, D<3>)>(true);
    check_reshape::<(), (D<1>, One, D<1>)>(true);
    check_reshape::<(Batch, D<4>), (Batch, One, D<4>, D<1>)>(true);
    // No view drops the only axis between free ones.
    check_reshape::<(D<1>,), ()>(false);
    check_reshape::<(Batch, D<1>), (Batch,)>(false);
    check_reshape::<(Batch, One), (Batch, D<1>)>(false);
    check_reshape::<(D<1>, D<1>), ()>(false);
}

#[test]
fn reshape_of_nothing() {
    check_reshape::<(D<0>,), (D<0>, D<3>)>(false);
    check_reshape::<(D<2>, D<0>, D<3>), (D<0>,)>(false);
}

#[test]
fn axes_of_one_never_reach_the_graph() {
    let graph = graph(|| {
        let x: T<(D<3>, D<4>)> = input("x");
        let kept = x.max_keep(Axis::<1>).reshape::<(D<3>, D<1>)>().reshape::<(One, D<3>, One)>();
        output(&(x - kept.sum(Axis::<0>)).sum(Axis::<1>));
    });
    let reduced = graph.nodes.iter().filter(|node| matches!(node.op, Op::Reduce(..))).count();
    assert_eq!(reduced, 2, "{graph}");
}

#[test]
fn permute() {
    let x = counting(&[2, 3, 4]);
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<4>)> = input("x");
            let with_one: T<(D<2>, One, D<4>)> = x.max_keep(Axis::<1>);
            let permuted =
                (x.permute(axes![2, 0, -2]), with_one.permute(axes![1, 2, 0]), x.permute(axes![0, 1, 2]));
            output(&(permuted, x.sum(Axis::<0>).t()));
        },
        &[("x", &x)],
    );
    for (i, value) in floats(&out[0]).iter().enumerate() {
        let (k, b, j) = (i / 6, i / 3 % 2, i % 3);
        assert_eq!(*value, (b * 12 + j * 4 + k) as f32);
    }
    for (i, value) in floats(&out[1]).iter().enumerate() {
        let (k, b) = (i / 2, i % 2);
        assert_eq!(*value, (b * 12 + 8 + k) as f32);
    }
    assert_eq!(out[1].shape, [1, 4, 2]);
    assert_eq!(out[2], x);
    for (i, value) in floats(&out[3]).iter().enumerate() {
        let (k, j) = (i / 3, i % 3);
        assert_eq!(*value, (2 * (j * 4 + k) + 12) as f32);
    }
}

#[test]
fn slice() {
    let x = counting(&[2, 10]);
    let out = run(
        || {
            let x: T<(D<2>, D<10>)> = input("x");
            let middle: T<(D<2>, D<4>)> = x.slice(Axis::<1>, 3);
            let every_third: T<(D<2>, D<3>)> = x.slice_step(Axis::<-1>, 2, 3);
            let last: T<(One, D<10>)> = x.slice(Axis::<0>, 1);
            let none: T<(D<2>, D<0>)> = x.slice(Axis::<1>, 10);
            let of_one: T<(D<1>, D<10>)> = last.slice(Axis::<0>, 0);
            output(&(middle, every_third, last, none, of_one));
        },
        &[("x", &x)],
    );
    assert_eq!(out[0], tensor(&[2, 4], vec![3.0, 4.0, 5.0, 6.0, 13.0, 14.0, 15.0, 16.0]));
    assert_eq!(out[1], tensor(&[2, 3], vec![2.0, 5.0, 8.0, 12.0, 15.0, 18.0]));
    let last: Vec<f32> = (10..20).map(|i| i as f32).collect();
    assert_eq!(out[2], tensor(&[1, 10], last.clone()));
    assert_eq!(out[3], tensor(&[2, 0], Vec::<f32>::new()));
    assert_eq!(out[4], tensor(&[1, 10], last));
}

#[test]
fn pad_and_concat_spread_nothing() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = tensor(&[2, 2], vec![inf, nan, 1.0, 2.0]);
    let y = tensor(&[2, 3], vec![3.0, 4.0, 5.0, nan, -inf, 6.0]);
    let out = run(
        || {
            let x: T<(D<2>, D<2>)> = input("x");
            let y: T<(D<2>, D<3>)> = input("y");
            let joined: T<(D<2>, D<5>)> = x.concat(Axis::<1>, y);
            let padded: T<(D<5>, D<2>)> = x.pad(Axis::<0>, 1, -1.0);
            let row: T<(One, D<2>)> = x.max_keep(Axis::<0>);
            let rows: T<(D<3>, D<2>)> = x.concat(Axis::<-2>, row);
            output(&(joined, padded, rows, y.less(4.5).concat::<D<5>, _, 1>(Axis::<1>, x.less(1.5))));
        },
        &[("x", &x), ("y", &y)],
    );
    let expected = vec![inf, nan, 3.0, 4.0, 5.0, 1.0, 2.0, nan, -inf, 6.0];
    assert_close(&tensor(&[2, 5], expected), &out[0], 0.0);
    let expected = vec![-1.0, -1.0, inf, nan, 1.0, 2.0, -1.0, -1.0, -1.0, -1.0];
    assert_close(&tensor(&[5, 2], expected), &out[1], 0.0);
    assert_close(&tensor(&[3, 2], vec![inf, nan, 1.0, 2.0, inf, nan]), &out[2], 0.0);
    let expected = vec![true, true, false, false, false, false, true, false, true, false];
    assert_eq!(out[3], tensor(&[2, 5], expected));
}

#[test]
fn axes_are_dropped_added_and_exchanged() {
    let x = counting(&[2, 1, 3]);
    let out = run(
        || {
            let x: T<(D<2>, D<1>, D<3>)> = input("x");
            let matrix: T<(D<2>, D<3>)> = x.squeeze(Axis::<1>);
            let row: T<(One, D<3>)> = matrix.max_keep(Axis::<0>);
            let wide: T<(D<2>, D<4>, D<3>)> = x.expand(Axis::<1>);
            let swapped: T<(D<3>, D<1>, D<2>)> = x.transpose(Axis::<0>, Axis::<-1>);
            let turned: T<(D<3>, One)> = row.transpose(Axis::<0>, Axis::<1>);
            let one: T<(D<2>, One, D<3>)> = matrix.unsqueeze(Axis::<1>);
            let last: T<(D<2>, D<3>, D<1>)> = matrix.unsqueeze(Axis::<-1>);
            output(&((matrix, wide, swapped, turned), (one, last, row.squeeze(Axis::<0>))));
            output(&row.broadcast_to::<(D<2>, D<2>, D<3>)>());
        },
        &[("x", &x)],
    );
    let rows = floats(&x).to_vec();
    assert_eq!(out[0], tensor(&[2, 3], rows.clone()));
    assert_eq!(
        out[1],
        tensor(
            &[2, 4, 3],
            [&rows[..3]; 4].concat().into_iter().chain([&rows[3..]; 4].concat()).collect::<Vec<_>>()
        )
    );
    assert_eq!(out[2], tensor(&[3, 1, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
    assert_eq!(out[3], tensor(&[3, 1], vec![3.0, 4.0, 5.0]));
    assert_eq!(out[4], tensor(&[2, 1, 3], rows.clone()));
    assert_eq!(out[5], tensor(&[2, 3, 1], rows));
    assert_eq!(out[6], tensor(&[3], vec![3.0, 4.0, 5.0]));
    assert_eq!(out[7], tensor(&[2, 2, 3], [[3.0, 4.0, 5.0]; 4].concat()));
}

#[test]
fn negative_steps_and_ends() {
    let x = counting(&[5]);
    let out = run(
        || {
            let x: T<(D<5>,)> = input("x");
            let backwards: T<(D<5>,)> = x.slice_step(Axis::<0>, -1, -1);
            let some: T<(D<2>,)> = x.slice_step(Axis::<0>, -1, -2);
            let tail: T<(D<2>,)> = x.slice_step(Axis::<0>, -2, 1);
            let last: T<(One,)> = x.last(Axis::<0>);
            output(&(backwards, some, tail, last));
        },
        &[("x", &x)],
    );
    assert_eq!(out[0], tensor(&[5], vec![4.0, 3.0, 2.0, 1.0, 0.0]));
    assert_eq!(out[1], tensor(&[2], vec![4.0, 2.0]));
    assert_eq!(out[2], tensor(&[2], vec![3.0, 4.0]));
    assert_eq!(out[3], tensor(&[1], vec![4.0]));
}

#[test]
fn parts_and_wholes() {
    let x = counting(&[2, 6]);
    let out = run(
        || {
            let x: T<(D<2>, D<6>)> = input("x");
            let [a, b]: [T<(D<2>, D<3>)>; 2] = x.chunk(Axis::<1>);
            let (one, rest): (T<(D<2>, One)>, T<(D<2>, D<5>)>) = x.split(Axis::<-1>);
            let again: T<(D<2>, D<6>)> = concat_all([a, b], Axis::<1>);
            let back: T<(D<2>, D<6>)> = one.concat(Axis::<1>, rest);
            let stacked: T<(D<2>, D<2>, D<3>)> = stack([b, a], Axis::<1>);
            let tiled: T<(D<4>, D<6>)> = x.repeat(Axis::<0>, 2);
            let each: T<(D<4>, D<6>)> = x.repeat_interleave(Axis::<0>, 2);
            output(&((again, back, one), (stacked, tiled, each)));
        },
        &[("x", &x)],
    );
    assert_eq!((&out[0], &out[1]), (&x, &x));
    assert_eq!(out[2], tensor(&[2, 1], vec![0.0, 6.0]));
    let rows = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8].map(|at| at as f32);
    assert_eq!(out[3], tensor(&[2, 2, 3], rows.to_vec()));
    let (low, high) = (&floats(&x)[..6], &floats(&x)[6..]);
    assert_eq!(out[4], tensor(&[4, 6], [low, high, low, high].concat()));
    assert_eq!(out[5], tensor(&[4, 6], [low, low, high, high].concat()));
}

#[test]
fn indices_of_every_type() {
    let x = tensor(&[3], vec![f32::INFINITY, 1.0, 2.0]);
    let (wide, narrow) = (tensor(&[3], vec![1i64, i64::MAX, i64::MIN]), tensor(&[3], vec![1u8, 255, 0]));
    let model = || {
        let x: T<(D<3>,)> = input("x");
        let (wide, narrow): (T<(D<3>,), i64>, T<(D<3>,), u8>) = (input("wide"), input("narrow"));
        let written = x.index_put(Axis::<0>, wide, T::full(7.0));
        output(&((x.gather(wide), x.gather(narrow)), (written, narrow.one_hot::<D<2>, bool>())));
    };
    let out = run(model, &[("x", &x), ("wide", &wide), ("narrow", &narrow)]);
    assert_eq!(out[0], tensor(&[3], vec![1.0, 2.0, f32::INFINITY]));
    assert_eq!(out[1], out[0]);
    assert_eq!(out[2], tensor(&[3], vec![f32::INFINITY, 7.0, 2.0]));
    assert_eq!(out[3], tensor(&[3, 2], vec![false, true, false, false, true, false]));
}

#[test]
fn elements_that_are_only_stored_move_too() {
    let x = tensor(&[4], vec![1.5, f32::NAN, -2.0, f32::INFINITY]);
    let model = || {
        let x: T<(D<4>,), half::f16> = input::<T<(D<4>,)>>("x").cast();
        let index: T<(D<2>,), i32> = T::full(2);
        let sorted = x.sort(Axis::<0>, Order::Descending);
        let added = x.index_add(Axis::<0>, index, T::full(half::f16::from_f32(0.25)));
        let square: T<(D<1>, D<4>), half::f16> = x.unsqueeze(Axis::<0>);
        output(&((sorted.cast::<f32>(), added.cast::<f32>()), square.tril(1).cast::<f32>()));
    };
    let out = run(model, &[("x", &x)]);
    assert_close(&tensor(&[4], vec![f32::NAN, f32::INFINITY, 1.5, -2.0]), &out[0], 0.0);
    assert_close(&tensor(&[4], vec![1.5, f32::NAN, -1.5, f32::INFINITY]), &out[1], 0.0);
    assert_close(&tensor(&[1, 4], vec![1.5, f32::NAN, 0.0, 0.0]), &out[2], 0.0);
}
