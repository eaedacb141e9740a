//! Shapes are tuples of dimensions, up to rank 6. Everything that depends on the rank is generated here.

use super::dim::{Dim, DimInfo, Fits, One};

/// The sizes of a tensor: a tuple of [`Dim`]s such as `(Batch, D<784>)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "a shape is a tuple of up to six dimensions, such as `(Batch, D<784>)`, `(D<10>,)` or `()`"
)]
pub trait Shape: Copy + 'static + Broadcast<Self> + Broadcast<()> {
    /// The dimensions as values.
    const DIMS: &'static [DimInfo];
    /// `[usize; RANK]`: the sizes at run time.
    type Sizes: AsRef<[usize]> + AsMut<[usize]> + Copy + Default;
}

/// `Tensor<Self> op Tensor<R>` is legal; the result has the shape of the left operand.
#[diagnostic::on_unimplemented(
    message = "the right operand of shape `{R}` does not broadcast to the left one, `{Self}`",
    label = "expected shape `{Self}`, a suffix of it, or `One` where it should stretch"
)]
pub trait Broadcast<R> {}

/// Axis `I` of a shape; a negative `I` counts from the end.
#[diagnostic::on_unimplemented(
    message = "axis {I} is out of range for shape `{Self}`",
    label = "no axis {I} here",
    note = "axes count from 0; negative ones count from the end, so that -1 is the last"
)]
pub trait At<const I: isize>: Shape + Broadcast<<Self as At<I>>::Keep> {
    /// The axis, counted from the start.
    const AXIS: usize;
    /// Its dimension.
    type Dim: Dim;
    /// The shape with `One` in its place.
    type Keep: Shape;
    /// The shape without it.
    type Drop: Shape;
    /// The shape with another dimension in its place.
    type Set<L: Dim>: Shape;
}

/// Leading dimensions, to which one more can be added at the end.
///
/// The equalities in [`Lead`], [`Split`] and [`EndsWith`] make layers over "any leading dimensions" compose.
pub trait Lead: Copy + 'static {
    /// These dimensions and then `L`.
    type With<L: Dim>: EndsWith<L, Lead = Self>;
}

/// A shape seen as leading dimensions and a last one.
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` has no last dimension",
    label = "expected at least one dimension"
)]
pub trait Split: Shape + At<-1> {
    /// All dimensions but the last.
    type Lead: Lead;
}

/// Shapes whose last dimension is `L`: `fn forward<S: EndsWith<D<784>>>(&self, x: Tensor<S>)`.
#[diagnostic::on_unimplemented(
    message = "expected a tensor whose last dimension is `{L}`, found shape `{Self}`",
    label = "the last dimension should be `{L}`"
)]
pub trait EndsWith<L: Dim>: Split<Lead: Lead<With<L> = Self>> + At<-1, Dim = L> + Broadcast<(L,)> {}

/// Shape `S` with its last dimension replaced by `L`.
pub type With<S, L> = <<S as Split>::Lead as Lead>::With<L>;

/// `Self` and `R` differ along axis `I` at most.
#[diagnostic::on_unimplemented(
    message = "concat: shapes `{Self}` and `{R}` differ outside axis {I}",
    label = "must equal `{Self}` in every dimension but {I}"
)]
pub trait Join<R, const I: isize>: At<I> {
    /// Dimension `I` of the right operand.
    type Right: Dim;
}

/// A place `I` for a new axis of a shape; a negative `I` counts from the end, so that -1 is behind the last axis.
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` has no place {I} for a new axis",
    label = "no place {I} here",
    note = "places count from 0 to the number of axes; negative ones count from the end; there are at most six axes"
)]
pub trait Insert<const I: isize>: Shape {
    /// The place, counted from the start.
    const AXIS: usize;
    /// The shape with a new dimension there.
    type With<L: Dim>: Shape;
}

macro_rules! insert {
    ($rank:literal: $($dim:ident)*) => {
        insert!(@places $rank; []; $($dim)*; 0 1 2 3 4 5);
    };
    (@places $rank:literal; [$($before:ident)*]; ; $axis:literal $($axes:literal)*) => {
        insert!(@place { $axis }, $axis; [$($before)*] []);
        insert!(@place { $axis - $rank - 1 }, $axis; [$($before)*] []);
    };
    (@places $rank:literal; [$($before:ident)*]; $first:ident $($behind:ident)*; $axis:literal $($axes:literal)*) => {
        insert!(@place { $axis }, $axis; [$($before)*] [$first $($behind)*]);
        insert!(@place { $axis - $rank - 1 }, $axis; [$($before)*] [$first $($behind)*]);
        insert!(@places $rank; [$($before)* $first]; $($behind)*; $($axes)*);
    };
    (@place $index:expr, $axis:literal; [$($before:ident)*] [$($behind:ident)*]) => {
        #[diagnostic::do_not_recommend]
        impl<$($before: Dim,)* $($behind: Dim),*> Insert<{ $index }> for ($($before,)* $($behind,)*) {
            const AXIS: usize = $axis;
            type With<NewDim: Dim> = ($($before,)* NewDim, $($behind,)*);
        }
    };
}
insert!(0:);
insert!(1: A);
insert!(2: A B);
insert!(3: A B C);
insert!(4: A B C E);
insert!(5: A B C E F);

