//! Agreement of computed values with the reference.

use super::tensor::{Data, Tensor};
use crate::error::{Error, Result};
use half::{bf16, f16};

/// How far a computed float may be from the reference: `absolute + relative * |expected|`. For `f16` and `bf16` it may
/// also be the number next to the expected one, unless nothing may differ: both come from sums that differ in the last
/// bits of
/// `f32`, and such a difference decides to which side a number between two is rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// For values near 0.
    pub absolute: f32,
    /// As a fraction of the expected value.
    pub relative: f32,
}

impl Tolerance {
    /// No difference at all, but for the sign of zeros.
    pub const EXACT: Tolerance = Tolerance { absolute: 0.0, relative: 0.0 };

    /// True if the value agrees: NaN with NaN, an infinity with itself, a number within the tolerance.
    pub fn agrees(self, expected: f32, actual: f32) -> bool {
        if expected.is_nan() || actual.is_nan() {
            return expected.is_nan() && actual.is_nan();
        }
        if expected == actual {
            return true;
        }
        // The difference of an infinity and a number is infinite, as is the tolerance of an expected infinity.
        let (expected, actual) = (f64::from(expected), f64::from(actual));
        let allowed = f64::from(self.absolute) + f64::from(self.relative) * expected.abs();
        expected.is_finite() && (expected - actual).abs() <= allowed
    }

    /// As [`Tolerance::agrees`], for floats of 16 bits that are given as their bits and their values.
    fn agrees_narrow(self, expected: (u16, f32), actual: (u16, f32)) -> bool {
        // Sign and magnitude, as numbers in order.
        let order = |bits: u16| if bits >> 15 == 0 { i32::from(bits) } else { -i32::from(bits & 0x7fff) };
        let numbers = !expected.1.is_nan() && !actual.1.is_nan();
        let adjacent = numbers && (order(expected.0) - order(actual.0)).abs() <= 1;
        self.agrees(expected.1, actual.1) || self != Tolerance::EXACT && adjacent
    }
}

/// An error that names the worst element, unless shapes and types are equal and all elements agree. Integers and
/// truth values agree if they are equal.
pub fn compare(expected: &Tensor, actual: &Tensor, tolerance: Tolerance) -> Result<()> {
    if expected.shape != actual.shape || expected.dtype() != actual.dtype() {
        let (wanted, given) = (expected.dtype(), actual.dtype());
        let (shape, given_shape) = (&expected.shape, &actual.shape);
        return Err(Error::new(format!("expected {wanted}{shape:?}, computed {given}{given_shape:?}")));
    }
    let shape = &expected.shape;
    match (&expected.data, &actual.data) {
        (Data::F32(x), Data::F32(y)) => report(shape, x, y, |x, y| tolerance.agrees(x, y), float_error),
        (Data::F16(x), Data::F16(y)) => {
            let bits = |x: f16| (x.to_bits(), x.to_f32());
            let agrees = |x, y| tolerance.agrees_narrow(bits(x), bits(y));
            report(shape, x, y, agrees, |x, y| float_error(x.to_f32(), y.to_f32()))
        }
        (Data::BF16(x), Data::BF16(y)) => {
            let bits = |x: bf16| (x.to_bits(), x.to_f32());
            let agrees = |x, y| tolerance.agrees_narrow(bits(x), bits(y));
            report(shape, x, y, agrees, |x, y| float_error(x.to_f32(), y.to_f32()))
        }
        (Data::I32(x), Data::I32(y)) => {
            report(shape, x, y, |x, y| x == y, |x, y| (f64::from(x) - f64::from(y)).abs())
        }
        (Data::I64(x), Data::I64(y)) => report(shape, x, y, |x, y| x == y, |x, y| x.abs_diff(y) as f64),
        (Data::U8(x), Data::U8(y)) => report(shape, x, y, |x, y| x == y, |x, y| x.abs_diff(y).into()),
        (Data::Bool(x), Data::Bool(y)) => report(shape, x, y, |x, y| x == y, |_, _| 1.0),
        _ => unreachable!("types are equal"),
    }
}

/// NaN stands for a NaN or an infinity on one side only: nothing is worse.
fn float_error(x: f32, y: f32) -> f64 {
    let difference = (f64::from(x) - f64::from(y)).abs();
    if difference.is_nan() { f64::INFINITY } else { difference }
}

