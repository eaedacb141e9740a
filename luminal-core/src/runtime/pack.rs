//! Puts a weight into the order in memory that the kernels were built for.

use crate::dtype::Dtype;
use crate::plan::Digit;
use crate::weights::{StoredDtype, StoredTensor};
use half::{bf16, f16};

/// Writes `tensor`, converted to `dtype`, into `buffer` in the order `storage`. What falls between is left as it is.
///
/// The tensor's shape and type were checked against the model, and `storage` against the buffer. The error is the
/// broken rule alone.
pub(crate) fn pack(
    tensor: StoredTensor<'_>,
    dtype: Dtype,
    storage: &[impl AsRef<[Digit]>],
    buffer: &mut [u8],
) -> Result<(), String> {
    match (dtype, tensor.dtype) {
        (Dtype::F32, StoredDtype::F32) | (Dtype::I32, StoredDtype::I32) => {
            place(tensor, storage, buffer, |element: [u8; 4]| element);
        }
        (Dtype::F16, StoredDtype::F16) | (Dtype::BF16, StoredDtype::BF16) => {
            place(tensor, storage, buffer, |element: [u8; 2]| element);
        }
        (Dtype::I64, StoredDtype::I64) => place(tensor, storage, buffer, |element: [u8; 8]| element),
        (Dtype::U8, StoredDtype::U8) => place(tensor, storage, buffer, |element: [u8; 1]| element),
        (Dtype::F32, StoredDtype::F16) => {
            place(tensor, storage, buffer, |element| f16::from_le_bytes(element).to_f32().to_ne_bytes());
        }
        (Dtype::F32, StoredDtype::BF16) => {
            place(tensor, storage, buffer, |element| bf16::from_le_bytes(element).to_f32().to_ne_bytes());
        }
        (Dtype::Bool, StoredDtype::BOOL) => {
            if let Some(byte) = tensor.data.iter().find(|byte| **byte > 1) {
                return Err(format!("a bool is 0 or 1, but one of its bytes is {byte}"));
            }
            place(tensor, storage, buffer, |element: [u8; 1]| element);
        }
        (dtype, stored) => return Err(format!("{stored} cannot be loaded as {dtype}")),
    }
    Ok(())
}

/// Row by row: the offset of an element is a sum with one term for each axis, and the terms are tabulated.
fn place<const FROM: usize, const TO: usize>(
    tensor: StoredTensor<'_>,
    storage: &[impl AsRef<[Digit]>],
    buffer: &mut [u8],
    convert: impl Fn([u8; FROM]) -> [u8; TO],
) {
    let (elements, _) = tensor.data.as_chunks::<FROM>();
    let (slots, _) = buffer.as_chunks_mut::<TO>();
    let tables: Vec<Vec<usize>> = tensor
        .shape
        .iter()
        .zip(storage)
        .map(|(size, digits)| (0..*size).map(|position| digit_offset(position, digits.as_ref())).collect())
        .collect();
    let Some((last, outer)) = tables.split_last() else {
        slots[0] = convert(elements[0]);
        return;
    };
    if elements.is_empty() {
        return;
    }
    // Large weights are often kept as they are, and then a row is one copy.
    let contiguous = last.iter().enumerate().all(|(position, offset)| position == *offset);
    let mut position = vec![0; outer.len()];
    for row in elements.chunks_exact(last.len()) {
        let start: usize = outer.iter().zip(&position).map(|(table, at)| table[*at]).sum();
        if contiguous {
            let slots = &mut slots[start..start + row.len()];
            slots.iter_mut().zip(row).for_each(|(slot, element)| *slot = convert(*element));
        } else {
            row.iter().zip(last).for_each(|(element, offset)| slots[start + offset] = convert(*element));
        }
        for (at, table) in position.iter_mut().zip(outer).rev() {
            *at += 1;
            if *at < table.len() {
                break;
            }
            *at = 0;
        }
    }
}

