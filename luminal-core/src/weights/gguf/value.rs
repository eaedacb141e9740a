//! Values of GGUF: types, checking, decoding.

use super::reader::Reader;
use crate::weights::metadata::{MetadataArray, MetadataValue};

/// Arrays in arrays: no writer nests them, the format allows it, a deep nest would exhaust the stack.
const DEEPEST: usize = 4;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::weights) enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl Kind {
    fn from_id(id: u32) -> Option<Kind> {
        use Kind::*;
        let all = [U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64];
        all.get(usize::try_from(id).ok()?).copied()
    }

    pub fn read(reader: &mut Reader) -> Result<Kind, String> {
        let id = reader.u32("the type of a value")?;
        Kind::from_id(id).ok_or_else(|| format!("{id} is no type of a value: the format has 0 to 12"))
    }

    /// Bytes of a value; for text and arrays the least.
    const fn least_bytes(self) -> u64 {
        match self {
            Kind::U8 | Kind::I8 | Kind::Bool => 1,
            Kind::U16 | Kind::I16 => 2,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::U64 | Kind::I64 | Kind::F64 | Kind::String => 8,
            Kind::Array => 12,
        }
    }
}

/// Reads over a value and checks everything about it. Allocates nothing.
pub fn check(reader: &mut Reader, kind: Kind, depth: usize) -> Result<(), String> {
    match kind {
        Kind::String => reader.string("a text").map(|_| ()),
        Kind::Bool => bools(reader.take(1, "a truth value")?),
        Kind::Array => {
            if depth == DEEPEST {
                return Err(format!("arrays are nested more than {DEEPEST} deep"));
            }
            let element = Kind::read(reader)?;
            let len = reader.u64("the length of an array")?;
            // Before anything is done `len` times: what is left of the file can hold only so many.
            reader.room_for(len, element.least_bytes(), "an array of", "values")?;
            match element {
                Kind::String | Kind::Array => (0..len).try_for_each(|_| check(reader, element, depth + 1)),
                Kind::Bool => bools(reader.take(len, "an array")?),
                _ => reader.take(len * element.least_bytes(), "an array").map(|_| ()),
            }
        }
        _ => reader.take(kind.least_bytes(), "a number").map(|_| ()),
    }
}

fn bools(bytes: &[u8]) -> Result<(), String> {
    match bytes.iter().find(|byte| **byte > 1) {
        Some(byte) => Err(format!("a truth value is 0 or 1, but one is {byte}")),
        None => Ok(()),
    }
}

/// Decodes a value that was checked, and moves on behind it. `None` never happens for one that was.
pub(in crate::weights) fn decode<'a>(kind: Kind, bytes: &mut &'a [u8]) -> Option<MetadataValue<'a>> {
    macro_rules! number {
        ($type:ty, $variant:ident) => {
            MetadataValue::$variant(<$type>::from_le_bytes(*take(bytes)?).into())
        };
    }
    Some(match kind {
        Kind::U8 => number!(u8, Unsigned),
        Kind::I8 => number!(i8, Signed),
        Kind::U16 => number!(u16, Unsigned),
        Kind::I16 => number!(i16, Signed),
        Kind::U32 => number!(u32, Unsigned),
        Kind::I32 => number!(i32, Signed),
        Kind::F32 => number!(f32, Float),
        Kind::U64 => number!(u64, Unsigned),
        Kind::I64 => number!(i64, Signed),
        Kind::F64 => number!(f64, Float),
        Kind::Bool => MetadataValue::Bool(take::<1>(bytes)?[0] != 0),
        Kind::String => {
            let len = usize::try_from(u64::from_le_bytes(*take(bytes)?)).ok()?;
            let (text, rest) = bytes.split_at_checked(len)?;
            *bytes = rest;
            MetadataValue::Str(std::str::from_utf8(text).ok()?)
        }
        Kind::Array => {
            let element = Kind::from_id(u32::from_le_bytes(*take(bytes)?))?;
            let len = usize::try_from(u64::from_le_bytes(*take(bytes)?)).ok()?;
            let start = *bytes;
            match element {
                Kind::String | Kind::Array => {
                    for _ in 0..len {
                        decode(element, bytes)?;
                    }
                }
                _ => *bytes = bytes.get(len.checked_mul(element.least_bytes() as usize)?..)?,
            }
            MetadataValue::Array(MetadataArray::new(element, len, &start[..start.len() - bytes.len()]))
        }
    })
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}
