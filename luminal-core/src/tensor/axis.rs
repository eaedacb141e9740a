//! Naming axes: `Axis::<-1>` and `axes![0, 2, 1]`.

use super::dim::Dim;
use super::shape::{At, Shape};

/// Names an axis in a call: `x.sum(Axis::<1>)`; a negative number counts from the end.
#[derive(Clone, Copy, Debug)]
pub struct Axis<const I: isize>;

/// The axes of `Self` in the order `P`, a tuple of [`Axis`] as [`axes!`](crate::axes) makes it.
#[diagnostic::on_unimplemented(
    message = "permute: shape `{Self}` cannot be put into the order `{P}`",
    label = "name every axis of `{Self}` once: `axes![0, 2, 1]`"
)]
pub trait Permute<P>: Shape {
    /// The shape of the result.
    type Out: Shape;
    /// Axis `i` of the result is axis `ORDER[i]` of the operand.
    const ORDER: &'static [usize];
}

macro_rules! permute {
    ($(($($dim:ident)*) ($($axis:ident)*);)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($dim: Dim,)* $(const $axis: isize),*> Permute<($(Axis<$axis>,)*)> for ($($dim,)*)
        where
            $(Self: At<$axis>),*
        {
            type Out = ($(<Self as At<$axis>>::Dim,)*);
            const ORDER: &'static [usize] = &[$(<Self as At<$axis>>::AXIS),*];
        }
    )*};
}
permute! {
    (A) (P);
    (A B) (P Q);
    (A B C) (P Q R);
    (A B C E) (P Q R S);
    (A B C E F) (P Q R S T);
    (A B C E F G) (P Q R S T U);
}

/// An order of axes for `permute`: `x.permute(axes![0, 2, 1])`.
#[macro_export]
macro_rules! axes {
    ($($axis:expr),* $(,)?) => { ($($crate::tensor::Axis::<{ $axis }>,)*) };
}
