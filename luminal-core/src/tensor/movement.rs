//! Choosing, ordering and joining elements: permute, slice, pad, concat.

use super::axis::{Axis, Permute};
use super::dim::{Dim, DimInfo, Dims};
use super::element::Element;
use super::record::graph_axis;
use super::shape::{At, Join, Shape};
use super::trace::{op, record, report, require_fixed};
use super::value::Tensor;
use crate::axes;
use crate::dtype::Dtype;
use crate::graph::{Binary, Dim as Size};

impl<S: Shape, E: Element> Tensor<S, E> {
    /// The axes in another order: axis `i` of the result is axis `order[i]` of this tensor.
    ///
    /// ```
    /// use luminal_core::axes;
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let image: Tensor<(D<3>, D<8>, D<8>)> = input("image");
    ///     let channels_last: Tensor<(D<8>, D<8>, D<3>)> = image.permute(axes![1, 2, 0]);
    ///     output(&channels_last);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn permute<P>(self, _order: P) -> Tensor<S::Out, E>
    where
        S: Permute<P>,
    {
        let _scope = op("permute");
        let order = S::ORDER;
        if let Some(twice) =
            order.iter().enumerate().find(|(i, axis)| order[..*i].contains(axis)).map(|(_, axis)| axis)
        {
            let missing = (0..order.len()).find(|axis| !order.contains(axis)).unwrap_or_default();
            let shape = Dims(S::DIMS);
            report(format!(
                "axis {twice} of {shape} is named twice and axis {missing} is missing: name each axis once"
            ));
            return Tensor::placeholder();
        }
        let kept: Vec<_> = order.iter().copied().filter(|axis| S::DIMS[*axis] != DimInfo::One).collect();
        let order: Vec<_> = kept.iter().map(|axis| graph_axis(S::DIMS, *axis)).collect();
        Tensor::of(record(|recorder| match order.is_sorted() {
            true => self.node,
            false => recorder.graph.permute(self.node, &order),
        }))
    }

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
            let (node, at) = recorder.materialize(self.node, S::DIMS, axis);
            let in_front = recorder.graph.pad(node, at, 0, size, 0.0);
            let (node, _) = recorder.materialize(other.node, R::DIMS, axis);
            let behind = recorder.graph.pad(node, at, left, size, 0.0);
            let position = recorder.graph.iota(size);
            let border = recorder.fill(left as f64, Dtype::I32, &[DimInfo::Fixed(length)]);
            let mut is_left = recorder.graph.binary(Binary::LessThan, position, border);
            for (other_axis, size) in recorder.graph.nodes[in_front].shape.clone().into_iter().enumerate() {
                if other_axis != at {
                    is_left = recorder.graph.expand(is_left, other_axis, size);
                }
            }
            let joined = recorder.graph.select(is_left, in_front, behind);
            recorder.settle(joined, Length::INFO, at)
        }))
    }

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

impl<M: Dim, N: Dim, E: Element> Tensor<(M, N), E> {
    /// The matrix transposed.
    #[track_caller]
    pub fn t(self) -> Tensor<(N, M), E> {
        let _scope = op("t");
        self.permute(axes![1, 0])
    }
}
