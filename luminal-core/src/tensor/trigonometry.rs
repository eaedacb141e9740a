//! Tangent, the inverse circular functions, and the hyperbolic ones.

use super::element::{Element, Float};
use super::pointwise::{float, functions};
use super::shape::Shape;
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::{Graph, NodeId, Unary};
use std::f64::consts::{FRAC_PI_2, LN_2, PI};

/// Compositions, of floats. Accuracies are stated in docs/numerics.md.
impl Graph {
    /// Tangent of radians, as sine by cosine.
    pub fn tan(&mut self, x: NodeId) -> NodeId {
        let (sine, cosine) = (self.unary(Unary::Sin, x), self.cos(x));
        self.div(sine, cosine)
    }

    /// Radians whose tangent is `x`: a polynomial up to 1, beyond it what the reciprocal lacks of a right angle.
    pub fn atan(&mut self, x: NodeId) -> NodeId {
        let one = self.full_like(1.0, x);
        let magnitude = self.abs(x);
        let steep = self.less(one, magnitude);
        let reciprocal = self.unary(Unary::Recip, magnitude);
        let ratio = self.select(steep, reciprocal, magnitude);
        let angle = self.odd_polynomial(ratio, &ATAN);
        let right = self.full_like(float(FRAC_PI_2), x);
        let rest = self.sub(right, angle);
        let angle = self.select(steep, rest, angle);
        self.with_sign_of(x, angle)
    }

    /// Radians whose sine is `x`; NaN beyond 1.
    pub fn asin(&mut self, x: NodeId) -> NodeId {
        let near = self.odd_polynomial(x, &ASIN);
        let magnitude = self.abs(x);
        let other = self.acos_from_half(magnitude);
        let right = self.full_like(float(FRAC_PI_2), x);
        let far = self.sub(right, other);
        let far = self.with_sign_of(x, far);
        self.near_zero(x, 0.5, near, far)
    }

    /// Radians whose cosine is `x`; NaN beyond 1.
    pub fn acos(&mut self, x: NodeId) -> NodeId {
        let right = self.full_like(float(FRAC_PI_2), x);
        let near = self.odd_polynomial(x, &ASIN);
        let near = self.sub(right, near);
        let magnitude = self.abs(x);
        let angle = self.acos_from_half(magnitude);
        let straight = self.full_like(float(PI), x);
        let obtuse = self.sub(straight, angle);
        let zero = self.full_like(0.0, x);
        let negative = self.less(x, zero);
        let far = self.select(negative, obtuse, angle);
        self.near_zero(x, 0.5, near, far)
    }

    /// The inverse cosine from 0.5 on, by the half angle: `2 asin sqrt((1 - x) / 2)`.
    fn acos_from_half(&mut self, x: NodeId) -> NodeId {
        let halved = self.mul_number(x, -0.5);
        let square = self.add_number(halved, 0.5);
        let sine = self.unary(Unary::Sqrt, square);
        let half = self.odd_polynomial(sine, &ASIN);
        self.mul_number(half, 2.0)
    }

    /// `(e^x - e^-x) / 2`; near 0 a polynomial.
    pub fn sinh(&mut self, x: NodeId) -> NodeId {
        let near = self.odd_polynomial(x, &SINH);
        let magnitude = self.abs(x);
        let (growing, falling) = self.half_powers(magnitude);
        let far = self.sub(growing, falling);
        let far = self.with_sign_of(x, far);
        self.near_zero(x, 1.0, near, far)
    }

    /// `(e^x + e^-x) / 2`
    pub fn cosh(&mut self, x: NodeId) -> NodeId {
        let magnitude = self.abs(x);
        let (growing, falling) = self.half_powers(magnitude);
        self.add(growing, falling)
    }

    /// `e^x / 2` and `e^-x / 2`. The first is a product of two roots, which overflows only where it is itself too large.
    fn half_powers(&mut self, x: NodeId) -> (NodeId, NodeId) {
        let half = self.mul_number(x, 0.5);
        let root = self.exp(half);
        let halved = self.mul_number(root, 0.5);
        let growing = self.mul(halved, root);
        let negated = self.neg(x);
        let falling = self.exp(negated);
        (growing, self.mul_number(falling, 0.5))
    }

