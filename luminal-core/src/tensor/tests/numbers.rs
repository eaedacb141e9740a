//! Pointwise functions, broadcasting and reductions.

use super::*;
use crate::tensor::{Axis, D, One, Tensor as T, input, output};

/// Applies a function to each element, against one on `f64`.
#[track_caller]
fn check_unary(
    function: fn(T<(D<8>,)>) -> T<(D<8>,)>,
    exact: fn(f64) -> f64,
    values: [f32; 8],
    relative: f32,
) {
    let x = tensor(&[8], values.to_vec());
    let out = run(|| output(&function(input("x"))), &[("x", &x)]);
    let expected: Vec<_> = values.iter().map(|x| exact(f64::from(*x)) as f32).collect();
    assert_close(&tensor(&[8], expected), &out[0], relative);
}

#[test]
fn functions_of_one_operand() {
    let values = [-3.0, -1.5, -0.25, 0.0, 0.125, 0.75, 2.0, 3.5];
    let positive = [0.01, 0.25, 0.5, 1.0, 1.5, 2.0, 10.0, 1e6];
    check_unary(|x| x.exp(), f64::exp, values, 1e-6);
    check_unary(|x| x.exp2(), f64::exp2, values, 1e-6);
    check_unary(|x| x.log(), f64::ln, positive, 1e-6);
    check_unary(|x| x.log2(), f64::log2, positive, 1e-6);
    check_unary(|x| x.sin(), f64::sin, values, 1e-6);
    check_unary(|x| x.cos(), f64::cos, values, 1e-6);
    check_unary(|x| x.sqrt(), f64::sqrt, positive, 1e-6);
    check_unary(|x| x.recip(), f64::recip, positive, 1e-6);
    check_unary(|x| x.tanh(), f64::tanh, values, 1e-6);
    check_unary(|x| x.sigmoid(), |x| 1.0 / (1.0 + (-x).exp()), values, 1e-6);
    check_unary(|x| x.relu(), |x| x.max(0.0), values, 0.0);
    check_unary(|x| -x, |x| -x, values, 0.0);
    check_unary(|x| 1.0 - x / 2.0, |x| 1.0 - x / 2.0, values, 0.0);
    check_unary(|x| 2.0 / (x + 4.0), |x| 2.0 / (x + 4.0), values, 1e-6);
    check_unary(|x| x % 1.5, |x| x.rem_euclid(1.5), values, 1e-6);
    check_unary(|x| x.minimum(0.5).maximum(-1.0), |x| x.clamp(-1.0, 0.5), values, 0.0);
}

#[test]
fn infinities_and_nan() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = tensor(&[4], vec![-inf, inf, nan, -0.0]);
    let y = tensor(&[4], vec![nan, 1.0, 0.0, nan]);
    let out = run(
        || {
            let (x, y): (T<(D<4>,)>, T<(D<4>,)>) = (input("x"), input("y"));
            output(&(
                (x.sigmoid(), x.tanh(), x.relu(), x.minimum(y)),
                (x.less(y), x.greater(0.0).select(x, y)),
            ));
        },
        &[("x", &x), ("y", &y)],
    );
    assert_close(&tensor(&[4], vec![0.0, 1.0, nan, 0.5]), &out[0], 0.0);
    assert_close(&tensor(&[4], vec![-1.0, 1.0, nan, 0.0]), &out[1], 0.0);
    assert_close(&tensor(&[4], vec![0.0, inf, nan, 0.0]), &out[2], 0.0);
    assert_close(&tensor(&[4], vec![nan, 1.0, nan, nan]), &out[3], 0.0);
    assert_eq!(tensor(&[4], vec![false; 4]), out[4]);
    assert_close(&tensor(&[4], vec![nan, inf, 0.0, nan]), &out[5], 0.0);
}

#[test]
fn integers_and_truth_values() {
    let x = tensor(&[4], vec![i32::MIN, -7, 7, i32::MAX]);
    let out = run(
        || {
            let x: T<(D<4>,), i32> = input("x");
            let small = x.less(8) & x.greater(-8);
            let pointwise = (x.minimum(3), small, !small, small | x.less(0), x.cast::<bool>());
            let reduced = (x.min(Axis::<0>), x.max(Axis::<0>), small.cast::<i32>().sum(Axis::<0>));
            output(&((x + 1, 1 - x, x * 2, x % 4), pointwise, reduced));
        },
        &[("x", &x)],
    );
    let ints = |values: [i32; 4]| tensor(&[4], values.to_vec());
    let bools = |values: [bool; 4]| tensor(&[4], values.to_vec());
    assert_eq!(out[0], ints([i32::MIN + 1, -6, 8, i32::MIN]));
    assert_eq!(out[1], ints([1i32.wrapping_sub(i32::MIN), 8, -6, 1 - i32::MAX]));
    assert_eq!(out[2], ints([0, -14, 14, -2]));
    assert_eq!(out[3], ints([0, 1, 3, 3]));
    assert_eq!(out[4], ints([i32::MIN, -7, 3, 3]));
    assert_eq!(out[5], bools([false, true, true, false]));
    assert_eq!(out[6], bools([true, false, false, true]));
    assert_eq!(out[7], bools([true, true, true, false]));
    assert_eq!(out[8], bools([true; 4]));
    assert_eq!(out[9], tensor(&[], vec![i32::MIN]));
    assert_eq!(out[10], tensor(&[], vec![i32::MAX]));
    assert_eq!(out[11], tensor(&[], vec![2]));
}

