//! Element types that occur in weight files.

use crate::dtype::Dtype;
use serde::Deserialize;

/// Element type of a tensor in a weight file. Wider than [`Dtype`]: a file may hold tensors that no model asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[allow(non_camel_case_types, reason = "the names of the file format")]
#[allow(missing_docs, reason = "the names are those of the file format and say all")]
pub enum StoredDtype {
    BOOL,
    F4,
    F6_E2M3,
    F6_E3M2,
    U8,
    I8,
    F8_E5M2,
    F8_E4M3,
    F8_E8M0,
    I16,
    U16,
    F16,
    BF16,
    I32,
    U32,
    F32,
    C64,
    F64,
    I64,
    U64,
}

impl StoredDtype {
    /// Size of one element in bits.
    pub const fn bits(self) -> usize {
        use StoredDtype::*;
        match self {
            F4 => 4,
            F6_E2M3 | F6_E3M2 => 6,
            BOOL | U8 | I8 | F8_E5M2 | F8_E4M3 | F8_E8M0 => 8,
            I16 | U16 | F16 | BF16 => 16,
            I32 | U32 | F32 => 32,
            C64 | F64 | I64 | U64 => 64,
        }
    }

    /// The stored types from which a weight of this type can be loaded without loss, the preferred one first.
    pub const fn sources(dtype: Dtype) -> &'static [StoredDtype] {
        match dtype {
            Dtype::F32 => &[StoredDtype::F32, StoredDtype::F16, StoredDtype::BF16],
            Dtype::F16 => &[StoredDtype::F16],
            Dtype::BF16 => &[StoredDtype::BF16],
            Dtype::I32 => &[StoredDtype::I32],
            Dtype::I64 => &[StoredDtype::I64],
            Dtype::U8 => &[StoredDtype::U8],
            Dtype::Bool => &[StoredDtype::BOOL],
        }
    }
}

impl From<Dtype> for StoredDtype {
    fn from(dtype: Dtype) -> StoredDtype {
        StoredDtype::sources(dtype)[0]
    }
}

impl std::fmt::Display for StoredDtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}
