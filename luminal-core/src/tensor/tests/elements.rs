//! Functions of single elements: values worked out by hand or by formulas, and special values.

use super::*;
use crate::dtype::Dtype;
use crate::tensor::{Axis, D, Tensor as T, input, output};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

/// A function of one operand gives exactly these values, zeros of either sign being equal.
#[track_caller]
fn check(function: impl FnOnce(&mut Graph, NodeId) -> NodeId, cases: &[(f32, f32)]) {
    check_close(function, cases, 0.0);
}

#[track_caller]
fn check_close(function: impl FnOnce(&mut Graph, NodeId) -> NodeId, cases: &[(f32, f32)], relative: f32) {
    let x = tensor(&[cases.len()], cases.iter().map(|case| case.0).collect::<Vec<_>>());
    let out = apply(function, &x);
    for ((x, expected), out) in cases.iter().zip(floats(&out)) {
        let close = (out - expected).abs() <= relative * expected.abs();
        assert!(
            close || out == expected || (out.is_nan() && expected.is_nan()),
            "of {x:?}: {out:?}, expected {expected:?}"
        );
    }
}

#[track_caller]
fn check_two(
    function: impl FnOnce(&mut Graph, NodeId, NodeId) -> NodeId,
    cases: &[(f32, f32, f32)],
    relative: f32,
) {
    let column =
        |of: fn(&(f32, f32, f32)) -> f32| tensor(&[cases.len()], cases.iter().map(of).collect::<Vec<_>>());
    let out = apply_two(function, &column(|case| case.0), &column(|case| case.1));
    for ((x, y, expected), out) in cases.iter().zip(floats(&out)) {
        let close = (out - expected).abs() <= relative * expected.abs();
        assert!(
            close || out == expected || (out.is_nan() && expected.is_nan()),
            "of {x:?} and {y:?}: {out:?}, expected {expected:?}"
        );
    }
}

#[test]
fn functions_keep_nan_and_know_infinities() {
    type Function = fn(&mut Graph, NodeId) -> NodeId;
    // At -inf and +inf.
    let functions: &[(&str, Function, f32, f32)] = &[
        ("exp", |g, x| g.exp(x), 0.0, INF),
        ("expm1", |g, x| g.expm1(x), -1.0, INF),
        ("log", |g, x| g.log(x), NAN, INF),
        ("log1p", |g, x| g.log1p(x), NAN, INF),
        ("sigmoid", |g, x| g.sigmoid(x), 0.0, 1.0),
        ("tanh", |g, x| g.tanh(x), -1.0, 1.0),
        ("cos", |g, x| g.cos(x), NAN, NAN),
        ("tan", |g, x| g.tan(x), NAN, NAN),
        ("atan", |g, x| g.atan(x), -1.5707964, 1.5707964),
        ("asin", |g, x| g.asin(x), NAN, NAN),
        ("acos", |g, x| g.acos(x), NAN, NAN),
        ("sinh", |g, x| g.sinh(x), -INF, INF),
        ("cosh", |g, x| g.cosh(x), INF, INF),
        ("asinh", |g, x| g.asinh(x), -INF, INF),
        ("acosh", |g, x| g.acosh(x), NAN, INF),
        ("atanh", |g, x| g.atanh(x), NAN, NAN),
        ("rsqrt", |g, x| g.rsqrt(x), NAN, 0.0),
        ("square", |g, x| g.square(x), INF, INF),
        ("abs", |g, x| g.abs(x), INF, INF),
        ("sign", |g, x| g.sign(x), -1.0, 1.0),
        ("floor", |g, x| g.floor(x), -INF, INF),
        ("ceil", |g, x| g.ceil(x), -INF, INF),
        ("trunc", |g, x| g.trunc(x), -INF, INF),
        ("round", |g, x| g.round(x), -INF, INF),
        ("relu", |g, x| g.relu(x), 0.0, INF),
        ("relu6", |g, x| g.clamp_numbers(x, 0.0, 6.0), 0.0, 6.0),
        ("leaky_relu", |g, x| g.leaky_relu(x, 0.1), -INF, INF),
        ("elu", |g, x| g.elu(x, 2.0), -2.0, INF),
        ("celu", |g, x| g.celu(x, 2.0), -2.0, INF),
        ("selu", |g, x| g.selu(x, 2.0, 1.5), -3.0, INF),
        ("softplus", |g, x| g.softplus(x), 0.0, INF),
        ("log_sigmoid", |g, x| g.log_sigmoid(x), -INF, 0.0),
        ("silu", |g, x| g.silu(x), 0.0, INF),
        ("erf", |g, x| g.erf(x), -1.0, 1.0),
        ("gelu", |g, x| g.gelu(x), 0.0, INF),
        ("gelu_tanh", |g, x| g.gelu_tanh(x), 0.0, INF),
        ("hardsigmoid", |g, x| g.hardsigmoid(x, 1.0 / 6.0, 0.5), 0.0, 1.0),
        ("hardswish", |g, x| g.hardswish(x), 0.0, INF),
        ("mish", |g, x| g.mish(x), 0.0, INF),
    ];
    let x = tensor(&[5], vec![-INF, INF, NAN, f32::MIN, f32::MAX]);
    for (name, function, low, high) in functions {
        let out = apply(function, &x);
        let out = floats(&out);
        let same = |out: f32, expected: f32| out == expected || (out.is_nan() && expected.is_nan());
        assert!(same(out[0], *low), "{name} of -inf: {}", out[0]);
        assert!(same(out[1], *high), "{name} of inf: {}", out[1]);
        assert!(out[2].is_nan(), "{name} of NaN: {}", out[2]);
        // What has a limit has nearly reached it at the ends of the range.
        for (out, limit) in [(out[3], *low), (out[4], *high)] {
            let unbounded = limit.is_infinite() || limit.is_nan();
            assert!(unbounded || (out - limit).abs() <= 1e-6, "{name} at the end of the range: {out}");
        }
    }
}

