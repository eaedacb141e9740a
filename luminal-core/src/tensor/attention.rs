//! Scaled dot-product attention as a composition: masks are selections of -inf before a softmax that is written so that
//! the search can stream it.
//!
//! A row that is masked everywhere is 0. Two guards make it so: its maximum, -inf, is replaced by 0, so that its powers
//! are 0 and not NaN, and the reciprocal of their sum, which is 0, by 0. Both are values that do not run along the keys, so
//! the dependent reductions stay one fold: `search/cascade` reads the first as the maximum itself, and the second is
//! applied after the last key. A selection of the result, after the softmax, would fold as well but costs one more test of
//! the whole mask.

use super::pointwise::float;
use crate::dtype::Dtype;
use crate::graph::{Dim, Graph, NodeId, Unary};

/// What attention does beside its softmax: the operand of [`Graph::attention`]. Tensors have the shape of the scores,
/// `[.., heads, queries, keys]`, where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Factor of the scores; `1 / sqrt(width)` if absent.
    pub scale: Option<f64>,
    /// Scores become `cap * tanh(score / cap)`, before anything is added or masked.
    pub soft_cap: Option<f64>,
    /// Floats that are added to the scores; -inf masks.
    pub bias: Option<NodeId>,
    /// Slopes `[heads]`: each times the distance of query and key is subtracted from the scores.
    pub alibi: Option<NodeId>,
    /// Truth values: where false the key is hidden from the query.
    pub mask: Option<NodeId>,
    /// Keys behind the query are hidden.
    pub causal: bool,
    /// Only so many keys up to that of the query's own place are seen; those behind it are another matter (`causal`).
    pub window: Option<usize>,
    /// The place of the first query among the keys, `i32`: a scalar, or of the shape of the scores. If absent, the last
    /// query is at the place of the last key.
    pub position: Option<NodeId>,
    /// How many keys there are, `i32`: a scalar, or of the shape of the scores. Those behind are hidden.
    pub length: Option<NodeId>,
}

/// Queries and keys on common axes `[.., heads of keys, queries of a head, queries, keys]`.
struct Space {
    /// All axes of the scores. With grouped heads there is one more than in `[.., heads, queries, keys]`.
    shape: Vec<Dim>,
    /// Heads that share one head of keys, if any do: they are a second axis behind that of the heads.
    group: Option<usize>,
}

impl Space {
    fn queries(&self) -> usize {
        self.shape.len() - 2
    }

    fn keys(&self) -> usize {
        self.shape.len() - 1
    }

    /// The axis of the heads, or of the heads of keys.
    fn heads(&self) -> usize {
        self.shape.len() - 3 - usize::from(self.group.is_some())
    }

    /// A tensor with the axes `[.., heads, a, b]` on the axes of this space.
    fn grouped(&self, graph: &mut Graph, x: NodeId) -> NodeId {
        match self.group {
            Some(group) => graph.split(x, self.heads(), group),
            None => x,
        }
    }

    /// A tensor with the axes `[.., heads of keys, a, b]` on the axes of this space.
    fn shared(&self, graph: &mut Graph, x: NodeId) -> NodeId {
        match self.group {
            Some(group) => graph.expand(x, self.heads() + 1, Dim::Fixed(group)),
            None => x,
        }
    }
}

impl Graph {
    /// Attention of `query [.., heads, queries, width]` to `key [.., heads of keys, keys, width]` and `value [.., heads of
    /// keys, keys, width of values]`: a softmax over the keys of `query . key * scale`, changed by [`Scores`], times the
    /// values. There may be no axis of heads, and any axes in front of it.
    ///
    /// Query head `h` uses head `h / (heads / heads of keys)` of the keys: each head of keys serves neighbouring heads, and
    /// none is copied. A query that sees no key gives 0. Everything is computed in `f32` and rounded once to the type of
    /// the query.
    pub fn attention(&mut self, query: NodeId, key: NodeId, value: NodeId, how: &Scores) -> NodeId {
        let dtype = self.nodes[query].dtype;
        let [query, key, value] = [query, key, value].map(|x| self.wide(x));
        let rank = self.nodes[query].shape.len();
        let (keys, width) = (self.nodes[key].shape[rank - 2], self.nodes[query].shape[rank - 1]);
        let (mut shape, lead) = (self.nodes[query].shape.clone(), &self.nodes[key].shape[..rank - 2]);
        shape[rank - 1] = keys;
        let mut group = None;
        if shape[..rank - 2] != *lead {
            let (heads, shared) = (shape[rank - 3].max(), lead[rank - 3].max());
            shape[rank - 3] = Dim::Fixed(shared);
            shape.insert(rank - 2, Dim::Fixed(heads / shared));
            group = Some(heads / shared);
        }
        let space = Space { shape, group };
        let query = space.grouped(self, query);
        let [key, value] = [key, value].map(|x| space.shared(self, x));

        let left = self.expand(query, space.keys(), keys);
        let right = self.expand(key, space.queries(), space.shape[space.queries()]);
        let product = self.mul(left, right);
        let scores = self.sum(product, space.keys() + 1);
        let scale = how.scale.unwrap_or_else(|| 1.0 / (width.max() as f64).sqrt());
        let scores = self.mul_number(scores, float(scale));
        let scores = self.changed(scores, &space, how);

        let (powers, scale) = self.guarded_softmax(scores, space.keys());
        let value_width = self.nodes[value].shape[space.keys()];
        let powers = self.expand(powers, space.keys() + 1, value_width);
        let value = self.expand(value, space.queries(), space.shape[space.queries()]);
        let weighted = self.mul(powers, value);
        let sum = self.sum(weighted, space.keys());
        let scale = self.expand(scale, space.keys(), value_width);
        let result = self.mul(sum, scale);
        let result = match space.group {
            Some(_) => self.merge(result, space.heads()),
            None => result,
        };
        self.converted(result, dtype)
    }

