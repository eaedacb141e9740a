//! Shapes with several axes kept or dropped at once, for reductions.
//!
//! Which axes go is a mask, a shape of `D<0>` and `D<1>`: so naming axes in it is the same as in any other shape.

use super::axis::Axis;
use super::dim::{D, Dim, One};
use super::shape::{At, Broadcast, Shape};

/// The axes `P` of a shape, to be reduced: one [`Axis`], or several as [`axes!`](crate::axes) names them.
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` cannot be reduced along `{P}`",
    label = "name axes of `{Self}`: `Axis::<0>`, or several with `axes![0, -1]`"
)]
pub trait Axes<P>: Shape + Broadcast<<Self as Axes<P>>::Keep> {
    /// The axes, counted from the start.
    const AXES: &'static [usize];
    /// The shape with `One` in their place.
    type Keep: Shape;
    /// The shape without them.
    type Drop: Shape;
}

// Without `do_not_recommend`: rustc then names the axis that the shape does not have.
impl<S: At<I>, const I: isize> Axes<Axis<I>> for S {
    const AXES: &'static [usize] = &[S::AXIS];
    type Keep = S::Keep;
    type Drop = S::Drop;
}

/// The shape with dimension `L` at all axes `P`.
pub trait Put<P, L> {
    /// The result.
    type Out: Shape;
}

/// A shape that takes one more dimension at its end. At rank 6 it stays as it is: nothing is dropped there.
pub trait Grow: Shape {
    /// With one more dimension.
    type And<N: Dim>: Grow;
}

/// An element of a mask: whether a dimension goes.
pub trait Mark: Dim {
    /// `L`, and `N` unless it goes.
    type Keep<L: Grow, N: Dim>: Grow;
}

#[diagnostic::do_not_recommend]
impl Mark for D<0> {
    type Keep<L: Grow, N: Dim> = L::And<N>;
}
#[diagnostic::do_not_recommend]
impl Mark for D<1> {
    type Keep<L: Grow, N: Dim> = L;
}

/// A shape without the dimensions that the mask `M` marks.
pub trait Without<M>: Shape {
    /// The result.
    type Left: Shape;
}

/// The mask that marks nothing.
pub trait Masked: Shape {
    /// As long as the shape.
    type Mask: Shape;
}

macro_rules! put {
    ($($first:ident $($rest:ident)*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<S, L: Dim, const $first: isize, $(const $rest: isize),*> Put<(Axis<$first>, $(Axis<$rest>,)*), L> for S
        where
            S: At<$first>,
            S::Set<L>: Put<($(Axis<$rest>,)*), L>,
        {
            type Out = <S::Set<L> as Put<($(Axis<$rest>,)*), L>>::Out;
        }
        #[diagnostic::do_not_recommend]
        impl<S, const $first: isize, $(const $rest: isize),*> Axes<(Axis<$first>, $(Axis<$rest>,)*)> for S
        where
            S: At<$first> $(+ At<$rest>)*,
            S: Put<(Axis<$first>, $(Axis<$rest>,)*), One>,
            S: Broadcast<<S as Put<(Axis<$first>, $(Axis<$rest>,)*), One>>::Out>,
            S: Masked,
            S::Mask: Put<(Axis<$first>, $(Axis<$rest>,)*), D<1>>,
            S: Without<<S::Mask as Put<(Axis<$first>, $(Axis<$rest>,)*), D<1>>>::Out>,
        {
            const AXES: &'static [usize] = &[<S as At<$first>>::AXIS, $(<S as At<$rest>>::AXIS),*];
            type Keep = <S as Put<(Axis<$first>, $(Axis<$rest>,)*), One>>::Out;
            type Drop = <S as Without<<S::Mask as Put<(Axis<$first>, $(Axis<$rest>,)*), D<1>>>::Out>>::Left;
        }
    )*};
}
put! {
    P;
    P Q;
    P Q R;
    P Q R T;
    P Q R T U;
    P Q R T U V;
}

#[diagnostic::do_not_recommend]
impl<S: Shape, L: Dim> Put<(), L> for S {
    type Out = S;
}

macro_rules! masks {
    ($($($dim:ident)*: $($mark:ident)*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($dim: Dim,)* $($mark: Mark),*> Without<($($mark,)*)> for ($($dim,)*) {
            type Left = masks!(@left (); $($dim $mark)*);
        }
        #[diagnostic::do_not_recommend]
        impl<$($dim: Dim),*> Masked for ($($dim,)*) {
            type Mask = ($(masks!(@none $dim),)*);
        }
    )*};
    (@none $dim:ident) => { D<0> };
    (@left $left:ty;) => { $left };
    (@left $left:ty; $dim:ident $mark:ident $($rest:ident)*) => {
        masks!(@left <$mark as Mark>::Keep<$left, $dim>; $($rest)*)
    };
}
masks! {
    A: P;
    A B: P Q;
    A B C: P Q R;
    A B C E: P Q R T;
    A B C E F: P Q R T U;
    A B C E F G: P Q R T U V;
}

macro_rules! grow {
    ($($($dim:ident)*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($dim: Dim),*> Grow for ($($dim,)*) {
            type And<Next: Dim> = ($($dim,)* Next,);
        }
    )*};
}
grow! {
    ;
    A;
    A B;
    A B C;
    A B C E;
    A B C E F;
}

#[diagnostic::do_not_recommend]
impl<A: Dim, B: Dim, C: Dim, E: Dim, F: Dim, G: Dim> Grow for (A, B, C, E, F, G) {
    type And<Next: Dim> = Self;
}
