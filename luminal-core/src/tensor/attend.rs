//! Attention between typed tensors, and its options.

use super::attention::Scores;
use super::dim::{Dim, DimInfo, Dims};
use super::element::{Element, Float};
use super::record::Recorder;
use super::shape::Shape;
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::graph::NodeId;

/// What attention does beside its softmax: [`attention()`] and the methods to change it.
///
/// A tensor given here broadcasts to the scores `[batch, heads, queries, keys]`: it has those sizes, or [`One`](super::One)
/// in their place, or lacks the first of them.
///
/// ```
/// use luminal_core::tensor::{D, One, Tensor, attention, input, output, trace};
///
/// let traced = trace(|| {
///     let query: Tensor<(D<2>, D<8>, D<5>, D<16>)> = input("query");
///     let keys: Tensor<(D<2>, D<8>, D<9>, D<16>)> = input("keys");
///     // Padded sequences: which keys are real, for each sequence.
///     let real: Tensor<(D<2>, One, One, D<9>), bool> = input("real");
///     output(&query.attention(keys, keys, attention().mask(real).scale(0.1)));
///     // Learned biases of positions, and limited scores.
///     let bias: Tensor<(D<8>, D<5>, D<9>)> = input("bias");
///     output(&query.attention(keys, keys, attention().bias(bias).soft_cap(50.0)));
///     // New queries behind those in a cache, each of which sees the last four keys, with linear biases.
///     let position: Tensor<(), i32> = input("position");
///     let slopes: Tensor<(D<8>,)> = Tensor::<(D<8>,)>::alibi_slopes();
///     output(&query.attention(keys, keys, attention().position(position).window(4).alibi(slopes)));
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Attention {
    how: Scores,
    bias: Option<Operand>,
    alibi: Option<Operand>,
    mask: Option<Operand>,
    position: Option<Operand>,
    length: Option<Operand>,
}

/// A tensor whose type is compared with the scores when they are known.
#[derive(Clone, Copy, Debug)]
struct Operand {
    node: NodeId,
    dims: &'static [DimInfo],
}

impl Operand {
    fn of<S: Shape, E: Element>(x: Tensor<S, E>) -> Option<Operand> {
        Some(Operand { node: x.node, dims: S::DIMS })
    }

    fn fits(&self, want: &[DimInfo]) -> bool {
        let missing = want.len().checked_sub(self.dims.len());
        missing.is_some_and(|missing| {
            self.dims.iter().zip(&want[missing..]).all(|(have, want)| have == want || *have == DimInfo::One)
        })
    }

    /// With every axis of this shape.
    fn spread(&self, recorder: &mut Recorder, want: &[DimInfo]) -> NodeId {
        let node = recorder.broadcast(self.node, self.dims, want);
        recorder.full(node, want)
    }

    /// As [`Operand::spread`], but one number for all stays one.
    fn number_or_spread(&self, recorder: &mut Recorder, want: &[DimInfo]) -> NodeId {
        match self.dims.iter().all(|dim| *dim == DimInfo::One) {
            true => self.node,
            false => self.spread(recorder, want),
        }
    }
}

/// Attention in which every query sees every key, with scale `1 / sqrt(width)`. To be changed by the methods of
/// [`Attention`], where there are examples.
pub fn attention() -> Attention {
    Attention::default()
}

impl Attention {
    /// Another factor of the scores.
    pub fn scale(mut self, scale: f32) -> Attention {
        self.how.scale = Some(scale.into());
        self
    }

    /// Scores are limited to `cap * tanh(score / cap)`, before anything is added or masked.
    pub fn soft_cap(mut self, cap: f32) -> Attention {
        self.how.soft_cap = Some(cap.into());
        self
    }

    /// A query sees the keys up to its own place. The last query is at the place of the last key, unless
    /// [`position`](Attention::position) says where the first one is.
    pub fn causal(mut self) -> Attention {
        self.how.causal = true;
        self
    }

