//! Elements of any type as numbers: test data on the way in, results on the way out.

use half::{bf16, f16};
use luminal::reference::{Data, DenseTensor as Tensor};
use luminal::rt::Dtype;
use luminal::{Error, Result};

/// Elements, exact: `f64` holds every float of our types, `i128` every integer.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    Floats(Vec<f64>),
    Integers(Vec<i128>),
}

impl Numbers {
    pub fn len(&self) -> usize {
        match self {
            Numbers::Floats(x) => x.len(),
            Numbers::Integers(x) => x.len(),
        }
    }
}

/// The elements of a tensor. Truth values are 0 and 1.
pub fn numbers(data: &Data) -> Numbers {
    fn floats<T: Copy>(x: &[T], float: impl Fn(T) -> f64) -> Numbers {
        Numbers::Floats(x.iter().map(|x| float(*x)).collect())
    }
    fn integers<T: Copy + Into<i128>>(x: &[T]) -> Numbers {
        Numbers::Integers(x.iter().map(|x| (*x).into()).collect())
    }
    match data {
        Data::F32(x) => floats(x, f64::from),
        Data::F16(x) => floats(x, f16::to_f64),
        Data::BF16(x) => floats(x, bf16::to_f64),
        Data::I32(x) => integers(x),
        Data::I64(x) => integers(x),
        Data::U8(x) => integers(x),
        Data::Bool(x) => Numbers::Integers(x.iter().map(|x| i128::from(*x)).collect()),
    }
}

/// A tensor of these elements. Floats are rounded to the type; an integer that is not in the type is an error.
pub fn tensor(dtype: Dtype, shape: &[usize], numbers: &Numbers) -> Result<Tensor> {
    let data = match (dtype, numbers) {
        (Dtype::F32, Numbers::Floats(x)) => Data::F32(x.iter().map(|x| *x as f32).collect()),
        (Dtype::F16, Numbers::Floats(x)) => Data::F16(x.iter().map(|x| f16::from_f64(*x)).collect()),
        (Dtype::BF16, Numbers::Floats(x)) => Data::BF16(x.iter().map(|x| bf16::from_f64(*x)).collect()),
        (Dtype::F32 | Dtype::F16 | Dtype::BF16, Numbers::Integers(x)) => {
            return tensor(dtype, shape, &Numbers::Floats(x.iter().map(|x| *x as f64).collect()));
        }
        (Dtype::I32, Numbers::Integers(x)) => Data::I32(exact(x, dtype)?),
        (Dtype::I64, Numbers::Integers(x)) => Data::I64(exact(x, dtype)?),
        (Dtype::U8, Numbers::Integers(x)) => Data::U8(exact(x, dtype)?),
        (Dtype::Bool, Numbers::Integers(x)) => Data::Bool(x.iter().map(|x| *x != 0).collect()),
        (_, Numbers::Floats(x)) if x.iter().all(|x| x.fract() == 0.0) => {
            return tensor(dtype, shape, &Numbers::Integers(x.iter().map(|x| *x as i128).collect()));
        }
        (_, Numbers::Floats(_)) => return Err(Error::new(format!("{dtype} does not hold fractions"))),
    };
    Tensor::new(shape, data)
}

fn exact<T: TryFrom<i128>>(x: &[i128], dtype: Dtype) -> Result<Vec<T>> {
    let one = |x: &i128| T::try_from(*x).map_err(|_| Error::new(format!("{x} is not a number of {dtype}")));
    x.iter().map(one).collect()
}

/// The first element of `computed` that is not as expected, in words. Floats agree within `absolute + relative *
/// |expected|`, NaN with NaN, infinities with themselves; integers are equal.
pub fn difference(expected: &Numbers, computed: &Numbers, absolute: f64, relative: f64) -> Option<String> {
    if expected.len() != computed.len() {
        return Some(format!("{} elements, expected {}", computed.len(), expected.len()));
    }
    let first = match (expected, computed) {
        (Numbers::Integers(x), Numbers::Integers(y)) => {
            let position = x.iter().zip(y).position(|(x, y)| x != y);
            position.map(|i| (i, x[i].to_string(), y[i].to_string()))
        }
        (Numbers::Floats(x), Numbers::Floats(y)) => {
            let position = x.iter().zip(y).position(|(x, y)| !agree(*x, *y, absolute, relative));
            position.map(|i| (i, format!("{:?}", x[i]), format!("{:?}", y[i])))
        }
        (Numbers::Integers(_), _) => return Some("floats instead of integers".into()),
        (Numbers::Floats(_), _) => return Some("integers instead of floats".into()),
    };
    first.map(|(i, expected, computed)| format!("element {i} is {computed} instead of {expected}"))
}

fn agree(expected: f64, computed: f64, absolute: f64, relative: f64) -> bool {
    if expected.is_nan() || computed.is_nan() {
        return expected.is_nan() && computed.is_nan();
    }
    expected == computed
        || expected.is_finite() && (expected - computed).abs() <= absolute + relative * expected.abs()
}
