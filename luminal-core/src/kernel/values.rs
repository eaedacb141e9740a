//! Values that kernels compute with: what the meaning works on.

use crate::dtype::{Dtype, nearest_bf16, nearest_f16};
use crate::graph::Reduce;
use crate::reference::Data;

/// The elements of a tensor, row-major over its bounds, whatever its storage is. Types that only store numbers are held
/// in their wide type ([`Dtype::wide`]).
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// `f32`; exact sums may hold more bits.
    Float(Vec<f64>),
    /// `i32`
    Int(Vec<i32>),
    /// `i64`
    Long(Vec<i64>),
    /// `bool`
    Bool(Vec<bool>),
}

impl Values {
    /// `count` zeros.
    pub fn zeros(dtype: Dtype, count: usize) -> Values {
        match dtype.wide() {
            Dtype::I32 => Values::Int(vec![0; count]),
            Dtype::I64 => Values::Long(vec![0; count]),
            Dtype::Bool => Values::Bool(vec![false; count]),
            _ => Values::Float(vec![0.0; count]),
        }
    }

    /// As memory holds them in a buffer of this type.
    pub fn to_bytes(&self, dtype: Dtype) -> Vec<u8> {
        match (self, dtype) {
            (Values::Float(x), Dtype::F16) => x.iter().flat_map(|x| nearest_f16(*x).to_ne_bytes()).collect(),
            (Values::Float(x), Dtype::BF16) => {
                x.iter().flat_map(|x| nearest_bf16(*x).to_ne_bytes()).collect()
            }
            (Values::Float(x), _) => x.iter().flat_map(|x| (*x as f32).to_ne_bytes()).collect(),
            (Values::Int(x), Dtype::U8) => x.iter().map(|x| *x as u8).collect(),
            (Values::Int(x), _) => x.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            (Values::Long(x), _) => x.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            (Values::Bool(x), _) => x.iter().map(|x| u8::from(*x)).collect(),
        }
    }

    /// The inverse of [`Values::to_bytes`].
    pub fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Values {
        match Data::from_bytes(dtype, bytes) {
            Data::F32(x) => Values::Float(x.into_iter().map(f64::from).collect()),
            Data::F16(x) => Values::Float(x.into_iter().map(f64::from).collect()),
            Data::BF16(x) => Values::Float(x.into_iter().map(f64::from).collect()),
            Data::I32(x) => Values::Int(x),
            Data::I64(x) => Values::Long(x),
            Data::U8(x) => Values::Int(x.into_iter().map(i32::from).collect()),
            Data::Bool(x) => Values::Bool(x),
        }
    }

    /// Their type: `f32`, `i32`, `i64` or `bool`.
    pub fn dtype(&self) -> Dtype {
        match self {
            Values::Float(_) => Dtype::F32,
            Values::Int(_) => Dtype::I32,
            Values::Long(_) => Dtype::I64,
            Values::Bool(_) => Dtype::Bool,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Values::Float(x) => x.len(),
            Values::Int(x) => x.len(),
            Values::Long(x) => x.len(),
            Values::Bool(x) => x.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One element.
    pub fn get(&self, place: usize) -> Scalar {
        match self {
            Values::Float(x) => Scalar::Float(x[place]),
            Values::Int(x) => Scalar::Int(x[place]),
            Values::Long(x) => Scalar::Long(x[place]),
            Values::Bool(x) => Scalar::Bool(x[place]),
        }
    }

    /// Replaces one element by a value of the same type.
    pub fn set(&mut self, place: usize, value: Scalar) {
        match (self, value) {
            (Values::Float(x), Scalar::Float(v)) => x[place] = v,
            (Values::Int(x), Scalar::Int(v)) => x[place] = v,
            (Values::Long(x), Scalar::Long(v)) => x[place] = v,
            (Values::Bool(x), Scalar::Bool(v)) => x[place] = v,
            (values, value) => panic!("{value:?} does not go into a buffer of {}", values.dtype()),
        }
    }
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// `f32`, perhaps with more bits.
    Float(f64),
    /// `i32`
    Int(i32),
    /// `i64`
    Long(i64),
    /// `bool`
    Bool(bool),
}

impl Scalar {
    /// Zero of a type: what a load gives outside its guards.
    pub fn zero(dtype: Dtype) -> Scalar {
        match dtype.wide() {
            Dtype::I32 => Scalar::Int(0),
            Dtype::I64 => Scalar::Long(0),
            Dtype::Bool => Scalar::Bool(false),
            _ => Scalar::Float(0.0),
        }
    }

    /// What a reduction starts from.
    pub fn identity(op: Reduce, dtype: Dtype) -> Scalar {
        match (op, dtype) {
            (Reduce::Max, Dtype::F32) => Scalar::Float(f64::NEG_INFINITY),
            (Reduce::Max, Dtype::I32) => Scalar::Int(i32::MIN),
            (Reduce::Max, Dtype::I64) => Scalar::Long(i64::MIN),
            _ => Scalar::zero(dtype),
        }
    }

    pub(super) fn int(self) -> i32 {
        if let Scalar::Int(x) = self { x } else { panic!("{self:?} is not an i32") }
    }

    pub(super) fn truth(self) -> bool {
        if let Scalar::Bool(x) = self { x } else { panic!("{self:?} is not a bool") }
    }
}
