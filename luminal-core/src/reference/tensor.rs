//! Dense tensors with typed elements.

use crate::dtype::Dtype;
use crate::error::{Error, Result};

/// Elements of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// IEEE 754 binary32.
    F32(Vec<f32>),
    /// Two's complement 32-bit integers.
    I32(Vec<i32>),
    /// Truth values.
    Bool(Vec<bool>),
}

impl From<Vec<f32>> for Data {
    fn from(elements: Vec<f32>) -> Data {
        Data::F32(elements)
    }
}

impl From<Vec<i32>> for Data {
    fn from(elements: Vec<i32>) -> Data {
        Data::I32(elements)
    }
}

impl From<Vec<bool>> for Data {
    fn from(elements: Vec<bool>) -> Data {
        Data::Bool(elements)
    }
}

impl Data {
    /// No elements of this type.
    pub fn empty(dtype: Dtype) -> Data {
        match dtype {
            Dtype::F32 => Data::F32(vec![]),
            Dtype::I32 => Data::I32(vec![]),
            Dtype::Bool => Data::Bool(vec![]),
        }
    }

    /// The same element many times. The value is exact in the type, as in [`crate::graph::Op::Const`].
    pub fn filled(dtype: Dtype, value: f64, len: usize) -> Data {
        match dtype {
            Dtype::F32 => Data::F32(vec![value as f32; len]),
            Dtype::I32 => Data::I32(vec![value as i32; len]),
            Dtype::Bool => Data::Bool(vec![value != 0.0; len]),
        }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        match self {
            Data::F32(_) => Dtype::F32,
            Data::I32(_) => Dtype::I32,
            Data::Bool(_) => Dtype::Bool,
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Data::F32(elements) => elements.len(),
            Data::I32(elements) => elements.len(),
            Data::Bool(elements) => elements.len(),
        }
    }

    /// True if there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements, if they are `f32`.
    pub fn as_f32(&self) -> Option<&[f32]> {
        if let Data::F32(elements) = self { Some(elements) } else { None }
    }

    /// The elements, if they are `i32`.
    pub fn as_i32(&self) -> Option<&[i32]> {
        if let Data::I32(elements) = self { Some(elements) } else { None }
    }

    /// The elements, if they are `bool`.
    pub fn as_bool(&self) -> Option<&[bool]> {
        if let Data::Bool(elements) = self { Some(elements) } else { None }
    }

    /// The elements at these positions.
    pub(super) fn at(&self, positions: &[usize]) -> Data {
        fn pick<T: Copy>(elements: &[T], positions: &[usize]) -> Vec<T> {
            positions.iter().map(|position| elements[*position]).collect()
        }
        match self {
            Data::F32(elements) => Data::F32(pick(elements, positions)),
            Data::I32(elements) => Data::I32(pick(elements, positions)),
            Data::Bool(elements) => Data::Bool(pick(elements, positions)),
        }
    }

    /// Adds elements of the same type behind.
    pub(super) fn append(&mut self, more: Data) {
        match (self, more) {
            (Data::F32(elements), Data::F32(mut more)) => elements.append(&mut more),
            (Data::I32(elements), Data::I32(mut more)) => elements.append(&mut more),
            (Data::Bool(elements), Data::Bool(mut more)) => elements.append(&mut more),
            (elements, more) => panic!("{} appended to {}", more.dtype(), elements.dtype()),
        }
    }

    /// Makes room for this many elements in all; false if there is not enough memory.
    pub(super) fn reserve(&mut self, len: usize) -> bool {
        match self {
            Data::F32(elements) => elements.try_reserve_exact(len).is_ok(),
            Data::I32(elements) => elements.try_reserve_exact(len).is_ok(),
            Data::Bool(elements) => elements.try_reserve_exact(len).is_ok(),
        }
    }
}

/// A dense tensor, elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Sizes, outermost axis first.
    pub shape: Vec<usize>,
    /// As many elements as the product of the sizes.
    pub data: Data,
}

impl Tensor {
    /// A tensor of this shape with these elements (a vector of `f32`, `i32` or `bool`) in row-major order.
    pub fn new(shape: &[usize], data: impl Into<Data>) -> Result<Tensor> {
        let data = data.into();
        let needed = shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        if needed != Some(data.len()) {
            return Err(Error::new(format!(
                "a tensor of shape {shape:?} cannot have {} elements",
                data.len()
            )));
        }
        Ok(Tensor { shape: shape.to_vec(), data })
    }

    /// A tensor of rank 0.
    pub fn scalar<T>(value: T) -> Tensor
    where
        Vec<T>: Into<Data>,
    {
        Tensor { shape: vec![], data: vec![value].into() }
    }

    /// A tensor with one axis.
    pub fn vector(data: impl Into<Data>) -> Tensor {
        let data = data.into();
        Tensor { shape: vec![data.len()], data }
    }

    /// A tensor of zeros; false for `bool`.
    pub fn zeros(shape: &[usize], dtype: Dtype) -> Tensor {
        Tensor { shape: shape.to_vec(), data: Data::filled(dtype, 0.0, shape.iter().product()) }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.data.dtype()
    }

    /// The elements, if they are `f32`.
    pub fn as_f32(&self) -> Option<&[f32]> {
        self.data.as_f32()
    }

    /// The elements, if they are `i32`.
    pub fn as_i32(&self) -> Option<&[i32]> {
        self.data.as_i32()
    }

    /// The elements, if they are `bool`.
    pub fn as_bool(&self) -> Option<&[bool]> {
        self.data.as_bool()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_and_elements_must_agree() {
        let tensor = Tensor::new(&[2, 3], vec![1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(tensor.dtype(), Dtype::I32);
        assert_eq!(tensor.as_i32(), Some(&[1, 2, 3, 4, 5, 6][..]));
        assert_eq!(tensor.as_f32(), None);
        let error = Tensor::new(&[2, 3], vec![1.0f32]).unwrap_err();
        assert_eq!(error.to_string(), "a tensor of shape [2, 3] cannot have 1 elements");
        assert!(Tensor::new(&[usize::MAX, 2], vec![true]).is_err());
        assert!(Tensor::new(&[0, 3], Vec::<bool>::new()).is_ok());
    }

    #[test]
    fn constructors_agree() {
        assert_eq!(Tensor::scalar(2.5f32), Tensor::new(&[], vec![2.5f32]).unwrap());
        assert_eq!(Tensor::vector(vec![true, false]), Tensor::new(&[2], vec![true, false]).unwrap());
        assert_eq!(Tensor::zeros(&[2, 2], Dtype::Bool).as_bool(), Some(&[false; 4][..]));
        assert_eq!(Tensor::zeros(&[2, 0], Dtype::F32).data.len(), 0);
    }
}
