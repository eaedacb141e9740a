//! Reductions along one axis or several, cumulative sums and products, positions of extremes.

use super::*;
use crate::axes;
use crate::tensor::{Axis, D, One, Scan, Tensor as T, input, output};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

free_dim!(Rows, 9);

/// Reduces the last axis of a matrix.
#[track_caller]
fn check(function: impl FnOnce(&mut Graph, NodeId) -> NodeId, rows: &[(&[f32], f32)], tolerance: f32) {
    let width = rows[0].0.len();
    let x = tensor(&[rows.len(), width], rows.iter().flat_map(|row| row.0).copied().collect::<Vec<_>>());
    let expected = tensor(&[rows.len()], rows.iter().map(|row| row.1).collect::<Vec<_>>());
    assert_close(&expected, &apply(function, &x), tolerance);
}

#[test]
fn several_axes() {
    let x = mixed(&[2, 3, 4], 1);
    let model = || {
        let x: T<(D<2>, D<3>, D<4>)> = input("x");
        let sum: T<(D<3>,)> = x.sum(axes![0, 2]);
        let sum_keep: T<(One, D<3>, One)> = x.sum_keep(axes![-1, 0]);
        let max: T<()> = x.max(axes![2, 0, 1]);
        let mean: T<(D<4>,)> = x.mean(axes![0, 1]);
        let one: T<(D<2>, D<4>)> = x.min(axes![1]);
        let again: T<(D<3>,)> = sum_keep.max(axes![0, 2]);
        output(&((sum, sum_keep, max, mean), (one, again, x.sum_keep(Axis::<0>).var(axes![0, 1], 0.0))));
    };
    let out = run(model, &[("x", &x)]);
    let at = |i: usize, j: usize, k: usize| f64::from(floats(&x)[(i * 3 + j) * 4 + k]);
    let pairs = |n: usize, m: usize| (0..n).flat_map(move |i| (0..m).map(move |j| (i, j)));
    let sums: Vec<f32> = (0..3).map(|j| pairs(2, 4).map(|(i, k)| at(i, j, k)).sum::<f64>() as f32).collect();
    let means: Vec<f32> =
        (0..4).map(|k| (pairs(2, 3).map(|(i, j)| at(i, j, k)).sum::<f64>() / 6.0) as f32).collect();
    assert_close(&tensor(&[3], sums.clone()), &out[0], 1e-6);
    assert_close(&tensor(&[1, 3, 1], sums.clone()), &out[1], 1e-6);
    assert_eq!(out[2], tensor(&[], vec![floats(&x).iter().copied().fold(-INF, f32::max)]));
    assert_close(&tensor(&[4], means), &out[3], 1e-6);
    let least = |i: usize, k: usize| (0..3).map(|j| at(i, j, k)).fold(f64::INFINITY, f64::min) as f32;
    assert_eq!(out[4], tensor(&[2, 4], pairs(2, 4).map(|(i, k)| least(i, k)).collect::<Vec<_>>()));
    assert_close(&tensor(&[3], sums), &out[5], 1e-6);
    // Along an axis of type `One` and one of three elements.
    let columns: Vec<Vec<f64>> =
        (0..4).map(|k| (0..3).map(|j| f64::from((at(0, j, k) + at(1, j, k)) as f32)).collect()).collect();
    let variance = |values: &Vec<f64>| {
        let mean = values.iter().sum::<f64>() / 3.0;
        (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 3.0) as f32
    };
    assert_close(&tensor(&[4], columns.iter().map(variance).collect::<Vec<_>>()), &out[6], 1e-6);
}

#[test]
fn an_axis_named_twice_is_a_mistake() {
    let model = || output(&input::<T<(D<2>, D<3>)>>("x").sum(axes![1, -1]));
    assert_eq!(mistakes(model), ["sum: axis 1 of [2, 3] is named twice: name each axis once"]);
}

#[test]
fn products() {
    check(
        |g, x| g.prod(x, 1),
        &[
            (&[1.0, 2.0, 3.0, 4.0, 5.0], 120.0),
            (&[-1.0, 2.0, -3.0, 0.5, 1.0], 3.0),
            (&[0.0, INF, 1.0, 1.0, 1.0], NAN),
        ],
        0.0,
    );
    for size in 0..9 {
        let x = tensor(&[2, size], (0..2 * size).map(|i| i as i32 - 2).collect::<Vec<_>>());
        let expected = (0..2).map(|row| (0..size).map(|i| (row * size + i) as i32 - 2).product::<i32>());
        assert_eq!(apply(|g, x| g.prod(x, 1), &x), tensor(&[2], expected.collect::<Vec<_>>()));
    }
    let x = counting(&[2, 3, 2]);
    let all: f32 = (1..12).map(|i| i as f32).product();
    assert_eq!(
        floats(&apply(
            |g, x| {
                let y = g.add_number(x, 1.0);
                g.prod(y, [2, 0, 1])
            },
            &x
        )),
        [12.0 * all]
    );
    let model = || output(&input::<T<(Rows, D<3>)>>("x").prod(Axis::<0>));
    assert_eq!(
        mistakes(model),
        ["prod: axis 0 of [Rows, 3] is the free dimension Rows; this operation needs a fixed size there"]
    );
}

