//! Reshape, permute, slice, pad, concat.

use super::*;
use crate::axes;
use crate::graph::Op;
use crate::tensor::{Axis, D, DimInfo, One, Shape, Tensor as T, input, output};

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
