//! Comparisons, logic of truth values, and selection by them.

use super::arithmetic::Operand;
use super::dim::DimInfo;
use super::element::{Element, Float};
use super::shape::{Broadcast, Shape};
use super::trace::{op, record};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Binary, Graph, NodeId};
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// Compositions, on operands of one shape and element type; results are truth values.
///
/// The one primitive is `<`, which is false for NaN. Where a composition negates it, NaN is excluded explicitly.
impl Graph {
    /// `x < y`; false if either is NaN. Of truth values, false is less than true.
    pub fn less(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::LessThan, x, y)
    }

    /// `x > y`; false if either is NaN.
    pub fn greater(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.less(y, x)
    }

    /// `x <= y`; false if either is NaN.
    pub fn less_equal(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let greater = self.less(y, x);
        let not_greater = self.not(greater);
        self.and_ordered(not_greater, x, y)
    }

    /// `x >= y`; false if either is NaN.
    pub fn greater_equal(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.less_equal(y, x)
    }

    /// `x == y`; false if either is NaN; the two zeros are equal.
    pub fn equal(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let differ = self.differ(x, y);
        let alike = self.not(differ);
        self.and_ordered(alike, x, y)
    }

    /// `x != y`; true if either is NaN.
    pub fn not_equal(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let equal = self.equal(x, y);
        self.not(equal)
    }

    /// Of floats.
    pub fn is_nan(&mut self, x: NodeId) -> NodeId {
        let number = self.is_number(x);
        self.not(number)
    }

    /// Of floats: an infinity of either sign.
    pub fn is_inf(&mut self, x: NodeId) -> NodeId {
        let greatest = self.full_like(f32::MAX.into(), x);
        let magnitude = self.abs(x);
        self.less(greatest, magnitude)
    }

    /// Of floats: neither infinite nor NaN.
    pub fn is_finite(&mut self, x: NodeId) -> NodeId {
        let infinity = self.full_like(f64::INFINITY, x);
        let magnitude = self.abs(x);
        self.less(magnitude, infinity)
    }

    /// Of truth values.
    pub fn not(&mut self, x: NodeId) -> NodeId {
        let (no, yes) = (self.full_like(0.0, x), self.full_like(1.0, x));
        self.select(x, no, yes)
    }

    /// Of truth values.
    pub fn and(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::Mul, x, y)
    }

    /// Of truth values.
    pub fn or(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.binary(Binary::Max, x, y)
    }

    /// Of truth values: one of the two, but not both.
    pub fn xor(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.differ(x, y)
    }

    /// One is less than the other.
    fn differ(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let (less, greater) = (self.less(x, y), self.less(y, x));
        self.or(less, greater)
    }

    /// Neither is NaN, and what else must hold. The greater one is NaN if either is.
    fn and_ordered(&mut self, condition: NodeId, x: NodeId, y: NodeId) -> NodeId {
        if self.nodes[x].dtype != Dtype::F32 {
            return condition;
        }
        let greater = self.maximum(x, y);
        let ordered = self.is_number(greater);
        self.and(condition, ordered)
    }

    /// Every number is less than infinity or greater than -infinity.
    fn is_number(&mut self, x: NodeId) -> NodeId {
        let (least, greatest) = (self.full_like(f64::NEG_INFINITY, x), self.full_like(f64::INFINITY, x));
        let (below, above) = (self.less(x, greatest), self.less(least, x));
        self.or(below, above)
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        impl<S: Shape, E: Element> Tensor<S, E> {
            $(
                $(#[$doc])*
                ///
                #[doc = concat!(
                    "```\n",
                    "use luminal_core::tensor::{D, Tensor, input, output, trace};\n\n",
                    "let traced = trace(|| {\n",
                    "    let x: Tensor<(D<2>, D<4>)> = input(\"x\");\n",
                    "    let limit: Tensor<(D<4>,)> = input(\"limit\");\n",
                    "    output(&(x.", stringify!($name), "(0.0) & x.", stringify!($name), "(limit)));\n",
                    "});\n",
                    "assert!(traced.mistakes.is_empty());\n",
                    "```",
                )]
                #[track_caller]
                pub fn $name(self, other: impl Operand<S, E>) -> Tensor<S, bool> {
                    let _scope = op(stringify!($name));
                    self.pointwise(other.spread(), Graph::$name)
                }
            )*
        }
    };
}