    /// A query sees at most `size` keys up to its own place: with 3, those at its place and the two in front of it. What it
    /// sees behind its place is not changed; see [`causal`](Attention::causal).
    pub fn window(mut self, size: usize) -> Attention {
        self.how.window = Some(size);
        self
    }

    /// Causal attention in a cache: the first query is at this place among the keys, so query `t` sees the keys up to
    /// `position + t`. A scalar, or one for each sequence, `[batch, 1, 1, 1]`.
    pub fn position<P: Shape>(mut self, position: Tensor<P, i32>) -> Attention {
        self.how.causal = true;
        self.position = Operand::of(position);
        self
    }

    /// Only the first keys are seen, so many: a scalar, or one for each sequence, `[batch, 1, 1, 1]`.
    pub fn length<P: Shape>(mut self, length: Tensor<P, i32>) -> Attention {
        self.length = Operand::of(length);
        self
    }

    /// A key is seen where the mask is true. A query that sees no key gives 0.
    pub fn mask<M: Shape>(mut self, mask: Tensor<M, bool>) -> Attention {
        self.mask = Operand::of(mask);
        self
    }

    /// Numbers that are added to the scores; -inf hides a key.
    pub fn bias<M: Shape, F: Float>(mut self, bias: Tensor<M, F>) -> Attention {
        self.bias = Operand::of(bias);
        self
    }

    /// Attention with linear biases: `slope * distance` is subtracted from the scores, with a slope for each head.
    /// [`alibi_slopes`](Tensor::alibi_slopes) are the usual ones.
    pub fn alibi<H: Dim, F: Float>(mut self, slopes: Tensor<(H,), F>) -> Attention {
        self.alibi = Operand::of(slopes);
        self
    }

    /// The options with tensors on all axes of the scores. Reports what is wrong.
    fn prepared(&self, scores: &'static [DimInfo]) -> Option<Scores> {
        for (value, name) in [(self.how.scale, "scale"), (self.how.soft_cap, "soft cap")] {
            let fits = value.is_none_or(|value| value.is_finite() && (name == "scale" || value > 0.0));
            if !fits {
                let rule = if name == "scale" { "finite" } else { "positive and finite" };
                report(format!("the {name} is {}; it must be {rule}", value.unwrap_or_default()));
                return None;
            }
        }
        if self.how.window == Some(0) {
            report("the window is 0, so that no key is seen; it must be at least 1");
            return None;
        }
        let heads = [scores[scores.len() - 3]];
        let operands = [
            ("bias", self.bias, scores),
            ("mask", self.mask, scores),
            ("position", self.position, scores),
            ("length", self.length, scores),
        ];
        for (name, operand, want) in operands {
            if let Some(operand) = operand.filter(|operand| !operand.fits(want)) {
                report(format!(
                    "the {name} has the shape {}, which does not broadcast to the scores {}: it must have these sizes, or \
                     `One` in their place, or lack the first of them",
                    Dims(operand.dims),
                    Dims(want)
                ));
                return None;
            }
        }
        if let Some(slopes) = self.alibi.filter(|slopes| slopes.dims != heads) {
            report(format!(
                "the slopes have the shape {}; one for each head is {}",
                Dims(slopes.dims),
                Dims(&heads)
            ));
            return None;
        }
        Some(record(|recorder| Scores {
            bias: self.bias.map(|bias| bias.spread(recorder, scores)),
            alibi: self.alibi.map(|slopes| slopes.spread(recorder, &heads)),
            mask: self.mask.map(|mask| mask.spread(recorder, scores)),
            position: self.position.map(|position| position.number_or_spread(recorder, scores)),
            length: self.length.map(|length| length.number_or_spread(recorder, scores)),
            ..self.how
        }))
    }
}

