//! Element types that occur in weight files.

use crate::dtype::Dtype;
use serde::Deserialize;

/// Element type of a tensor in a weight file. Wider than [`Dtype`]: a file may hold tensors that no model asks for, and
/// quantised ones, whose elements lie in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[allow(non_camel_case_types, reason = "the names of the file formats")]
#[allow(missing_docs, reason = "the names are those of the file formats and say all")]
#[non_exhaustive]
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
    // Blocks, which only GGUF has.
    #[serde(skip)]
    Q4_0,
    #[serde(skip)]
    Q4_1,
    #[serde(skip)]
    Q5_0,
    #[serde(skip)]
    Q5_1,
    #[serde(skip)]
    Q8_0,
    #[serde(skip)]
    Q2_K,
    #[serde(skip)]
    Q3_K,
    #[serde(skip)]
    Q4_K,
    #[serde(skip)]
    Q5_K,
    #[serde(skip)]
    Q6_K,
    #[serde(skip)]
    IQ1_S,
    #[serde(skip)]
    IQ1_M,
    #[serde(skip)]
    IQ2_XXS,
    #[serde(skip)]
    IQ2_XS,
    #[serde(skip)]
    IQ2_S,
    #[serde(skip)]
    IQ3_XXS,
    #[serde(skip)]
    IQ3_S,
    #[serde(skip)]
    IQ4_NL,
    #[serde(skip)]
    IQ4_XS,
    #[serde(skip)]
    TQ1_0,
    #[serde(skip)]
    TQ2_0,
    #[serde(skip)]
    MXFP4,
    #[serde(skip)]
    NVFP4,
    #[serde(skip)]
    Q1_0,
}

impl StoredDtype {
    /// The smallest unit that is stored: `(elements, bytes)`.
    ///
    /// ```
    /// use luminal_core::weights::StoredDtype;
    ///
    /// assert_eq!(StoredDtype::F32.block(), (1, 4));
    /// assert_eq!(StoredDtype::Q4_0.block(), (32, 18));
    /// ```
    pub const fn block(self) -> (usize, usize) {
        use StoredDtype::*;
        match self {
            F4 => (2, 1),
            F6_E2M3 | F6_E3M2 => (4, 3),
            BOOL | U8 | I8 | F8_E5M2 | F8_E4M3 | F8_E8M0 => (1, 1),
            I16 | U16 | F16 | BF16 => (1, 2),
            I32 | U32 | F32 => (1, 4),
            C64 | F64 | I64 | U64 => (1, 8),
            Q4_0 => (32, 18),
            Q4_1 => (32, 20),
            Q5_0 => (32, 22),
            Q5_1 => (32, 24),
            Q8_0 => (32, 34),
            IQ4_NL => (32, 18),
            MXFP4 => (32, 17),
            NVFP4 => (64, 36),
            Q1_0 => (128, 18),
            Q2_K => (256, 84),
            Q3_K => (256, 110),
            Q4_K => (256, 144),
            Q5_K => (256, 176),
            Q6_K => (256, 210),
            IQ1_S => (256, 50),
            IQ1_M => (256, 56),
            IQ2_XXS => (256, 66),
            IQ2_XS => (256, 74),
            IQ2_S => (256, 82),
            IQ3_XXS => (256, 98),
            IQ3_S => (256, 110),
            IQ4_XS => (256, 136),
            TQ1_0 => (256, 54),
            TQ2_0 => (256, 66),
        }
    }

    /// True for types whose elements share scales with others of their block.
    pub const fn is_quantised(self) -> bool {
        self.block().0 >= 32
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

    /// Bytes of a tensor, and the sizes as memory counts them. The error is the broken rule.
    ///
    /// `whole_rows`: whether each row has to be whole blocks, or only the tensor as a whole.
    pub(super) fn layout(self, shape: &[u64], whole_rows: bool) -> Result<(u64, Vec<usize>), String> {
        // Sizes of 0 do not excuse an overflow elsewhere: a shape that nobody can hold is not meant.
        let nonzero = shape.iter().filter(|size| **size != 0);
        let elements = nonzero
            .copied()
            .try_fold(1u64, u64::checked_mul)
            .ok_or_else(|| format!("the number of elements of {shape:?} overflows 64 bits"))?;
        let (block, bytes) = self.block();
        let (block, bytes) = (block as u64, bytes as u64);
        let row = shape.last().copied().unwrap_or(1);
        if whole_rows && row % block != 0 {
            return Err(format!(
                "its rows have {row} elements, but {self} stores blocks of {block}: a row must be whole blocks"
            ));
        }
        // A block is never larger than its elements in 64 bits each, so this can only overflow where they nearly do.
        let total = (elements / block)
            .checked_mul(bytes)
            .ok_or_else(|| format!("the number of bytes of {self} {shape:?} overflows 64 bits"))?;
        let empty = shape.contains(&0);
        if !empty && elements % block != 0 {
            return Err(format!("{self} {shape:?} does not fill whole bytes"));
        }
        let sizes = shape.iter().map(|size| usize::try_from(*size)).collect::<Result<_, _>>();
        let sizes = sizes.map_err(|_| "a size does not fit the address space".to_string())?;
        Ok((if empty { 0 } else { total }, sizes))
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