comparisons! {
    /// Whether each element is less than the operand's; false if either is NaN.
    less;
    /// Whether each element is greater than the operand's; false if either is NaN.
    greater;
    /// Whether each element is at most the operand's; false if either is NaN.
    less_equal;
    /// Whether each element is at least the operand's; false if either is NaN.
    greater_equal;
    /// Whether each element equals the operand's; false if either is NaN. The two zeros are equal.
    equal;
    /// Whether each element is unequal to the operand's; true if either is NaN.
    not_equal;
}

macro_rules! tests_of_floats {
    ($($(#[$doc:meta])* $name:ident;)*) => {
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
                pub fn $name(self) -> Tensor<S, bool>
                where
                    E: Float,
                {
                    let _scope = op(stringify!($name));
                    Tensor::of(record(|recorder| {
                        recorder.graph.widened([self.node], |graph, [x]| graph.$name(x))
                    }))
                }
            )*
        }
    };
}

tests_of_floats! {
    /// Whether each element is NaN.
    is_nan;
    /// Whether each element is an infinity of either sign.
    is_inf;
    /// Whether each element is neither infinite nor NaN.
    is_finite;
}

impl<S: Shape> Tensor<S, bool> {
    /// `then` where the condition holds, `otherwise` elsewhere. Both broadcast to the shape of the condition.
    ///
    /// What is not chosen has no influence, not even infinities and NaN.
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
    #[doc(alias = "where")]
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

impl<S: Shape, E: Element> Tensor<S, E> {
    /// `value` where the mask holds, the element itself elsewhere. The mask and a tensor as value broadcast to the shape
    /// of this tensor.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let scores: Tensor<(D<3>, D<4>)> = input("scores");
    ///     let padding: Tensor<(D<4>,), bool> = input("padding");
    ///     output(&scores.masked_fill(padding, f32::NEG_INFINITY));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn masked_fill<R: Shape>(self, mask: Tensor<R, bool>, value: impl Operand<S, E>) -> Self
    where
        S: Broadcast<R>,
    {
        let _scope = op("masked_fill");
        let value = value.spread();
        Tensor::of(record(|recorder| {
            let mask = recorder.broadcast(mask.node, R::DIMS, S::DIMS);
            recorder.graph.select(mask, value.node, self.node)
        }))
    }
}

macro_rules! logic {
    ($($Trait:ident $method:ident $name:ident;)*) => {$(
        impl<S: Shape + Broadcast<R>, R: Shape> $Trait<Tensor<R, bool>> for Tensor<S, bool> {
            type Output = Self;

            #[track_caller]
            fn $method(self, right: Tensor<R, bool>) -> Self {
                let _scope = op(stringify!($name));
                logical(Graph::$name, self, right.node, R::DIMS)
            }
        }
    )*};
}

logic! {
    BitAnd bitand and;
    BitOr bitor or;
    BitXor bitxor xor;
}

fn logical<S: Shape>(
    function: fn(&mut Graph, NodeId, NodeId) -> NodeId,
    left: Tensor<S, bool>,
    right: NodeId,
    dims: &[DimInfo],
) -> Tensor<S, bool> {
    Tensor::of(record(|recorder| {
        let right = recorder.broadcast(right, dims, S::DIMS);
        function(&mut recorder.graph, left.node, right)
    }))
}

impl<S: Shape> Not for Tensor<S, bool> {
    type Output = Self;

    #[track_caller]
    fn not(self) -> Self {
        let _scope = op("not");
        Tensor::of(record(|recorder| recorder.graph.not(self.node)))
    }
}