#[test]
fn functions_near_zero_keep_tiny_numbers() {
    for function in
        [Graph::tanh, Graph::expm1, Graph::log1p, Graph::atan, Graph::asin, Graph::sinh, Graph::asinh]
    {
        check(function, &[(1e-20, 1e-20), (-1e-20, -1e-20), (-1e-40, -1e-40), (0.0, 0.0)]);
    }
    check_close(Graph::erf, &[(1e-20, 1.1283792e-20), (-1e-30, -1.1283792e-30), (0.0, 0.0)], 1e-6);
}

#[test]
fn softplus_never_overflows() {
    let cases = [
        (-20.0, 2.0611537e-9),
        (0.0, std::f32::consts::LN_2),
        (11.5, 11.50001),
        (20.0, 20.0),
        (88.0, 88.0),
        (89.0, 89.0),
        (200.0, 200.0),
    ];
    check_close(Graph::softplus, &cases, 1e-6);
    // A subnormal number.
    check_close(Graph::softplus, &[(-100.0, 3.7e-44)], 0.1);
    check_close(Graph::log_sigmoid, &[(-200.0, -200.0), (-20.0, -20.0), (20.0, -2.0611537e-9)], 1e-6);
}

#[test]
fn activations() {
    let values = [-6.0, -3.0, -2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.5, 3.0, 6.0, 30.0];
    let of = |function: fn(f64) -> f64| values.map(|x: f32| (x, function(f64::from(x)) as f32));
    check_close(Graph::silu, &of(|x| x / (1.0 + (-x).exp())), 1e-6);
    check_close(Graph::mish, &of(|x| x * x.exp().ln_1p().tanh()), 1e-6);
    check_close(Graph::hardswish, &of(|x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0), 1e-6);
    check_close(|g, x| g.hardsigmoid(x, 0.2, 0.5), &of(|x| (0.2 * x + 0.5).clamp(0.0, 1.0)), 1e-6);
    check_close(Graph::softsign, &of(|x| x / (1.0 + x.abs())), 1e-6);
    check_close(|g, x| g.elu(x, 0.5), &of(|x| if x < 0.0 { 0.5 * x.exp_m1() } else { x }), 1e-6);
    check_close(|g, x| g.celu(x, 2.0), &of(|x| if x < 0.0 { 2.0 * (x / 2.0).exp_m1() } else { x }), 1e-6);
    check_close(|g, x| g.selu(x, 2.0, 1.5), &of(|x| if x < 0.0 { 3.0 * x.exp_m1() } else { 1.5 * x }), 1e-6);
    check_close(|g, x| g.leaky_relu(x, 0.1), &of(|x| if x < 0.0 { 0.1 * x } else { x }), 1e-6);
    let by_tanh =
        |x: f64| 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh());
    check_close(Graph::gelu_tanh, &of(by_tanh), 1e-5);
    // From tables of the normal distribution.
    let gelu = [
        (-3.0, -0.004049694),
        (-1.0, -0.15865526),
        (-0.5, -0.15426877),
        (0.0, 0.0),
        (0.5, 0.34573123),
        (1.0, 0.8413447),
        (3.0, 2.9959502),
        (10.0, 10.0),
        (-10.0, 0.0),
        (-1e30, 0.0),
    ];
    check_close(Graph::gelu, &gelu, 3e-5);
    let large = [(-100.0, 0.0), (-21.657722, 0.0), (19.8, 19.8), (21.657722, 21.657722), (1000.0, 1000.0)];
    check(Graph::gelu_tanh, &large);
}

