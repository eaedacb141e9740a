//! Functions of two operands: `+ - * / %`, comparison, `maximum`, `select`, and what broadcasts.

use super::dim::DimInfo;
use super::element::{Element, Float, Number, SameType};
use super::record::Recorder;
use super::shape::{Broadcast, Shape};
use super::trace::{op, record};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Binary, NodeId, Unary};
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
#[diagnostic::do_not_recommend]
impl<S: Shape> Operand<S, f32> for f32 {
    fn spread(self) -> Tensor<S, f32> {
        Tensor::full(self)
    }
}
#[diagnostic::do_not_recommend]
impl<S: Shape> Operand<S, i32> for i32 {
    fn spread(self) -> Tensor<S, i32> {
        Tensor::full(self)
    }
}
#[diagnostic::do_not_recommend]
impl<S: Shape> Operand<S, bool> for bool {
    fn spread(self) -> Tensor<S, bool> {
        Tensor::full(self)
    }
}

/// The operators as compositions of primitives, on operands of one shape.
impl Recorder {
    fn constant_like(&mut self, value: f64, node: NodeId) -> NodeId {
        let dtype = self.graph.nodes[node].dtype;
        let mut constant = self.graph.constant(value, dtype);
        for (axis, size) in self.graph.nodes[node].shape.clone().into_iter().enumerate() {
            constant = self.graph.expand(constant, axis, size);
        }
        constant
    }

    pub(crate) fn negate(&mut self, node: NodeId) -> NodeId {
        let minus_one = self.constant_like(-1.0, node);
        self.graph.binary(Binary::Mul, node, minus_one)
    }

    fn subtract(&mut self, left: NodeId, right: NodeId) -> NodeId {
        let right = self.negate(right);
        self.graph.binary(Binary::Add, left, right)
    }

    fn divide(&mut self, left: NodeId, right: NodeId) -> NodeId {
        let right = self.graph.unary(Unary::Recip, right);
        self.graph.binary(Binary::Mul, left, right)
    }

    /// Reverses the order of all values without overflow: `-x`, and `-1 - x` for integers; an involution.
    pub(crate) fn reverse_order(&mut self, node: NodeId) -> NodeId {
        let negative = self.negate(node);
        match self.graph.nodes[node].dtype {
            Dtype::I32 => {
                let minus_one = self.constant_like(-1.0, node);
                self.graph.binary(Binary::Add, negative, minus_one)
            }
            _ => negative,
        }
    }
}

/// `$Trait` for tensor and tensor, tensor and number, number and tensor. The right element type is a parameter of its
/// own, and it carries the bound: rustc finds the implementation before it knows this type, and so reports the bound
/// that fails. Without that it would say that there is no such operator, and list those that there are.
macro_rules! operator {
    ($($Trait:ident $method:ident: $Bound:ident, |$recorder:ident, $left:ident, $right:ident| $record:expr;)*) => {$(
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
                Tensor::of(record(|$recorder| {
                    let $left = self.node;
                    let $right = $recorder.broadcast(right.node, R::DIMS, S::DIMS);
                    $record
                }))
            }
        }
        operator!(@number f32, $Trait $method);
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
    Add add: Number, |recorder, left, right| recorder.graph.binary(Binary::Add, left, right);
    Sub sub: Number, |recorder, left, right| recorder.subtract(left, right);
    Mul mul: Number, |recorder, left, right| recorder.graph.binary(Binary::Mul, left, right);
    Div div: Float, |recorder, left, right| recorder.divide(left, right);
    // Floor modulo: the result has the sign of the divisor.
    Rem rem: Number, |recorder, left, right| recorder.graph.binary(Binary::Mod, left, right);
}
operator!(@number i32, Add add);
operator!(@number i32, Sub sub);
operator!(@number i32, Mul mul);
operator!(@number i32, Rem rem);

impl<S: Shape, E: Number> Tensor<S, E> {
    /// The greater of each element and the operand's; NaN if either is NaN.
    #[track_caller]
    pub fn maximum(self, other: impl Operand<S, E>) -> Self {
        let _scope = op("maximum");
        self.binary(Binary::Max, other.spread())
    }

    /// The smaller of each element and the operand's; NaN if either is NaN.
    #[track_caller]
    pub fn minimum(self, other: impl Operand<S, E>) -> Self {
        let _scope = op("minimum");
        let other = other.spread();
        Tensor::of(record(|recorder| {
            let (left, right) = (recorder.reverse_order(self.node), recorder.reverse_order(other.node));
            let greater = recorder.graph.binary(Binary::Max, left, right);
            recorder.reverse_order(greater)
        }))
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
        self.binary(Binary::LessThan, other.spread())
    }

    /// Whether each element is greater than the operand's; false if either is NaN.
    #[track_caller]
    pub fn greater(self, other: impl Operand<S, E>) -> Tensor<S, bool> {
        let _scope = op("greater");
        other.spread().binary(Binary::LessThan, self)
    }

    fn binary<F: Element>(self, function: Binary, other: Tensor<S, E>) -> Tensor<S, F> {
        Tensor::of(record(|recorder| recorder.graph.binary(function, self.node, other.node)))
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
        logical(Binary::Mul, self, right.node, R::DIMS)
    }
}

impl<S: Shape + Broadcast<R>, R: Shape> BitOr<Tensor<R, bool>> for Tensor<S, bool> {
    type Output = Self;

    #[track_caller]
    fn bitor(self, right: Tensor<R, bool>) -> Self {
        let _scope = op("or");
        logical(Binary::Max, self, right.node, R::DIMS)
    }
}

fn logical<S: Shape>(
    function: Binary,
    left: Tensor<S, bool>,
    right: NodeId,
    dims: &[DimInfo],
) -> Tensor<S, bool> {
    Tensor::of(record(|recorder| {
        let right = recorder.broadcast(right, dims, S::DIMS);
        recorder.graph.binary(function, left.node, right)
    }))
}
