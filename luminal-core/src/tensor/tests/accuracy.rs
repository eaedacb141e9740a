//! How exact the compositions of functions are, against formulas in binary64, in units of the last place of the result.
//! docs/numerics.md states these bounds.

use super::*;

/// `count` numbers from `low` to `high`, evenly spread, none of them round.
fn between(low: f64, high: f64) -> Vec<f32> {
    let count = 20_000;
    (0..count).map(|i| (low + (high - low) * (i as f64 + 0.37) / count as f64) as f32).collect()
}

/// Numbers of every magnitude between two positive ones, of both signs.
fn magnitudes(low: f64, high: f64) -> Vec<f32> {
    between(low.ln(), high.ln())
        .into_iter()
        .enumerate()
        .map(|(i, x)| if i % 2 == 0 { x.exp() } else { -x.exp() })
        .collect()
}

/// The distance of `f32` numbers at this one.
fn unit(x: f64) -> f64 {
    let x = (x.abs() as f32).max(f32::MIN_POSITIVE);
    f64::from(x) - f64::from(f32::from_bits(x.to_bits() - 1))
}

/// A function, its meaning, arguments, and the greatest error in units.
type Case<'a> = (&'a str, fn(&mut Graph, NodeId) -> NodeId, fn(f64) -> f64, Vec<f32>, f64);

/// Checks that errors are within the limits and not much smaller: what is documented is what is so.
#[track_caller]
fn check<const N: usize>(cases: [Case; N]) {
    let mut wrong = vec![];
    for (name, function, exact, values, limit) in cases {
        let x = tensor(&[values.len()], values);
        let out = apply(function, &x);
        let errors = floats(&x).iter().zip(floats(&out)).map(|(x, out)| {
            let expected = exact(f64::from(*x));
            ((f64::from(*out) - expected).abs() / unit(expected), *x)
        });
        let (worst, at) = errors.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        if worst > limit || worst < limit / 2.0 {
            wrong.push(format!("{name}: {worst:.2} units at {at:e}, where {limit} is stated"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `2/sqrt(pi) e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ..)`, whose terms have one sign (Abramowitz and Stegun 7.1.6).
fn erf(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

#[test]
fn near_zero_the_error_is_relative() {
    let tiny = || magnitudes(1e-30, 0.2);
    check([
        ("expm1", Graph::expm1, f64::exp_m1, tiny(), 1.0),
        ("log1p", Graph::log1p, f64::ln_1p, tiny(), 2.5),
        ("tanh", Graph::tanh, f64::tanh, tiny(), 1.0),
        ("erf", Graph::erf, erf, tiny(), 1.5),
        ("atan", Graph::atan, f64::atan, tiny(), 1.0),
        ("asin", Graph::asin, f64::asin, tiny(), 1.0),
        ("sinh", Graph::sinh, f64::sinh, tiny(), 1.0),
        ("asinh", Graph::asinh, f64::asinh, tiny(), 2.5),
        ("atanh", Graph::atanh, f64::atanh, tiny(), 3.0),
    ]);
}

#[test]
fn elsewhere_it_is_some_units() {
    check([
        ("expm1", Graph::expm1, f64::exp_m1, between(-10.0, 10.0), 9.0),
        ("log1p", Graph::log1p, f64::ln_1p, between(-0.99, 100.0), 2.5),
        ("tanh", Graph::tanh, f64::tanh, between(-10.0, 10.0), 3.5),
        ("erf", Graph::erf, erf, between(-5.0, 5.0), 2.0),
        ("atan", Graph::atan, f64::atan, between(-50.0, 50.0), 2.0),
        ("asin", Graph::asin, f64::asin, between(-1.0, 1.0), 2.5),
        ("acos", Graph::acos, f64::acos, between(-1.0, 0.99), 1.5),
        ("sinh", Graph::sinh, f64::sinh, between(-10.0, 10.0), 9.0),
        ("cosh", Graph::cosh, f64::cosh, between(-10.0, 10.0), 9.0),
        ("asinh", Graph::asinh, f64::asinh, magnitudes(0.1, 1e30), 3.0),
        ("acosh", Graph::acosh, f64::acosh, between(1.0001, 1e3), 1.5),
        ("atanh", Graph::atanh, f64::atanh, between(-0.999, 0.999), 4.0),
        ("softplus", Graph::softplus, |x| x.exp().ln_1p(), between(-10.0, 30.0), 9.0),
        ("rsqrt", Graph::rsqrt, |x| 1.0 / x.sqrt(), between(0.1, 100.0), 1.5),
        ("exp", Graph::exp, f64::exp, between(-10.0, 10.0), 9.0),
        ("log", Graph::log, f64::ln, between(0.001, 1000.0), 1.5),
        ("sigmoid", Graph::sigmoid, |x| 1.0 / (1.0 + (-x).exp()), between(-10.0, 10.0), 9.0),
    ]);
}
