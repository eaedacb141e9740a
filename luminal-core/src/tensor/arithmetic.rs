//! Operators `+ - * / %`, `maximum`, `minimum`, and what broadcasts.

use super::element::{Element, Number, SameType};
use super::shape::{Broadcast, Shape};
use super::trace::{op, record};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Binary, Dim as Size, Graph, NodeId, Unary};
use half::{bf16, f16};
use std::ops::{Add, Div, Mul, Rem, Sub};

/// A right operand for a tensor of shape `S` and element type `E`: a tensor that broadcasts to it, or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with a tensor of shape `{S}` and elements `{E}`",
    label = "expected a tensor whose shape broadcasts to `{S}`, or a number of type `{E}`"
)]
pub trait Operand<S, E> {
    /// Records the operand in shape `S`.
    #[doc(hidden)]
    fn spread(self) -> Tensor<S, E>;
}

#[diagnostic::do_not_recommend]
impl<S: Shape + Broadcast<R>, R: Shape, E: Element + SameType<F>, F: Element> Operand<S, E> for Tensor<R, F> {
    fn spread(self) -> Tensor<S, E> {
        Tensor::of(record(|recorder| recorder.broadcast(self.node, R::DIMS, S::DIMS)))
    }
}
macro_rules! number_operand {
    ($($type:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<S: Shape> Operand<S, $type> for $type {
            fn spread(self) -> Tensor<S, $type> {
                Tensor::full(self)
            }
        }
    )*};
}
number_operand!(f32 f16 bf16 i32 i64 u8 bool);

/// The operators as compositions of primitives, on operands of one shape and element type.
impl Graph {
    /// One value in every element of a tensor of this shape.
    pub fn full(&mut self, value: f64, dtype: Dtype, shape: &[Size]) -> NodeId {
        let mut node = self.constant(value, dtype);
        for (axis, size) in shape.iter().enumerate() {
            node = self.expand(node, axis, *size);
        }
        node
    }

    /// One value in every element of a tensor with the shape and element type of another one.
    pub fn full_like(&mut self, value: f64, x: NodeId) -> NodeId {
        let (dtype, shape) = (self.nodes[x].dtype, self.nodes[x].shape.clone());
        self.full(value, dtype, &shape)
    }

    /// Repeats a tensor along the axes of `shape` that it lacks: its axis `i` becomes axis `axes[i]`, in rising order.
    pub fn spread(&mut self, mut x: NodeId, axes: &[usize], shape: &[Size]) -> NodeId {
        for (axis, size) in shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis)) {
            x = self.expand(x, axis, *size);
        }
        x
    }

    /// `-x`; wraps for integers.
    pub fn neg(&mut self, x: NodeId) -> NodeId {
        let minus_one = self.full_like(-1.0, x);
        self.binary(Binary::Mul, x, minus_one)
    }

    /// `x + y`
    pub fn add(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::Add, x, y)
    }

    /// `x - y`
    pub fn sub(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let y = self.neg(y);
        self.binary(Binary::Add, x, y)
    }

    /// `x * y`
    pub fn mul(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::Mul, x, y)
    }

    /// `x / y`: of floats as `x * recip(y)`, of integers the [quotient](Graph::quotient).
    pub fn div(&mut self, x: NodeId, y: NodeId) -> NodeId {
        if self.nodes[x].dtype != Dtype::F32 {
            return self.quotient(x, y);
        }
        let y = self.unary(Unary::Recip, y);
        self.binary(Binary::Mul, x, y)
    }

    /// `x + value`
    pub fn add_number(&mut self, x: NodeId, value: f64) -> NodeId {
        let value = self.full_like(value, x);
        self.binary(Binary::Add, x, value)
    }

    /// `x * value`
    pub fn mul_number(&mut self, x: NodeId, value: f64) -> NodeId {
        let value = self.full_like(value, x);
        self.binary(Binary::Mul, x, value)
    }

    /// Reverses the order of all values without overflow: `-x`, and `-1 - x` for integers; an involution.
    pub(crate) fn reverse_order(&mut self, x: NodeId) -> NodeId {
        let negative = self.neg(x);
        match self.nodes[x].dtype {
            Dtype::I32 | Dtype::I64 => self.add_number(negative, -1.0),
            _ => negative,
        }
    }

    /// The greater one; NaN if either is NaN.
    pub fn maximum(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::Max, x, y)
    }

    /// The smaller one; NaN if either is NaN.
    pub fn minimum(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let (x, y) = (self.reverse_order(x), self.reverse_order(y));
        let greater = self.binary(Binary::Max, x, y);
        self.reverse_order(greater)
    }

    /// The same numbers in the type in which they are computed with ([`Dtype::wide`]).
    pub fn wide(&mut self, x: NodeId) -> NodeId {
        self.converted(x, self.nodes[x].dtype.wide())
    }

    /// A tensor in this element type; nothing is recorded where it is of that type.
    pub(crate) fn converted(&mut self, x: NodeId, dtype: Dtype) -> NodeId {
        if self.nodes[x].dtype == dtype { x } else { self.cast(x, dtype) }
    }

    /// Does some work on wider elements: operands of a type that only stores numbers are converted to the type in which
    /// they are computed with ([`Dtype::wide`]), and the result is rounded back once.
    pub fn widened<const N: usize>(
        &mut self,
        operands: [NodeId; N],
        work: impl FnOnce(&mut Graph, [NodeId; N]) -> NodeId,
    ) -> NodeId {
        let narrow = self.nodes[operands[0]].dtype;
        let operands = operands.map(|x| self.wide(x));
        let result = work(self, operands);
        let wide = self.nodes[result].dtype;
        if wide == narrow.wide() && wide != narrow { self.cast(result, narrow) } else { result }
    }
}

