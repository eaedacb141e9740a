//! Joining, cutting and repeating along an axis: concat, stack, split, chunk, repeat.

use super::axis::Axis;
use super::dim::{Dim, Dims};
use super::element::Element;
use super::shape::{Join, Shape};
use super::trace::{op, record, report, require_fixed};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Dim as Size, Graph, NodeId};

/// Compositions for axes that are numbers.
impl Graph {
    /// Tensors one after the other along an axis of fixed sizes; at least one. What one of them holds, infinities and NaN
    /// included, has no influence on the others.
    pub fn concat(&mut self, parts: &[NodeId], axis: usize) -> NodeId {
        let sizes = parts.iter().map(|part| match self.nodes[*part].shape[axis] {
            Size::Fixed(n) => n,
            Size::Free { .. } => panic!("concat of free sizes without a name for the result"),
        });
        let total = Size::Fixed(sizes.sum());
        self.concat_to(parts, axis, total)
    }

    /// As [`Graph::concat`], with the size of the result, which free sizes need: the sum of all, as is recorded.
    pub fn concat_to(&mut self, parts: &[NodeId], axis: usize, total: Size) -> NodeId {
        let (first, rest) = parts.split_first().expect("at least one part");
        let sizes: Vec<(usize, Size)> = parts.iter().map(|part| (1, self.nodes[*part].shape[axis])).collect();
        self.relate_equal(total, &sizes, 0, 1);
        if self.nodes[*first].shape[axis] == total && rest.is_empty() {
            return *first;
        }
        let mut joined = self.pad(*first, axis, 0, total, 0.0);
        // Where the next part starts: a number, and a scalar of the graph once a free size is in front.
        let (mut fixed, mut free) = match self.nodes[*first].shape[axis] {
            Size::Fixed(n) => (n, None),
            size => (0, Some(self.count(size))),
        };
        for part in rest {
            let size = self.nodes[*part].shape[axis];
            if size == Size::Fixed(0) {
                continue;
            }
            let shape = self.nodes[joined].shape.clone();
            let positions = self.iota(total);
            let start = self.constant(fixed as f64, Dtype::I32);
            let start = free.map_or(start, |free| self.add(free, start));
            let spread_start = self.spread(start, &[], &[total]);
            let placed = match free {
                None => self.pad(*part, axis, fixed, total, 0.0),
                Some(_) => {
                    let back = self.neg(spread_start);
                    let index = self.add(positions, back);
                    self.index_select(*part, axis, index)
                }
            };
            let earlier = self.less(positions, spread_start);
            let earlier = self.spread(earlier, &[axis], &shape);
            joined = self.select(earlier, joined, placed);
            match size {
                Size::Fixed(n) => fixed += n,
                size => {
                    let count = self.count(size);
                    free = Some(free.map_or(count, |free| self.add(free, count)));
                }
            }
        }
        joined
    }

    /// Tensors of one shape along a new axis; at least one.
    pub fn stack(&mut self, parts: &[NodeId], axis: usize) -> NodeId {
        let parts: Vec<NodeId> = parts.iter().map(|part| self.unsqueeze(*part, axis)).collect();
        self.concat(&parts, axis)
    }

    /// Cuts an axis into parts of these sizes, whose sum it is.
    pub fn split_sizes(&mut self, x: NodeId, axis: usize, sizes: &[Size]) -> Vec<NodeId> {
        let whole = self.nodes[x].shape[axis];
        let terms: Vec<(usize, Size)> = sizes.iter().map(|size| (1, *size)).collect();
        self.relate_equal(whole, &terms, 0, 1);
        let (mut fixed, mut free) = (0, None);
        let mut parts = vec![];
        for size in sizes {
            parts.push(match free {
                _ if *size == whole => x,
                None => self.slice(x, axis, if *size == Size::Fixed(0) { 0 } else { fixed }, 1, *size),
                Some(free) => {
                    let start = self.add_number(free, fixed as f64);
                    self.take_from(x, axis, start, *size)
                }
            });
            match size {
                Size::Fixed(n) => fixed += n,
                size => {
                    let count = self.count(*size);
                    free = Some(free.map_or(count, |free| self.add(free, count)));
                }
            }
        }
        parts
    }