macro_rules! shape {
    ($rank:literal: $($dim:ident)*) => {
        impl<$($dim: Dim),*> Shape for ($($dim,)*) {
            const DIMS: &'static [DimInfo] = &[$($dim::INFO),*];
            type Sizes = [usize; $rank];
        }
        shape!(@axes $rank; []; $($dim)*; 0 1 2 3 4 5);
    };
    // One axis after the other: those before it, itself, those behind it, its number.
    (@axes $rank:literal; [$($before:ident)*]; ; $($axis:literal)*) => {};
    (@axes $rank:literal; [$($before:ident)*]; $this:ident $($behind:ident)*; $axis:literal $($axes:literal)*) => {
        shape!(@at { $axis }, $axis; [$($before)*] $this [$($behind)*]);
        shape!(@at { $axis - $rank }, $axis; [$($before)*] $this [$($behind)*]);
        shape!(@axes $rank; [$($before)* $this]; $($behind)*; $($axes)*);
    };
    (@at $index:expr, $axis:literal; [$($before:ident)*] $this:ident [$($behind:ident)*]) => {
        #[diagnostic::do_not_recommend]
        impl<$($before: Dim,)* $this: Dim, $($behind: Dim),*> At<{ $index }>
            for ($($before,)* $this, $($behind,)*)
        {
            const AXIS: usize = $axis;
            type Dim = $this;
            type Keep = ($($before,)* One, $($behind,)*);
            type Drop = ($($before,)* $($behind,)*);
            type Set<NewDim: Dim> = ($($before,)* NewDim, $($behind,)*);
        }
        #[diagnostic::do_not_recommend]
        impl<$($before: Dim,)* $this: Dim, Other: Dim, $($behind: Dim),*>
            Join<($($before,)* Other, $($behind,)*), { $index }> for ($($before,)* $this, $($behind,)*)
        {
            type Right = Other;
        }
    };
}
shape!(0:);
shape!(1: A);
shape!(2: A B);
shape!(3: A B C);
shape!(4: A B C E);
shape!(5: A B C E F);
shape!(6: A B C E F G);

macro_rules! last_dim {
    ($($lead:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($lead: Dim),*> Lead for ($($lead,)*) {
            type With<Last: Dim> = ($($lead,)* Last,);
        }
        #[diagnostic::do_not_recommend]
        impl<$($lead: Dim,)* Last: Dim> Split for ($($lead,)* Last,) {
            type Lead = ($($lead,)*);
        }
        #[diagnostic::do_not_recommend]
        impl<$($lead: Dim,)* Last: Dim> EndsWith<Last> for ($($lead,)* Last,) {}
    };
}
last_dim!();
last_dim!(A);
last_dim!(A B);
last_dim!(A B C);
last_dim!(A B C E);
last_dim!(A B C E F);

// Dimensions that only the left operand has, then pairs `left:right` aligned to the end.
macro_rules! broadcast {
    ($(($($only_left:ident)*) ($($left:ident : $right:ident)*);)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($only_left: Dim,)* $($left: Dim + Fits<$right>,)* $($right: Dim),*> Broadcast<($($right,)*)>
            for ($($only_left,)* $($left,)*)
        {
        }
    )*};
}
broadcast! {
    () (); (A) (); (A B) (); (A B C) (); (A B C E) (); (A B C E F) (); (A B C E F G) ();
    () (A:R); (A) (B:R); (A B) (C:R); (A B C) (E:R); (A B C E) (F:R); (A B C E F) (G:R);
    () (A:R B:S); (A) (B:R C:S); (A B) (C:R E:S); (A B C) (E:R F:S); (A B C E) (F:R G:S);
    () (A:R B:S C:T); (A) (B:R C:S E:T); (A B) (C:R E:S F:T); (A B C) (E:R F:S G:T);
    () (A:R B:S C:T E:U); (A) (B:R C:S E:T F:U); (A B) (C:R E:S F:T G:U);
    () (A:R B:S C:T E:U F:V); (A) (B:R C:S E:T F:U G:V);
    () (A:R B:S C:T E:U F:V G:W);
}
