//! Element types.

use crate::dtype::Dtype;

/// Element type of a tensor: `f32`, `i32` or `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tensors",
    label = "use `f32`, `i32` or `bool`"
)]
pub trait Element: Copy + Default + PartialEq + std::fmt::Debug + sealed::Sealed + 'static {
    /// The element type as a value.
    const DTYPE: Dtype;
    /// The value in the form in which constants of a graph are kept. Exact.
    fn to_f64(self) -> f64;
}

/// Element types with arithmetic: `f32` and `i32`.
#[diagnostic::on_unimplemented(
    message = "tensors of `{Self}` have no arithmetic",
    label = "convert with `.cast::<f32>()` or `.cast::<i32>()`"
)]
pub trait Number: Element {}

/// Element types with division and functions such as `exp`: `f32`.
#[diagnostic::on_unimplemented(
    message = "this needs floating-point elements, found `{Self}`",
    label = "convert with `.cast::<f32>()`"
)]
pub trait Float: Number {
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
}

/// The other operand has the same element type.
#[diagnostic::on_unimplemented(
    message = "the operands have different element types, `{Self}` and `{Other}`",
    label = "convert one side with `.cast::<{Self}>()` or `.cast::<{Other}>()`"
)]
pub trait SameType<Other> {}

#[diagnostic::do_not_recommend]
impl<E: Element> SameType<E> for E {}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
    fn to_f64(self) -> f64 {
        self.into()
    }
}
impl Element for i32 {
    const DTYPE: Dtype = Dtype::I32;
    fn to_f64(self) -> f64 {
        self.into()
    }
}
impl Element for bool {
    const DTYPE: Dtype = Dtype::Bool;
    fn to_f64(self) -> f64 {
        self.into()
    }
}
impl Number for f32 {}
impl Number for i32 {}
impl Float for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

/// Memory of tensors is reinterpreted by element type, so no other crate may add one.
mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for bool {}
}
