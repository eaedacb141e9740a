//! The term language of the e-graph and of [`super::Dag`].

use super::axes::AxisSet;
use crate::dtype::Dtype;
use egg::{Id, Language, define_language};
use std::fmt;
use std::str::FromStr;

/// Defines a leaf that refers to a table, written as a prefix and a number.
macro_rules! numbered {
    ($(#[$meta:meta])* $name:ident, $inner:ty, $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl FromStr for $name {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                text.strip_prefix($prefix).and_then(|n| n.parse().ok()).map($name).ok_or(())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }
    };
}

numbered!(
    /// The axes of a reduction as one leaf: a bit set, so that it is canonical.
    ReducedAxes, u64, "k"
);
numbered!(
    /// Position in [`super::Context::accesses`].
    AccessId, u32, "@"
);
numbered!(
    /// Position in [`super::Context::indices`].
    IndexId, u32, "#"
);
numbered!(
    /// Position in [`super::Context::insides`].
    InsideId, u32, "inside"
);

/// An `f32` literal, compared by its bits; there is one NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct F32(u32);

impl F32 {
    /// The literal of this value.
    pub fn new(value: f32) -> F32 {
        F32(if value.is_nan() { f32::NAN } else { value }.to_bits())
    }

    /// Its value.
    pub fn value(self) -> f32 {
        f32::from_bits(self.0)
    }
}

impl FromStr for F32 {
    type Err = ();
    fn from_str(text: &str) -> Result<F32, ()> {
        text.parse().map(F32::new).map_err(|_| ())
    }
}

impl fmt::Display for F32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.value())
    }
}

impl fmt::Debug for F32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.value())
    }
}

/// An `i32` literal, written `3i32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct I32(pub i32);

impl FromStr for I32 {
    type Err = ();
    fn from_str(text: &str) -> Result<I32, ()> {
        text.strip_suffix("i32").and_then(|n| n.parse().ok()).map(I32).ok_or(())
    }
}

impl fmt::Display for I32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}i32", self.0)
    }
}

/// A literal of one of the other types, written `-3i64`, `255u8`, `0.5f16`, `inf bf16`. Floats are compared by their
/// bits; there is one NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Number {
    dtype: Dtype,
    /// An integer, or the bits of a binary64.
    bits: i64,
}

impl Number {
    /// The literal of a value that the type holds.
    pub fn float(value: f64, dtype: Dtype) -> Number {
        let value = if value.is_nan() { f64::NAN } else { value };
        Number { dtype, bits: value.to_bits() as i64 }
    }

    /// The literal of a value that the type holds.
    pub fn int(value: i64, dtype: Dtype) -> Number {
        Number { dtype, bits: value }
    }

    /// Its type.
    pub fn dtype(self) -> Dtype {
        self.dtype
    }

    /// Its value.
    pub fn value(self) -> Constant {
        if self.dtype.is_float() {
            Constant::Float(f64::from_bits(self.bits as u64))
        } else {
            Constant::Int(self.bits)
        }
    }

    /// True for +0 and 0.
    pub fn is_zero(self) -> bool {
        self.bits == 0
    }
}

impl FromStr for Number {
    type Err = ();
    fn from_str(text: &str) -> Result<Number, ()> {
        for dtype in [Dtype::BF16, Dtype::F16, Dtype::I64, Dtype::U8] {
            let Some(digits) = text.strip_suffix(dtype.name()) else { continue };
            let literal = match dtype.is_float() {
                true => digits.parse().map(|x| Number::float(x, dtype)).map_err(|_| ()),
                false => digits.parse().map(|x| Number::int(x, dtype)).map_err(|_| ()),
            };
            return literal;
        }
        Err(())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            Constant::Float(x) => write!(f, "{x:?}{}", self.dtype),
            Constant::Int(x) => write!(f, "{x}{}", self.dtype),
        }
    }
}

/// The value of a literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// Of any float type; exact.
    Float(f64),
    /// Of any integer type, and truth values.
    Int(i64),
}

impl Constant {
    /// The value as `f64`: rounded, if it is an integer beyond 2^53.
    pub fn to_f64(self) -> f64 {
        match self {
            Constant::Float(x) => x,
            Constant::Int(x) => x as f64,
        }
    }
}

