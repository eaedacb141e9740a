//! The pointwise operations on single elements. Constant folding and the interpreters of generated code use the same
//! functions, so that they cannot disagree.

use crate::graph::Unary;
use half::{bf16, f16};

/// A function of one `f32`. The square root and the reciprocal are correctly rounded; the others are computed in
/// binary64 and rounded once, so that the result does not depend on how exact a platform's `f32` functions are.
pub fn unary(op: Unary, x: f32) -> f32 {
    match op {
        Unary::Exp2 => f64::from(x).exp2() as f32,
        Unary::Log2 => f64::from(x).log2() as f32,
        Unary::Sin => f64::from(x).sin() as f32,
        Unary::Sqrt => x.sqrt(),
        Unary::Recip => 1.0 / x,
    }
}

/// The greater one; NaN if either is NaN; +0 is greater than -0.
pub fn max_f32(x: f32, y: f32) -> f32 {
    if x.is_nan() || y.is_nan() {
        f32::NAN
    } else if x == y {
        // Equal numbers have equal bits, except for the two zeros: the positive one wins.
        if x.is_sign_positive() { x } else { y }
    } else if x > y {
        x
    } else {
        y
    }
}

/// Floor modulo: the exact remainder of the truncating division, moved by one divisor if its sign is not the
/// divisor's, rounded once. A zero result has the divisor's sign. NaN for a divisor of 0 and for an infinite `x`.
pub fn mod_f32(x: f32, y: f32) -> f32 {
    // `%` is exact. `x - y * floor(x / y)` is not: the quotient may round up to the next integer.
    let remainder = x % y;
    if remainder == 0.0 {
        0.0f32.copysign(y)
    } else if (remainder < 0.0) != (y < 0.0) {
        remainder + y
    } else {
        remainder
    }
}

macro_rules! integer_mod {
    ($name:ident, $type:ty) => {
        /// Floor modulo: the result is 0 or has the divisor's sign. A divisor of 0 gives 0: integers have no NaN, and
        /// no input may stop a model.
        pub fn $name(x: $type, y: $type) -> $type {
            if y == 0 {
                return 0;
            }
            // Wrapping, because MIN / -1 overflows although its remainder is 0.
            let remainder = x.wrapping_rem(y);
            if remainder != 0 && (remainder < 0) != (y < 0) { remainder + y } else { remainder }
        }
    };
}
integer_mod!(mod_i32, i32);
integer_mod!(mod_i64, i64);

/// Conversions as Rust's `as`: to integers towards zero and saturating from floats, modulo from wider integers; to
/// floats to the nearest, ties to even. Integers become `f16` and `bf16` by way of `f32`. To `bool`: whether it is not
/// zero.
pub trait Cast: Copy {
    /// To `f32`.
    fn to_f32(self) -> f32;
    /// To `i32`.
    fn to_i32(self) -> i32;
    /// To `i64`.
    fn to_i64(self) -> i64;
    /// To `u8`.
    fn to_u8(self) -> u8;
    /// To `bool`.
    fn to_bool(self) -> bool;
    /// To `f16`.
    fn to_f16(self) -> f16 {
        f16::from_f32(self.to_f32())
    }
    /// To `bf16`.
    fn to_bf16(self) -> bf16 {
        bf16::from_f32(self.to_f32())
    }
}

macro_rules! cast {
    ($type:ty, |$x:ident| $wide:expr, $is_true:expr) => {
        impl Cast for $type {
            fn to_f32(self) -> f32 {
                let $x = self;
                $wide as f32
            }
            fn to_i32(self) -> i32 {
                let $x = self;
                $wide as i32
            }
            fn to_i64(self) -> i64 {
                let $x = self;
                $wide as i64
            }
            fn to_u8(self) -> u8 {
                let $x = self;
                $wide as u8
            }
            fn to_bool(self) -> bool {
                let $x = self;
                $is_true
            }
        }
    };
}
cast!(f32, |x| x, x != 0.0);
cast!(f16, |x| x.to_f32(), x.to_f32() != 0.0);
cast!(bf16, |x| x.to_f32(), x.to_f32() != 0.0);
cast!(i32, |x| x, x != 0);
cast!(i64, |x| x, x != 0);
cast!(u8, |x| x, x != 0);
cast!(bool, |x| u8::from(x), x);

#[cfg(test)]
mod tests {
    use super::*;

    fn same(x: f32, y: f32) -> bool {
        x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
    }

    #[track_caller]
    fn assert_same(x: f32, y: f32) {
        assert!(same(x, y), "{x:?} is not {y:?}");
    }

    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;

