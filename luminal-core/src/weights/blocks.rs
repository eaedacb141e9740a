//! Quantised formats as data: what a block holds and where.
//!
//! A model keeps a quantised tensor packed, as one tensor for each part of the blocks: scales together, quants together.
//! These are its *planes*. In a graph they are parameters named `tensor@FORMAT.plane`, such as `fc.weight@Q4_0.qs`. What
//! the numbers are is not said here: that is a composition of primitives on planes (`tensor::nn`), and for tools and
//! tests [`super::decode`].

use super::stored::StoredDtype;

/// A part of every block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// Its name in the definition of the format.
    pub name: &'static str,
    /// First byte in the block.
    pub offset: usize,
    /// Element type: `F16` or `U8`.
    pub dtype: StoredDtype,
    /// Elements in one block. A single one has no axis of its own.
    pub count: usize,
}

/// A quantised format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockFormat {
    /// Its name, and the size of its blocks.
    pub dtype: StoredDtype,
    /// All of a block, in the order of the bytes.
    pub planes: &'static [Plane],
}

const fn f16(name: &'static str, offset: usize) -> Plane {
    Plane { name, offset, dtype: StoredDtype::F16, count: 1 }
}

const fn u8s(name: &'static str, offset: usize, count: usize) -> Plane {
    Plane { name, offset, dtype: StoredDtype::U8, count }
}

/// The formats that models can be declared with. Source: `ggml-common.h` of github.com/ggml-org/ggml.
pub const BLOCK_FORMATS: [BlockFormat; 8] = [
    BlockFormat { dtype: StoredDtype::Q4_0, planes: &[f16("d", 0), u8s("qs", 2, 16)] },
    BlockFormat { dtype: StoredDtype::Q4_1, planes: &[f16("d", 0), f16("m", 2), u8s("qs", 4, 16)] },
    BlockFormat { dtype: StoredDtype::Q5_0, planes: &[f16("d", 0), u8s("qh", 2, 4), u8s("qs", 6, 16)] },
    BlockFormat {
        dtype: StoredDtype::Q5_1,
        planes: &[f16("d", 0), f16("m", 2), u8s("qh", 4, 4), u8s("qs", 8, 16)],
    },
    BlockFormat { dtype: StoredDtype::Q8_0, planes: &[f16("d", 0), u8s("qs", 2, 32)] },
    BlockFormat {
        dtype: StoredDtype::Q4_K,
        planes: &[f16("d", 0), f16("dmin", 2), u8s("scales", 4, 12), u8s("qs", 16, 128)],
    },
    BlockFormat {
        dtype: StoredDtype::Q5_K,
        planes: &[f16("d", 0), f16("dmin", 2), u8s("scales", 4, 12), u8s("qh", 16, 32), u8s("qs", 48, 128)],
    },
    BlockFormat {
        dtype: StoredDtype::Q6_K,
        planes: &[u8s("ql", 0, 128), u8s("qh", 128, 64), u8s("scales", 192, 16), f16("d", 208)],
    },
];

impl BlockFormat {
    /// The format of this stored type, if models can be declared with it.
    pub fn of(dtype: StoredDtype) -> Option<&'static BlockFormat> {
        BLOCK_FORMATS.iter().find(|format| format.dtype == dtype)
    }

    /// The name of the parameter that holds a plane of a tensor.
    pub fn plane_name(&self, tensor: &str, plane: &Plane) -> String {
        format!("{tensor}@{}.{}", self.dtype, plane.name)
    }

    /// Sizes of a plane of a tensor of this shape: blocks in place of elements, then the elements of one block. The rows
    /// must be whole blocks.
    pub fn plane_shape(&self, shape: &[usize], plane: &Plane) -> Vec<usize> {
        let mut shape = shape.to_vec();
        if let Some(row) = shape.last_mut() {
            *row /= self.dtype.block().0;
        }
        if plane.count > 1 {
            shape.push(plane.count);
        }
        shape
    }

    /// The bytes of a plane, put together from all blocks. Bytes that are no whole block at the end are left out.
    ///
    /// ```
    /// use luminal_core::weights::{BlockFormat, StoredDtype};
    ///
    /// let format = BlockFormat::of(StoredDtype::Q4_0).unwrap();
    /// let two_blocks: Vec<u8> = (0..36).collect();
    /// assert_eq!(format.plane_bytes(&format.planes[0], &two_blocks), [0, 1, 18, 19]);
    /// ```
    pub fn plane_bytes(&self, plane: &Plane, data: &[u8]) -> Vec<u8> {
        let block = self.dtype.block().1;
        let (from, to) = (plane.offset, plane.offset + plane.count * plane.dtype.block().1);
        let mut bytes = Vec::with_capacity(data.len() / block * (to - from));
        for block in data.chunks_exact(block) {
            bytes.extend(&block[from..to]);
        }
        bytes
    }
}

/// A parameter that is a plane of a stored tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlaneName<'a> {
    /// The tensor in the file.
    pub tensor: &'a str,
    pub format: &'static BlockFormat,
    pub plane: &'static Plane,
}

impl<'a> PlaneName<'a> {
    /// Takes a parameter's name to pieces; `None` for an ordinary one.
    pub fn parse(name: &'a str) -> Option<PlaneName<'a>> {
        let (tensor, rest) = name.rsplit_once('@')?;
        let (format, plane) = rest.split_once('.')?;
        let format = BLOCK_FORMATS.iter().find(|known| known.dtype.to_string() == format)?;
        let plane = format.planes.iter().find(|known| known.name == plane)?;
        Some(PlaneName { tensor, format, plane })
    }

    /// The shape that the whole tensor must have, from that of the plane.
    pub fn tensor_shape(self, plane_shape: &[usize]) -> Vec<usize> {
        let rank = plane_shape.len() - usize::from(self.plane.count > 1 && !plane_shape.is_empty());
        let mut shape = plane_shape[..rank].to_vec();
        if let Some(row) = shape.last_mut() {
            *row *= self.format.dtype.block().0;
        }
        shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_the_whole_block() {
        for format in &BLOCK_FORMATS {
            let mut at = 0;
            for plane in format.planes {
                assert_eq!(plane.offset, at, "{} of {}", plane.name, format.dtype);
                at += plane.count * plane.dtype.block().1;
                let name = format.plane_name("a.b@c", plane);
                let parsed = PlaneName::parse(&name).unwrap();
                assert_eq!((parsed.tensor, parsed.format, parsed.plane), ("a.b@c", format, plane));
                let shape = [3, 2, 512];
                assert_eq!(parsed.tensor_shape(&format.plane_shape(&shape, plane)), shape);
            }
            assert_eq!(at, format.dtype.block().1, "{}", format.dtype);
        }
    }

    #[test]
    fn other_names_are_no_planes() {
        for name in ["w", "w@Q4_0", "w@Q4_0.qh", "w@Q3_K.qs", "w.qs", "@", "w@.d"] {
            assert_eq!(PlaneName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn planes_have_all_bytes() {
        let data: Vec<u8> = (0..40).collect();
        let PlaneName { format, plane, .. } = PlaneName::parse("w@Q4_0.qs").unwrap();
        let quants: Vec<u8> = (2..18).chain(20..36).collect();
        assert_eq!(format.plane_bytes(plane, &data), quants);
    }
}
