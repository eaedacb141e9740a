//! Dimensions as types: `D<N>` (fixed), `One` (kept by a reduction, stretches) and structs marked `#[dim(max = N)]`.

use std::fmt;

/// A dimension as a value: what tracing and messages work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DimInfo {
    /// The axis of [`One`]. It holds one element and has no axis in the graph.
    One,
    /// A size that is known when the model is built.
    Fixed(usize),
    /// A size that is known at run time only.
    Free {
        /// The name of the user's type.
        name: &'static str,
        /// The module of the user's type: two types of one name are not one dimension.
        module: &'static str,
        /// Greatest size.
        max: usize,
    },
}

impl DimInfo {
    /// The size, or the bound of a free dimension.
    pub const fn max(self) -> usize {
        match self {
            DimInfo::One => 1,
            DimInfo::Fixed(size) => size,
            DimInfo::Free { max, .. } => max,
        }
    }

    /// The size if it is known when the model is built.
    pub const fn fixed(self) -> Option<usize> {
        match self {
            DimInfo::One => Some(1),
            DimInfo::Fixed(size) => Some(size),
            DimInfo::Free { .. } => None,
        }
    }

    /// True for a size that is known at run time only.
    pub const fn is_free(self) -> bool {
        matches!(self, DimInfo::Free { .. })
    }
}

impl fmt::Display for DimInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DimInfo::One => f.write_str("1"),
            DimInfo::Fixed(size) => write!(f, "{size}"),
            DimInfo::Free { name, .. } => f.write_str(name),
        }
    }
}

/// Prints a shape as messages show it: `[Batch, 28, 28]`.
pub(crate) struct Dims<'a>(pub &'a [DimInfo]);

impl fmt::Display for Dims<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (axis, dim) in self.0.iter().enumerate() {
            let comma = if axis == 0 { "" } else { ", " };
            write!(f, "{comma}{dim}")?;
        }
        f.write_str("]")
    }
}

/// One dimension of a shape.
///
/// The supertraits let generic code write `x + x` and `x - x.max_keep(axis)` with no bound but `D: Dim`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a dimension",
    label = "use `D<N>` or a struct marked `#[dim(max = N)]`"
)]
pub trait Dim: Copy + 'static + Fits<Self> + Fits<One> {
    /// The dimension as a value.
    const INFO: DimInfo;
}

/// `R` stretches to `Self`: it is the same dimension, or [`One`].
#[diagnostic::on_unimplemented(
    message = "dimension `{R}` does not stretch to `{Self}`",
    label = "expected `{Self}` or `One`"
)]
pub trait Fits<R> {}

/// Dimensions of one element: `D<1>` and [`One`].
#[diagnostic::on_unimplemented(
    message = "an axis of `{Self}` cannot be dropped or stretched",
    label = "expected an axis of `D<1>` or `One`"
)]
pub trait Unit: Dim {}

impl Unit for D<1> {}
impl Unit for One {}

/// A dimension of `N` elements.
#[derive(Clone, Copy, Debug)]
pub struct D<const N: usize>;

/// An axis that holds one element and stretches to any size: what `sum_keep` and `max_keep` leave.
///
/// It is not `D<1>`, which is an ordinary size and does not stretch.
#[derive(Clone, Copy, Debug)]
pub struct One;

#[diagnostic::do_not_recommend]
impl<const N: usize> Dim for D<N> {
    const INFO: DimInfo = DimInfo::Fixed(N);
}
#[diagnostic::do_not_recommend]
impl<const N: usize> Fits<D<N>> for D<N> {}
#[diagnostic::do_not_recommend]
impl<const N: usize> Fits<One> for D<N> {}

#[diagnostic::do_not_recommend]
impl Dim for One {
    const INFO: DimInfo = DimInfo::One;
}
#[diagnostic::do_not_recommend]
impl Fits<One> for One {}
