//! New elements in front of an axis and behind it: a constant, the axis mirrored, its ends repeated, or the axis again.

use super::axis::Axis;
use super::dim::{Dim, Dims};
use super::element::Element;
use super::shape::{At, Shape};
use super::trace::{op, record, report};
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
        let padded = self.plus(self.nodes[x].shape[axis], before + after);
        self.pad_with_to(x, axis, before, padded, mode)
    }

    /// As [`Graph::pad_with`], to this size.
    pub(crate) fn pad_with_to(
        &mut self,
        x: NodeId,
        axis: usize,
        before: usize,
        padded: Size,
        mode: Padding,
    ) -> NodeId {
        let size = self.nodes[x].shape[axis];
        if size == Size::Fixed(0) {
            return x;
        }
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
        let (axis, size, length) = (S::AXIS, S::DIMS[S::AXIS], Length::INFO);
        // Two free sizes that differ are compared by each run.
        let least = if size.is_free() && length.is_free() && size != length { 0 } else { size.max() };
        let least = least.saturating_add(before);
        if least > length.max() || size == length && before > 0 {
            let up_to = if size.is_free() { "up to " } else { "" };
            report(format!(
                "axis {axis} of {} with {before} in front needs at least {up_to}{least}, but the result {} names {length}",
                Dims(S::DIMS),
                Dims(<S::Set<Length> as Shape>::DIMS)
            ));
            return Tensor::placeholder();
        }
        if let Some(mistake) = inexact(value) {
            report(mistake);
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            let length = recorder.dim(length);
            recorder.along(self.node, S::DIMS, axis, Length::INFO, |graph, x, at| {
                graph.pad(x, at, before, length, value.to_f64())
            })
        }))
    }

    /// Adds `before` elements of one value in front of an axis and `after` behind it. The size of the result is checked;
    /// of a free axis it is a free dimension that need not be in an input.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let padded: Tensor<(D<2>, D<6>)> = x.pad_constant(Axis::<1>, 1, 2, 0.0);
    ///     output(&padded);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn pad_constant<Length: Dim, const I: isize>(
        self,
        axis: Axis<I>,
        before: usize,
        after: usize,
        value: E,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("pad_constant");
        if let Some(mistake) = inexact(value) {
            report(mistake);
            return Tensor::placeholder();
        }
        padded(self, axis, before, after, |graph, x, at, length| {
            graph.pad(x, at, before, length, value.to_f64())
        })
    }

    /// The axis mirrored at its first and last element, which are not repeated: `3 2 [1 2 3] 2 1`.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let padded: Tensor<(D<2>, D<7>)> = x.pad_reflect(Axis::<1>, 2, 2);
    ///     output(&padded);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn pad_reflect<Length: Dim, const I: isize>(
        self,
        axis: Axis<I>,
        before: usize,
        after: usize,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("pad_reflect");
        padded_with(self, axis, before, after, Padding::Reflect)
    }

    /// The first element in front, the last one behind: `1 1 [1 2 3] 3 3`. Called `replicate` in PyTorch.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let padded: Tensor<(D<2>, D<7>)> = x.pad_edge(Axis::<1>, 2, 2);
    ///     output(&padded);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn pad_edge<Length: Dim, const I: isize>(
        self,
        axis: Axis<I>,
        before: usize,
        after: usize,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("pad_edge");
        padded_with(self, axis, before, after, Padding::Edge)
    }

    /// The axis again on both sides, as if it were a circle: `2 3 [1 2 3] 1 2`. Called `circular` in PyTorch.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let padded: Tensor<(D<2>, D<7>)> = x.pad_wrap(Axis::<1>, 2, 2);
    ///     output(&padded);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn pad_wrap<Length: Dim, const I: isize>(
        self,
        axis: Axis<I>,
        before: usize,
        after: usize,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("pad_wrap");
        padded_with(self, axis, before, after, Padding::Wrap)
    }
}

/// Why a value cannot be a constant of the graph.
fn inexact<E: Element>(value: E) -> Option<String> {
    let exact = E::DTYPE.holds(value.to_f64());
    (!exact).then(|| format!("the value {value:?} is too large: constants of i64 end at 2^53"))
}

fn padded_with<S: At<I>, Length: Dim, E: Element, const I: isize>(
    x: Tensor<S, E>,
    axis: Axis<I>,
    before: usize,
    after: usize,
    mode: Padding,
) -> Tensor<S::Set<Length>, E> {
    if S::DIMS[S::AXIS].fixed() == Some(0) && before + after > 0 {
        report(format!("axis {} of {} is empty: there is nothing to pad it with", S::AXIS, Dims(S::DIMS)));
        return Tensor::placeholder();
    }
    padded(x, axis, before, after, |graph, x, at, length| graph.pad_with_to(x, at, before, length, mode))
}

/// Checks the size of the result and records the rule where it is free.
fn padded<S: At<I>, Length: Dim, E: Element, const I: isize>(
    x: Tensor<S, E>,
    _axis: Axis<I>,
    before: usize,
    after: usize,
    work: impl FnOnce(&mut Graph, NodeId, usize, Size) -> NodeId,
) -> Tensor<S::Set<Length>, E> {
    let (axis, size, length) = (S::AXIS, S::DIMS[S::AXIS], Length::INFO);
    let more = before.saturating_add(after);
    let (shape, result) = (Dims(S::DIMS), Dims(<S::Set<Length> as Shape>::DIMS));
    if let (Some(size), Some(length)) = (size.fixed(), length.fixed()) {
        let right = size.saturating_add(more);
        if right != length {
            report(format!(
                "axis {axis} of {shape} with {before} in front and {after} behind is {right}, but the result {result} \
                 names {length}"
            ));
            return Tensor::placeholder();
        }
    } else {
        let plus = i64::try_from(more).unwrap_or(i64::MAX).min(1 << 40);
        let mistake = record(|recorder| recorder.impossible(length, &[(1, size)], plus));
        if let Some(mistake) = mistake {
            report(mistake);
            return Tensor::placeholder();
        }
        if size.is_free() && !length.is_free() && size.max() + more > length.max() {
            report(format!(
                "axis {axis} of {shape} with {before} in front and {after} behind is up to {}, but the result {result} \
                 names {length}: give {size} a bound of {}",
                size.max() + more,
                length.max().saturating_sub(more)
            ));
            return Tensor::placeholder();
        }
    }
    Tensor::of(record(|recorder| {
        let (from, to) = (recorder.dim(size), recorder.dim(length));
        recorder.graph.relate_equal(to, &[(1, from)], more as i64, 1);
        recorder.along(x.node, S::DIMS, axis, length, |graph, x, at| work(graph, x, at, to))
    }))
}
