//! What the program passes to a compiled model and gets back: typed views of plain memory. Nothing is copied.

use super::dim::{D, Dim, DimInfo, Dims};
use super::element::Element;
use super::port::Input;
use super::shape::Shape;
use super::value::Tensor;
use crate::error::{Error, Result};
use crate::runtime::{InputRef, OutputRef, Session};
use std::fmt;

/// A borrowed tensor, row-major: the caller's memory on the way in, the session's on the way out.
pub struct View<'a, S: Shape, E: Element = f32> {
    data: &'a [E],
    sizes: S::Sizes,
}

impl<S: Shape, E: Element> Clone for View<'_, S, E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Shape, E: Element> Copy for View<'_, S, E> {}

impl<S: Shape, E: Element> fmt::Debug for View<'_, S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("sizes", &self.sizes.as_ref()).field("data", &self.data).finish()
    }
}

impl<'a, S: Shape, E: Element> View<'a, S, E> {
    /// Memory of these sizes, one for each dimension of the shape.
    pub fn new(data: &'a [E], sizes: S::Sizes) -> Result<Self> {
        let mut needed = Some(1usize);
        for (axis, (dim, size)) in S::DIMS.iter().zip(sizes.as_ref()).enumerate() {
            match dim {
                DimInfo::Free { name, max, .. } if size > max => {
                    return Err(Error::new(format!("{name} is {size}, but its greatest size is {max}")));
                }
                DimInfo::Free { .. } => {}
                _ if *size != dim.max() => {
                    let (shape, want) = (Dims(S::DIMS), dim.max());
                    return Err(Error::new(format!("axis {axis} has size {size}, but {shape} needs {want}")));
                }
                _ => {}
            }
            needed = needed.and_then(|product| product.checked_mul(*size));
        }
        if needed != Some(data.len()) {
            let (given, sizes) = (data.len(), sizes.as_ref());
            return Err(Error::new(format!(
                "{given} elements given, but the sizes {sizes:?} need {}",
                Count(needed)
            )));
        }
        Ok(View { data, sizes })
    }

    /// Memory whose length tells the size of the free dimension, if there is one.
    pub fn flat(data: &'a [E]) -> Result<Self> {
        let shape = Dims(S::DIMS);
        let free: Option<DimInfo> = match S::DIMS.iter().filter(|dim| dim.is_free()).count() {
            0 => None,
            1 => S::DIMS.iter().copied().find(|dim| dim.is_free()),
            _ => {
                return Err(Error::new(format!(
                    "{shape} has several free dimensions, so their sizes cannot be told from the number of elements: pass \
                     `View::new(data, sizes)`"
                )));
            }
        };
        let fixed = S::DIMS.iter().filter_map(|dim| dim.fixed()).product::<usize>();
        let length = data.len();
        let matches = match free {
            None => length == fixed,
            // Any size of the free dimension would do; take none.
            Some(_) if fixed == 0 => length == 0,
            Some(_) => length.is_multiple_of(fixed),
        };
        if !matches {
            let multiple = if free.is_some() { "a multiple of " } else { "" };
            return Err(Error::new(format!("{length} elements given, but {shape} needs {multiple}{fixed}")));
        }
        let mut sizes = S::Sizes::default();
        for (size, dim) in sizes.as_mut().iter_mut().zip(S::DIMS) {
            *size = dim.fixed().unwrap_or(length.checked_div(fixed).unwrap_or(0));
        }
        View::new(data, sizes)
    }

    /// The sizes, one for each dimension.
    pub fn sizes(&self) -> S::Sizes {
        self.sizes
    }

    /// All elements, row-major.
    pub fn as_slice(&self) -> &'a [E] {
        self.data
    }

    /// As the runtime takes it.
    #[doc(hidden)]
    pub fn as_input(&self) -> InputRef<'_> {
        InputRef { data: bytes::of(self.data), sizes: self.sizes.as_ref() }
    }

    fn of_output(output: OutputRef<'a>) -> Self {
        let mut sizes = S::Sizes::default();
        sizes.as_mut().copy_from_slice(output.sizes);
        View { data: bytes::elements(output.data), sizes }
    }
}