    /// Cuts an axis of fixed size into parts of one size, the last of which may be smaller: `chunks` of them, or fewer
    /// where that is enough.
    pub fn chunk(&mut self, x: NodeId, axis: usize, chunks: usize) -> Vec<NodeId> {
        let Size::Fixed(n) = self.nodes[x].shape[axis] else { panic!("chunk of a free axis") };
        let size = n.div_ceil(chunks.max(1)).max(1);
        let starts: Vec<usize> = (0..n.max(1)).step_by(size).collect();
        let sizes: Vec<Size> = starts.iter().map(|start| Size::Fixed(size.min(n - start))).collect();
        self.split_sizes(x, axis, &sizes)
    }

    /// The whole axis again and again: `1 2 3 1 2 3`.
    pub fn repeat(&mut self, x: NodeId, axis: usize, times: usize) -> NodeId {
        match self.nodes[x].shape[axis] {
            Size::Fixed(_) => {
                let repeated = self.expand(x, axis, Size::Fixed(times));
                self.merge(repeated, axis)
            }
            size => {
                let total = self.derived(&[(times, size)], 0, 1);
                self.repeat_to(x, axis, times, total)
            }
        }
    }

    /// As [`Graph::repeat`], with the size of the result, which is recorded.
    pub fn repeat_to(&mut self, x: NodeId, axis: usize, times: usize, total: Size) -> NodeId {
        let size = self.nodes[x].shape[axis];
        self.relate_equal(total, &[(times, size)], 0, 1);
        if let (Size::Fixed(_), Size::Fixed(_)) = (size, total) {
            return self.repeat(x, axis, times);
        }
        let positions = self.iota(total);
        let count = self.count(size);
        let count = self.spread(count, &[], &[total]);
        let index = self.binary(crate::graph::Binary::Mod, positions, count);
        // There are no positions where the axis is empty.
        self.take(x, axis, index)
    }

    /// Each element of an axis several times in turn: `1 1 2 2 3 3`.
    pub fn repeat_interleave(&mut self, x: NodeId, axis: usize, times: usize) -> NodeId {
        match self.nodes[x].shape[axis] {
            Size::Fixed(_) => {
                let repeated = self.expand(x, axis + 1, Size::Fixed(times));
                self.merge(repeated, axis)
            }
            size => {
                let total = self.derived(&[(times, size)], 0, 1);
                self.repeat_interleave_to(x, axis, times, total)
            }
        }
    }

    /// As [`Graph::repeat_interleave`], with the size of the result, which is recorded.
    pub fn repeat_interleave_to(&mut self, x: NodeId, axis: usize, times: usize, total: Size) -> NodeId {
        let size = self.nodes[x].shape[axis];
        self.relate_equal(total, &[(times, size)], 0, 1);
        if let (Size::Fixed(_), Size::Fixed(_)) = (size, total) {
            return self.repeat_interleave(x, axis, times);
        }
        // 0 0 1 1 2 2 .. for the bound, cut to the size: views, where a division would be arithmetic.
        let positions = self.iota(Size::Fixed(total.max().div_ceil(times.max(1))));
        let index = self.repeat_interleave(positions, 0, times.max(1));
        let index = self.slice(index, 0, 0, 1, total);
        self.take(x, axis, index)
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Joins two tensors along an axis. The joined size is named by the result's type. What one part holds, infinities
    /// and NaN included, has no influence on the other.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let y: Tensor<(D<2>, D<4>)> = input("y");
    ///     let joined: Tensor<(D<2>, D<7>)> = x.concat(Axis::<1>, y);
    ///     output(&joined);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn concat<Length: Dim, R: Shape, const I: isize>(
        self,
        _axis: Axis<I>,
        other: Tensor<R, E>,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: Join<R, I>,
    {
        let _scope = op("concat");
        let axis = S::AXIS;
        let what = format!("axis {axis}");
        let result_dims = <S::Set<Length> as Shape>::DIMS;
        let sizes = require_fixed(&what, S::DIMS[axis], S::DIMS)
            .zip(require_fixed(&what, R::DIMS[axis], R::DIMS))
            .zip(require_fixed(&what, Length::INFO, result_dims));
        let Some(((left, right), length)) = sizes else { return Tensor::placeholder() };
        if left + right != length {
            let (left_shape, right_shape) = (Dims(S::DIMS), Dims(R::DIMS));
            report(format!(
                "{left_shape} and {right_shape} along axis {axis} give {}, but the result {} names {length}",
                left + right,
                Dims(result_dims)
            ));
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            let size = Size::Fixed(length);
            let (left, at) = recorder.materialize(self.node, S::DIMS, axis);
            let (right, _) = recorder.materialize(other.node, R::DIMS, axis);
            let joined = recorder.graph.concat_to(&[left, right], at, size);
            recorder.settle(joined, Length::INFO, at)
        }))
    }
}
