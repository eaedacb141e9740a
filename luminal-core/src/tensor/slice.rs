//! Parts of an axis: slice, with any step, from the front, from the end or from a position known at run time.

use super::axis::Axis;
use super::dim::{Dim, DimInfo, Dims};
use super::element::Element;
use super::shape::{At, Shape};
use super::trace::{op, record, report, require_fixed};
use super::value::Tensor;
use crate::graph::{Dim as Size, Graph, NodeId};

/// Compositions for axes that are numbers.
impl Graph {
    /// `x[start:end:step]` along an axis of fixed size, as Python has it: negative positions count from the end,
    /// positions outside are moved to the ends, a missing one is the end from or to which the step leads. The step is not
    /// 0.
    pub fn slice_range(
        &mut self,
        x: NodeId,
        axis: usize,
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    ) -> NodeId {
        let Size::Fixed(n) = self.nodes[x].shape[axis] else { panic!("a range of a free axis") };
        let (start, count) = python_range(n, start, end, step);
        self.slice_steps(x, axis, start, step, Size::Fixed(count))
    }

    /// `count` elements of an axis: `start`, `start + step`, .. with a step that may be negative, all within the axis.
    pub fn slice_steps(&mut self, x: NodeId, axis: usize, start: usize, step: i64, count: Size) -> NodeId {
        let distance = step.unsigned_abs() as usize;
        if step > 0 || count.max() == 0 {
            let distance = if count.max() < 2 { 1 } else { distance };
            let start = if count.max() == 0 { 0 } else { start };
            return self.slice(x, axis, start, distance, count);
        }
        let lowest = start - (count.max() - 1) * distance;
        let forwards = self.slice(x, axis, lowest, distance, count);
        if count == Size::Fixed(1) { forwards } else { self.flip(forwards, axis) }
    }

    /// The last `count` elements of an axis.
    pub fn slice_last(&mut self, x: NodeId, axis: usize, count: Size) -> NodeId {
        match (self.nodes[x].shape[axis], count) {
            (size, count) if size == count => x,
            (Size::Fixed(size), Size::Fixed(count)) => {
                self.slice(x, axis, size - count, 1, Size::Fixed(count))
            }
            (size, _) => {
                let (size, taken) = (self.count(size), self.count(count));
                let start = self.sub(size, taken);
                self.take_from(x, axis, start, count)
            }
        }
    }

    /// `count` elements of an axis from a position that is known at run time, a scalar. It is moved to where all of them
    /// are within the axis, which must have as many.
    pub fn slice_at(&mut self, x: NodeId, axis: usize, position: NodeId, count: Size) -> NodeId {
        let size = self.nodes[x].shape[axis];
        let position = self.integer(position);
        let (size, taken) = (self.count(size), self.count(count));
        let (size, taken) = (self.like(size, position), self.like(taken, position));
        let latest = self.sub(size, taken);
        let zero = self.full_like(0.0, position);
        let position = self.maximum(position, zero);
        let behind = self.less(latest, position);
        let position = self.select(behind, latest, position);
        let position = self.to_i32(position);
        self.take_from(x, axis, position, count)
    }

    /// `count` elements of an axis from a scalar position, which is known to be in range.
    pub(crate) fn take_from(&mut self, x: NodeId, axis: usize, start: NodeId, count: Size) -> NodeId {
        let positions = self.iota(count);
        let start = self.spread(start, &[], &[count]);
        let index = self.add(positions, start);
        self.take(x, axis, index)
    }
}

/// First position and number of elements of `start:end:step` on an axis of `n`.
pub(crate) fn python_range(n: usize, start: Option<i64>, end: Option<i64>, step: i64) -> (usize, usize) {
    assert_ne!(step, 0, "a slice with step 0");
    let n = n as i64;
    // With a negative step the positions are -1..n-1, where -1 is in front of the first element.
    let (lowest, highest) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let place = |position: i64| {
        let position = if position < 0 { position.saturating_add(n) } else { position };
        position.clamp(lowest, highest)
    };
    let (first, last) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    let start = start.map_or(first, place);
    let end = end.map_or(last, place);
    let distance = if step > 0 { end - start } else { start - end };
    let count = if distance > 0 { (distance as u64).div_ceil(step.unsigned_abs()) } else { 0 };
    (start.max(0) as usize, count as usize)
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Consecutive elements of an axis, from `start`, a number of the host program such as a loop variable. How many is
    /// the size that the result's type names.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<10>)> = input("x");
    ///     let middle: Tensor<(D<2>, D<4>)> = x.slice(Axis::<1>, 3);
    ///     output(&middle);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn slice<Length: Dim, const I: isize>(self, axis: Axis<I>, start: usize) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("slice");
        self.slice_step(axis, start, 1)
    }

    /// As [`slice`](Tensor::slice), but every `step`-th element.
    #[track_caller]
    pub fn slice_step<Length: Dim, const I: isize>(
        self,
        _axis: Axis<I>,
        start: usize,
        step: usize,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("slice_step");
        let axis = S::AXIS;
        let what = format!("axis {axis}");
        let sizes = require_fixed(&what, S::DIMS[axis], S::DIMS).zip(require_fixed(
            &what,
            Length::INFO,
            <S::Set<Length> as Shape>::DIMS,
        ));
        let Some((size, length)) = sizes else { return Tensor::placeholder() };
        if let Some(mistake) = slice_mistake(S::DIMS, axis, size, start, step, length) {
            report(mistake);
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            let (node, at) = recorder.materialize(self.node, S::DIMS, axis);
            let size = Size::Fixed(length);
            let node = recorder.graph.slice(node, at, start, step, size);
            recorder.settle(node, Length::INFO, at)
        }))
    }
}

/// What is wrong with a slice, if anything.
fn slice_mistake(
    dims: &[DimInfo],
    axis: usize,
    size: usize,
    start: usize,
    step: usize,
    length: usize,
) -> Option<String> {
    if step == 0 {
        return Some("the step is 0; it must be at least 1".into());
    }
    // The position behind the last element, which overflows only for numbers that are wrong anyway.
    let end = match length {
        0 => Some(start),
        _ => (length - 1).checked_mul(step).and_then(|reach| reach.checked_add(start)?.checked_add(1)),
    };
    if end.is_some_and(|end| end <= size) {
        return None;
    }
    let room = size.saturating_sub(start).div_ceil(step);
    let stepping = if step == 1 { String::new() } else { format!(" with step {step}") };
    Some(format!(
        "{length} elements from {start}{stepping} do not fit into axis {axis} of {}, which has {size}: at most {room} are \
         left there",
        Dims(dims)
    ))
}