#[test]
fn rounding() {
    let values = [-2.5, -1.5, -1.2, -0.5, -0.3, -0.0, 0.3, 0.5, 0.7, 1.5, 2.5, 3.5, 8388607.5, 1e9, -1e30];
    let of = |function: fn(f32) -> f32| values.map(|x| (x, function(x)));
    check(Graph::floor, &of(f32::floor));
    check(Graph::ceil, &of(f32::ceil));
    check(Graph::trunc, &of(f32::trunc));
    check(Graph::round, &of(f32::round_ties_even));
    check(Graph::floor, &[(-1e-30, -1.0), (0.99999994, 0.0), (-8388607.5, -8388608.0)]);
    check(Graph::round, &[(0.49999997, 0.0), (-0.49999997, 0.0), (0.50000006, 1.0), (8388606.5, 8388606.0)]);
    check(Graph::sign, &[(-2.0, -1.0), (-0.0, 0.0), (1e-40, 1.0)]);
}

#[test]
fn cosines_of_large_numbers() {
    for x in [0.0, 1.0, 1.5707964, 100.0, 8000.0, 123456.0f32] {
        let x = tensor(&[1], vec![x]);
        let expected = f64::from(floats(&x)[0]).cos() as f32;
        assert!((floats(&apply(Graph::cos, &x))[0] - expected).abs() < 2e-7, "{expected}");
    }
}

#[test]
fn powers() {
    let cases = [
        (2.0, 10.0, 1024.0),
        (-2.0, 3.0, -8.0),
        (-2.0, -3.0, -0.125),
        (-2.0, 0.5, NAN),
        (-8.0, 33.0, -6.338253e29),
        (0.0, 0.0, 1.0),
        (0.0, 2.0, 0.0),
        (0.0, -2.0, INF),
        (NAN, 0.0, 1.0),
        (1.0, NAN, 1.0),
        (1.0, INF, 1.0),
        (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0),
        (-1.0, NAN, NAN),
        (0.5, INF, 0.0),
        (2.0, INF, INF),
        (2.0, -INF, 0.0),
        (INF, 0.0, 1.0),
        (INF, -1.0, 0.0),
        (-INF, 3.0, -INF),
        (-INF, 2.0, INF),
        (-INF, -3.0, 0.0),
        (-1.0, 16777216.0, 1.0),
        (-1.0, 8388607.0, -1.0),
        (NAN, 1.0, NAN),
        (9.0, 0.5, 3.0),
        (10.0, 1.5, 31.622777),
    ];
    check_two(Graph::pow, &cases, 2e-6);
    for (x, y, expected) in cases {
        // The same with an exponent that is known, but for what a square root does otherwise.
        if !y.is_nan() {
            check_close(|g, x| g.pow_number(x, y.into()), &[(x, expected)], 2e-6);
        }
    }
    check(|g, x| g.pow_number(x, 3.0), &[(3.0, 27.0), (-3.0, -27.0)]);
    check(|g, x| g.pow_number(x, 32.0), &[(2.0, 4294967296.0), (-1.0, 1.0)]);
    check(|g, x| g.pow_number(x, -2.0), &[(1e20, 1e-40), (0.0, INF), (4.0, 0.0625)]);
    check(|g, x| g.pow_number(x, 0.5), &[(4.0, 2.0), (0.0, 0.0)]);
    check(|g, x| g.pow_number(x, -0.5), &[(4.0, 0.5), (0.0, INF)]);
}

