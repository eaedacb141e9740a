//! Powers.

use super::arithmetic::Operand;
use super::element::{Element, Float};
use super::pointwise::float;
use super::shape::Shape;
use super::trace::op;
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Graph, NodeId, Op, Unary};

/// Whole exponents up to here are products.
const MULTIPLIED: f64 = 32.0;

impl Graph {
    /// `x^y`, also of integers.
    ///
    /// Where `y` is one constant, whole numbers up to 32 are products and halves are roots. Elsewhere the power of floats
    /// is `2^(y log2 |x|)`, with the sign of `x` if `y` is odd, and NaN if `x` is negative and `y` not whole.
    /// `x^0` and `1^y` are 1, also for NaN.
    pub fn pow(&mut self, x: NodeId, y: NodeId) -> NodeId {
        if let Some(exponent) = self.constant_value(y)
            && let Some(power) = self.pow_constant(x, exponent)
        {
            return power;
        }
        if self.nodes[x].dtype == Dtype::F32 { self.pow_floats(x, y) } else { self.pow_integers(x, y) }
    }

    /// `x^exponent` for a number that is known when the model is built; see [`pow`](Graph::pow).
    pub fn pow_number(&mut self, x: NodeId, exponent: f64) -> NodeId {
        let exponent = self.full_like(float(exponent), x);
        self.pow(x, exponent)
    }

    /// The one value that all elements have, if it is known.
    fn constant_value(&self, x: NodeId) -> Option<f64> {
        match self.nodes[x].op {
            Op::Const(value) => Some(value),
            Op::Expand(inner, _) => self.constant_value(inner),
            // Of a number that is exact in a narrower type.
            Op::Cast(inner) if self.nodes[x].dtype == self.nodes[inner].dtype.wide() => {
                self.constant_value(inner)
            }
            _ => None,
        }
    }

    fn pow_constant(&mut self, x: NodeId, exponent: f64) -> Option<NodeId> {
        let float = self.nodes[x].dtype == Dtype::F32;
        let whole = exponent.fract() == 0.0 && exponent.abs() <= MULTIPLIED;
        if whole && exponent >= 0.0 {
            return Some(self.product(x, exponent as u32));
        }
        if !float {
            return None;
        }
        if whole {
            // The reciprocal first: it is in range where the product may not be.
            let x = self.unary(Unary::Recip, x);
            return Some(self.product(x, -exponent as u32));
        }
        match exponent {
            0.5 => Some(self.unary(Unary::Sqrt, x)),
            -0.5 => Some(self.rsqrt(x)),
            _ => None,
        }
    }

    /// `x * x * ..`, by repeated squaring.
    fn product(&mut self, x: NodeId, times: u32) -> NodeId {
        let mut product = None;
        let mut square = x;
        for bit in 0..u32::BITS - times.leading_zeros() {
            if bit > 0 {
                square = self.mul(square, square);
            }
            if times >> bit & 1 == 1 {
                product = Some(match product {
                    Some(product) => self.mul(product, square),
                    None => square,
                });
            }
        }
        product.unwrap_or_else(|| self.full_like(1.0, x))
    }

    fn pow_floats(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let (zero, one) = (self.full_like(0.0, x), self.full_like(1.0, x));
        let magnitude = self.abs(x);
        // These powers are 1, and the logarithm is 0 where the exponent may be infinite, or the other way round.
        let no_power = self.equal(y, zero);
        let is_one = self.equal(magnitude, one);
        let trivial = self.or(no_power, is_one);
        let logarithm = self.unary(Unary::Log2, magnitude);
        let product = self.mul(y, logarithm);
        let product = self.select(trivial, zero, product);
        let power = self.unary(Unary::Exp2, product);
        // Of a negative number: only whole exponents, and odd ones keep the sign.
        let truncated = self.trunc(y);
        let whole = self.equal(truncated, y);
        let halved = self.mul_number(y, 0.5);
        let truncated = self.trunc(halved);
        let odd = self.not_equal(truncated, halved);
        let negated = self.neg(power);
        let signed = self.select(odd, negated, power);
        let nan = self.full_like(f64::NAN, x);
        let of_negative = self.select(whole, signed, nan);
        let negative = self.less(x, zero);
        let power = self.select(negative, of_negative, power);
        let of_one = self.equal(x, one);
        let is_one = self.or(no_power, of_one);
        self.select(is_one, one, power)
    }

    /// Wraps. Negative exponents give 0, except of 1 and -1.
    fn pow_integers(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let (zero, one) = (self.full_like(0.0, x), self.full_like(1.0, x));
        let bits = self.nodes[x].dtype.bytes() as u32 * 8 - 1;
        // Of 1 and -1 only the parity of the exponent counts, so a negative one may be read as a positive one.
        let mut rest = y;
        let (mut power, mut square, mut cycle) = (one, x, one);
        for bit in 0..bits {
            if bit > 0 {
                square = self.mul(square, square);
            }
            // The bits of the exponent from the lowest: what is left modulo the next power of two.
            let low = match bit + 1 < bits {
                true => {
                    cycle = self.add(cycle, cycle);
                    self.modulo(rest, cycle)
                }
                false => rest,
            };
            let set = self.not_equal(low, zero);
            let longer = self.mul(power, square);
            power = self.select(set, longer, power);
            rest = self.sub(rest, low);
        }
        let negative = self.less(y, zero);
        let minus_one = self.full_like(-1.0, x);
        let (is_one, is_minus_one) = (self.equal(x, one), self.equal(x, minus_one));
        let unit = self.or(is_one, is_minus_one);
        let fraction = self.select(unit, power, zero);
        self.select(negative, fraction, power)
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Each element to the power of the operand, a number or a tensor.
    ///
    /// Numbers that are whole, up to 32, are products, and 0.5 is the square root. Negative elements have powers with
    /// whole exponents, others are NaN. The power with exponent 0 is 1, also of 0 and NaN.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<4>,)> = input("x");
    ///     output(&x.pow(3.0).pow(x));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn pow(self, exponent: impl Operand<S, E>) -> Self
    where
        E: Float,
    {
        let _scope = op("pow");
        self.pointwise(exponent.spread(), Graph::pow)
    }
}
