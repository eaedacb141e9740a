//! Activation functions of neural networks. Where a factor vanishes faster than the other one grows, the limit at -inf is
//! 0 and not the NaN that 0 times infinity would be.

use super::element::{Element, Float, Number};
use super::pointwise::{float, functions};
use super::shape::Shape;
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::{Graph, NodeId, Unary};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Compositions, of floats unless said otherwise.
impl Graph {
    /// The greater of `x` and 0; NaN stays NaN. Also of integers.
    pub fn relu(&mut self, x: NodeId) -> NodeId {
        let zero = self.full_like(0.0, x);
        self.maximum(x, zero)
    }

    /// `x` between two numbers; NaN stays NaN. Also of integers.
    pub fn clamp_numbers(&mut self, x: NodeId, low: f64, high: f64) -> NodeId {
        let (low, high) = (self.full_like(low, x), self.full_like(high, x));
        let x = self.maximum(x, low);
        self.minimum(x, high)
    }

    /// `x` where it is not negative, `slope * x` elsewhere.
    pub fn leaky_relu(&mut self, x: NodeId, slope: f64) -> NodeId {
        let slope = self.full_like(float(slope), x);
        self.prelu(x, slope)
    }

    /// As [`leaky_relu`](Graph::leaky_relu), with a slope for each element.
    pub fn prelu(&mut self, x: NodeId, slope: NodeId) -> NodeId {
        let scaled = self.mul(x, slope);
        self.if_negative(x, scaled, x)
    }

    /// `x` where it is not negative, `alpha (e^x - 1)` elsewhere.
    pub fn elu(&mut self, x: NodeId, alpha: f64) -> NodeId {
        let power = self.expm1(x);
        let power = self.mul_number(power, float(alpha));
        self.if_negative(x, power, x)
    }

    /// `x` where it is not negative, `alpha (e^(x / alpha) - 1)` elsewhere.
    pub fn celu(&mut self, x: NodeId, alpha: f64) -> NodeId {
        let scaled = self.div_number(x, alpha);
        let power = self.expm1(scaled);
        let power = self.mul_number(power, float(alpha));
        self.if_negative(x, power, x)
    }

    /// `scale * x` where it is not negative, `scale * alpha (e^x - 1)` elsewhere.
    pub fn selu(&mut self, x: NodeId, alpha: f64, scale: f64) -> NodeId {
        let elu = self.elu(x, alpha);
        self.mul_number(elu, float(scale))
    }

    fn if_negative(&mut self, x: NodeId, then: NodeId, otherwise: NodeId) -> NodeId {
        let zero = self.full_like(0.0, x);
        let negative = self.less(x, zero);
        self.select(negative, then, otherwise)
    }

    /// `log(1 + e^x)`, as `max(x, 0) + log1p(e^-|x|)`, which does not overflow.
    pub fn softplus(&mut self, x: NodeId) -> NodeId {
        let magnitude = self.abs(x);
        let negated = self.neg(magnitude);
        let power = self.exp(negated);
        let rest = self.log1p(power);
        let positive = self.relu(x);
        self.add(positive, rest)
    }

    /// Logarithm of the sigmoid, `-softplus(-x)`.
    pub fn log_sigmoid(&mut self, x: NodeId) -> NodeId {
        let negated = self.neg(x);
        let softplus = self.softplus(negated);
        self.neg(softplus)
    }

    /// `x / (1 + |x|)`; NaN for infinities.
    pub fn softsign(&mut self, x: NodeId) -> NodeId {
        let magnitude = self.abs(x);
        let divisor = self.add_number(magnitude, 1.0);
        self.div(x, divisor)
    }

    /// `x * sigmoid(x)`, also called swish.
    pub fn silu(&mut self, x: NodeId) -> NodeId {
        let sigmoid = self.sigmoid(x);
        self.vanishing(x, sigmoid)
    }

    /// `x * factor`, where the factor is 0 from -200 on.
    fn vanishing(&mut self, x: NodeId, factor: NodeId) -> NodeId {
        let least = self.full_like(-200.0, x);
        let x = self.maximum(x, least);
        self.mul(x, factor)
    }

    /// The error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from 0 to `x`: up to 1 a polynomial, beyond it 1
    /// less a power of two whose exponent is a polynomial.
    pub fn erf(&mut self, x: NodeId) -> NodeId {
        let square = self.mul(x, x);
        let series = self.polynomial(square, &ERF);
        let series = self.mul(series, x);
        let near = self.add(x, series);
        let magnitude = self.abs(x);
        let end = self.full_like(4.0, x);
        let magnitude = self.minimum(magnitude, end);
        let exponent = self.polynomial(magnitude, &ERFC);
        let complement = self.unary(Unary::Exp2, exponent);
        let negated = self.neg(complement);
        let far = self.add_number(negated, 1.0);
        let far = self.with_sign_of(x, far);
        self.near_zero(x, 0.98, near, far)
    }

    /// `x (1 + erf(x / sqrt 2)) / 2`
    pub fn gelu(&mut self, x: NodeId) -> NodeId {
        let scaled = self.mul_number(x, float(FRAC_1_SQRT_2));
        let erf = self.erf(scaled);
        let sum = self.add_number(erf, 1.0);
        let half = self.mul_number(sum, 0.5);
        self.vanishing(x, half)
    }