define_language! {
    /// One node of a term. Broadcasting needs no node: the free axes of a value are those of its leaves.
    ///
    /// Pointwise: `Add Mul Max LessThan Mod Select`, `Exp2 Log2 Sin Sqrt Recip`, and conversions `ToF32 ToF16 ToBF16
    /// ToI32 ToI64 ToU8 ToBool` with the meaning of the graph's primitives for the dtype of their operands.
    /// - `Sum([axes, body])`, `MaxOver([axes, body])`: reductions; `axes` is a `ReducedAxes` leaf.
    /// - `Gather([access, index])`: the access, a `Load` leaf, with [`super::Atom::Value`] bound to `index`.
    /// - `Load`: an element of a buffer; 0 where an index is out of range.
    /// - `Position`: the value of an index expression, an `i32`.
    /// - `Inside`: whether an index expression lies within an extent, a `bool`.
    /// - `F32`, `I32`, `Bool`: literals; `Number`: those of all other types.
    #[allow(missing_docs)]
    pub enum Term {
        "+" = Add([Id; 2]),
        "*" = Mul([Id; 2]),
        "max" = Max([Id; 2]),
        "<" = LessThan([Id; 2]),
        "mod" = Mod([Id; 2]),
        "select" = Select([Id; 3]),
        "exp2" = Exp2(Id),
        "log2" = Log2(Id),
        "sin" = Sin(Id),
        "sqrt" = Sqrt(Id),
        "recip" = Recip(Id),
        "f32" = ToF32(Id),
        "f16" = ToF16(Id),
        "bf16" = ToBF16(Id),
        "i32" = ToI32(Id),
        "i64" = ToI64(Id),
        "u8" = ToU8(Id),
        "bool" = ToBool(Id),
        "sum" = Sum([Id; 2]),
        "maxover" = MaxOver([Id; 2]),
        "gather" = Gather([Id; 2]),
        Axes(ReducedAxes),
        Load(AccessId),
        Position(IndexId),
        Inside(InsideId),
        Bool(bool),
        I32(I32),
        F32(F32),
        Number(Number),
    }
}

impl Term {
    /// True for reductions.
    pub fn is_reduction(&self) -> bool {
        matches!(self, Term::Sum(_) | Term::MaxOver(_))
    }

    /// True for nodes without operands.
    pub fn is_leaf(&self) -> bool {
        self.children().is_empty()
    }

    /// True for literals.
    pub fn is_literal(&self) -> bool {
        self.constant().is_some()
    }

    /// True for conversions.
    pub fn is_cast(&self) -> bool {
        self.cast_to().is_some()
    }

    /// What a conversion converts to.
    pub fn cast_to(&self) -> Option<Dtype> {
        Some(match self {
            Term::ToF32(_) => Dtype::F32,
            Term::ToF16(_) => Dtype::F16,
            Term::ToBF16(_) => Dtype::BF16,
            Term::ToI32(_) => Dtype::I32,
            Term::ToI64(_) => Dtype::I64,
            Term::ToU8(_) => Dtype::U8,
            Term::ToBool(_) => Dtype::Bool,
            _ => return None,
        })
    }

    /// The conversion of a value to a type.
    pub fn cast(to: Dtype, x: Id) -> Term {
        match to {
            Dtype::F32 => Term::ToF32(x),
            Dtype::F16 => Term::ToF16(x),
            Dtype::BF16 => Term::ToBF16(x),
            Dtype::I32 => Term::ToI32(x),
            Dtype::I64 => Term::ToI64(x),
            Dtype::U8 => Term::ToU8(x),
            Dtype::Bool => Term::ToBool(x),
        }
    }

    /// The literal of a value that the type holds.
    pub fn literal(value: Constant, dtype: Dtype) -> Term {
        let (float, int) = match value {
            Constant::Float(x) => (x, x as i64),
            Constant::Int(x) => (x as f64, x),
        };
        match dtype {
            Dtype::F32 => Term::F32(F32::new(float as f32)),
            Dtype::F16 | Dtype::BF16 => Term::Number(Number::float(float, dtype)),
            Dtype::I32 => Term::I32(I32(int as i32)),
            Dtype::I64 | Dtype::U8 => Term::Number(Number::int(int, dtype)),
            Dtype::Bool => Term::Bool(int != 0),
        }
    }

    /// The value of a literal.
    pub fn constant(&self) -> Option<Constant> {
        match self {
            Term::F32(x) => Some(Constant::Float(f64::from(x.value()))),
            Term::I32(x) => Some(Constant::Int(x.0.into())),
            Term::Bool(x) => Some(Constant::Int((*x).into())),
            Term::Number(x) => Some(x.value()),
            _ => None,
        }
    }

    /// What a reduction reduces.
    pub fn body(&self) -> Option<Id> {
        match self {
            Term::Sum([_, body]) | Term::MaxOver([_, body]) => Some(*body),
            _ => None,
        }
    }

    /// The operands that are values: without the axes of a reduction and the access of a gather.
    pub fn values(&self) -> &[Id] {
        match self {
            Term::Sum(ids) | Term::MaxOver(ids) | Term::Gather(ids) => &ids[1..],
            _ => self.children(),
        }
    }

    /// The set in an `Axes` leaf; empty for every other node.
    pub fn axis_set(&self) -> AxisSet {
        match self {
            Term::Axes(axes) => AxisSet(axes.0),
            _ => AxisSet::EMPTY,
        }
    }
}
