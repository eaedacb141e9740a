//! Quantised blocks to numbers, one at a time: for tensors that are dequantised when they are loaded. Kernels do not use
//! this; the compositions that they are made from are tested against it.
//!
//! Source of the layouts: `ggml-common.h` and `dequantize_row_*` of github.com/ggml-org/ggml. The order of operations is
//! that of those functions, so that every bit agrees.

use super::stored::StoredDtype;
use half::f16;

/// The numbers of whole blocks, added to `values`; `None` for a format that is not known.
pub(super) fn decode(dtype: StoredDtype, data: &[u8], values: &mut Vec<f32>) -> Option<()> {
    let block: fn(&[u8], &mut Vec<f32>) = match dtype {
        StoredDtype::Q4_0 => |b, y| low_then_high(&b[2..18], y, |q, _| (f32::from(q) - 8.0) * half(b, 0)),
        StoredDtype::Q4_1 => {
            |b, y| low_then_high(&b[4..20], y, |q, _| f32::from(q) * half(b, 0) + half(b, 2))
        }
        StoredDtype::Q5_0 => |b, y| {
            let high = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
            low_then_high(&b[6..22], y, |q, i| (fifth_bit(q, high, i) - 16.0) * half(b, 0));
        },
        StoredDtype::Q5_1 => |b, y| {
            let high = u32::from_le_bytes([b[4], b[5], b[6], b[7]]);
            low_then_high(&b[8..24], y, |q, i| fifth_bit(q, high, i) * half(b, 0) + half(b, 2));
        },
        StoredDtype::Q8_0 => |b, y| y.extend(b[2..34].iter().map(|q| f32::from(*q as i8) * half(b, 0))),
        StoredDtype::Q4_K => |b, y| super_block(b, &b[16..144], None, y),
        StoredDtype::Q5_K => |b, y| super_block(b, &b[48..176], Some(&b[16..48]), y),
        StoredDtype::Q6_K => six_bits,
        _ => return None,
    };
    for bytes in data.chunks_exact(dtype.block().1) {
        block(bytes, values);
    }
    Some(())
}

fn half(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// All low nibbles, then all high ones; with their position.
fn low_then_high(bytes: &[u8], values: &mut Vec<f32>, value: impl Fn(u8, usize) -> f32) {
    let nibbles = bytes.iter().map(|byte| byte & 15).chain(bytes.iter().map(|byte| byte >> 4));
    values.extend(nibbles.enumerate().map(|(i, q)| value(q, i)));
}

fn fifth_bit(nibble: u8, high: u32, i: usize) -> f32 {
    (u32::from(nibble) | (high >> i & 1) << 4) as f32
}

/// Q4_K and Q5_K: eight parts of 32 with a scale and a minimum of 6 bits each.
fn super_block(b: &[u8], quants: &[u8], high: Option<&[u8]>, values: &mut Vec<f32>) {
    let (d, dmin) = (half(b, 0), half(b, 2));
    let packed = &b[4..16];
    for part in 0..8 {
        let (scale, minimum) = if part < 4 {
            (packed[part] & 63, packed[part + 4] & 63)
        } else {
            let (low, high_scale, high_minimum) = (packed[part + 4], packed[part - 4], packed[part]);
            (low & 15 | (high_scale >> 6) << 4, low >> 4 | (high_minimum >> 6) << 4)
        };
        let (scale, minimum) = (d * f32::from(scale), dmin * f32::from(minimum));
        for i in 0..32 {
            let byte = quants[part / 2 * 32 + i];
            let nibble = if part % 2 == 0 { byte & 15 } else { byte >> 4 };
            let fifth = high.map_or(0, |high| high[i] >> part & 1);
            values.push(scale * f32::from(nibble | fifth << 4) - minimum);
        }
    }
}

/// Q6_K: two halves of 128, each four parts of 32; a signed scale for every 16.
fn six_bits(b: &[u8], values: &mut Vec<f32>) {
    let d = half(b, 208);
    for index in 0..256 {
        let (part_of_half, i) = (index / 32 % 4, index % 32);
        let byte = b[index / 128 * 64 + part_of_half % 2 * 32 + i];
        let nibble = if part_of_half < 2 { byte & 15 } else { byte >> 4 };
        let two = b[128 + index / 128 * 32 + i] >> (2 * part_of_half) & 3;
        let scale = b[192 + index / 16] as i8;
        values.push(d * f32::from(scale) * (f32::from(nibble | two << 4) - 32.0));
    }
}
