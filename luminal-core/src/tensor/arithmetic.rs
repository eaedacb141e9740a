//! Functions of two operands: `+ - * / %`, comparison, `maximum`, `select`, and what broadcasts.

use super::dim::DimInfo;
use super::element::{Element, Float, Number, SameType};
use super::shape::{Broadcast, Shape};
use super::trace::{op, record};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Binary, Dim as Size, Graph, NodeId, Unary};
use half::{bf16, f16};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Rem, Sub};

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

    /// `x / y` of floats, as `x * recip(y)`.
    pub fn div(&mut self, x: NodeId, y: NodeId) -> NodeId {
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

    /// `x < y`; false if either is NaN.
    pub fn less(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::LessThan, x, y)
    }

    /// Of truth values.
    pub fn not(&mut self, x: NodeId) -> NodeId {
        let (no, yes) = (self.full_like(0.0, x), self.full_like(1.0, x));
        self.select(x, no, yes)
    }

    /// Of truth values.
    pub fn and(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::Mul, x, y)
    }

    /// Of truth values.
    pub fn or(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::Max, x, y)
    }

    /// The same numbers in the type in which they are computed with ([`Dtype::wide`]).
    pub fn wide(&mut self, x: NodeId) -> NodeId {
        match self.nodes[x].dtype {
            dtype if dtype == dtype.wide() => x,
            dtype => self.cast(x, dtype.wide()),
        }
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
    Div div: Float, |graph, left, right| graph.div(left, right);
    // Floor modulo: the result has the sign of the divisor.
    Rem rem: Number, |graph, left, right| graph.binary(Binary::Mod, left, right);
}
macro_rules! integer_operators {
    ($($E:ident)*) => {$(
        operator!(@number $E, Add add);
        operator!(@number $E, Sub sub);
        operator!(@number $E, Mul mul);
        operator!(@number $E, Rem rem);
    )*};
}
integer_operators!(i32 i64 u8);

impl<S: Shape, E: Number> Tensor<S, E> {
    /// The greater of each element and the operand's; NaN if either is NaN.
    #[track_caller]
    pub fn maximum(self, other: impl Operand<S, E>) -> Self {
        let _scope = op("maximum");
        self.pointwise(other.spread(), Graph::maximum)
    }

    /// The smaller of each element and the operand's; NaN if either is NaN.
    #[track_caller]
    pub fn minimum(self, other: impl Operand<S, E>) -> Self {
        let _scope = op("minimum");
        self.pointwise(other.spread(), Graph::minimum)
    }

    /// Whether each element is less than the operand's; false if either is NaN.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<4>,)> = input("x");
    ///     output(&x.less(0.0).select(-x, x));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn less(self, other: impl Operand<S, E>) -> Tensor<S, bool> {
        let _scope = op("less");
        self.pointwise(other.spread(), Graph::less)
    }

    /// Whether each element is greater than the operand's; false if either is NaN.
    #[track_caller]
    pub fn greater(self, other: impl Operand<S, E>) -> Tensor<S, bool> {
        let _scope = op("greater");
        other.spread().pointwise(self, Graph::less)
    }

    fn pointwise<F: Element>(
        self,
        other: Tensor<S, E>,
        function: fn(&mut Graph, NodeId, NodeId) -> NodeId,
    ) -> Tensor<S, F> {
        Tensor::of(record(|recorder| {
            recorder.graph.widened([self.node, other.node], |graph, [x, y]| function(graph, x, y))
        }))
    }
}

impl<S: Shape> Tensor<S, bool> {
    /// `then` where the condition holds, `otherwise` elsewhere. Both broadcast to the shape of the condition.
    ///
    /// What is not chosen has no influence, not even infinities and NaN.
    #[track_caller]
    pub fn select<A, B, E: Element>(self, then: Tensor<A, E>, otherwise: Tensor<B, E>) -> Tensor<S, E>
    where
        A: Shape,
        B: Shape,
        S: Broadcast<A> + Broadcast<B>,
    {
        let _scope = op("select");
        Tensor::of(record(|recorder| {
            let then = recorder.broadcast(then.node, A::DIMS, S::DIMS);
            let otherwise = recorder.broadcast(otherwise.node, B::DIMS, S::DIMS);
            recorder.graph.select(self.node, then, otherwise)
        }))
    }
}

impl<S: Shape + Broadcast<R>, R: Shape> BitAnd<Tensor<R, bool>> for Tensor<S, bool> {
    type Output = Self;

    #[track_caller]
    fn bitand(self, right: Tensor<R, bool>) -> Self {
        let _scope = op("and");
        logical(Graph::and, self, right.node, R::DIMS)
    }
}

impl<S: Shape + Broadcast<R>, R: Shape> BitOr<Tensor<R, bool>> for Tensor<S, bool> {
    type Output = Self;

    #[track_caller]
    fn bitor(self, right: Tensor<R, bool>) -> Self {
        let _scope = op("or");
        logical(Graph::or, self, right.node, R::DIMS)
    }
}

fn logical<S: Shape>(
    function: fn(&mut Graph, NodeId, NodeId) -> NodeId,
    left: Tensor<S, bool>,
    right: NodeId,
    dims: &[DimInfo],
) -> Tensor<S, bool> {
    Tensor::of(record(|recorder| {
        let right = recorder.broadcast(right, dims, S::DIMS);
        function(&mut recorder.graph, left.node, right)
    }))
}
