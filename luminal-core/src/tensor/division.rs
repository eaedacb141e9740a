//! Division with a remainder: integer quotients, `floor_divide`, `fmod`.
//!
//! A graph has no division of integers. It is composed of the exact remainder and an estimate in floats that is corrected
//! until it is exact.

use super::arithmetic::Operand;
use super::element::Number;
use super::pointwise::float;
use super::shape::Shape;
use super::trace::op;
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Binary, Graph, NodeId, Unary};

/// Compositions on two operands of one shape and element type.
impl Graph {
    /// Floor modulo: 0 or the sign of the divisor. `x mod 0` is NaN, of integers 0.
    pub fn modulo(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::Mod, x, y)
    }

    /// Remainder of the division that truncates: 0 or the sign of `x`, exact. By 0 it is NaN, of integers 0.
    pub fn fmod(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let zero = self.full_like(0.0, x);
        let negative = self.less(x, zero);
        if self.nodes[x].dtype == Dtype::F32 {
            // Of operands of one sign, floor and truncated remainder are equal, and nothing is rounded.
            let (magnitude, divisor) = (self.abs(x), self.abs(y));
            let remainder = self.modulo(magnitude, divisor);
            let negated = self.neg(remainder);
            return self.select(negative, negated, remainder);
        }
        let remainder = self.modulo(x, y);
        let divisor_negative = self.less(y, zero);
        let signs_differ = self.xor(negative, divisor_negative);
        let inexact = self.not_equal(remainder, zero);
        let moved = self.and(signs_differ, inexact);
        let other = self.sub(remainder, y);
        self.select(moved, other, remainder)
    }

    /// Quotient of integers, rounded towards zero. By 0 it is 0; the quotient of the least number and -1 wraps.
    ///
    /// `x` less its remainder is a multiple of `y`. A quotient estimated in `f32` is off by 2^-22 of itself at most, and
    /// what it leaves is a smaller multiple, of which the same is done: after the last step the estimate is exact.
    pub fn quotient(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let dtype = self.nodes[x].dtype;
        let shape = self.nodes[x].shape.clone();
        let (least, corrections) = match dtype {
            Dtype::I32 => (self.full(i32::MIN.into(), dtype, &shape), 1),
            _ => (self.full_i64(i64::MIN, &shape), 3),
        };
        let remainder = self.fmod(x, y);
        let multiple = self.sub(x, remainder);
        let divisor = self.cast(y, Dtype::F32);
        let share = self.unary(Unary::Recip, divisor);
        let mut quotient = self.estimate(multiple, share, dtype);
        for _ in 0..corrections {
            let reached = self.mul(quotient, y);
            let left = self.sub(multiple, reached);
            let more = self.estimate(left, share, dtype);
            quotient = self.add(quotient, more);
        }
        // The least number has no counterpart, so its multiples wrap; the only ones are itself and 0.
        let zero = self.full_like(0.0, x);
        let by_least = self.equal(y, least);
        let itself = self.equal(x, least);
        let itself = self.cast(itself, dtype);
        let quotient = self.select(by_least, itself, quotient);
        let by_zero = self.equal(y, zero);
        self.select(by_zero, zero, quotient)
    }

    /// `x * share`, computed in `f32` and rounded to a nearest integer, by the conversion, which rounds towards zero.
    fn estimate(&mut self, x: NodeId, share: NodeId, dtype: Dtype) -> NodeId {
        let x = self.cast(x, Dtype::F32);
        let quotient = self.mul(x, share);
        let zero = self.full_like(0.0, quotient);
        let (half, minus_half) = (self.full_like(0.5, quotient), self.full_like(-0.5, quotient));
        let negative = self.less(quotient, zero);
        let half = self.select(negative, minus_half, half);
        let nearest = self.add(quotient, half);
        self.cast(nearest, dtype)
    }

    /// Quotient rounded down: `floor` of the exact quotient, as `x - (x mod y)` divided by `y`. Of floats by 0: NaN; of
    /// integers: 0.
    pub fn floor_divide(&mut self, x: NodeId, y: NodeId) -> NodeId {
        if self.nodes[x].dtype == Dtype::F32 {
            let remainder = self.modulo(x, y);
            let multiple = self.sub(x, remainder);
            let quotient = self.div(multiple, y);
            return self.round(quotient);
        }
        let zero = self.full_like(0.0, x);
        let quotient = self.quotient(x, y);
        let remainder = self.fmod(x, y);
        let inexact = self.not_equal(remainder, zero);
        let (negative, divisor_negative) = (self.less(x, zero), self.less(y, zero));
        let signs_differ = self.xor(negative, divisor_negative);
        let above = self.and(inexact, signs_differ);
        let lower = self.add_number(quotient, -1.0);
        self.select(above, lower, quotient)
    }

    /// The quotient by a number that is known when the model is built, rounded to nearest.
    pub fn div_number(&mut self, x: NodeId, value: f64) -> NodeId {
        self.mul_number(x, float(1.0 / value))
    }
}

impl<S: Shape, E: Number> Tensor<S, E> {
    /// Remainder of the division that truncates: it has the sign of the element, where `%` has that of the divisor.
    /// Exact. By 0 it is NaN, of integers 0.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<4>,), i32>>("x").fmod(3))); // -7 gives -1, where -7 % 3 is 2
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn fmod(self, divisor: impl Operand<S, E>) -> Self {
        let _scope = op("fmod");
        self.pointwise(divisor.spread(), Graph::fmod)
    }

    /// Quotient rounded down, where `/` of integers rounds towards zero. Of floats it is the floor of the exact quotient:
    /// 1 by 0.1 is 9, because the `f32` called 0.1 is a little more than that. By 0 it is NaN, of integers 0.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<4>,), i32>>("x").floor_divide(3))); // -7 gives -3
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn floor_divide(self, divisor: impl Operand<S, E>) -> Self {
        let _scope = op("floor_divide");
        self.pointwise(divisor.spread(), Graph::floor_divide)
    }
}