#[test]
fn truth_values() {
    let x = tensor(&[3, 2], vec![false, false, true, false, true, true]);
    let model = || {
        let x: T<(D<3>, D<2>), bool> = input("x");
        output(&(x.any(Axis::<1>), x.all(Axis::<1>), x.all_keep(axes![0, 1]), x.any(axes![0, 1])));
    };
    let out = run(model, &[("x", &x)]);
    assert_eq!(out[0], tensor(&[3], vec![false, true, true]));
    assert_eq!(out[1], tensor(&[3], vec![false, false, true]));
    assert_eq!(out[2], tensor(&[1, 1], vec![false]));
    assert_eq!(out[3], tensor(&[], vec![true]));
    let none = tensor(&[2, 0], Vec::<bool>::new());
    assert_eq!(apply(|g, x| g.any(x, 1), &none), tensor(&[2], vec![false; 2]));
    assert_eq!(apply(|g, x| g.all(x, 1), &none), tensor(&[2], vec![true; 2]));
}

#[test]
fn positions_of_extremes() {
    let x = tensor(
        &[6, 4],
        vec![
            1.0, 3.0, 3.0, -1.0, //
            0.0, 0.0, 0.0, 0.0, //
            2.0, NAN, 5.0, NAN, //
            -INF, -INF, -INF, -INF, //
            -0.0, 0.0, -0.0, 0.0, //
            INF, 1.0, INF, -INF,
        ],
    );
    let positions = |function: fn(&mut Graph, NodeId, usize) -> NodeId| apply(|g, x| function(g, x, 1), &x);
    assert_eq!(positions(Graph::argmax), tensor(&[6], vec![1, 0, 1, 0, 0, 0]));
    assert_eq!(positions(Graph::argmin), tensor(&[6], vec![3, 0, 1, 0, 0, 3]));
    assert_eq!(positions(Graph::argmax_last), tensor(&[6], vec![2, 3, 3, 3, 3, 2]));
    assert_eq!(positions(Graph::argmin_last), tensor(&[6], vec![3, 3, 3, 3, 3, 3]));
    let x = tensor(&[2, 3], vec![i32::MIN, i32::MAX, i32::MAX, 5, -5, i32::MIN]);
    let model = || {
        let x: T<(D<2>, D<3>), i32> = input("x");
        output(&(
            (x.argmax(Axis::<1>), x.argmin(Axis::<-1>), x.argmax_keep(Axis::<0>)),
            x.sum_keep(Axis::<1>).argmin(Axis::<1>),
        ));
    };
    let out = run(model, &[("x", &x)]);
    assert_eq!(out[0], tensor(&[2], vec![1, 0]));
    assert_eq!(out[1], tensor(&[2], vec![0, 2]));
    assert_eq!(out[2], tensor(&[1, 3], vec![1, 0, 0]));
    // An axis of type `One` has one position.
    assert_eq!(out[3], tensor(&[2], vec![0, 0]));
    let model = || output(&input::<T<(D<2>, D<0>)>>("x").argmax(Axis::<1>));
    assert_eq!(
        mistakes(model),
        ["argmax: axis 1 of [2, 0] has no elements, so none is the first: it must have at least 1"]
    );
}

#[test]
fn variances() {
    let rows: [(&[f32], f32); 3] = [
        (&[1.0, 2.0, 3.0, 4.0], 1.25),
        (&[5.0; 4], 0.0),
        (&[1e4 + 1.0, 1e4 + 2.0, 1e4 + 3.0, 1e4 + 4.0], 1.25),
    ];
    check(|g, x| g.var(x, 1, 0.0), &rows, 1e-6);
    let unbiased = rows.map(|(row, variance)| (row, variance * 4.0 / 3.0));
    check(|g, x| g.var(x, 1, 1.0), &unbiased, 1e-6);
    check(|g, x| g.std(x, [1], 1.0), &unbiased.map(|(row, variance)| (row, variance.sqrt())), 1e-6);
    // There is no estimate from one element.
    check(|g, x| g.var(x, 1, 1.0), &[(&[3.0], NAN)], 0.0);
    let model = || output(&input::<T<(Rows, D<2>)>>("x").var(axes![0, 1], 1.0));
    for count in [1, 4, 9] {
        let x = counting(&[count, 2]);
        let n = 2.0 * count as f32;
        // Of 0, 1, .. n-1: n (n + 1) / 12.
        let out = run_free(model, &[("x", &x)], &[count]);
        assert_close(&tensor(&[], vec![n * (n + 1.0) / 12.0]), &out[0], 1e-6);
    }
}

