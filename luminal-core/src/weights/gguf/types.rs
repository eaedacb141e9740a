//! Element types by their number in GGUF.

use crate::weights::StoredDtype;

/// The numbers are those of `enum ggml_type`; the gaps were taken out of the format again.
pub fn dtype(id: u32) -> Result<StoredDtype, String> {
    use StoredDtype::*;
    Ok(match id {
        0 => F32,
        1 => F16,
        2 => Q4_0,
        3 => Q4_1,
        6 => Q5_0,
        7 => Q5_1,
        8 => Q8_0,
        10 => Q2_K,
        11 => Q3_K,
        12 => Q4_K,
        13 => Q5_K,
        14 => Q6_K,
        16 => IQ2_XXS,
        17 => IQ2_XS,
        18 => IQ3_XXS,
        19 => IQ1_S,
        20 => IQ4_NL,
        21 => IQ3_S,
        22 => IQ2_S,
        23 => IQ4_XS,
        24 => I8,
        25 => I16,
        26 => I32,
        27 => I64,
        28 => F64,
        29 => IQ1_M,
        30 => BF16,
        34 => TQ1_0,
        35 => TQ2_0,
        39 => MXFP4,
        40 => NVFP4,
        41 => Q1_0,
        9 | 15 => return Err(format!("its element type {id} is one of computing, not of files")),
        4 | 5 | 31..=33 | 36..=38 => {
            return Err(format!("its element type {id} was removed from GGUF: convert the file again"));
        }
        _ => return Err(format!("its element type {id} is not known: 0 to 41 are")),
    })
}
