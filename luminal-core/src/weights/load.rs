//! What a parameter of a model is loaded from: a tensor of the file as it is, a plane of a quantised one, or the numbers
//! of a quantised one.

use super::blocks::{BlockFormat, PlaneName};
use super::decode::decode;
use super::{Entry, Error, Result, StoredDtype, StoredTensor, Weights, quoted};
use crate::dtype::Dtype;
use crate::plan::Param;
use std::borrow::Cow;

/// A tensor as a parameter wants it: a view of the file, or made from it.
#[derive(Clone, Debug)]
pub(crate) struct Source<'a> {
    dtype: StoredDtype,
    shape: Cow<'a, [usize]>,
    data: Cow<'a, [u8]>,
}

impl Source<'_> {
    pub fn tensor(&self) -> StoredTensor<'_> {
        StoredTensor { dtype: self.dtype, shape: &self.shape, data: &self.data }
    }
}

impl Weights {
    /// Quantised tensors may be loaded where a model asks for floats: they are dequantised then, which takes up to eight
    /// times the memory. Without this they are an error that says how to declare them so that they stay packed.
    ///
    /// ```
    /// # fn main() -> luminal_core::error::Result<()> {
    /// use luminal_core::weights::{StoredDtype, Weights};
    ///
    /// let weights = Weights::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/weights/formats.gguf"))?;
    /// let weights = weights.dequantise();
    /// // In the file nothing changes.
    /// assert_eq!(weights.tensor("Q4_0").unwrap().dtype, StoredDtype::Q4_0);
    /// assert_eq!(weights.values("Q4_0")?.len(), 3 * 512);
    /// # Ok(())
    /// # }
    /// ```
    pub fn dequantise(mut self) -> Weights {
        self.dequantise = true;
        self
    }

    /// The numbers of a tensor of floats or of a quantised one, row-major. For a look at a file; models do not need it.
    ///
    /// ```
    /// # fn main() -> luminal_core::error::Result<()> {
    /// use luminal_core::weights::Weights;
    ///
    /// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/weights/plain.safetensors");
    /// assert_eq!(Weights::open(path)?.values("w")?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// No tensor of this name, or one of another type.
    pub fn values(&self, name: &str) -> Result<Vec<f32>> {
        let failed = |rule: String| {
            Error::new(format!("weight file `{}`: tensor {}: {rule}", self.name, quoted(name)))
        };
        let tensor = self.tensor(name).ok_or_else(|| failed("there is none of this name".into()))?;
        let data = tensor.data;
        let mut values = vec![];
        match tensor.dtype {
            StoredDtype::F32 => values.extend(data.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x))),
            StoredDtype::F16 => {
                values.extend(data.as_chunks().0.iter().map(|x| half::f16::from_le_bytes(*x).to_f32()));
            }
            StoredDtype::BF16 => {
                values.extend(data.as_chunks().0.iter().map(|x| half::bf16::from_le_bytes(*x).to_f32()));
            }
            dtype => {
                decode(dtype, data, &mut values)
                    .ok_or_else(|| failed(format!("its type {dtype} has no numbers that can be read")))?;
            }
        }
        Ok(values)
    }

    /// What a parameter is loaded from, under its own name or that of a field that is tied to it; `None` if there is
    /// nothing. That it fits is checked before.
    pub(crate) fn source(&self, param: &Param) -> Option<Source<'_>> {
        let mut names = std::iter::once(&param.name).chain(param.aliases.iter());
        names.find_map(|name| self.source_of(name, param.dtype))
    }

    fn source_of(&self, name: &str, dtype: Dtype) -> Option<Source<'_>> {
        if let Some(entry) = self.entries.get(name) {
            let tensor = self.tensor(name)?;
            let shape = Cow::Borrowed(&entry.shape[..]);
            if self.is_dequantised(entry, dtype) {
                let values = self.values(name).ok()?;
                let data = values.iter().flat_map(|x| x.to_le_bytes()).collect();
                return Some(Source { dtype: StoredDtype::F32, shape, data: Cow::Owned(data) });
            }
            return Some(Source { dtype: tensor.dtype, shape, data: Cow::Borrowed(tensor.data) });
        }
        let plane = PlaneName::parse(name)?;
        let tensor = self.tensor(plane.tensor).filter(|tensor| tensor.dtype == plane.format.dtype)?;
        let shape = plane.format.plane_shape(tensor.shape, plane.plane);
        let data = Cow::Owned(plane.format.plane_bytes(plane.plane, tensor.data));
        Some(Source { dtype: plane.plane.dtype, shape: Cow::Owned(shape), data })
    }

    /// Whether a parameter of this type is loaded from this tensor by dequantising it.
    pub(super) fn is_dequantised(&self, entry: &Entry, dtype: Dtype) -> bool {
        self.dequantise && dtype == Dtype::F32 && BlockFormat::of(entry.dtype).is_some()
    }
}
