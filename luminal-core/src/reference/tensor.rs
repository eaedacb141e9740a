//! Dense tensors with typed elements.

use crate::dtype::{Dtype, nearest_bf16, nearest_f16};
use crate::error::{Error, Result};
use half::{bf16, f16};

/// Does the same with the elements of every type.
macro_rules! each_type {
    ($data:expr, $elements:ident => $work:expr) => {
        match $data {
            Data::F32($elements) => $work,
            Data::F16($elements) => $work,
            Data::BF16($elements) => $work,
            Data::I32($elements) => $work,
            Data::I64($elements) => $work,
            Data::U8($elements) => $work,
            Data::Bool($elements) => $work,
        }
    };
}

/// Does the same with two lists of elements of one type; what comes of it has that type too.
macro_rules! same_type {
    ($data:expr, |$x:ident, $y:ident| $work:expr) => {
        match $data {
            (Data::F32($x), Data::F32($y)) => Data::F32($work),
            (Data::F16($x), Data::F16($y)) => Data::F16($work),
            (Data::BF16($x), Data::BF16($y)) => Data::BF16($work),
            (Data::I32($x), Data::I32($y)) => Data::I32($work),
            (Data::I64($x), Data::I64($y)) => Data::I64($work),
            (Data::U8($x), Data::U8($y)) => Data::U8($work),
            (Data::Bool($x), Data::Bool($y)) => Data::Bool($work),
            (x, y) => unreachable!("{} and {} are not of one type", x.dtype(), y.dtype()),
        }
    };
}
pub(super) use {each_type, same_type};

/// The variants, and what is the same for each of them but for its name.
macro_rules! element_types {
    ($($(#[$doc:meta])* $Variant:ident($type:ty), $as_type:ident;)*) => {
        /// Elements of one type.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Data {
            $($(#[$doc])* $Variant(Vec<$type>),)*
        }

        $(
            impl From<Vec<$type>> for Data {
                fn from(elements: Vec<$type>) -> Data {
                    Data::$Variant(elements)
                }
            }
        )*

        impl Data {
            /// No elements of this type.
            pub fn empty(dtype: Dtype) -> Data {
                match dtype {
                    $(Dtype::$Variant => Data::$Variant(vec![]),)*
                }
            }

            /// The type of the elements.
            pub fn dtype(&self) -> Dtype {
                match self {
                    $(Data::$Variant(_) => Dtype::$Variant,)*
                }
            }

            $(
                /// The elements, if they are of this type.
                pub fn $as_type(&self) -> Option<&[$type]> {
                    if let Data::$Variant(elements) = self { Some(elements) } else { None }
                }
            )*

            /// Adds elements of the same type behind.
            pub(super) fn append(&mut self, more: Data) {
                match (self, more) {
                    $((Data::$Variant(elements), Data::$Variant(mut more)) => elements.append(&mut more),)*
                    (elements, more) => panic!("{} appended to {}", more.dtype(), elements.dtype()),
                }
            }

            /// The elements at these positions.
            pub(super) fn at(&self, positions: &[usize]) -> Data {
                fn pick<T: Copy>(elements: &[T], positions: &[usize]) -> Vec<T> {
                    positions.iter().map(|position| elements[*position]).collect()
                }
                match self {
                    $(Data::$Variant(elements) => Data::$Variant(pick(elements, positions)),)*
                }
            }
        }

        impl Tensor {
            $(
                /// The elements, if they are of this type.
                pub fn $as_type(&self) -> Option<&[$type]> {
                    self.data.$as_type()
                }
            )*
        }
    };
}

element_types! {
    /// IEEE 754 binary32.
    F32(f32), as_f32;
    /// IEEE 754 binary16.
    F16(f16), as_f16;
    /// The upper half of a binary32.
    BF16(bf16), as_bf16;
    /// Two's complement 32-bit integers.
    I32(i32), as_i32;
    /// Two's complement 64-bit integers.
    I64(i64), as_i64;
    /// Unsigned 8-bit integers.
    U8(u8), as_u8;
    /// Truth values.
    Bool(bool), as_bool;
}

impl Data {
    /// The same element many times. The value is exact in the type, as in [`crate::graph::Op::Const`].
    pub fn filled(dtype: Dtype, value: f64, len: usize) -> Data {
        match dtype {
            Dtype::F32 => Data::F32(vec![value as f32; len]),
            Dtype::F16 => Data::F16(vec![nearest_f16(value); len]),
            Dtype::BF16 => Data::BF16(vec![nearest_bf16(value); len]),
            Dtype::I32 => Data::I32(vec![value as i32; len]),
            Dtype::I64 => Data::I64(vec![value as i64; len]),
            Dtype::U8 => Data::U8(vec![value as u8; len]),
            Dtype::Bool => Data::Bool(vec![value != 0.0; len]),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        each_type!(self, elements => elements.len())
    }

    /// True if there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as the runtime takes and gives them: in the machine's byte order, without gaps.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Data::F32(elements) => elements.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            Data::F16(elements) => elements.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            Data::BF16(elements) => elements.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            Data::I32(elements) => elements.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            Data::I64(elements) => elements.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            Data::U8(elements) => elements.clone(),
            Data::Bool(elements) => elements.iter().map(|x| u8::from(*x)).collect(),
        }
    }

    /// The inverse of [`Data::to_bytes`]. Bytes behind the last whole element are dropped; a `bool` is true unless 0.
    pub fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Data {
        fn elements<const N: usize, T>(bytes: &[u8], element: impl Fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks::<N>().0.iter().map(|bytes| element(*bytes)).collect()
        }
        match dtype {
            Dtype::F32 => Data::F32(elements(bytes, f32::from_ne_bytes)),
            Dtype::F16 => Data::F16(elements(bytes, f16::from_ne_bytes)),
            Dtype::BF16 => Data::BF16(elements(bytes, bf16::from_ne_bytes)),
            Dtype::I32 => Data::I32(elements(bytes, i32::from_ne_bytes)),
            Dtype::I64 => Data::I64(elements(bytes, i64::from_ne_bytes)),
            Dtype::U8 => Data::U8(bytes.to_vec()),
            Dtype::Bool => Data::Bool(bytes.iter().map(|byte| *byte != 0).collect()),
        }
    }

    /// Makes room for this many elements in all; false if there is not enough memory.
    pub(super) fn reserve(&mut self, len: usize) -> bool {
        each_type!(self, elements => elements.try_reserve_exact(len).is_ok())
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
    /// A tensor of this shape with these elements (a vector of an element type) in row-major order.
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

    #[test]
    fn bytes_and_back() {
        for dtype in Dtype::ALL {
            let data = Data::filled(dtype, 1.0, 3);
            assert_eq!((data.dtype(), data.len()), (dtype, 3));
            let bytes = data.to_bytes();
            assert_eq!(bytes.len(), 3 * dtype.bytes());
            assert_eq!(Data::from_bytes(dtype, &bytes), data);
            assert!(Data::empty(dtype).is_empty());
        }
        assert_eq!(Data::from(vec![i64::MIN, -2]).to_bytes()[8..], (-2i64).to_ne_bytes());
    }
}
