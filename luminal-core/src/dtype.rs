//! Element types of tensors.

pub use half::{bf16, f16};

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
            Dtype::F16 => value.is_nan() || f16::from_f64(value).to_f64() == value,
            Dtype::BF16 => value.is_nan() || bf16::from_f64(value).to_f64() == value,
            Dtype::I32 => f64::from(value as i32) == value,
            Dtype::I64 => value.abs() <= 9_007_199_254_740_992.0 && value.trunc() == value,
            Dtype::U8 => f64::from(value as u8) == value,
            Dtype::Bool => value == 0.0 || value == 1.0,
        }
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
}