#[test]
fn logarithms_of_sums() {
    check(
        |g, x| g.logsumexp(x, 1),
        &[
            (&[0.0, 0.0, 0.0], 3f32.ln()),
            (&[1000.0, 1000.0, -1000.0], 1000.0 + 2f32.ln()),
            (&[-INF, -INF, -INF], -INF),
            (&[-INF, 2.0, -INF], 2.0),
            (&[INF, 0.0, -INF], INF),
            (&[NAN, 0.0, INF], NAN),
        ],
        1e-6,
    );
    let none = tensor(&[2, 0], Vec::<f32>::new());
    assert_eq!(apply(|g, x| g.logsumexp(x, 1), &none), tensor(&[2], vec![-INF; 2]));
}

#[test]
fn norms() {
    let row: &[f32] = &[3.0, -4.0, 0.0, 12.0];
    for (order, expected) in [
        (1.0, 19.0),
        (2.0, 13.0),
        (3.0, 12.217_607),
        (0.0, 3.0),
        (f64::INFINITY, 12.0),
        (f64::NEG_INFINITY, 0.0),
        (0.5, 49.985_9),
    ] {
        let expected = if order == 0.5 { (3f32.sqrt() + 2.0 + 12f32.sqrt()).powi(2) } else { expected };
        let expected = if order == 3.0 { (27f32 + 64.0 + 1728.0).cbrt() } else { expected };
        check(
            |g, x| g.norm(x, 1, order),
            &[(row, expected), (&[0.0, NAN, 1.0, 2.0], if order == 0.0 { 3.0 } else { NAN })],
            3e-6,
        );
    }
}

#[test]
fn cumulative_sums() {
    let scan = |exclusive, reverse| Scan { exclusive, reverse };
    let x = tensor(&[2, 4], vec![1.0, 2.0, 3.0, 4.0, 5.0, INF, -1.0, NAN]);
    let sums = |scan| apply(|g, x| g.cumsum(x, 1, scan), &x);
    let rows = |rows: [f32; 8]| tensor(&[2, 4], rows.to_vec());
    assert_close(&rows([1.0, 3.0, 6.0, 10.0, 5.0, INF, INF, NAN]), &sums(scan(false, false)), 0.0);
    assert_close(&rows([0.0, 1.0, 3.0, 6.0, 0.0, 5.0, INF, INF]), &sums(scan(true, false)), 0.0);
    assert_close(&rows([10.0, 9.0, 7.0, 4.0, NAN, NAN, NAN, NAN]), &sums(scan(false, true)), 0.0);
    assert_close(&rows([9.0, 7.0, 4.0, 0.0, NAN, NAN, NAN, 0.0]), &sums(scan(true, true)), 0.0);
    let model = || {
        let x: T<(Rows, D<2>)> = input("x");
        output(&(x.cumsum(Axis::<0>), x.cumprod(Axis::<1>), x.max_keep(Axis::<1>).cumsum(Axis::<1>)));
    };
    let out = run_free(model, &[("x", &counting(&[3, 2]))], &[3]);
    assert_eq!(out[0], tensor(&[3, 2], vec![0.0, 1.0, 2.0, 4.0, 6.0, 9.0]));
    assert_eq!(out[1], tensor(&[3, 2], vec![0.0, 0.0, 2.0, 6.0, 4.0, 20.0]));
    assert_eq!(out[2], tensor(&[3, 1], vec![1.0, 3.0, 5.0]));
    let model = || output(&input::<T<(Rows, D<3>)>>("x").cumprod(Axis::<0>));
    assert_eq!(
        mistakes(model),
        ["cumprod: axis 0 of [Rows, 3] is the free dimension Rows; this operation needs a fixed size there"]
    );
}

#[test]
fn cumulative_products() {
    for size in 0..9 {
        let x = tensor(&[size, 2], (0..2 * size).map(|i| i as i32 - 3).collect::<Vec<_>>());
        let at = |row: usize, column: usize| (2 * row + column) as i32 - 3;
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            let out = apply(|g, x| g.cumprod(x, 0, Scan { exclusive, reverse }), &x);
            let counts = |row: usize, other: usize| {
                let before = if reverse { other > row } else { other < row };
                before || (other == row && !exclusive)
            };
            let product = |row: usize, column: usize| {
                (0..size).filter(|other| counts(row, *other)).map(|other| at(other, column)).product::<i32>()
            };
            let expected = (0..size).flat_map(|row| [product(row, 0), product(row, 1)]);
            assert_eq!(out, tensor(&[size, 2], expected.collect::<Vec<_>>()));
        }
    }
}