    /// `x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2`. As `1 + tanh(t)` is `2 sigmoid(2t)`, nothing cancels.
    pub fn gelu_tanh(&mut self, x: NodeId) -> NodeId {
        let square = self.mul(x, x);
        let scaled = self.mul_number(square, float(0.044715));
        let factor = self.add_number(scaled, 1.0);
        let factor = self.mul_number(factor, float(2.0 * (2.0 / PI).sqrt()));
        let argument = self.mul(factor, x);
        let sigmoid = self.sigmoid(argument);
        self.vanishing(x, sigmoid)
    }

    /// `slope * x + offset` between 0 and 1.
    pub fn hardsigmoid(&mut self, x: NodeId, slope: f64, offset: f64) -> NodeId {
        let scaled = self.mul_number(x, float(slope));
        let line = self.add_number(scaled, float(offset));
        self.clamp_numbers(line, 0.0, 1.0)
    }

    /// `x * hardsigmoid(x)`, with the line `x/6 + 1/2`.
    pub fn hardswish(&mut self, x: NodeId) -> NodeId {
        let moved = self.add_number(x, 3.0);
        let line = self.clamp_numbers(moved, 0.0, 6.0);
        let factor = self.mul_number(line, float(1.0 / 6.0));
        self.vanishing(x, factor)
    }

    /// `x tanh(softplus(x))`. With `p = e^x`, the tangent is `p (p + 2) / (p (p + 2) + 2)`.
    pub fn mish(&mut self, x: NodeId) -> NodeId {
        // From 20 on it is 1 to the last bit, long before the product overflows.
        let end = self.full_like(20.0, x);
        let limited = self.minimum(x, end);
        let power = self.exp(limited);
        let sum = self.add_number(power, 2.0);
        let product = self.mul(power, sum);
        let divisor = self.add_number(product, 2.0);
        let tangent = self.div(product, divisor);
        self.vanishing(x, tangent)
    }
}

/// `erf(x) / x - 1`, of `x^2`
const ERF: [f64; 7] =
    [0.12837911, -0.37612626, 0.112835854, -0.026853811, 0.00518832728, -0.000801018847, 7.853844e-05];
/// `log2(1 - erf(x))` from 0.95 to 4
const ERFC: [f64; 7] =
    [-0.000353032228, -1.62660265, -0.919742465, -0.14952153, 0.0318658128, -0.00434042467, 0.000277614774];

functions! { Number:
    /// The greater of each element and 0; NaN stays NaN.
    relu = |graph, x| graph.relu(x);
    /// Each element between 0 and 6; NaN stays NaN.
    relu6 = |graph, x| graph.clamp_numbers(x, 0.0, 6.0);
}

functions! { Float:
    /// `log(1 + e^x)` of each element. Does not overflow.
    softplus = |graph, x| graph.softplus(x);
    /// `log(sigmoid(x))` of each element, exact also where the sigmoid itself is 0.
    log_sigmoid = |graph, x| graph.log_sigmoid(x);
    /// `x / (1 + |x|)` of each element.
    softsign = |graph, x| graph.softsign(x);
    /// `x * sigmoid(x)` of each element, also called swish; 0 at -inf.
    silu = |graph, x| graph.silu(x);
    /// The error function of each element.
    erf = |graph, x| graph.erf(x);
    /// `x (1 + erf(x / sqrt 2)) / 2` of each element; 0 at -inf.
    gelu = |graph, x| graph.gelu(x);
    /// The approximation of [`gelu`](Tensor::gelu) by a hyperbolic tangent,
    /// `x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2`; 0 at -inf.
    gelu_tanh = |graph, x| graph.gelu_tanh(x);
    /// `x/6 + 1/2` of each element, between 0 and 1.
    hardsigmoid = |graph, x| graph.hardsigmoid(x, 1.0 / 6.0, 0.5);
    /// `x * hardsigmoid(x)` of each element; 0 at -inf.
    hardswish = |graph, x| graph.hardswish(x);
    /// `x tanh(softplus(x))` of each element; 0 at -inf.
    mish = |graph, x| graph.mish(x);
    /// `scale * x` of each element that is not negative, `scale * alpha (e^x - 1)` of the others, with the numbers of
    /// Klambauer et al. 2017, "Self-normalizing neural networks".
    selu = |graph, x| graph.selu(x, 1.6732632423543772, 1.0507009873554805);
}

macro_rules! with_parameter {
    ($($(#[$doc:meta])* $name:ident($parameter:ident);)*) => {
        impl<S: Shape, E: Element> Tensor<S, E> {
            $(
                $(#[$doc])*
                ///
                #[doc = concat!(
                    "```\n",
                    "use luminal_core::tensor::{D, Tensor, input, output, trace};\n\n",
                    "let traced = trace(|| output(&input::<Tensor<(D<4>,)>>(\"x\").", stringify!($name), "(0.5)));\n",
                    "assert!(traced.mistakes.is_empty());\n",
                    "```",
                )]
                #[track_caller]
                pub fn $name(self, $parameter: f32) -> Self
                where
                    E: Float,
                {
                    let _scope = op(stringify!($name));
                    Tensor::of(record(|recorder| {
                        recorder.graph.widened([self.node], |graph, [x]| graph.$name(x, $parameter.into()))
                    }))
                }
            )*
        }
    };
}

with_parameter! {
    /// Each element that is not negative, `slope * x` of the others.
    leaky_relu(slope);
    /// Each element that is not negative, `alpha (e^x - 1)` of the others.
    elu(alpha);
    /// Each element that is not negative, `alpha (e^(x / alpha) - 1)` of the others.
    celu(alpha);
}
