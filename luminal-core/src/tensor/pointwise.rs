//! Exponentials, logarithms, roots, sine and cosine of each element, and conversion.

use super::element::{Element, Float, Number};
use super::shape::Shape;
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::{Graph, NodeId, Unary};
use std::f64::consts::{LN_2, LOG2_E};
use std::ops::Neg;

/// Functions of floats, each a composition of primitives. Accuracies are stated in docs/numerics.md.
///
/// Near 0, functions such as `expm1` are polynomials, and not the difference of numbers near 1: the search may reorder
/// sums of constants, so that what rounding errors cancel out elsewhere would not cancel out here.
impl Graph {
    /// `e^x`, as `2^(x * log2 e)`.
    pub fn exp(&mut self, x: NodeId) -> NodeId {
        let power = self.mul_number(x, float(LOG2_E));
        self.unary(Unary::Exp2, power)
    }

    /// `e^x - 1`; near 0 a polynomial.
    pub fn expm1(&mut self, x: NodeId) -> NodeId {
        let near = self.polynomial(x, &EXPM1);
        let near = self.mul(near, x);
        let near = self.mul(near, x);
        let near = self.add(x, near);
        let power = self.exp(x);
        let far = self.add_number(power, -1.0);
        self.near_zero(x, 0.5, near, far)
    }

    /// Natural logarithm, as `log2 x * ln 2`.
    pub fn log(&mut self, x: NodeId) -> NodeId {
        let log2 = self.unary(Unary::Log2, x);
        self.mul_number(log2, float(LN_2))
    }

    /// `log(1 + x)`; near 0 as `2 atanh(x / (2 + x))`, with a polynomial for the inverse hyperbolic tangent.
    pub fn log1p(&mut self, x: NodeId) -> NodeId {
        let sum = self.add_number(x, 2.0);
        let share = self.unary(Unary::Recip, sum);
        let ratio = self.mul(x, share);
        let square = self.mul(ratio, ratio);
        let series = self.polynomial(square, &ATANH);
        let series = self.mul(series, square);
        let series = self.mul(series, ratio);
        let near = self.add(ratio, series);
        let near = self.mul_number(near, 2.0);
        let sum = self.add_number(x, 1.0);
        let far = self.log(sum);
        // Both ends of the range have ratios of about 1/6.
        self.near_zero(x, 0.292, near, far)
    }

    /// `1 / (1 + e^-x)`; 0 and 1 at the infinities.
    pub fn sigmoid(&mut self, x: NodeId) -> NodeId {
        let power = self.mul_number(x, float(-LOG2_E));
        let power = self.unary(Unary::Exp2, power);
        let sum = self.add_number(power, 1.0);
        self.unary(Unary::Recip, sum)
    }

    /// Hyperbolic tangent, as `2 sigmoid 2x - 1`; near 0 a polynomial.
    pub fn tanh(&mut self, x: NodeId) -> NodeId {
        let near = self.odd_polynomial(x, &TANH);
        let doubled = self.mul_number(x, 2.0);
        let sigmoid = self.sigmoid(doubled);
        let doubled = self.mul_number(sigmoid, 2.0);
        let far = self.add_number(doubled, -1.0);
        self.near_zero(x, 0.6, near, far)
    }

    /// Cosine of radians, as `1 - 2 sin^2 (x/2)`, which is as exact for large numbers as for small ones.
    pub fn cos(&mut self, x: NodeId) -> NodeId {
        let half = self.mul_number(x, 0.5);
        let sine = self.unary(Unary::Sin, half);
        let square = self.mul(sine, sine);
        let doubled = self.mul_number(square, -2.0);
        self.add_number(doubled, 1.0)
    }

    /// `1 / sqrt x`
    pub fn rsqrt(&mut self, x: NodeId) -> NodeId {
        let root = self.unary(Unary::Sqrt, x);
        self.unary(Unary::Recip, root)
    }

    /// `x * x`
    pub fn square(&mut self, x: NodeId) -> NodeId {
        self.mul(x, x)
    }

