//! Rotary position embedding: pairs of elements are rotated by angles in proportion to their position.

use super::element::{Element, Float};
use super::shape::{Broadcast, Shape, Split};
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Dim, Graph, NodeId, Unary};
use std::f64::consts::TAU;

/// How positions are embedded: [`rope()`] and the methods to change it.
///
/// ```
/// use luminal_core::tensor::{Rope, RopeScaling, rope};
///
/// // GPT-J: neighbours are a pair, and only the first 64 elements turn.
/// const GPT_J: Rope = rope().dims(64).interleaved();
/// // Llama 3.1.
/// const LLAMA: Rope = rope().theta(500_000.0).scaling(RopeScaling::Llama3 {
///     factor: 8.0,
///     low: 1.0,
///     high: 4.0,
///     original: 8192.0,
/// });
/// assert_eq!(GPT_J.theta, 10000.0);
/// assert!(!LLAMA.interleaved);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rope {
    /// The base: pair `i` of `n / 2` turns by `theta^(-2 i / n)` radians a position.
    pub theta: f64,
    /// The first elements of a vector that are rotated, an even number; all if absent.
    pub dims: Option<usize>,
    /// Pairs are neighbours, `(0, 1), (2, 3), ..`; if not, an element and the one half a vector behind it.
    pub interleaved: bool,
    /// What was done to reach longer sequences than in training.
    pub scaling: RopeScaling,
}

/// How the frequencies of [`Rope`] are changed to reach longer sequences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// They are not.
    None,
    /// All are divided by a factor: interpolation of positions.
    Linear(f64),
    /// As in Llama 3.1: long waves are divided by a factor, short ones stay, those between are blended.
    Llama3 {
        /// Divisor of the frequencies whose waves are long.
        factor: f64,
        /// Waves of more than `original / low` positions are long.
        low: f64,
        /// Waves of fewer than `original / high` positions are short.
        high: f64,
        /// Length of sequences in training.
        original: f64,
    },
}

/// Rotary embedding as in Llama and GPT-NeoX: base 10000, all elements, pairs half a vector apart. To be changed by the
/// methods of [`Rope`].
pub const fn rope() -> Rope {
    Rope { theta: 10000.0, dims: None, interleaved: false, scaling: RopeScaling::None }
}

impl Rope {
    /// Another base.
    pub const fn theta(self, theta: f64) -> Rope {
        Rope { theta, ..self }
    }

    /// Only the first `dims` elements of a vector are rotated, an even number; the others stay.
    pub const fn dims(self, dims: usize) -> Rope {
        Rope { dims: Some(dims), ..self }
    }

    /// Pairs are neighbours, as in GPT-J and in the original weights of Llama.
    pub const fn interleaved(self) -> Rope {
        Rope { interleaved: true, ..self }
    }

    /// Frequencies are changed.
    pub const fn scaling(self, scaling: RopeScaling) -> Rope {
        Rope { scaling, ..self }
    }
}

/// Compositions on graphs.
impl Graph {
    /// Rotates the last axis of `x`, of fixed size. `positions` are `i32` and have the other axes of `x`.
    ///
    /// Angles are `position * frequency` in `f32`, as in the frameworks that models were trained with: their error grows
    /// with the position, to 2^-24 of the angle and two units in the last place of the frequency. Sine and cosine of an
    /// angle are accurate however large it is.
    pub fn rope(&mut self, x: NodeId, positions: NodeId, rope: &Rope) -> NodeId {
        let Some(Dim::Fixed(width)) = self.nodes[x].shape.last().copied() else {
            panic!("rope of an axis of free size")
        };
        let dims = rope.dims.unwrap_or(width);
        let angles = self.rope_angles(positions, dims, rope);
        // 1 - 2 sin^2 (a / 2) is a cosine whose argument needs no rounding.
        let half = self.mul_number(angles, 0.5);
        let half_sine = self.unary(Unary::Sin, half);
        let square = self.mul(half_sine, half_sine);
        let doubled = self.mul_number(square, -2.0);
        let cosine = self.add_number(doubled, 1.0);
        let sine = self.unary(Unary::Sin, angles);
        self.rotate(x, cosine, sine, rope.interleaved)
    }

    /// Angles of `dims / 2` pairs at each position, in radians, along a new last axis.
    pub fn rope_angles(&mut self, positions: NodeId, dims: usize, rope: &Rope) -> NodeId {
        let frequencies = self.rope_frequencies(dims, rope);
        let mut shape = self.nodes[positions].shape.clone();
        let rank = shape.len();
        let positions = self.cast(positions, Dtype::F32);
        let positions = self.expand(positions, rank, Dim::Fixed(dims / 2));
        shape.push(Dim::Fixed(dims / 2));
        let frequencies = self.spread(frequencies, &[rank], &shape);
        self.mul(positions, frequencies)
    }