/// `$Trait` for tensor and tensor, tensor and number, number and tensor. The right element type is a parameter of its
/// own, and it carries the bound: rustc finds the implementation before it knows this type, and so reports the bound
/// that fails. Without that it would say that there is no such operator, and list those that there are.
macro_rules! operator {
    ($($Trait:ident $method:ident: $Bound:ident, |$graph:ident, $left:ident, $right:ident| $composition:expr;)*) => {$(
        impl<S, R, E, F> $Trait<Tensor<R, F>> for Tensor<S, E>
        where
            S: Shape + Broadcast<R>,
            R: Shape,
            E: Element + SameType<F>,
            F: $Bound,
        {
            type Output = Self;

            #[track_caller]
            fn $method(self, right: Tensor<R, F>) -> Self {
                let _scope = op(stringify!($method));
                Tensor::of(record(|recorder| {
                    let right = recorder.broadcast(right.node, R::DIMS, S::DIMS);
                    recorder.graph.widened([self.node, right], |$graph, [$left, $right]| $composition)
                }))
            }
        }
        operator!(@number f32, $Trait $method);
        operator!(@number f16, $Trait $method);
        operator!(@number bf16, $Trait $method);
    )*};
    (@number $E:ident, $Trait:ident $method:ident) => {
        #[diagnostic::do_not_recommend]
        impl<S: Shape> $Trait<$E> for Tensor<S, $E> {
            type Output = Self;

            #[track_caller]
            fn $method(self, right: $E) -> Self {
                let _scope = op(stringify!($method));
                self.$method(Tensor::<S, $E>::full(right))
            }
        }
        #[diagnostic::do_not_recommend]
        impl<S: Shape> $Trait<Tensor<S, $E>> for $E {
            type Output = Tensor<S, $E>;

            #[track_caller]
            fn $method(self, right: Tensor<S, $E>) -> Tensor<S, $E> {
                let _scope = op(stringify!($method));
                Tensor::<S, $E>::full(self).$method(right)
            }
        }
    };
}

operator! {
    Add add: Number, |graph, left, right| graph.add(left, right);
    Sub sub: Number, |graph, left, right| graph.sub(left, right);
    Mul mul: Number, |graph, left, right| graph.mul(left, right);
    // Of integers: towards zero, as in Rust; by 0 it is 0.
    Div div: Number, |graph, left, right| graph.div(left, right);
    // Floor modulo: the result has the sign of the divisor.
    Rem rem: Number, |graph, left, right| graph.binary(Binary::Mod, left, right);
}
macro_rules! integer_operators {
    ($($E:ident)*) => {$(
        operator!(@number $E, Add add);
        operator!(@number $E, Sub sub);
        operator!(@number $E, Mul mul);
        operator!(@number $E, Div div);
        operator!(@number $E, Rem rem);
    )*};
}
integer_operators!(i32 i64 u8);

impl<S: Shape, E: Number> Tensor<S, E> {
    /// The greater of each element and the operand's; NaN if either is NaN.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<4>,)> = input("x");
    ///     output(&x.maximum(-1.0).minimum(-x));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn maximum(self, other: impl Operand<S, E>) -> Self {
        let _scope = op("maximum");
        self.pointwise(other.spread(), Graph::maximum)
    }

    /// The smaller of each element and the operand's; NaN if either is NaN.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<4>)> = input("x");
    ///     output(&x.minimum(0.5));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn minimum(self, other: impl Operand<S, E>) -> Self {
        let _scope = op("minimum");
        self.pointwise(other.spread(), Graph::minimum)
    }

    /// Each element, but not less than `low` and not greater than `high`, which wins where the two cross. NaN stays NaN.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<4>)> = input("x");
    ///     let limit: Tensor<(D<4>,)> = input("limit");
    ///     output(&x.clamp(0.0, limit));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn clamp(self, low: impl Operand<S, E>, high: impl Operand<S, E>) -> Self {
        let _scope = op("clamp");
        self.maximum(low).minimum(high)
    }

    /// Each element, but not less than `low`. NaN stays NaN.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<4>)> = input("x");
    ///     output(&x.clamp_min(-1.0));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn clamp_min(self, low: impl Operand<S, E>) -> Self {
        let _scope = op("clamp_min");
        self.maximum(low)
    }

    /// Each element, but not greater than `high`. NaN stays NaN.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<4>)> = input("x");
    ///     output(&x.clamp_max(1.0));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn clamp_max(self, high: impl Operand<S, E>) -> Self {
        let _scope = op("clamp_max");
        self.minimum(high)
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Records a function of two operands.
    pub(super) fn pointwise<F: Element>(
        self,
        other: Tensor<S, E>,
        function: fn(&mut Graph, NodeId, NodeId) -> NodeId,
    ) -> Tensor<S, F> {
        Tensor::of(record(|recorder| {
            recorder.graph.widened([self.node, other.node], |graph, [x, y]| function(graph, x, y))
        }))
    }
}
