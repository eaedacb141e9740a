//! Functions of one operand, and conversion.

use super::element::{Element, Number};
use super::shape::Shape;
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::Unary;
use std::f32::consts::{FRAC_PI_2, LN_2, LOG2_E};
use std::ops::{Neg, Not};

/// The primitives, under one scope each.
macro_rules! primitive {
    ($($(#[$doc:meta])* $name:ident = $unary:ident;)*) => {
        impl<S: Shape> Tensor<S, f32> {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(self) -> Self {
                    let _scope = op(stringify!($name));
                    Tensor::of(record(|recorder| recorder.graph.unary(Unary::$unary, self.node)))
                }
            )*
        }
    };
}

primitive! {
    /// `2^x` of each element.
    exp2 = Exp2;
    /// Binary logarithm of each element.
    log2 = Log2;
    /// Sine of each element, in radians.
    sin = Sin;
    /// Square root of each element.
    sqrt = Sqrt;
    /// `1 / x` of each element.
    recip = Recip;
}

impl<S: Shape> Tensor<S, f32> {
    /// `e^x` of each element, as `2^(x * log2 e)`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<4>,)>>("x").exp()));
    /// assert!(traced.graph.nodes.iter().skip(1).all(|node| node.origin.as_ref().unwrap().op == "exp"));
    /// ```
    #[track_caller]
    pub fn exp(self) -> Self {
        let _scope = op("exp");
        (self * LOG2_E).exp2()
    }

    /// Natural logarithm of each element, as `log2 x * ln 2`.
    #[track_caller]
    pub fn log(self) -> Self {
        let _scope = op("log");
        self.log2() * LN_2
    }

    /// Cosine of each element, in radians, as `sin (x + pi/2)`.
    #[track_caller]
    pub fn cos(self) -> Self {
        let _scope = op("cos");
        (self + FRAC_PI_2).sin()
    }

    /// `1 / (1 + e^-x)` of each element; 0 and 1 at the infinities.
    #[track_caller]
    pub fn sigmoid(self) -> Self {
        let _scope = op("sigmoid");
        ((self * -LOG2_E).exp2() + 1.0).recip()
    }

    /// Hyperbolic tangent of each element, as `2 sigmoid 2x - 1`. Its error is absolute, about 1e-7, also near 0.
    #[track_caller]
    pub fn tanh(self) -> Self {
        let _scope = op("tanh");
        (self * 2.0).sigmoid() * 2.0 - 1.0
    }

    /// The greater of each element and 0; NaN stays NaN.
    #[track_caller]
    pub fn relu(self) -> Self {
        let _scope = op("relu");
        self.maximum(0.0)
    }
}

impl<S: Shape, E: Number> Neg for Tensor<S, E> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        let _scope = op("neg");
        Tensor::of(record(|recorder| recorder.negate(self.node)))
    }
}

impl<S: Shape> Not for Tensor<S, bool> {
    type Output = Self;

    #[track_caller]
    fn not(self) -> Self {
        let _scope = op("not");
        self.select(Tensor::<S, bool>::full(false), Tensor::<S, bool>::full(true))
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
