//! New elements in front of an axis and behind it: a constant, the axis mirrored, its ends repeated, or the axis again.

use super::axis::Axis;
use super::dim::{Dim, Dims};
use super::element::Element;
use super::shape::{At, Shape};
use super::trace::{op, record, report, require_fixed};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Binary, Dim as Size, Graph, NodeId};

/// What new elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// The axis mirrored at its first and last element, which are not repeated: `3 2 [1 2 3] 2 1`. Over and over where
    /// it is shorter than the padding.
    Reflect,
    /// The first element in front, the last one behind: `1 1 [1 2 3] 3 3`.
    Edge,
    /// The axis again, as if it were a circle: `2 3 [1 2 3] 1 2`.
    Wrap,
}

/// Compositions for axes that are numbers.
impl Graph {
    /// `before` elements of one value in front of an axis, `after` behind it; negative numbers take elements away. Of a
    /// free axis only the whole is padded.
    pub fn pad_constant(&mut self, x: NodeId, axis: usize, before: i64, after: i64, value: f64) -> NodeId {
        let mut x = x;
        if let Size::Fixed(n) = self.nodes[x].shape[axis]
            && (before < 0 || after < 0)
        {
            let (start, end) = ((-before).max(0), n as i64 - (-after).max(0));
            x = self.slice_range(x, axis, Some(start), Some(end.max(0)), 1);
        }
        let (before, after) = (before.max(0) as usize, after.max(0) as usize);
        if before == 0 && after == 0 {
            return x;
        }
        let size = self.plus(self.nodes[x].shape[axis], before + after);
        self.pad(x, axis, before, size, value)
    }

    /// `before` more elements in front of an axis, `after` behind it, taken from the axis itself. The axis is not empty;
    /// one that is free and empty gives zeros.
    pub fn pad_with(&mut self, x: NodeId, axis: usize, before: usize, after: usize, mode: Padding) -> NodeId {
        let size = self.nodes[x].shape[axis];
        let padded = self.plus(size, before + after);
        let index = self.padded_positions(size, padded, before, mode);
        match size {
            Size::Fixed(_) => self.take(x, axis, index),
            Size::Free { .. } => self.index_select(x, axis, index),
        }
    }

    /// For each position of the padded axis the position that it shows.
    fn padded_positions(&mut self, size: Size, padded: Size, before: usize, mode: Padding) -> NodeId {
        let positions = self.iota(padded);
        let positions = self.add_number(positions, -(before as f64));
        let count = self.count(size);
        let count = self.spread(count, &[], &[padded]);
        match mode {
            Padding::Wrap => self.binary(Binary::Mod, positions, count),
            Padding::Edge => {
                let last = self.add_number(count, -1.0);
                let zero = self.full_like(0.0, positions);
                let positions = self.maximum(positions, zero);
                let behind = self.less(last, positions);
                self.select(behind, last, positions)
            }
            Padding::Reflect => {
                // Forth and back again without the two ends; one element alone has period 0, and modulo 0 is 0.
                let last = self.add_number(count, -1.0);
                let period = self.add(last, last);
                let place = self.binary(Binary::Mod, positions, period);
                let back = self.sub(period, place);
                let returning = self.less(last, place);
                self.select(returning, back, place)
            }
        }
    }

    /// A size and a number more.
    fn plus(&mut self, size: Size, more: usize) -> Size {
        match size {
            Size::Fixed(n) => Size::Fixed(n + more),
            Size::Free { .. } => self.derived(&[(1, size)], more as i64, 1),
        }
    }

    /// The number of positions of an axis, an `i32` scalar.
    pub fn count(&mut self, size: Size) -> NodeId {
        match size {
            Size::Fixed(n) => self.constant(n as f64, Dtype::I32),
            // A free size is not a value of the graph, so its positions are counted.
            Size::Free { .. } => {
                let ones = self.full(1.0, Dtype::I32, &[size]);
                self.sum(ones, 0)
            }
        }
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Adds elements of one value in front of an axis and behind it. The result's type names the whole size; what is
    /// not in front is added behind.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let padded: Tensor<(D<2>, D<8>)> = x.pad(Axis::<1>, 1, f32::NEG_INFINITY); // 1 in front, 4 behind
    ///     output(&padded);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn pad<Length: Dim, const I: isize>(
        self,
        _axis: Axis<I>,
        before: usize,
        value: E,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("pad");
        let axis = S::AXIS;
        let what = format!("axis {axis}");
        let result_dims = <S::Set<Length> as Shape>::DIMS;
        let sizes =
            require_fixed(&what, S::DIMS[axis], S::DIMS).zip(require_fixed(&what, Length::INFO, result_dims));
        let Some((size, length)) = sizes else { return Tensor::placeholder() };
        let least = size.saturating_add(before);
        if least > length {
            report(format!(
                "axis {axis} of {} with {before} in front needs at least {least}, but the result {} names {length}",
                Dims(S::DIMS),
                Dims(result_dims)
            ));
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            let (node, at) = recorder.materialize(self.node, S::DIMS, axis);
            let node = recorder.graph.pad(node, at, before, Size::Fixed(length), value.to_f64());
            recorder.settle(node, Length::INFO, at)
        }))
    }
}
