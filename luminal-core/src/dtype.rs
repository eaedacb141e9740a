//! Element types of tensors.

pub use half::{bf16, f16};
use std::cmp::Ordering;

/// Element type of a tensor, a graph node or a kernel buffer.
///
/// `f16`, `bf16` and `u8` only *store* numbers: graphs move and cast them, and compute in their [`Dtype::wide`] type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32: 8 bits of exponent, 7 of fraction.
    BF16,
    /// Two's complement 32-bit integer.
    I32,
    /// Two's complement 64-bit integer.
    I64,
    /// Unsigned 8-bit integer.
    U8,
    /// A truth value, one byte in memory: 0 or 1.
    Bool,
}

impl Dtype {
    /// All, in order.
    pub const ALL: [Dtype; 7] =
        [Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::I32, Dtype::I64, Dtype::U8, Dtype::Bool];

    /// Size of one element in memory, in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Dtype::I64 => 8,
            Dtype::F32 | Dtype::I32 => 4,
            Dtype::F16 | Dtype::BF16 => 2,
            Dtype::U8 | Dtype::Bool => 1,
        }
    }

    /// The type in which its numbers are computed with: itself, or a wider one for types that only store numbers. Every
    /// number of the type is exact in the wider one.
    pub const fn wide(self) -> Dtype {
        match self {
            Dtype::F16 | Dtype::BF16 => Dtype::F32,
            Dtype::U8 => Dtype::I32,
            Dtype::F32 | Dtype::I32 | Dtype::I64 | Dtype::Bool => self,
        }
    }

    /// True for types that only store numbers; they are computed with as [`Dtype::wide`].
    pub const fn is_storage(self) -> bool {
        matches!(self, Dtype::F16 | Dtype::BF16 | Dtype::U8)
    }

    /// True for floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, Dtype::F32 | Dtype::F16 | Dtype::BF16)
    }

    /// The name used in the text form of graphs and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::F16 => "f16",
            Dtype::BF16 => "bf16",
            Dtype::I32 => "i32",
            Dtype::I64 => "i64",
            Dtype::U8 => "u8",
            Dtype::Bool => "bool",
        }
    }

    /// The inverse of [`Dtype::name`].
    pub fn from_name(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().find(|d| d.name() == name)
    }

    /// True if a number is a value of this type, so that nothing is lost where a graph keeps it as `f64`. NaN is one of
    /// every floating-point type; integers of `i64` end at 2^53 here, where `f64` begins to skip some.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Dtype::F32 => value.is_nan() || f64::from(value as f32) == value,
            Dtype::F16 => value.is_nan() || nearest_f16(value).to_f64() == value,
            Dtype::BF16 => value.is_nan() || nearest_bf16(value).to_f64() == value,
            Dtype::I32 => f64::from(value as i32) == value,
            Dtype::I64 => value.abs() <= 9_007_199_254_740_992.0 && value.trunc() == value,
            Dtype::U8 => f64::from(value as u8) == value,
            Dtype::Bool => value == 0.0 || value == 1.0,
        }
    }
}

/// The nearest number of 16 bits, ties to even: infinite beyond the range, subnormal numbers kept. Unlike the
/// conversion of the crate `half`, it looks at all bits of `x`.
pub fn nearest_f16(x: f64) -> f16 {
    f16::from_f32(rounded_to_odd(x))
}

/// As [`nearest_f16`].
pub fn nearest_bf16(x: f64) -> bf16 {
    bf16::from_f32(rounded_to_odd(x))
}

/// One of the two floats around a number that is none: that whose last bit is 1. So it is never taken for a number half
/// way between two of fewer bits, and rounding it again is as good as rounding once.
fn rounded_to_odd(x: f64) -> f32 {
    let near = x as f32;
    match f64::from(near).partial_cmp(&x) {
        Some(Ordering::Less) if near.to_bits() & 1 == 0 => near.next_up(),
        Some(Ordering::Greater) if near.to_bits() & 1 == 0 => near.next_down(),
        _ => near,
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_sizes_are_those_of_rust() {
        for dtype in Dtype::ALL {
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
            assert_eq!(dtype.wide() != dtype, dtype.is_storage());
            assert_eq!(dtype.wide().is_float(), dtype.is_float());
        }
        assert_eq!(Dtype::from_name("f64"), None);
        assert_eq!(Dtype::ALL.map(Dtype::bytes), [4, 2, 2, 4, 8, 1, 1]);
    }

    #[test]
    fn values_of_each_type() {
        let cases = [
            (Dtype::F32, 0.1f32 as f64, 0.1),
            (Dtype::F16, 65504.0, 65505.0),
            (Dtype::F16, 5.960464477539063e-8, 1e-8),
            (Dtype::F16, f64::INFINITY, 65520.0),
            (Dtype::BF16, 3.3895313892515355e38, 3.4e38),
            (Dtype::BF16, 255.0, 257.0),
            (Dtype::I32, -2147483648.0, 2147483648.0),
            (Dtype::I64, 9007199254740992.0, 9007199254740994.0),
            (Dtype::I64, -3.0, 0.5),
            (Dtype::U8, 255.0, 256.0),
            (Dtype::U8, 0.0, -1.0),
            (Dtype::Bool, 1.0, 2.0),
        ];
        for (dtype, inside, outside) in cases {
            assert!(dtype.holds(inside), "{inside} is a {dtype}");
            assert!(!dtype.holds(outside), "{outside} is no {dtype}");
        }
        for dtype in Dtype::ALL {
            assert_eq!(dtype.holds(f64::NAN), dtype.is_float(), "{dtype}");
            assert_eq!(dtype.holds(f64::NEG_INFINITY), dtype.is_float(), "{dtype}");
        }
    }

    #[test]
    fn rounding_looks_at_all_bits() {
        let (half, brain) = (1.0 + 2f64.powi(-11), 1.0 + 2f64.powi(-8));
        assert_eq!((nearest_f16(half).to_f64(), nearest_bf16(brain).to_f64()), (1.0, 1.0));
        for tiny in [2f64.powi(-23), 2f64.powi(-40), 2f64.powi(-52)] {
            assert_eq!(nearest_f16(half + tiny).to_f64(), 1.0 + 2f64.powi(-10));
            assert_eq!(nearest_f16(half - tiny).to_f64(), 1.0);
            assert_eq!(nearest_bf16(brain + tiny).to_f64(), 1.0 + 2f64.powi(-7));
            assert_eq!(nearest_bf16(-brain - tiny).to_f64(), -1.0 - 2f64.powi(-7));
        }
        assert_eq!(nearest_f16(65519.99999999999).to_f64(), 65504.0);
        assert_eq!(nearest_f16(65520.0).to_f64(), f64::INFINITY);
        assert_eq!(nearest_f16(-1e300).to_f64(), f64::NEG_INFINITY);
        assert_eq!(nearest_f16(2f64.powi(-25)).to_f64(), 0.0);
        assert_eq!(nearest_f16(2f64.powi(-25) * 1.0000000000000002).to_f64(), 2f64.powi(-24));
        assert_eq!(nearest_bf16(1e300).to_f64(), f64::INFINITY);
        assert_eq!(nearest_bf16(3.39e38).to_f64(), 3.3895313892515355e38);
        assert!(nearest_f16(f64::NAN).is_nan() && nearest_bf16(f64::NAN).is_nan());
    }
}
