//! Element types of the language: what is computed in which type, and that every rounding happens once.

use super::{run, tensor};
use crate::dtype::{Dtype, nearest_f16};
use crate::graph::Op;
use crate::reference::Tensor as Dense;
use crate::tensor::{Axis, D, Element, Tensor, input, output, trace};
use half::{bf16, f16};

type Row<E> = Tensor<(D<4>,), E>;

/// One function of a row of four.
fn of_row<E: Element, F: Element>(function: impl Fn(Row<E>) -> Row<F>, x: [E; 4]) -> Dense
where
    Vec<E>: Into<crate::reference::Data>,
{
    let x = Dense::vector(x.to_vec());
    run(|| output(&function(input("x"))), &[("x", &x)]).remove(0)
}

fn halves(x: [f32; 4]) -> [f16; 4] {
    x.map(f16::from_f32)
}

#[test]
fn each_operation_of_f16_is_rounded_once() {
    let x = [0.1, -3.0, 1000.0, 65504.0];
    let stored = halves(x);
    // x * x + x as two operations: the product is rounded to f16, and so is the sum.
    let expected =
        stored.map(|x| f16::from_f32(f16::from_f32(x.to_f32() * x.to_f32()).to_f32() + x.to_f32()));
    let found = of_row(|x: Row<f16>| x * x + x, stored);
    assert_eq!(found.as_f16().unwrap(), expected);
    // A softmax is one operation: its exponentials and their sum are f32.
    let row = halves([1.0, 2.0, 3.0, -1.0]);
    let powers = row.map(|x| f64::from(x.to_f32()).exp());
    let expected = powers.map(|power| nearest_f16(power / powers.iter().sum::<f64>()));
    let found = of_row(|x: Row<f16>| x.softmax(Axis::<0>), row);
    assert_eq!(found.as_f16().unwrap(), expected);
}

#[test]
fn sums_of_narrow_floats_are_wide() {
    // 2,048 and 4,096 ones: beyond 2,048, f16 cannot count in steps of 1.
    let ones = tensor(&[4096], vec![f16::ONE; 4096]);
    let sum = run(|| output(&input::<Tensor<(D<4096>,), f16>>("x").sum(Axis::<0>)), &[("x", &ones)]);
    assert_eq!(sum[0].as_f16().unwrap(), [f16::from_f32(4096.0)]);
    let ones = tensor(&[300], vec![bf16::ONE; 300]);
    let sum = run(|| output(&input::<Tensor<(D<300>,), bf16>>("x").sum(Axis::<0>)), &[("x", &ones)]);
    assert_eq!(sum[0].as_bf16().unwrap(), [bf16::from_f32(300.0)]);
}

#[test]
fn numbers_are_operands() {
    let x = halves([1.0, 2.0, -0.5, 8.0]);
    let found = of_row(|x: Row<f16>| x * f16::from_f32(0.25) - f16::ONE, x);
    assert_eq!(found.as_f16().unwrap(), halves([-0.75, -0.5, -1.125, 1.0]));
    let found = of_row(|x: Row<bf16>| bf16::ONE / x, [1.0, 2.0, -0.5, 8.0].map(bf16::from_f32));
    assert_eq!(found.as_bf16().unwrap(), [1.0, 0.5, -2.0, 0.125].map(bf16::from_f32));
    let found = of_row(|x: Row<i64>| 3i64 - x % 5i64, [-1, 7, 1 << 40, i64::MIN]);
    let expected = [-1i64, 7, 1 << 40, i64::MIN].map(|x| 3 - x.rem_euclid(5));
    assert_eq!(found.as_i64().unwrap(), expected);
    let found = of_row(|x: Row<u8>| (x + 100u8).maximum(7), [0, 155, 156, 255]);
    assert_eq!(found.as_u8().unwrap(), [100, 255, 7, 99]);
    let found = of_row(|x: Row<f16>| x.less(f16::ZERO).select(-x, x), x);
    assert_eq!(found.as_f16().unwrap(), halves([1.0, 2.0, 0.5, 8.0]));
}

#[test]
fn every_i64_is_a_constant() {
    for value in [
        0,
        -1,
        1 << 53,
        (1 << 53) + 1,
        -(1 << 53) - 1,
        i64::MAX,
        i64::MIN,
        i64::MIN + 1,
        0x1234_5678_9abc_def1,
    ] {
        let found = run(|| output(&Row::<i64>::full(value)), &[]);
        assert_eq!(found[0].as_i64().unwrap(), [value; 4]);
        let found = of_row(|x: Row<i64>| x.minimum(value), [0, i64::MAX, i64::MIN, value]);
        assert_eq!(found.as_i64().unwrap(), [value.min(0), value, i64::MIN, value]);
    }
}

#[test]
fn integers_are_ordered_to_their_ends() {
    let x = [i64::MIN, i64::MAX, 0, -1];
    let least = run(|| output(&input::<Row<i64>>("x").min(Axis::<0>)), &[("x", &Dense::vector(x.to_vec()))]);
    assert_eq!(least[0].as_i64().unwrap(), [i64::MIN]);
    let none = Dense::vector(Vec::<i64>::new());
    let least = run(|| output(&input::<Tensor<(D<0>,), i64>>("x").min(Axis::<0>)), &[("x", &none)]);
    assert_eq!(least[0].as_i64().unwrap(), [i64::MAX]);
    let greatest =
        run(|| output(&input::<Row<u8>>("x").max(Axis::<0>)), &[("x", &Dense::vector(vec![3u8, 255, 0, 9]))]);
    assert_eq!(greatest[0].as_u8().unwrap(), [255]);
}

#[test]
fn casts_between_all_types() {
    let found = of_row(|x: Row<f32>| x.cast::<f16>().cast::<u8>(), [300.4, -3.0, 254.95, 1.9]);
    assert_eq!(found.as_u8().unwrap(), [255, 0, 255, 1]);
    let found = of_row(|x: Row<i64>| x.cast::<bf16>(), [257, -1, 0, 1 << 62]);
    assert_eq!(found.as_bf16().unwrap(), [256.0, -1.0, 0.0, 2f32.powi(62)].map(bf16::from_f32));
    let found = of_row(|x: Row<bool>| x.cast::<i64>(), [true, false, true, true]);
    assert_eq!(found.as_i64().unwrap(), [1, 0, 1, 1]);
}

#[test]
fn nothing_narrow_is_computed_with() {
    let traced = trace(|| {
        let x: Row<f16> = input("x");
        let y: Row<u8> = input("y");
        let kept = x.max_keep(Axis::<0>);
        output(&((x - kept).exp(), y.cast::<f16>() * x, x.mean(Axis::<0>), y.max(Axis::<0>)));
    });
    assert_eq!(traced.mistakes, []);
    traced.graph.verify().unwrap();
    let computed = traced
        .graph
        .nodes
        .iter()
        .filter(|node| matches!(node.op, Op::Unary(..) | Op::Binary(..) | Op::Reduce(..)));
    for node in computed {
        assert!([Dtype::F32, Dtype::I32].contains(&node.dtype), "{node}");
    }
}