    /// Inverse of `sinh`, as `log1p(x + x^2 / (1 + sqrt(1 + x^2)))`.
    pub fn asinh(&mut self, x: NodeId) -> NodeId {
        let magnitude = self.abs(x);
        let square = self.mul(magnitude, magnitude);
        let sum = self.add_number(square, 1.0);
        let root = self.unary(Unary::Sqrt, sum);
        let divisor = self.add_number(root, 1.0);
        let part = self.div(square, divisor);
        let sum = self.add(magnitude, part);
        let moderate = self.log1p(sum);
        let large = self.log_of_double(magnitude);
        let limit = self.full_like(LARGE, x);
        let is_large = self.less(limit, magnitude);
        let result = self.select(is_large, large, moderate);
        self.with_sign_of(x, result)
    }

    /// Inverse of `cosh`, as `log1p(t + sqrt(2t + t^2))` with `t = x - 1`; NaN below 1.
    pub fn acosh(&mut self, x: NodeId) -> NodeId {
        let t = self.add_number(x, -1.0);
        let sum = self.add_number(t, 2.0);
        let square = self.mul(t, sum);
        let root = self.unary(Unary::Sqrt, square);
        let sum = self.add(t, root);
        let moderate = self.log1p(sum);
        let large = self.log_of_double(x);
        let (one, limit) = (self.full_like(1.0, x), self.full_like(LARGE, x));
        let is_large = self.less(limit, x);
        let result = self.select(is_large, large, moderate);
        let nan = self.full_like(f64::NAN, x);
        let below = self.less(x, one);
        self.select(below, nan, result)
    }

    /// Inverse of `tanh`, as `log1p(2x / (1 - x)) / 2`; infinite at 1 and NaN beyond.
    pub fn atanh(&mut self, x: NodeId) -> NodeId {
        let magnitude = self.abs(x);
        let doubled = self.mul_number(magnitude, 2.0);
        let negated = self.neg(magnitude);
        let rest = self.add_number(negated, 1.0);
        let ratio = self.div(doubled, rest);
        let logarithm = self.log1p(ratio);
        let half = self.mul_number(logarithm, 0.5);
        self.with_sign_of(x, half)
    }

    /// `log(2x)`, also where `2x` overflows.
    fn log_of_double(&mut self, x: NodeId) -> NodeId {
        let logarithm = self.log(x);
        self.add_number(logarithm, float(LN_2))
    }

    /// `-y` where `x` is negative.
    pub(super) fn with_sign_of(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let zero = self.full_like(0.0, x);
        let negative = self.less(x, zero);
        let negated = self.neg(y);
        self.select(negative, negated, y)
    }
}

/// From here on 1 does not count beside the square, and far from where the square overflows.
const LARGE: f64 = 1_048_576.0; // 2^20

/// `(atan(x) - x) / x^3`, of `x^2`
const ATAN: [f64; 9] = [
    -0.333332986,
    0.199985474,
    -0.142642289,
    0.109521203,
    -0.0840325877,
    0.0579543188,
    -0.0311745927,
    0.0109128645,
    -0.00179323368,
];
/// `(asin(x) - x) / x^3`, of `x^2`
const ASIN: [f64; 5] = [0.166667521, 0.0749529749, 0.0454703681, 0.0241795611, 0.0421662182];
/// `(sinh(x) - x) / x^3`, of `x^2`
const SINH: [f64; 4] = [0.166666672, 0.0083333496, 0.000198361595, 2.81695179e-06];

functions! { Float:
    /// Tangent of each element, in radians, as sine by cosine: near the poles its error is that of the cosine.
    tan = |graph, x| graph.tan(x);
    /// Radians from -pi/2 to pi/2 whose tangent is the element.
    atan = |graph, x| graph.atan(x);
    /// Radians from -pi/2 to pi/2 whose sine is the element; NaN beyond 1.
    asin = |graph, x| graph.asin(x);
    /// Radians from 0 to pi whose cosine is the element; NaN beyond 1.
    acos = |graph, x| graph.acos(x);
    /// Hyperbolic sine of each element.
    sinh = |graph, x| graph.sinh(x);
    /// Hyperbolic cosine of each element.
    cosh = |graph, x| graph.cosh(x);
    /// Inverse hyperbolic sine of each element.
    asinh = |graph, x| graph.asinh(x);
    /// Inverse hyperbolic cosine of each element; NaN below 1.
    acosh = |graph, x| graph.acosh(x);
    /// Inverse hyperbolic tangent of each element; infinite at 1 and NaN beyond.
    atanh = |graph, x| graph.atanh(x);
}