/// Records attention; the dimensions are those of query, key and value.
fn attend(
    nodes: [NodeId; 3],
    dims: [&'static [DimInfo]; 3],
    scores: &'static [DimInfo],
    how: Attention,
) -> Option<NodeId> {
    let [query, key, value] = dims;
    let (heads, shared) = (query[query.len() - 3], key[key.len() - 3]);
    let divides = match (heads.fixed(), shared.fixed()) {
        (Some(heads), Some(shared)) => heads == shared || (shared > 0 && heads.is_multiple_of(shared)),
        _ => heads == shared,
    };
    if !divides {
        report(format!(
            "query {} has {heads} heads and key {} has {shared}: those of the query must be the same or a multiple",
            Dims(query),
            Dims(key)
        ));
        return None;
    }
    let how = how.prepared(scores)?;
    Some(record(|recorder| {
        let full = [(nodes[0], query), (nodes[1], key), (nodes[2], value)]
            .map(|(node, dims)| recorder.full(node, dims));
        let mut result = recorder.graph.attention(full[0], full[1], full[2], &how);
        let dims: Vec<DimInfo> = query[..query.len() - 1].iter().chain(value.last()).copied().collect();
        for axis in (0..dims.len()).rev().filter(|axis| dims[*axis] == DimInfo::One) {
            result = recorder.squeeze(result, axis);
        }
        result
    }))
}

macro_rules! attention {
    ($($batch:ident)?, $doc:literal) => {
        impl<$($batch: Dim,)? H: Dim, Q: Dim, W: Dim, E: Element> Tensor<($($batch,)? H, Q, W), E> {
            #[doc = $doc]
            ///
            /// The number of heads is a multiple of that of the keys' heads, each of which serves neighbouring heads of the
            /// query (grouped attention; multi-query attention if there is one). A query that sees no key gives 0. With
            /// elements of 16 bits it is computed in `f32` and rounded once.
            ///
            /// ```
            /// use luminal_core::tensor::{D, Tensor, attention, input, output, trace};
            ///
            /// let traced = trace(|| {
            ///     let query: Tensor<(D<2>, D<8>, D<5>, D<16>)> = input("query");
            ///     let key: Tensor<(D<2>, D<2>, D<9>, D<16>)> = input("key");
            ///     let value: Tensor<(D<2>, D<2>, D<9>, D<16>)> = input("value");
            ///     let seen: Tensor<(D<2>, D<8>, D<5>, D<16>)> = query.attention(key, value, attention().causal());
            ///     output(&seen);
            /// });
            /// assert!(traced.mistakes.is_empty());
            /// ```
            #[track_caller]
            pub fn attention<Shared: Dim, K: Dim, V: Dim>(
                self,
                key: Tensor<($($batch,)? Shared, K, W), E>,
                value: Tensor<($($batch,)? Shared, K, V), E>,
                how: Attention,
            ) -> Tensor<($($batch,)? H, Q, V), E>
            where
                E: Float,
            {
                let _scope = op("attention");
                let dims = [
                    <($($batch,)? H, Q, W)>::DIMS,
                    <($($batch,)? Shared, K, W)>::DIMS,
                    <($($batch,)? Shared, K, V)>::DIMS,
                ];
                let scores = <($($batch,)? H, Q, K)>::DIMS;
                attend([self.node, key.node, value.node], dims, scores, how)
                    .map_or_else(Tensor::placeholder, Tensor::of)
            }
        }
    };
}
attention!(B, "Attention of `[batch, heads, queries, width]` to keys `[batch, heads, keys, width]`.");
attention!(, "Attention of `[heads, queries, width]` to keys `[heads, keys, width]`.");

impl<H: Dim> Tensor<(H,)> {
    /// The usual slopes of [ALiBi](Attention::alibi), one for each head: `2^(-8 (h + 1) / n)` where the number of heads `n`
    /// is a power of two; else those of the next smaller power, and then every other one of twice as many.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, output, trace};
    ///
    /// let traced = trace(|| output(&Tensor::<(D<8>,)>::alibi_slopes()));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn alibi_slopes() -> Self {
        let _scope = op("alibi_slopes");
        match super::trace::require_fixed("axis 0", H::INFO, &[H::INFO]) {
            Some(heads) => Tensor::of(record(|recorder| {
                let slopes = recorder.graph.alibi_slopes(heads);
                recorder.settle(slopes, H::INFO, 0)
            })),
            None => Tensor::placeholder(),
        }
    }
}