impl<'a, A: Dim, const N: usize, E: Element> View<'a, (A, D<N>), E> {
    /// The rows of a matrix.
    pub fn rows(&self) -> &'a [[E; N]] {
        self.data.as_chunks().0
    }
}

impl<'a, E: Element> View<'a, (), E> {
    /// The one element.
    pub fn value(&self) -> E {
        self.data[0]
    }
}

struct Count(Option<usize>);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(count) => write!(f, "{count}"),
            None => f.write_str("more than memory can hold"),
        }
    }
}

/// The results of a run, taken one after the other.
pub struct Outputs<'a> {
    session: &'a Session,
    taken: usize,
}

impl<'a> Outputs<'a> {
    /// All results of the last run.
    pub fn new(session: &'a Session) -> Self {
        Outputs { session, taken: 0 }
    }

    pub(super) fn next<S: Shape, E: Element>(&mut self) -> View<'a, S, E> {
        let index = self.taken;
        self.taken += 1;
        View::of_output(self.session.output(index))
    }
}

/// What can be passed to `run` where the model takes the tensor `T`: a slice, `Vec`, array or [`View`]. Never a copy.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed where the model takes `{T}`",
    label = "expected a slice, `&Vec`, `&[[E; N]; M]` or `View` of that shape and element type"
)]
pub trait Feed<'a, T: Input> {
    /// The memory with its sizes.
    fn feed(self) -> Result<View<'a, T::Shape, T::Element>>;
}

/// [`Feed::feed`]; an error names the input.
#[doc(hidden)]
pub fn feed<'a, T: Input>(name: &str, value: impl Feed<'a, T>) -> Result<View<'a, T::Shape, T::Element>> {
    value.feed().map_err(|error| Error::new(format!("input `{name}`: {error}")))
}

macro_rules! feed {
    ($([$($generic:tt)*] $type:ty => $shape:ty, |$value:ident| $view:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<'a, $($generic)*, E: Element> Feed<'a, Tensor<$shape, E>> for $type {
            fn feed(self) -> Result<View<'a, $shape, E>> {
                let $value = self;
                $view
            }
        }
    )*};
}

feed! {
    [S: Shape] View<'a, S, E> => S, |view| Ok(view);
    [S: Shape] &'a [E] => S, |data| View::flat(data);
    [S: Shape] &'a Vec<E> => S, |data| View::flat(data);
    [A: Dim, const N: usize] &'a [[E; N]] => (A, D<N>), |rows| matrix(rows);
    [A: Dim, const N: usize] &'a Vec<[E; N]> => (A, D<N>), |rows| matrix(rows);
    [A: Dim, const M: usize, const N: usize] &'a [[E; N]; M] => (A, D<N>), |rows| matrix(rows);
    [A: Dim, const N: usize] &'a [E; N] => (A,), |data| View::new(data, [N]);
}

#[diagnostic::do_not_recommend]
impl<'a, E: Element> Feed<'a, Tensor<(), E>> for &'a E {
    fn feed(self) -> Result<View<'a, (), E>> {
        View::new(std::slice::from_ref(self), [])
    }
}

/// Rows of a matrix: their number is known also when they are empty.
fn matrix<A: Dim, const N: usize, E: Element>(rows: &[[E; N]]) -> Result<View<'_, (A, D<N>), E>> {
    View::new(rows.as_flattened(), [rows.len(), N])
}

/// Elements as bytes and back.
mod bytes {
    use super::Element;

    pub fn of<E: Element>(elements: &[E]) -> &[u8] {
        // SAFETY: `Element` is sealed: numbers and bool have no padding, so all their bytes are initialised.
        unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
    }

    pub fn elements<E: Element>(bytes: &[u8]) -> &[E] {
        if bytes.is_empty() {
            return &[];
        }
        assert!(bytes.as_ptr().cast::<E>().is_aligned(), "the runtime aligns its outputs");
        // SAFETY: aligned as checked; the length is cut to whole elements. Every bit pattern is a number, also of f16
        // and bf16, which are a u16 each; the runtime's outputs of bool hold the bytes 0 and 1 only.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<E>()) }
    }
}