#[test]
fn powers_of_integers() {
    let x = tensor(&[9], vec![2, -3, 0, 7, 1, -1, -1, 3, 2]);
    let y = tensor(&[9], vec![10, 3, 0, 1, -5, -5, i32::MIN, -1, 33]);
    let out = apply_two(Graph::pow, &x, &y);
    assert_eq!(out, tensor(&[9], vec![1024, -27, 1, 7, 1, -1, 1, 0, 0]));
    let x = tensor(&[3], vec![3, -2, i32::MAX]);
    let out = apply(|g, x| g.pow_number(x, 5.0), &x);
    assert_eq!(out, tensor(&[3], vec![243, -32, i32::MAX.wrapping_pow(5)]));
    // A product in each bit: the exponent is as large as it may be.
    let (x, y) = (tensor(&[1], vec![3]), tensor(&[1], vec![i32::MAX]));
    assert_eq!(apply_two(Graph::pow, &x, &y), tensor(&[1], vec![3i32.wrapping_pow(i32::MAX as u32)]));
}

/// Pairs of all that is special, and of numbers without pattern.
fn pairs() -> (Vec<i32>, Vec<i32>) {
    let special = [
        0,
        1,
        -1,
        2,
        -2,
        3,
        7,
        -7,
        10,
        65535,
        -65536,
        1 << 24,
        (1 << 24) + 1,
        i32::MAX,
        i32::MIN,
        i32::MIN + 1,
    ];
    let mut x: Vec<i32> = special.iter().flat_map(|x| [*x; 16]).collect();
    let mut y: Vec<i32> = special.repeat(16);
    let mut random = reference::SplitMix64::new(7);
    let mut number = || ((random.unit() - 0.5) * 2f64.powi(1 + (random.unit() * 32.0) as i32)) as i32;
    for _ in 0..20_000 {
        x.push(number());
        y.push(number());
    }
    (x, y)
}

#[test]
fn integers_divide_exactly() {
    let (x, y) = pairs();
    let count = x.len();
    let all = |function: fn(i32, i32) -> i32| -> Data {
        x.iter().zip(&y).map(|(x, y)| if *y == 0 { 0 } else { function(*x, *y) }).collect::<Vec<_>>().into()
    };
    let (left, right) = (tensor(&[count], x.clone()), tensor(&[count], y.clone()));
    assert_eq!(apply_two(Graph::div, &left, &right).data, all(i32::wrapping_div));
    assert_eq!(apply_two(Graph::fmod, &left, &right).data, all(i32::wrapping_rem));
    let floor = |x: i32, y: i32| {
        let quotient = i64::from(x) / i64::from(y);
        let below = i64::from(x) % i64::from(y) != 0 && (x < 0) != (y < 0);
        (quotient - i64::from(below)) as i32
    };
    assert_eq!(apply_two(Graph::floor_divide, &left, &right).data, all(floor));
}

#[test]
fn long_integers_divide_exactly() {
    let special =
        [0, 1, -1, 3, -7, 10, 1 << 24, (1 << 32) + 1, (1 << 53) + 1, i64::MAX, i64::MIN, i64::MIN + 1];
    let mut x: Vec<i64> = special.iter().flat_map(|x| [*x; 12]).collect();
    let mut y: Vec<i64> = special.repeat(12);
    let mut random = reference::SplitMix64::new(11);
    let mut number = || ((random.unit() - 0.5) * 2f64.powi(1 + (random.unit() * 64.0) as i32)) as i64;
    for _ in 0..20_000 {
        x.push(number());
        y.push(number());
    }
    let all = |function: fn(i64, i64) -> i64| -> Data {
        x.iter().zip(&y).map(|(x, y)| if *y == 0 { 0 } else { function(*x, *y) }).collect::<Vec<_>>().into()
    };
    let (left, right) = (tensor(&[x.len()], x.clone()), tensor(&[x.len()], y.clone()));
    assert_eq!(apply_two(Graph::div, &left, &right).data, all(i64::wrapping_div));
    assert_eq!(apply_two(Graph::fmod, &left, &right).data, all(i64::wrapping_rem));
    let floor = |x: i64, y: i64| {
        let quotient = i128::from(x) / i128::from(y);
        let below = x.wrapping_rem(y) != 0 && (x < 0) != (y < 0);
        (quotient - i128::from(below)) as i64
    };
    assert_eq!(apply_two(Graph::floor_divide, &left, &right).data, all(floor));
    let (x, y) = (tensor(&[3], vec![3i64, -1, 2]), tensor(&[3], vec![40i64, i64::MAX, 62]));
    assert_eq!(apply_two(Graph::pow, &x, &y), tensor(&[3], vec![3i64.wrapping_pow(40), -1, 1 << 62]));
}