fn digit_offset(position: usize, digits: &[Digit]) -> usize {
    let mut left = position;
    let mut offset = 0;
    for digit in digits {
        let here = if digit.size == usize::MAX { left } else { left % digit.size };
        offset += here * digit.stride;
        left = if digit.size == usize::MAX { 0 } else { left / digit.size };
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: usize = usize::MAX;

    fn digit(size: usize, stride: usize) -> Digit {
        Digit { size, stride }
    }

    #[test]
    fn panels() {
        // [K = 3][N = 5] into panels [N/4][K][4].
        let data: Vec<u8> = (0..15).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let tensor = StoredTensor { dtype: StoredDtype::F32, shape: &[3, 5], data: &data };
        let storage = [vec![digit(REST, 4)], vec![digit(4, 1), digit(REST, 12)]];
        let mut buffer = vec![0; 24 * 4];
        pack(tensor, Dtype::F32, &storage, &mut buffer).unwrap();
        let packed: Vec<f32> = buffer.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
        let expected = [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 4, 0, 0, 0, 9, 0, 0, 0, 14, 0, 0, 0];
        assert_eq!(packed, expected.map(|i| i as f32));
    }

    #[test]
    fn every_element_of_four_axes_finds_its_place() {
        let shape = [2, 3, 4, 5];
        let data: Vec<u8> = (0..120i32).flat_map(|i| i.to_le_bytes()).collect();
        let tensor = StoredTensor { dtype: StoredDtype::I32, shape: &shape, data: &data };
        let plain = [60, 20, 5, 1].map(|stride| vec![digit(REST, stride)]);
        let turned = [1, 2, 6, 24].map(|stride| vec![digit(REST, stride)]);
        let panels = [
            vec![digit(REST, 72)],
            vec![digit(REST, 4)],
            vec![digit(2, 2), digit(REST, 36)],
            vec![digit(2, 1), digit(REST, 12)],
        ];
        for storage in [plain, turned, panels] {
            let mut buffer = vec![0xff; 200 * 4];
            pack(tensor, Dtype::I32, &storage, &mut buffer).unwrap();
            let packed: &[[u8; 4]] = buffer.as_chunks().0;
            for i in 0..120 {
                let position = [i / 60, i / 20 % 3, i / 5 % 4, i % 5];
                let offsets = storage.iter().zip(position).map(|(digits, at)| digit_offset(at, digits));
                assert_eq!(i32::from_ne_bytes(packed[offsets.sum::<usize>()]), i as i32, "{storage:?}");
            }
        }
    }

    #[test]
    fn halves_become_floats() {
        let values = [1.0, -2.5, f32::INFINITY, 0.099975586];
        let as_f16: Vec<u8> = values.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect();
        let as_bf16: Vec<u8> = values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect();
        for (dtype, data) in [(StoredDtype::F16, as_f16), (StoredDtype::BF16, as_bf16)] {
            let mut buffer = vec![0; 16];
            let tensor = StoredTensor { dtype, shape: &[4], data: &data };
            pack(tensor, Dtype::F32, &[[digit(REST, 1)]], &mut buffer).unwrap();
            let found: Vec<f32> =
                buffer.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
            let tolerance = if dtype == StoredDtype::F16 { 0.0 } else { 0.001 };
            assert_eq!(found[..3], values[..3]);
            assert!((found[3] - values[3]).abs() <= tolerance, "{dtype}: {}", found[3]);
        }
    }

    #[test]
    fn scalars_empty_tensors_and_bad_bools() {
        let none: [Vec<Digit>; 0] = [];
        let mut buffer = [0; 4];
        let scalar = StoredTensor { dtype: StoredDtype::I32, shape: &[], data: &7i32.to_le_bytes() };
        pack(scalar, Dtype::I32, &none, &mut buffer).unwrap();
        assert_eq!(i32::from_ne_bytes(buffer), 7);
        for shape in [[0, 3], [3, 0]] {
            let empty = StoredTensor { dtype: StoredDtype::F32, shape: &shape, data: &[] };
            pack(empty, Dtype::F32, &[[digit(REST, 3)], [digit(REST, 1)]], &mut []).unwrap();
        }
        let bad = StoredTensor { dtype: StoredDtype::BOOL, shape: &[3], data: &[0, 1, 2] };
        let message = pack(bad, Dtype::Bool, &[[digit(REST, 1)]], &mut buffer).unwrap_err();
        assert!(message.contains("one of its bytes is 2"), "{message}");
    }

    #[test]
    fn every_type_keeps_its_bits_and_nothing_else_is_converted() {
        let types = [
            (Dtype::F32, StoredDtype::F32),
            (Dtype::F16, StoredDtype::F16),
            (Dtype::BF16, StoredDtype::BF16),
            (Dtype::I32, StoredDtype::I32),
            (Dtype::I64, StoredDtype::I64),
            (Dtype::U8, StoredDtype::U8),
            (Dtype::Bool, StoredDtype::BOOL),
        ];
        for (dtype, stored) in types {
            let bytes: Vec<u8> = match dtype {
                Dtype::Bool => vec![1, 0, 1],
                _ => (0..3 * dtype.bytes()).map(|i| (i * 37) as u8 | 1).collect(),
            };
            let mut buffer = vec![0; bytes.len()];
            let tensor = StoredTensor { dtype: stored, shape: &[3], data: &bytes };
            pack(tensor, dtype, &[[digit(REST, 1)]], &mut buffer).unwrap();
            assert_eq!(buffer, bytes, "{dtype}");
            for (other, _) in types.iter().filter(|(other, _)| *other != dtype) {
                let tensor = StoredTensor { dtype: stored, shape: &[3], data: &bytes };
                let mut buffer = vec![0; 3 * other.bytes()];
                let packed = pack(tensor, *other, &[[digit(REST, 1)]], &mut buffer);
                let widened = *other == Dtype::F32 && dtype.wide() == Dtype::F32;
                assert_eq!(packed.is_ok(), widened, "{dtype} as {other}");
            }
        }
    }
}
