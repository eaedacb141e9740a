//! Element types.

use crate::dtype::{Dtype, nearest_bf16, nearest_f16};
use crate::graph::{Dim as Size, Graph, NodeId};
use half::{bf16, f16};

/// Element type of a tensor: `f32`, `f16`, `bf16`, `i32`, `i64`, `u8` or `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tensors",
    label = "use `f32`, `f16`, `bf16`, `i32`, `i64`, `u8` or `bool`"
)]
pub trait Element: Copy + Default + PartialEq + std::fmt::Debug + sealed::Sealed + 'static {
    /// The element type as a value.
    const DTYPE: Dtype;
    /// The value in the form in which constants of a graph are kept. Exact, but for `i64` beyond 2^53.
    fn to_f64(self) -> f64;
    /// Records the value, always exact, in every element of a tensor of these sizes.
    #[doc(hidden)]
    fn record(self, graph: &mut Graph, shape: &[Size]) -> NodeId {
        graph.full(self.to_f64(), Self::DTYPE, shape)
    }
}

/// Element types with arithmetic: all but `bool`. `f16` and `bf16` are computed in `f32` and `u8` in `i32`, and the
/// result of each operation is rounded back, or wraps, once.
#[diagnostic::on_unimplemented(
    message = "tensors of `{Self}` have no arithmetic",
    label = "convert with `.cast::<f32>()` or `.cast::<i32>()`"
)]
pub trait Number: Element {}

/// Element types with division and functions such as `exp`: `f32`, `f16` and `bf16`.
#[diagnostic::on_unimplemented(
    message = "this needs floating-point elements, found `{Self}`",
    label = "convert with `.cast::<f32>()`"
)]
pub trait Float: Number {
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
}

/// Element types that can be an index: `i32`, `i64` and `u8`.
#[diagnostic::on_unimplemented(
    message = "an index must be of integers, found `{Self}`",
    label = "convert with `.cast::<i32>()`"
)]
pub trait Index: Number {}

impl Index for i32 {}
impl Index for i64 {}
impl Index for u8 {}

/// The other operand has the same element type.
#[diagnostic::on_unimplemented(
    message = "the operands have different element types, `{Self}` and `{Other}`",
    label = "convert one side with `.cast::<{Self}>()` or `.cast::<{Other}>()`"
)]
pub trait SameType<Other> {}

#[diagnostic::do_not_recommend]
impl<E: Element> SameType<E> for E {}

macro_rules! element {
    ($($type:ident $DTYPE:ident |$x:ident| $to_f64:expr;)*) => {$(
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$DTYPE;
            fn to_f64(self) -> f64 {
                let $x = self;
                $to_f64
            }
        }
        impl sealed::Sealed for $type {}
    )*};
}
element! {
    f32 F32 |x| x.into();
    f16 F16 |x| x.into();
    bf16 BF16 |x| x.into();
    i32 I32 |x| x.into();
    u8 U8 |x| x.into();
    bool Bool |x| x.into();
}
impl Element for i64 {
    const DTYPE: Dtype = Dtype::I64;
    fn to_f64(self) -> f64 {
        self as f64
    }
    fn record(self, graph: &mut Graph, shape: &[Size]) -> NodeId {
        graph.full_i64(self, shape)
    }
}
impl sealed::Sealed for i64 {}

impl Number for f32 {}
impl Number for f16 {}
impl Number for bf16 {}
impl Number for i32 {}
impl Number for i64 {}
impl Number for u8 {}

impl Float for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}
impl Float for f16 {
    fn from_f64(value: f64) -> Self {
        nearest_f16(value)
    }
}
impl Float for bf16 {
    fn from_f64(value: f64) -> Self {
        nearest_bf16(value)
    }
}

impl Graph {
    /// An `i64` in every element of a tensor of this shape. A constant of a graph holds integers up to 2^53; greater
    /// ones are composed of their upper and lower 32 bits.
    pub fn full_i64(&mut self, value: i64, shape: &[Size]) -> NodeId {
        let number = value as f64;
        if Dtype::I64.holds(number) && number as i64 == value {
            return self.full(number, Dtype::I64, shape);
        }
        let [high, low] =
            [value >> 32, value & 0xffff_ffff].map(|part| self.constant(part as f64, Dtype::I64));
        let shifted = self.mul_number(high, 4_294_967_296.0);
        let node = self.add(shifted, low);
        self.spread(node, &[], shape)
    }
}

/// Memory of tensors is reinterpreted by element type, so no other crate may add one.
mod sealed {
    pub trait Sealed {}
}