/// Numbers of narrow types are computed with in wide ones, and rounded once.
#[test]
fn narrow_numbers() {
    use crate::dtype::{bf16, f16};
    let halves = |values: [f32; 4]| values.map(f16::from_f32).to_vec();
    let x = tensor(&[4], halves([300.0, -0.1, 2.5, 1.0]));
    let bytes = tensor(&[4], vec![7u8, 200, 0, 255]);
    let model = || {
        let x: T<(D<4>,), f16> = input("x");
        let b: T<(D<4>,), u8> = input("b");
        // The square of 300 is no f16, but the norm is.
        output(&(
            (x.norm(Axis::<0>, 2.0), x.argmax(Axis::<0>), x.var(Axis::<0>, 0.0)),
            (b.argmax(Axis::<0>), b.greater(100u8), b / 2u8, b.max(Axis::<0>)),
            x.cast::<bf16>().round(),
        ));
    };
    let out = run(model, &[("x", &x), ("b", &bytes)]);
    assert_eq!(out[0], tensor(&[], vec![f16::from_f32(300.0)]));
    assert_eq!(out[1], tensor(&[], vec![0]));
    assert_eq!(out[2].dtype(), Dtype::F16);
    assert_eq!(out[3], tensor(&[], vec![3]));
    assert_eq!(out[4], tensor(&[4], vec![false, true, false, true]));
    assert_eq!(out[5], tensor(&[4], vec![3u8, 100, 0, 127]));
    assert_eq!(out[6], tensor(&[], vec![255u8]));
    assert_eq!(out[7], tensor(&[4], [300.0, -0.0, 2.0, 1.0].map(bf16::from_f32).to_vec()));
}

#[test]
fn remainders_and_quotients_of_floats() {
    check_two(
        Graph::fmod,
        &[
            (7.0, 3.0, 1.0),
            (-7.0, 3.0, -1.0),
            (7.0, -3.0, 1.0),
            (-7.0, -3.0, -1.0),
            (-1e-10, 1.0, -1e-10),
            (1e10, 3.0, 1.0),
            (5.5, INF, 5.5),
            (INF, 2.0, NAN),
            (1.0, 0.0, NAN),
            (NAN, 1.0, NAN),
        ],
        0.0,
    );
    check_two(
        Graph::floor_divide,
        &[
            (1.0, 0.1, 9.0),
            (0.5, 0.1, 4.0),
            (6.0, 0.2, 29.0),
            (1.0, 0.5, 2.0),
            (-1.0, 0.1, -10.0),
            (7.0, 2.0, 3.0),
            (-7.0, 2.0, -4.0),
            (1.0, 0.0, NAN),
        ],
        0.0,
    );
}