    /// `c[0] + c[1] x + c[2] x^2 + ..`
    pub(super) fn polynomial(&mut self, x: NodeId, coefficients: &[f64]) -> NodeId {
        let (last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        let mut sum = self.full_like(float(*last), x);
        for coefficient in rest.iter().rev() {
            sum = self.mul(sum, x);
            sum = self.add_number(sum, float(*coefficient));
        }
        sum
    }

    /// `x + c[0] x^3 + c[1] x^5 + ..`, which is `x` itself where that is tiny.
    pub(super) fn odd_polynomial(&mut self, x: NodeId, coefficients: &[f64]) -> NodeId {
        let square = self.mul(x, x);
        let series = self.polynomial(square, coefficients);
        let cube = self.mul(square, x);
        let series = self.mul(series, cube);
        self.add(x, series)
    }

    /// `near` where `|x| < limit`, `far` elsewhere and where `x` is NaN.
    pub(super) fn near_zero(&mut self, x: NodeId, limit: f64, near: NodeId, far: NodeId) -> NodeId {
        let limit = self.full_like(float(limit), x);
        let magnitude = self.abs(x);
        let is_near = self.less(magnitude, limit);
        self.select(is_near, near, far)
    }
}

// Coefficients with the least greatest error relative to the function, fitted on a range that is a little larger than
// that on which they are used.

/// `(e^x - 1 - x) / x^2`
const EXPM1: [f64; 7] =
    [0.5, 0.166666672, 0.0416666605, 0.00833314192, 0.0013889306, 0.000199735994, 2.47905627e-05];
/// `(atanh(s) - s) / s^3`, of `s^2`
const ATANH: [f64; 4] = [0.333333313, 0.200001702, 0.142684773, 0.117946796];
/// `(tanh(x) - x) / x^3`, of `x^2`
const TANH: [f64; 5] = [-0.333332986, 0.133319244, -0.0537838228, 0.0207959432, -0.00589512661];

/// A constant of `f32`: the nearest one.
pub(super) fn float(value: f64) -> f64 {
    f64::from(value as f32)
}

/// One method each, under its own scope. The bound is on the method: on the implementation, rustc would answer with a
/// list of types that have the method.
macro_rules! functions {
    ($Bound:ident: $($(#[$doc:meta])* $name:ident = |$graph:ident, $x:ident| $composition:expr;)*) => {
        impl<S: Shape, E: Element> Tensor<S, E> {
            $(
                $(#[$doc])*
                ///
                #[doc = concat!(
                    "```\n",
                    "use luminal_core::tensor::{D, Tensor, input, output, trace};\n\n",
                    "let traced = trace(|| output(&input::<Tensor<(D<4>,)>>(\"x\").", stringify!($name), "()));\n",
                    "assert!(traced.mistakes.is_empty());\n",
                    "```",
                )]
                #[track_caller]
                pub fn $name(self) -> Self
                where
                    E: $Bound,
                {
                    let _scope = op(stringify!($name));
                    Tensor::of(record(|recorder| {
                        recorder.graph.widened([self.node], |$graph, [$x]| $composition)
                    }))
                }
            )*
        }
    };
}
pub(super) use functions;

functions! { Float:
    /// `2^x` of each element.
    exp2 = |graph, x| graph.unary(Unary::Exp2, x);
    /// Binary logarithm of each element.
    log2 = |graph, x| graph.unary(Unary::Log2, x);
    /// Sine of each element, in radians.
    sin = |graph, x| graph.unary(Unary::Sin, x);
    /// Square root of each element.
    sqrt = |graph, x| graph.unary(Unary::Sqrt, x);
    /// `1 / x` of each element.
    recip = |graph, x| graph.unary(Unary::Recip, x);
    /// `1 / sqrt x` of each element.
    rsqrt = |graph, x| graph.rsqrt(x);
    /// `e^x` of each element, as `2^(x * log2 e)`.
    exp = |graph, x| graph.exp(x);
    /// `e^x - 1` of each element, exact also near 0.
    expm1 = |graph, x| graph.expm1(x);
    /// Natural logarithm of each element, as `log2 x * ln 2`.
    log = |graph, x| graph.log(x);
    /// `log(1 + x)` of each element, exact also near 0.
    log1p = |graph, x| graph.log1p(x);
    /// Cosine of each element, in radians, as `1 - 2 sin^2 (x/2)`. Its error is absolute, about 1e-7.
    cos = |graph, x| graph.cos(x);
    /// `1 / (1 + e^-x)` of each element; 0 and 1 at the infinities.
    sigmoid = |graph, x| graph.sigmoid(x);
    /// Hyperbolic tangent of each element, exact also near 0.
    tanh = |graph, x| graph.tanh(x);
}

functions! { Number:
    /// `x * x` of each element.
    square = |graph, x| graph.square(x);
}

impl<S: Shape, E: Number> Neg for Tensor<S, E> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        let _scope = op("neg");
        Tensor::of(record(|recorder| recorder.graph.widened([self.node], |graph, [x]| graph.neg(x))))
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Converts each element as Rust's `as` does; to `bool`: whether it is not zero.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<4>,)>>("x").cast::<i32>())); // -1.5 gives -1
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn cast<F: Element>(self) -> Tensor<S, F> {
        let _scope = op("cast");
        Tensor::of(record(|recorder| recorder.graph.cast(self.node, F::DTYPE)))
    }
}
