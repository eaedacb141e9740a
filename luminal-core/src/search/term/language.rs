//! The term language of the e-graph and of [`super::Dag`].

use super::axes::AxisSet;
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

define_language! {
    /// One node of a term. Broadcasting needs no node: the free axes of a value are those of its leaves.
    ///
    /// Pointwise: `Add Mul Max LessThan Mod Select`, `Exp2 Log2 Sin Sqrt Recip`, and conversions `ToF32 ToI32 ToBool`
    /// with the meaning of the graph's primitives for the dtype of their operands.
    /// - `Sum([axes, body])`, `MaxOver([axes, body])`: reductions; `axes` is a `ReducedAxes` leaf.
    /// - `Gather([access, index])`: the access, a `Load` leaf, with [`super::Atom::Value`] bound to `index`.
    /// - `Load`: an element of a buffer; 0 where an index is out of range.
    /// - `Position`: the value of an index expression, an `i32`.
    /// - `Inside`: whether an index expression lies within an extent, a `bool`.
    /// - `F32`, `I32`, `Bool`: literals.
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
        "i32" = ToI32(Id),
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
        matches!(self, Term::F32(_) | Term::I32(_) | Term::Bool(_))
    }

    /// True for conversions.
    pub fn is_cast(&self) -> bool {
        matches!(self, Term::ToF32(_) | Term::ToI32(_) | Term::ToBool(_))
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
