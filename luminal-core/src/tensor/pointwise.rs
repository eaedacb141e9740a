//! Functions of one operand, and conversion.

use super::element::{Element, Float, Number};
use super::shape::Shape;
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::Unary;
use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E};
use std::ops::{Neg, Not};

/// The primitives, under one scope each. The bound is on the method: on the implementation, rustc would answer with a
/// list of types that have the method.
macro_rules! primitive {
    ($($(#[$doc:meta])* $name:ident = $unary:ident;)*) => {
        impl<S: Shape, E: Element> Tensor<S, E> {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(self) -> Self
                where
                    E: Float,
                {
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

/// A constant, which broadcasts to every shape.
fn number<E: Float>(value: f64) -> Tensor<(), E> {
    Tensor::full(E::from_f64(value))
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// `e^x` of each element, as `2^(x * log2 e)`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<4>,)>>("x").exp()));
    /// assert!(traced.graph.nodes.iter().skip(1).all(|node| node.origin.as_ref().unwrap().op == "exp"));
    /// ```
    #[track_caller]
    pub fn exp(self) -> Self
    where
        E: Float,
    {
        let _scope = op("exp");
        (self * number(LOG2_E)).exp2()
    }

    /// Natural logarithm of each element, as `log2 x * ln 2`.
    #[track_caller]
    pub fn log(self) -> Self
    where
        E: Float,
    {
        let _scope = op("log");
        self.log2() * number(LN_2)
    }

    /// Cosine of each element, in radians, as `sin (x + pi/2)`.
    #[track_caller]
    pub fn cos(self) -> Self
    where
        E: Float,
    {
        let _scope = op("cos");
        (self + number(FRAC_PI_2)).sin()
    }

    /// `1 / (1 + e^-x)` of each element; 0 and 1 at the infinities.
    #[track_caller]
    pub fn sigmoid(self) -> Self
    where
        E: Float,
    {
        let _scope = op("sigmoid");
        ((self * number(-LOG2_E)).exp2() + number(1.0)).recip()
    }

    /// Hyperbolic tangent of each element, as `2 sigmoid 2x - 1`. Its error is absolute, about 1e-7, also near 0.
    #[track_caller]
    pub fn tanh(self) -> Self
    where
        E: Float,
    {
        let _scope = op("tanh");
        (self * number(2.0)).sigmoid() * number(2.0) + number(-1.0)
    }

    /// The greater of each element and 0; NaN stays NaN.
    #[track_caller]
    pub fn relu(self) -> Self
    where
        E: Number,
    {
        let _scope = op("relu");
        self.maximum(Tensor::<S, E>::zeros())
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
