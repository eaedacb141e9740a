//! ONNX's tensors, and which of our types hold them.

use super::numbers::{self, Numbers};
use super::proto;
use half::{bf16, f16};
use luminal::reference::DenseTensor as Tensor;
use luminal::rt::Dtype;
use luminal::{Error, Result};

/// Element types of ONNX, as `TensorProto.DataType` numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Elem {
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Float16 = 10,
    Double = 11,
    Uint32 = 12,
    Uint64 = 13,
    Bfloat16 = 16,
}

impl Elem {
    pub fn new(number: i64) -> Result<Elem> {
        use Elem::*;
        let all = [
            Float, Uint8, Int8, Uint16, Int16, Int32, Int64, String, Bool, Float16, Double, Uint32, Uint64,
            Bfloat16,
        ];
        let found = all.into_iter().find(|elem| *elem as i64 == number);
        found.ok_or_else(|| Error::new(format!("element type {number}")))
    }

    /// The type of our language that holds it; a wider one where it has none of this size. Doubles are rounded.
    pub fn dtype(self) -> Result<Dtype> {
        Ok(match self {
            Elem::Float | Elem::Double => Dtype::F32,
            Elem::Float16 => Dtype::F16,
            Elem::Bfloat16 => Dtype::BF16,
            Elem::Uint8 => Dtype::U8,
            Elem::Int8 | Elem::Int16 | Elem::Uint16 | Elem::Int32 => Dtype::I32,
            Elem::Int64 | Elem::Uint32 | Elem::Uint64 => Dtype::I64,
            Elem::Bool => Dtype::Bool,
            Elem::String => return Err(Error::new("strings")),
        })
    }

    pub fn is_float(self) -> bool {
        matches!(self, Elem::Float | Elem::Double | Elem::Float16 | Elem::Bfloat16)
    }

    /// Bits and sign of an integer that our type is wider than: results have to be brought back into its range.
    pub fn narrow(self) -> Option<(u32, bool)> {
        match self {
            Elem::Int8 => Some((8, true)),
            Elem::Int16 => Some((16, true)),
            Elem::Uint16 => Some((16, false)),
            Elem::Uint32 => Some((32, false)),
            _ => None,
        }
    }
}

/// A tensor with elements of ONNX.
#[derive(Clone, Debug)]
pub struct Value {
    pub elem: Elem,
    pub shape: Vec<usize>,
    pub numbers: Numbers,
}

impl Value {
    pub fn tensor(&self) -> Result<Tensor> {
        numbers::tensor(self.elem.dtype()?, &self.shape, &self.numbers)
    }
}

/// Elements lie in `raw_data`, little-endian, or in the field of their kind.
impl TryFrom<&proto::Tensor> for Value {
    type Error = Error;

    fn try_from(tensor: &proto::Tensor) -> Result<Value> {
        let elem = Elem::new(tensor.data_type.into())?;
        let raw = &tensor.raw_data[..];
        let numbers = match elem {
            Elem::Float if raw.is_empty() => floats(tensor.float_data.iter(), |x| f64::from(*x)),
            Elem::Float => floats(raw.as_chunks().0.iter(), |b| f64::from(f32::from_le_bytes(*b))),
            Elem::Double if raw.is_empty() => floats(tensor.double_data.iter(), |x| *x),
            Elem::Double => floats(raw.as_chunks().0.iter(), |b| f64::from_le_bytes(*b)),
            Elem::Float16 if raw.is_empty() => {
                floats(tensor.int32_data.iter(), |x| f16::from_bits(*x as u16).to_f64())
            }
            Elem::Float16 => floats(raw.as_chunks().0.iter(), |b| f16::from_le_bytes(*b).to_f64()),
            Elem::Bfloat16 if raw.is_empty() => {
                floats(tensor.int32_data.iter(), |x| bf16::from_bits(*x as u16).to_f64())
            }
            Elem::Bfloat16 => floats(raw.as_chunks().0.iter(), |b| bf16::from_le_bytes(*b).to_f64()),
            Elem::Int64 if raw.is_empty() => integers(tensor.int64_data.iter(), |x| i128::from(*x)),
            Elem::Int64 => integers(raw.as_chunks().0.iter(), |b| i64::from_le_bytes(*b).into()),
            Elem::Uint32 | Elem::Uint64 if raw.is_empty() => {
                integers(tensor.uint64_data.iter(), |x| i128::from(*x))
            }
            Elem::Uint64 => integers(raw.as_chunks().0.iter(), |b| u64::from_le_bytes(*b).into()),
            Elem::Uint32 => integers(raw.as_chunks().0.iter(), |b| u32::from_le_bytes(*b).into()),
            Elem::String => Numbers::Integers(vec![]),
            _ if raw.is_empty() => integers(tensor.int32_data.iter(), |x| i128::from(*x)),
            Elem::Int32 => integers(raw.as_chunks().0.iter(), |b| i32::from_le_bytes(*b).into()),
            Elem::Int16 => integers(raw.as_chunks().0.iter(), |b| i16::from_le_bytes(*b).into()),
            Elem::Uint16 => integers(raw.as_chunks().0.iter(), |b| u16::from_le_bytes(*b).into()),
            Elem::Int8 => integers(raw.iter(), |b| i128::from(*b as i8)),
            Elem::Uint8 | Elem::Bool => integers(raw.iter(), |b| i128::from(*b)),
        };
        let shape: Vec<usize> = tensor.dims.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
        if elem != Elem::String && numbers.len() != shape.iter().product::<usize>() {
            return Err(Error::new(format!("a tensor {shape:?} of {} elements", numbers.len())));
        }
        Ok(Value { elem, shape, numbers })
    }
}

fn floats<T>(elements: impl Iterator<Item = T>, float: impl Fn(T) -> f64) -> Numbers {
    Numbers::Floats(elements.map(float).collect())
}

fn integers<T>(elements: impl Iterator<Item = T>, integer: impl Fn(T) -> i128) -> Numbers {
    Numbers::Integers(elements.map(integer).collect())
}
