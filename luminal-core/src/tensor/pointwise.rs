//! Functions of one operand, and conversion.

use super::element::{Element, Float, Number};
use super::shape::Shape;
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::{Graph, NodeId, Unary};
use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E};
use std::ops::{Neg, Not};

/// Functions of floats, each a composition of primitives.
impl Graph {
    /// `e^x`, as `2^(x * log2 e)`.
    pub fn exp(&mut self, x: NodeId) -> NodeId {
        let power = self.mul_number(x, float(LOG2_E));
        self.unary(Unary::Exp2, power)
    }

    /// Natural logarithm, as `log2 x * ln 2`.
    pub fn log(&mut self, x: NodeId) -> NodeId {
        let log2 = self.unary(Unary::Log2, x);
        self.mul_number(log2, float(LN_2))
    }

    /// Cosine of radians, as `sin (x + pi/2)`.
    pub fn cos(&mut self, x: NodeId) -> NodeId {
        let shifted = self.add_number(x, float(FRAC_PI_2));
        self.unary(Unary::Sin, shifted)
    }

    /// `1 / (1 + e^-x)`; 0 and 1 at the infinities.
    pub fn sigmoid(&mut self, x: NodeId) -> NodeId {
        let power = self.mul_number(x, float(-LOG2_E));
        let power = self.unary(Unary::Exp2, power);
        let sum = self.add_number(power, 1.0);
        self.unary(Unary::Recip, sum)
    }

    /// Hyperbolic tangent, as `2 sigmoid 2x - 1`. Its error is absolute, about 1e-7, also near 0.
    pub fn tanh(&mut self, x: NodeId) -> NodeId {
        let doubled = self.mul_number(x, 2.0);
        let sigmoid = self.sigmoid(doubled);
        let doubled = self.mul_number(sigmoid, 2.0);
        self.add_number(doubled, -1.0)
    }

    /// The greater of `x` and 0; NaN stays NaN.
    pub fn relu(&mut self, x: NodeId) -> NodeId {
        let zero = self.full_like(0.0, x);
        self.maximum(x, zero)
    }
}

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
    /// `e^x` of each element, as `2^(x * log2 e)`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<4>,)>>("x").exp()));
    /// assert!(traced.graph.nodes.iter().skip(1).all(|node| node.origin.as_ref().unwrap().op == "exp"));
    /// ```
    exp = |graph, x| graph.exp(x);
    /// Natural logarithm of each element, as `log2 x * ln 2`.
    log = |graph, x| graph.log(x);
    /// Cosine of each element, in radians, as `sin (x + pi/2)`.
    cos = |graph, x| graph.cos(x);
    /// `1 / (1 + e^-x)` of each element; 0 and 1 at the infinities.
    sigmoid = |graph, x| graph.sigmoid(x);
    /// Hyperbolic tangent of each element, as `2 sigmoid 2x - 1`. Its error is absolute, about 1e-7, also near 0.
    tanh = |graph, x| graph.tanh(x);
}

functions! { Number:
    /// The greater of each element and 0; NaN stays NaN.
    relu = |graph, x| graph.relu(x);
}

impl<S: Shape, E: Number> Neg for Tensor<S, E> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        let _scope = op("neg");
        Tensor::of(record(|recorder| recorder.graph.widened([self.node], |graph, [x]| graph.neg(x))))
    }
}

impl<S: Shape> Not for Tensor<S, bool> {
    type Output = Self;

    #[track_caller]
    fn not(self) -> Self {
        let _scope = op("not");
        Tensor::of(record(|recorder| recorder.graph.not(self.node)))
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Converts each element as Rust's `as` does; to `bool`: whether it is not zero.
    #[track_caller]
    pub fn cast<F: Element>(self) -> Tensor<S, F> {
        let _scope = op("cast");
        Tensor::of(record(|recorder| recorder.graph.cast(self.node, F::DTYPE)))
    }
}