    /// A softmax in two factors: powers along the axis, and a scale without it. Both are 0 where everything is -inf.
    fn guarded_softmax(&mut self, scores: NodeId, axis: usize) -> (NodeId, NodeId) {
        let greatest = self.max(scores, axis);
        let lowest = self.full_like(f64::from(f32::MIN), greatest);
        let is_empty = self.less(greatest, lowest);
        let zero = self.full_like(0.0, greatest);
        let greatest = self.select(is_empty, zero, greatest);
        let greatest = self.repeat_along(greatest, scores, axis);
        let shifted = self.sub(scores, greatest);
        let powers = self.exp(shifted);
        let sum = self.sum(powers, axis);
        let scale = self.unary(Unary::Recip, sum);
        let is_positive = self.less(zero, sum);
        let scale = self.select(is_positive, scale, zero);
        (powers, scale)
    }

    fn changed(&mut self, mut scores: NodeId, space: &Space, how: &Scores) -> NodeId {
        if let Some(cap) = how.soft_cap {
            let ratio = self.mul_number(scores, float(1.0 / cap));
            let bounded = self.tanh(ratio);
            scores = self.mul_number(bounded, float(cap));
        }
        if let Some(bias) = how.bias {
            let bias = self.wide(bias);
            let bias = space.grouped(self, bias);
            scores = self.add(scores, bias);
        }
        if let Some(slopes) = how.alibi {
            let bias = self.alibi(slopes, space, how);
            scores = self.add(scores, bias);
        }
        let hidden = self.full(f64::NEG_INFINITY, Dtype::F32, &space.shape);
        if let Some(mask) = how.mask {
            let mask = space.grouped(self, mask);
            scores = self.select(mask, scores, hidden);
        }
        if how.causal {
            let (query, key) = self.places(space, how);
            let behind = self.less(query, key);
            scores = self.select(behind, hidden, scores);
        }
        if let Some(window) = how.window {
            let (query, key) = self.places(space, how);
            let distance = self.sub(query, key);
            let window = self.full_like(window.min(i32::MAX as usize) as f64, distance);
            let seen = self.less(distance, window);
            scores = self.select(seen, scores, hidden);
        }
        if let Some(length) = how.length {
            let key = self.numbered(space, space.keys());
            let length = self.in_space(length, space);
            let seen = self.less(key, length);
            scores = self.select(seen, scores, hidden);
        }
        scores
    }

    /// The place of each query among the keys, and of each key.
    fn places(&mut self, space: &Space, how: &Scores) -> (NodeId, NodeId) {
        let query = self.numbered(space, space.queries());
        let key = self.numbered(space, space.keys());
        let (queries, keys) = (space.shape[space.queries()], space.shape[space.keys()]);
        let query = match (how.position, queries, keys) {
            (Some(position), ..) => {
                let position = self.in_space(position, space);
                self.add(query, position)
            }
            (None, queries, keys) if queries == keys => query,
            (None, Dim::Fixed(queries), Dim::Fixed(keys)) => {
                self.add_number(query, keys as f64 - queries as f64)
            }
            (None, queries, keys) => {
                let [queries, keys] = [queries, keys].map(|size| self.count(size));
                let offset = self.sub(keys, queries);
                let offset = self.in_space(offset, space);
                self.add(query, offset)
            }
        };
        (query, key)
    }

    /// `-slope * |query - key|`
    fn alibi(&mut self, slopes: NodeId, space: &Space, how: &Scores) -> NodeId {
        let (query, key) = self.places(space, how);
        let [ahead, behind] = [(key, query), (query, key)].map(|(a, b)| self.sub(a, b));
        let distance = self.maximum(ahead, behind);
        let distance = self.cast(distance, Dtype::F32);
        let slopes = self.wide(slopes);
        let slopes = self.neg(slopes);
        let (slopes, axes) = match space.group {
            Some(group) => (self.split(slopes, 0, group), vec![space.heads(), space.heads() + 1]),
            None => (slopes, vec![space.heads()]),
        };
        let slopes = self.spread(slopes, &axes, &space.shape);
        self.mul(distance, slopes)
    }

    /// `0, 1, 2, ..` along one axis.
    fn numbered(&mut self, space: &Space, axis: usize) -> NodeId {
        let numbers = self.iota(space.shape[axis]);
        self.spread(numbers, &[axis], &space.shape)
    }

    /// A scalar, or a tensor of the shape of the scores, on the axes of the space.
    fn in_space(&mut self, x: NodeId, space: &Space) -> NodeId {
        if self.nodes[x].shape.is_empty() {
            return self.spread(x, &[], &space.shape);
        }
        space.grouped(self, x)
    }

    /// The slopes of ALiBi for so many heads: `2^(-8 (h + 1) / n)` where their number `n` is a power of two; else those of
    /// the next smaller power of two, and then every other one of twice as many.
    pub fn alibi_slopes(&mut self, heads: usize) -> NodeId {
        let size = Dim::Fixed(heads);
        let number = self.iota(size);
        let number = self.cast(number, Dtype::F32);
        let whole = if heads == 0 { 1 } else { 1 << heads.ilog2() };
        let step = -8.0 / whole as f64;
        let exponent = self.mul_number(number, float(step));
        let exponent = self.add_number(exponent, float(step));
        let border = self.full_like(whole as f64, number);
        let is_first = self.less(number, border);
        // Heads behind the power of two: 1, 3, 5, .. half steps.
        let rest = self.add_number(exponent, float(-step * (whole as f64 + 0.5)));
        let exponent = self.select(is_first, exponent, rest);
        self.unary(Unary::Exp2, exponent)
    }
}
