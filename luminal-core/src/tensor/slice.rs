//! Parts of an axis: slice, with any step, from the front, from the end or from a position known at run time.

use super::axis::Axis;
use super::dim::{Dim, DimInfo, Dims};
use super::element::{Element, Index};
use super::shape::{At, Shape};
use super::trace::{op, record, report};
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
                self.relate_at_most(count, &[(1, size)], 0, 1);
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
        self.relate_at_most(count, &[(1, size)], 0, 1);
        let position = self.integer(position);
        let (size, taken) = (self.count(size), self.count(count));
        let (size, taken) = (self.like(size, position), self.like(taken, position));
        let latest = self.sub(size, taken);
        let zero = self.full_like(0.0, position);
        let position = self.maximum(position, zero);
        let behind = self.less(latest, position);
        let position = self.select(behind, latest, position);
        let position = self.as_i32(position);
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
    /// the size that the result's type names. Of a free axis a run must have as many.
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
        self.slice_step(axis, isize::try_from(start).unwrap_or(isize::MAX), 1)
    }

    /// As [`slice`](Tensor::slice), but every `step`-th element, as in Python: a negative start counts from the end, so
    /// that -1 is the last element, and a negative step leads backwards. Both need an axis of fixed size.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<5>,)> = input("x");
    ///     let odd: Tensor<(D<2>,)> = x.slice_step(Axis::<0>, 1, 2); // x[1:5:2]
    ///     let backwards: Tensor<(D<2>,)> = x.slice_step(Axis::<0>, -1, -2); // x[-1:-4:-2]
    ///     output(&(odd, backwards));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn slice_step<Length: Dim, const I: isize>(
        self,
        _axis: Axis<I>,
        start: isize,
        step: isize,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("slice_step");
        let axis = S::AXIS;
        let first = match slice_start(S::DIMS, axis, Length::INFO, start as i64, step as i64) {
            Ok(first) => first,
            Err(mistake) => {
                report(mistake);
                return Tensor::placeholder();
            }
        };
        Tensor::of(record(|recorder| {
            let count = recorder.dim(Length::INFO);
            recorder.along(self.node, S::DIMS, axis, Length::INFO, |graph, x, at| {
                graph.slice_steps(x, at, first, step as i64, count)
            })
        }))
    }

    /// The last elements of an axis; how many is the size that the result's type names.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<10>)> = input("x");
    ///     let end: Tensor<(D<2>, D<3>)> = x.last(Axis::<1>);
    ///     output(&end);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn last<Length: Dim, const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("last");
        let axis = S::AXIS;
        if let Err(mistake) = slice_start(S::DIMS, axis, Length::INFO, 0, 1) {
            report(mistake);
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            let count = recorder.dim(Length::INFO);
            recorder
                .along(self.node, S::DIMS, axis, Length::INFO, |graph, x, at| graph.slice_last(x, at, count))
        }))
    }

    /// Consecutive elements of an axis from a position that is known at run time. It is moved to where all of them are
    /// within the axis.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let table: Tensor<(D<100>, D<8>)> = input("table");
    ///     let position: Tensor<(), i32> = input("position");
    ///     let rows: Tensor<(D<4>, D<8>)> = table.slice_at(Axis::<0>, position);
    ///     output(&rows);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn slice_at<Length: Dim, X: Index, const I: isize>(
        self,
        _axis: Axis<I>,
        position: Tensor<(), X>,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("slice_at");
        let axis = S::AXIS;
        if let Err(mistake) = slice_start(S::DIMS, axis, Length::INFO, 0, 1) {
            report(mistake);
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            let count = recorder.dim(Length::INFO);
            recorder.along(self.node, S::DIMS, axis, Length::INFO, |graph, x, at| {
                graph.slice_at(x, at, position.node, count)
            })
        }))
    }
}

/// The first position of a slice, or what is wrong with it.
pub(super) fn slice_start(
    dims: &[DimInfo],
    axis: usize,
    count: DimInfo,
    start: i64,
    step: i64,
) -> Result<usize, String> {
    if step == 0 {
        return Err("the step is 0; it must not be".into());
    }
    let (size, shape) = (dims[axis], Dims(dims));
    if size.is_free() && (start < 0 || step < 0) {
        let what = if start < 0 { "a start from the end" } else { "a step backwards" };
        return Err(format!(
            "{what} needs a fixed size, but axis {axis} of {shape} is the free dimension {size}: use `last` or `flip`"
        ));
    }
    if count.is_free() && step < 0 {
        return Err(format!(
            "a step backwards needs a fixed number of elements, but the result names {count}"
        ));
    }
    if size.is_free() && size == count {
        let whole = start == 0 && step == 1;
        let mistake =
            || format!("all of {size} is from 0 with step 1; name another dimension for a part of it");
        return if whole { Ok(0) } else { Err(mistake()) };
    }
    let n = size.max() as i128;
    let first = if start < 0 { n + i128::from(start) } else { i128::from(start) };
    let length = count.max() as i128;
    let last = first + (length - 1) * i128::from(step);
    let inside = |position: i128| (0..n).contains(&position);
    let fits = match length {
        0 => (0..=n).contains(&first),
        // Of two free sizes a run knows whether they fit.
        _ if size.is_free() && count.is_free() => inside(first),
        _ => inside(first) && inside(last),
    };
    if fits {
        return Ok(first as usize);
    }
    let distance = i128::from(step).abs();
    let room = match (inside(first), step > 0) {
        (false, _) => 0,
        (true, true) => (n - first + distance - 1) / distance,
        (true, false) => first / distance + 1,
    };
    let stepping = if step == 1 { String::new() } else { format!(" with step {step}") };
    let most = if size.is_free() { "at most " } else { "" };
    let up_to = if count.is_free() { "up to " } else { "" };
    Err(format!(
        "{up_to}{length} elements from {start}{stepping} do not fit into axis {axis} of {shape}, which has {most}{n}: at \
         most {room} are left there"
    ))
}