#[test]
fn the_right_operand_broadcasts() {
    let x = counting(&[2, 3, 4]);
    let row = counting(&[4]);
    let column = counting(&[3, 1]);
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<4>)> = input("x");
            let row: T<(D<4>,)> = input("row");
            let column: T<(D<3>, One)> = input("column");
            output(&(x + row, x - column, x * row.sum(Axis::<0>)));
        },
        &[("x", &x), ("row", &row), ("column", &column)],
    );
    for (i, x) in floats(&x).iter().enumerate() {
        let (k, j) = ((i % 4) as f32, (i / 4 % 3) as f32);
        assert_eq!(floats(&out[0])[i], x + k);
        assert_eq!(floats(&out[1])[i], x - j);
        assert_eq!(floats(&out[2])[i], x * 6.0);
    }
}

#[test]
fn reductions() {
    let x = counting(&[2, 3]);
    let out = run(
        || {
            let x: T<(D<2>, D<3>)> = input("x");
            let once = (x.sum(Axis::<0>), x.max(Axis::<1>), x.mean(Axis::<-1>), x.min(Axis::<-2>));
            // `One` is an axis of one element: reducing it again changes nothing.
            let twice = (x.sum_keep(Axis::<1>).max(Axis::<1>), x.max_keep(Axis::<1>).sum_keep(Axis::<-1>));
            output(&(once, x.mean_keep(Axis::<0>), twice));
        },
        &[("x", &x)],
    );
    assert_eq!(out[0], tensor(&[3], vec![3.0, 5.0, 7.0]));
    assert_eq!(out[1], tensor(&[2], vec![2.0, 5.0]));
    assert_close(&tensor(&[2], vec![1.0, 4.0]), &out[2], 1e-6);
    assert_eq!(out[3], tensor(&[3], vec![0.0, 1.0, 2.0]));
    assert_eq!(out[4], tensor(&[1, 3], vec![1.5, 2.5, 3.5]));
    assert_eq!(out[5], tensor(&[2], vec![3.0, 12.0]));
    assert_eq!(out[6], tensor(&[2, 1], vec![2.0, 5.0]));
}

free_dim!(Batch, 9);

#[test]
fn means_over_free_dimensions_count_the_elements() {
    for rows in [1, 4, 9] {
        let x = counting(&[rows, 2]);
        let model = || output(&input::<T<(Batch, D<2>)>>("x").mean(Axis::<0>));
        let out = run_free(model, &[("x", &x)], &[rows]);
        assert_close(&tensor(&[2], vec![(rows - 1) as f32, rows as f32]), &out[0], 1e-6);
    }
}

#[test]
fn softmax_does_not_overflow() {
    let x = tensor(&[2, 3], vec![1000.0, 999.0, -1000.0, 0.5, -0.25, 2.0]);
    let out = run(
        || {
            let x: T<(D<2>, D<3>)> = input("x");
            output(&(x.softmax(Axis::<1>), x.log_softmax(Axis::<-1>), x.softmax(Axis::<0>)));
        },
        &[("x", &x)],
    );
    let rows: Vec<Vec<f64>> =
        floats(&x).chunks(3).map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect();
    let shifted = rows.iter().flat_map(|row| {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
        row.iter().map(move |x| x - max - sum.ln()).collect::<Vec<_>>()
    });
    let logarithms: Vec<f64> = shifted.collect();
    let to_tensor = |values: Vec<f64>| tensor(&[2, 3], values.iter().map(|x| *x as f32).collect::<Vec<_>>());
    assert_close(&to_tensor(logarithms.iter().map(|x| x.exp()).collect()), &out[0], 1e-6);
    assert_close(&to_tensor(logarithms), &out[1], 1e-6);
    let columns: Vec<f32> = (0..3).map(|k| floats(&out[2])[k] + floats(&out[2])[k + 3]).collect();
    assert_close(&tensor(&[3], vec![1.0; 3]), &tensor(&[3], columns), 1e-6);
}

#[test]
fn constants_and_positions() {
    let out = run(
        || {
            let positions = (T::<(D<3>,), i32>::iota(), T::<(One,), i32>::iota());
            output(&(
                T::<(D<2>, D<2>)>::full(0.25),
                T::<(), bool>::full(true),
                positions,
                T::<(D<0>,)>::zeros(),
            ));
        },
        &[],
    );
    assert_eq!(out[0], tensor(&[2, 2], vec![0.25; 4]));
    assert_eq!(out[1], tensor(&[], vec![true]));
    assert_eq!(out[2], tensor(&[3], vec![0, 1, 2]));
    assert_eq!(out[3], tensor(&[1], vec![0]));
    assert_eq!(out[4], tensor(&[0], Vec::<f32>::new()));
}