    #[test]
    fn max_keeps_nan_and_orders_zeros() {
        for x in [1.0, -1.0, INF, -INF, NAN] {
            assert_same(max_f32(x, NAN), NAN);
            assert_same(max_f32(NAN, x), NAN);
        }
        assert_same(max_f32(-0.0, 0.0), 0.0);
        assert_same(max_f32(0.0, -0.0), 0.0);
        assert_same(max_f32(-0.0, -0.0), -0.0);
        assert_same(max_f32(-INF, -3.0), -3.0);
        assert_same(max_f32(2.0, INF), INF);
        assert_same(max_f32(-2.0, -3.0), -2.0);
    }

    #[test]
    fn floor_modulo_of_floats() {
        let cases = [
            (7.0, 3.0, 1.0),
            (-7.0, 3.0, 2.0),
            (7.0, -3.0, -2.0),
            (-7.0, -3.0, -1.0),
            (6.0, 3.0, 0.0),
            (-6.0, 3.0, 0.0),
            (6.0, -3.0, -0.0),
            (-0.0, 3.0, 0.0),
            (5.5, 2.0, 1.5),
            (1.0, 0.0, NAN),
            (INF, 2.0, NAN),
            (NAN, 2.0, NAN),
            (2.0, NAN, NAN),
            (2.0, INF, 2.0),
            (-2.0, INF, INF),
            (-2.0, -INF, -2.0),
            // The exact remainder is just below the divisor; a rounded quotient of 10 would give 0.
            (1.0, 0.1, 1.0 % 0.1),
            (6.0, 0.2, 6.0 % 0.2),
        ];
        for (x, y, expected) in cases {
            let result = mod_f32(x, y);
            assert!(same(result, expected), "{x} mod {y} is {result:?}, not {expected:?}");
        }
        assert!(mod_f32(1.0, 0.1) > 0.09);
    }

    #[test]
    fn floor_modulo_of_integers() {
        let cases = [
            (7, 3, 1),
            (-7, 3, 2),
            (7, -3, -2),
            (-7, -3, -1),
            (6, -3, 0),
            (-1, 10, 9),
            (5, 0, 0),
            (i32::MIN, -1, 0),
            (i32::MIN, i32::MAX, i32::MAX - 1),
            (i32::MAX, i32::MIN, -1),
        ];
        for (x, y, expected) in cases {
            assert_eq!(mod_i32(x, y), expected, "{x} mod {y}");
            if y != 0 && x != i32::MIN && y != i32::MIN {
                assert_eq!(mod_i64(x.into(), y.into()), i64::from(expected), "{x} mod {y}");
            }
        }
        let far = 1 << 40;
        let cases = [
            (far + 7, 3, (far + 7) % 3),
            (-7, far, far - 7),
            (far, -7, far % 7 - 7),
            (far, 0, 0),
            (i64::MIN, -1, 0),
            (i64::MIN, i64::MAX, i64::MAX - 1),
            (i64::MAX, i64::MIN, -1),
        ];
        for (x, y, expected) in cases {
            assert_eq!(mod_i64(x, y), expected, "{x} mod {y}");
        }
    }

    #[test]
    fn special_values_of_functions() {
        use Unary::{Exp2, Log2, Recip, Sin, Sqrt};
        let cases = [
            (Exp2, 3.0, 8.0),
            (Exp2, -INF, 0.0),
            (Exp2, INF, INF),
            (Exp2, 128.0, INF),
            (Exp2, -149.0, f32::from_bits(1)),
            (Exp2, -151.0, 0.0),
            (Log2, 8.0, 3.0),
            (Log2, 0.0, -INF),
            (Log2, -0.0, -INF),
            (Log2, -1.0, NAN),
            (Log2, INF, INF),
            (Sin, 0.0, 0.0),
            (Sin, -0.0, -0.0),
            (Sin, INF, NAN),
            (Sqrt, 2.0, std::f32::consts::SQRT_2),
            (Sqrt, -0.0, -0.0),
            (Sqrt, -1.0, NAN),
            (Sqrt, INF, INF),
            (Recip, 4.0, 0.25),
            (Recip, 0.0, INF),
            (Recip, -0.0, -INF),
            (Recip, -INF, -0.0),
            (Recip, 1e-40, INF),
        ];
        for (op, x, expected) in cases {
            let result = unary(op, x);
            assert!(same(result, expected), "{op:?} of {x} is {result:?}, not {expected:?}");
        }
        for op in Unary::ALL {
            assert_same(unary(op, NAN), NAN);
        }
    }
}
