//! Magnitude, sign and rounding to whole numbers.

use super::element::{Element, Float, Number};
use super::pointwise::functions;
use super::shape::Shape;
use super::trace::{op, record};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Graph, NodeId};

/// From here on every `f32` is a whole number.
const WHOLE: f64 = 8_388_608.0; // 2^23

/// Compositions. Rounding leaves integers as they are.
impl Graph {
    /// Magnitude. The least integer stays itself, as it has no counterpart.
    pub fn abs(&mut self, x: NodeId) -> NodeId {
        let negated = self.neg(x);
        self.maximum(x, negated)
    }

    /// -1, 0 or 1; NaN stays NaN.
    pub fn sign(&mut self, x: NodeId) -> NodeId {
        let zero = self.full_like(0.0, x);
        let (one, minus_one) = (self.full_like(1.0, x), self.full_like(-1.0, x));
        let (negative, positive) = (self.less(x, zero), self.less(zero, x));
        let rest = self.select(positive, one, x);
        self.select(negative, minus_one, rest)
    }

    /// Towards zero.
    pub fn trunc(&mut self, x: NodeId) -> NodeId {
        if self.nodes[x].dtype != Dtype::F32 {
            return x;
        }
        // Through an integer where it holds the number; infinities and NaN are not small and so stay.
        let whole = self.cast(x, Dtype::I32);
        let whole = self.cast(whole, Dtype::F32);
        let limit = self.full_like(WHOLE, x);
        let magnitude = self.abs(x);
        let small = self.less(magnitude, limit);
        self.select(small, whole, x)
    }

    /// Downwards.
    pub fn floor(&mut self, x: NodeId) -> NodeId {
        if self.nodes[x].dtype != Dtype::F32 {
            return x;
        }
        let whole = self.trunc(x);
        let above = self.less(x, whole);
        let lower = self.add_number(whole, -1.0);
        self.select(above, lower, whole)
    }

    /// Upwards.
    pub fn ceil(&mut self, x: NodeId) -> NodeId {
        if self.nodes[x].dtype != Dtype::F32 {
            return x;
        }
        let whole = self.trunc(x);
        let below = self.less(whole, x);
        let higher = self.add_number(whole, 1.0);
        self.select(below, higher, whole)
    }

    /// To the nearest whole number, and halves to the even one.
    pub fn round(&mut self, x: NodeId) -> NodeId {
        if self.nodes[x].dtype != Dtype::F32 {
            return x;
        }
        let (half, one) = (self.full_like(0.5, x), self.full_like(1.0, x));
        let whole = self.trunc(x);
        // Exact: a part of `x`, and 0 or NaN where `x` is its own whole part.
        let part = self.sub(x, whole);
        let part = self.abs(part);
        let halved = self.mul_number(whole, 0.5);
        let even = self.trunc(halved);
        let odd = self.not_equal(even, halved);
        let (beyond, below) = (self.less(half, part), self.less(part, half));
        let at_least = self.not(below);
        let tie_to_odd = self.and(odd, at_least);
        let away = self.or(beyond, tie_to_odd);
        // Whole numbers beyond 2^23 have no part, but may be infinite.
        let limit = self.full_like(WHOLE, x);
        let magnitude = self.abs(x);
        let small = self.less(magnitude, limit);
        let away = self.and(away, small);
        let minus_one = self.full_like(-1.0, x);
        let zero = self.full_like(0.0, x);
        let negative = self.less(x, zero);
        let step = self.select(negative, minus_one, one);
        let next = self.add(whole, step);
        self.select(away, next, whole)
    }
}

functions! { Number:
    /// Magnitude of each element. The least integer has no counterpart and stays itself.
    abs = |graph, x| graph.abs(x);
    /// -1, 0 or 1, the sign of each element; NaN stays NaN.
    sign = |graph, x| graph.sign(x);
}

functions! { Float:
    /// Each element rounded towards zero. Infinities and NaN stay.
    trunc = |graph, x| graph.trunc(x);
    /// Each element rounded down. Infinities and NaN stay.
    floor = |graph, x| graph.floor(x);
    /// Each element rounded up. Infinities and NaN stay.
    ceil = |graph, x| graph.ceil(x);
    /// Each element rounded to the nearest whole number, and halves to the even one: 0.5 to 0, 1.5 to 2. Infinities and
    /// NaN stay.
    round = |graph, x| graph.round(x);
}