fn report<T: Copy + std::fmt::Debug>(
    shape: &[usize],
    expected: &[T],
    actual: &[T],
    agrees: impl Fn(T, T) -> bool,
    error: impl Fn(T, T) -> f64,
) -> Result<()> {
    if expected.len() != actual.len() {
        let (wanted, given) = (expected.len(), actual.len());
        return Err(Error::new(format!("expected {wanted} elements, computed {given}")));
    }
    let mut wrong = 0;
    let mut worst = (0, -1.0);
    for (position, (x, y)) in expected.iter().zip(actual).enumerate() {
        if !agrees(*x, *y) {
            wrong += 1;
            let size = error(*x, *y);
            if size > worst.1 {
                worst = (position, size);
            }
        }
    }
    if wrong == 0 {
        return Ok(());
    }
    let position = worst.0;
    let (x, y, total) = (expected[position], actual[position], expected.len());
    let at = index_of(shape, position);
    Err(Error::new(format!(
        "{wrong} of {total} elements differ; the worst, at {at:?}, is {y:?} instead of {x:?}"
    )))
}

/// The index on each axis of an element.
fn index_of(shape: &[usize], position: usize) -> Vec<usize> {
    let strides = super::view::strides(shape);
    strides.iter().zip(shape).map(|(stride, size)| position / stride % size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: Tolerance = Tolerance { absolute: 1e-6, relative: 1e-3 };

    #[test]
    fn special_values_agree_with_themselves_only() {
        let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, 1.0];
        for (i, x) in values.into_iter().enumerate() {
            for (j, y) in values.into_iter().enumerate() {
                assert_eq!(TOLERANCE.agrees(x, y), i == j, "{x} and {y}");
            }
        }
        assert!(TOLERANCE.agrees(0.0, -0.0));
        assert!(TOLERANCE.agrees(1000.0, 1000.9));
        assert!(!TOLERANCE.agrees(1000.0, 1001.1));
        assert!(TOLERANCE.agrees(0.0, 9e-7));
        assert!(!TOLERANCE.agrees(f32::MAX, f32::INFINITY));
        assert!(!Tolerance::EXACT.agrees(1.0, 1.0000001));
    }

    #[test]
    fn the_worst_element_is_named() {
        let x = Tensor::new(&[2, 2], vec![1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let y = Tensor::new(&[2, 2], vec![1.0f32, 2.5, 9.0, 4.0]).unwrap();
        assert!(compare(&x, &x, Tolerance::EXACT).is_ok());
        let error = compare(&x, &y, TOLERANCE).unwrap_err().to_string();
        assert_eq!(error, "2 of 4 elements differ; the worst, at [1, 0], is 9.0 instead of 3.0");
        let nan = Tensor::new(&[2, 2], vec![1.0f32, 2.5, 3.0, f32::NAN]).unwrap();
        let error = compare(&x, &nan, TOLERANCE).unwrap_err().to_string();
        assert_eq!(error, "2 of 4 elements differ; the worst, at [1, 1], is NaN instead of 4.0");
        let one = Tensor::vector(vec![1]);
        let two = Tensor::vector(vec![2]);
        assert!(compare(&one, &two, TOLERANCE).is_err());
        let error = compare(&one, &x, TOLERANCE).unwrap_err().to_string();
        assert_eq!(error, "expected i32[1], computed f32[2, 2]");
        let broken = Tensor { shape: vec![1], data: Data::I32(vec![]) };
        assert!(compare(&one, &broken, TOLERANCE).is_err());
    }

    #[test]
    fn narrow_floats_may_be_neighbours() {
        let close = |x: f32, y: f32, tolerance| {
            let [x, y] = [x, y].map(|x| Tensor::vector(vec![f16::from_f32(x)]));
            compare(&x, &y, tolerance).is_ok()
        };
        // Numbers of f16 from 1 on are 2^-10 apart.
        let step = 2f32.powi(-10);
        assert!(close(1.0, 1.0 + step, Tolerance { absolute: 0.0, relative: 1e-6 }));
        assert!(!close(1.0, 1.0 + 2.0 * step, Tolerance { absolute: 0.0, relative: 1e-6 }));
        assert!(close(1.0, 1.0 + 2.0 * step, Tolerance { absolute: 0.0, relative: 3e-3 }));
        assert!(!close(1.0, 1.0 + step, Tolerance::EXACT));
        assert!(close(2f32.powi(-24), -0.0, TOLERANCE));
        assert!(close(65504.0, f32::INFINITY, TOLERANCE));
        assert!(!close(f32::INFINITY, f32::NAN, TOLERANCE));
        assert!(close(f32::NAN, f32::NAN, Tolerance::EXACT));
        let [x, y] = [1.0, 1.0 + 2f32.powi(-7)].map(|x| Tensor::vector(vec![bf16::from_f32(x)]));
        assert!(compare(&x, &y, TOLERANCE).is_ok());
        let [x, y] = [i64::MAX, i64::MAX - 1].map(|x| Tensor::vector(vec![x]));
        assert!(compare(&x, &x, TOLERANCE).is_ok());
        assert!(compare(&x, &y, TOLERANCE).is_err());
        let [x, y] = [3u8, 4].map(|x| Tensor::vector(vec![x]));
        assert!(compare(&x, &y, TOLERANCE).is_err());
    }
}