    /// Radians by which each of the `dims / 2` pairs turns a position.
    fn rope_frequencies(&mut self, dims: usize, rope: &Rope) -> NodeId {
        let pairs = self.iota(Dim::Fixed(dims / 2));
        let pairs = self.cast(pairs, Dtype::F32);
        // The exponent is the product of an integer and of a constant in two parts, the first so short that its product is
        // exact: rounding it would change the frequency far more than rounding the power does.
        let exponent = -2.0 * rope.theta.log2() / dims as f64;
        let coarse = f64::from(f32::from_bits((exponent as f32).to_bits() & !0xFFF));
        let [coarse, fine] = [coarse, exponent - coarse].map(|part| {
            let power = self.mul_number(pairs, f64::from(part as f32));
            self.unary(Unary::Exp2, power)
        });
        let frequencies = self.mul(coarse, fine);
        match rope.scaling {
            RopeScaling::None => frequencies,
            RopeScaling::Linear(factor) => self.mul_number(frequencies, f64::from((1.0 / factor) as f32)),
            RopeScaling::Llama3 { factor, low, high, original } => {
                // How short the wave is, from 0 for long ones to 1 for short ones.
                let waves = self.mul_number(frequencies, f64::from((original / TAU / (high - low)) as f32));
                let shortness = self.add_number(waves, f64::from((-low / (high - low)) as f32));
                let [zero, one] = [0.0, 1.0].map(|bound| self.full_like(bound, shortness));
                let shortness = self.maximum(shortness, zero);
                let shortness = self.minimum(shortness, one);
                let kept = self.mul_number(shortness, f64::from((1.0 - 1.0 / factor) as f32));
                let scale = self.add_number(kept, f64::from((1.0 / factor) as f32));
                self.mul(frequencies, scale)
            }
        }
    }

    /// Rotates pairs along the last axis of `x`: `(a, b)` becomes `(a cos - b sin, b cos + a sin)`. `cosine` and `sine` have
    /// the axes of `x`, the last one as long as there are pairs; elements beyond them stay. It is computed in `f32` and
    /// rounded once.
    pub fn rotate(&mut self, x: NodeId, cosine: NodeId, sine: NodeId, interleaved: bool) -> NodeId {
        let dtype = self.nodes[x].dtype;
        let shape = self.nodes[x].shape.clone();
        let (last, width) = (shape.len() - 1, shape[shape.len() - 1]);
        let pairs = self.nodes[cosine].shape[last].max();
        let rotated = Dim::Fixed(2 * pairs);
        let head = if width == rotated { x } else { self.slice(x, last, 0, 1, rotated) };
        let head = self.wide(head);
        // The axis of a pair is in front of that of the pairs, or behind it.
        let (inner, pair) = if interleaved { (2, last + 1) } else { (pairs, last) };
        let head = self.split(head, last, inner);
        let [cosine, sine] = [cosine, sine].map(|table| {
            let table = self.wide(table);
            self.expand(table, pair, Dim::Fixed(2))
        });
        let [first, second] = [0, 1].map(|at| self.slice(head, pair, at, 1, Dim::Fixed(1)));
        let second = self.neg(second);
        let second = self.pad(second, pair, 0, Dim::Fixed(2), 0.0);
        let first = self.pad(first, pair, 1, Dim::Fixed(2), 0.0);
        let turned = self.add(second, first);
        let along = self.mul(head, cosine);
        let across = self.mul(turned, sine);
        let result = self.add(along, across);
        let result = self.merge(result, last);
        let result = self.converted(result, dtype);
        if width == rotated {
            return result;
        }
        let positions = self.iota(width);
        let border = self.full(2.0 * pairs as f64, Dtype::I32, &[width]);
        let is_rotated = self.less(positions, border);
        let is_rotated = self.spread(is_rotated, &[last], &shape);
        let result = self.pad(result, last, 0, width, 0.0);
        self.select(is_rotated, result, x)
    }
}

impl<S: Shape + Split, E: Element> Tensor<S, E> {
    /// Rotary position embedding along the last axis. `positions` broadcast to the other axes: for queries `[batch, heads,
    /// tokens, width]` they are `[tokens]`, or `[batch, 1, tokens]` where each sequence has its own.
    ///
    /// Positions are usually counted from the one of the first token: `Tensor::<(Tokens,), i32>::iota() + position`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, rope, trace};
    ///
    /// let traced = trace(|| {
    ///     let queries: Tensor<(D<1>, D<4>, D<7>, D<16>)> = input("queries");
    ///     let position: Tensor<(), i32> = input("position");
    ///     let positions = Tensor::<(D<7>,), i32>::iota() + position;
    ///     output(&queries.rope(positions, rope().theta(500_000.0)));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn rope<P: Shape>(self, positions: Tensor<P, i32>, rope: Rope) -> Self
    where
        <S as Split>::Lead: Shape + Broadcast<P>,
        E: Float,
    {
        let _scope = op("rope");
        if let Some(mistake) = mistake(S::DIMS, &rope) {
            report(mistake);
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            let positions = recorder.broadcast(positions.node, P::DIMS, <<S as Split>::Lead as Shape>::DIMS);
            recorder.graph.rope(self.node, positions, &rope)
        }))
    }
}

/// What is wrong with a rotation, if anything.
fn mistake(dims: &[super::DimInfo], rope: &Rope) -> Option<String> {
    let shape = super::dim::Dims(dims);
    let last = dims[dims.len() - 1];
    let super::DimInfo::Fixed(width) = last else {
        return Some(format!("the last axis of {shape} is {last}; it must be a fixed size, `D<N>`"));
    };
    let rotated = rope.dims.unwrap_or(width);
    if rotated == 0 || !rotated.is_multiple_of(2) || rotated > width {
        return Some(format!(
            "{rotated} elements of the last axis of {shape} cannot be rotated in pairs: their number must be even and from 2 \
             to {width}"
        ));
    }
    let numbers = match rope.scaling {
        RopeScaling::None => vec![("theta", rope.theta)],
        RopeScaling::Linear(factor) => vec![("theta", rope.theta), ("the factor", factor)],
        RopeScaling::Llama3 { factor, low, high, original } => vec![
            ("theta", rope.theta),
            ("the factor", factor),
            ("high - low", high - low),
            ("the original length", original),
        ],
    };
    let wrong = numbers.into_iter().find(|(_, value)| !(*value > 0.0 && value.is_finite()))?;
    Some(format!("{} is {}; it must be positive and finite", wrong.0, wrong.1))
}