#[test]
fn comparisons_know_nan() {
    let x = tensor(&[8], vec![NAN, NAN, 1.0, 0.0, INF, -INF, 2.0, INF]);
    let y = tensor(&[8], vec![NAN, 1.0, NAN, -0.0, INF, -INF, 3.0, -INF]);
    let bools = |function: fn(&mut Graph, NodeId, NodeId) -> NodeId| apply_two(function, &x, &y);
    let expected = |function: fn(&f32, &f32) -> bool| {
        let values = floats(&x).iter().zip(floats(&y)).map(|(x, y)| function(x, y));
        tensor(&[8], values.collect::<Vec<_>>())
    };
    assert_eq!(bools(Graph::less), expected(|x, y| x < y));
    assert_eq!(bools(Graph::greater), expected(|x, y| x > y));
    assert_eq!(bools(Graph::less_equal), expected(|x, y| x <= y));
    assert_eq!(bools(Graph::greater_equal), expected(|x, y| x >= y));
    assert_eq!(bools(Graph::equal), expected(|x, y| x == y));
    assert_eq!(bools(Graph::not_equal), expected(|x, y| x != y));
    assert_eq!(apply(Graph::is_nan, &x), expected(|x, _| x.is_nan()));
    assert_eq!(apply(Graph::is_inf, &x), expected(|x, _| x.is_infinite()));
    assert_eq!(apply(Graph::is_finite, &x), expected(|x, _| x.is_finite()));
}

#[test]
fn comparisons_of_integers_and_truth_values() {
    let x = tensor(&[5], vec![i32::MIN, -1, 0, 3, i32::MAX]);
    let y = tensor(&[5], vec![i32::MAX, -1, 1, 2, i32::MIN]);
    assert_eq!(apply_two(Graph::less_equal, &x, &y), tensor(&[5], vec![true, true, true, false, false]));
    assert_eq!(apply_two(Graph::equal, &x, &y), tensor(&[5], vec![false, true, false, false, false]));
    let x = tensor(&[4], vec![false, false, true, true]);
    let y = tensor(&[4], vec![false, true, false, true]);
    type Function = fn(&mut Graph, NodeId, NodeId) -> NodeId;
    let cases: [(Function, [bool; 4]); 6] = [
        (Graph::equal, [true, false, false, true]),
        (Graph::less, [false, true, false, false]),
        (Graph::greater_equal, [true, false, true, true]),
        (Graph::xor, [false, true, true, false]),
        (Graph::and, [false, false, false, true]),
        (Graph::or, [false, true, true, true]),
    ];
    for (function, expected) in cases {
        assert_eq!(apply_two(function, &x, &y), tensor(&[4], expected.to_vec()));
    }
}

#[test]
fn clamps_and_masks() {
    let x = tensor(&[5], vec![NAN, -2.0, 0.5, 9.0, INF]);
    let out = run(
        || {
            let x: T<(D<5>,)> = input("x");
            let clamped = (x.clamp(0.0, 1.0), x.clamp_min(0.0), x.clamp_max(1.0), x.clamp(3.0, 1.0));
            output(&(clamped, x.masked_fill(x.is_nan() ^ x.is_inf(), 4.0), x.fmod(2.0), x.pow(2.0)));
        },
        &[("x", &x)],
    );
    let expected = [
        [NAN, 0.0, 0.5, 1.0, 1.0],
        [NAN, 0.0, 0.5, 9.0, INF],
        [NAN, -2.0, 0.5, 1.0, 1.0],
        // Where the limits cross, the upper one wins.
        [NAN, 1.0, 1.0, 1.0, 1.0],
        [4.0, -2.0, 0.5, 9.0, 4.0],
        [NAN, 0.0, 0.5, 1.0, NAN],
        [NAN, 4.0, 0.25, 81.0, INF],
    ];
    for (expected, out) in expected.into_iter().zip(&out) {
        assert_close(&tensor(&[5], expected.to_vec()), out, 0.0);
    }
}

#[test]
fn integers_divide_by_operator() {
    let x = tensor(&[3], vec![-7, 7, i32::MIN]);
    let model = || {
        let x: T<(D<3>,), i32> = input("x");
        output(&((x / 2, 100 / x, x / x), (x.floor_divide(2), x.fmod(2), x.abs(), x.sign())));
    };
    let out = run(model, &[("x", &x)]);
    let expected = [
        [-3, 3, i32::MIN / 2],
        [-14, 14, 0],
        [1, 1, 1],
        [-4, 3, i32::MIN / 2],
        [-1, 1, 0],
        [7, 7, i32::MIN],
        [-1, 1, -1],
    ];
    for (expected, out) in expected.into_iter().zip(&out) {
        assert_eq!(*out, tensor(&[3], expected.to_vec()));
        assert_eq!(out.dtype(), Dtype::I32);
    }
}
