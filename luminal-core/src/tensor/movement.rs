//! Other orders and other axes for the same elements: permute, transpose, squeeze, unsqueeze, expand, flip, roll.

use super::axis::{Axis, Permute};
use super::dim::{Dim, DimInfo, Dims, Unit};
use super::element::Element;
use super::record::{Recorder, graph_axis};
use super::shape::{At, Broadcast, Insert, Shape};
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::axes;
use crate::dtype::Dtype;
use crate::graph::{Binary, Dim as Size, Graph, NodeId, Op, Reduce};

/// Compositions for axes that are numbers.
impl Graph {
    /// The axes in another order, as [`Graph::permute`]; nothing is added where they are in order already.
    pub fn reorder(&mut self, x: NodeId, order: &[usize]) -> NodeId {
        if order.is_sorted() { x } else { self.permute(x, order) }
    }

    /// Two axes change places.
    pub fn transpose(&mut self, x: NodeId, first: usize, second: usize) -> NodeId {
        let mut order: Vec<usize> = (0..self.nodes[x].shape.len()).collect();
        order.swap(first, second);
        self.reorder(x, &order)
    }

    /// One axis moves to another place; the others keep their order.
    pub fn move_axis(&mut self, x: NodeId, from: usize, to: usize) -> NodeId {
        let mut order: Vec<usize> = (0..self.nodes[x].shape.len()).collect();
        let axis = order.remove(from);
        order.insert(to, axis);
        self.reorder(x, &order)
    }

    /// Removes an axis of one element.
    pub fn squeeze(&mut self, x: NodeId, axis: usize) -> NodeId {
        assert_eq!(self.nodes[x].shape[axis], Size::Fixed(1), "squeeze of axis {axis}");
        if let Op::Expand(inner, at) = self.nodes[x].op
            && at == axis
        {
            return inner;
        }
        let shape = &self.nodes[x].shape;
        let is_fixed = |axis: usize| matches!(shape.get(axis), Some(Size::Fixed(_)));
        if is_fixed(axis + 1) {
            return self.merge(x, axis);
        }
        if axis > 0 && is_fixed(axis - 1) {
            return self.merge(x, axis - 1);
        }
        // No view drops the only axis between free ones; the maximum of one element is that element, NaN and -0 included.
        self.widened([x], |graph, [x]| graph.reduce(Reduce::Max, x, axis))
    }

    /// A new axis of one element at this position.
    pub fn unsqueeze(&mut self, x: NodeId, axis: usize) -> NodeId {
        self.expand(x, axis, Size::Fixed(1))
    }

    /// Repeats along axes of one element and along new ones in front, until the shape is this one. Axes are aligned at
    /// the last one.
    pub fn broadcast_to(&mut self, mut x: NodeId, shape: &[Size]) -> NodeId {
        let missing = shape.len() - self.nodes[x].shape.len();
        for (axis, size) in shape[missing..].iter().enumerate() {
            if self.nodes[x].shape[axis] != *size {
                x = self.squeeze(x, axis);
                x = self.expand(x, axis, *size);
            }
        }
        for (axis, size) in shape[..missing].iter().enumerate() {
            x = self.expand(x, axis, *size);
        }
        x
    }

    /// The elements of an axis in reverse order.
    pub fn flip(&mut self, x: NodeId, axis: usize) -> NodeId {
        let size = self.nodes[x].shape[axis];
        let positions = self.iota(size);
        let backwards = self.mul_number(positions, -1.0);
        let last = self.count(size);
        let last = self.add_number(last, -1.0);
        let last = self.spread(last, &[], &[size]);
        let index = self.add(backwards, last);
        self.take(x, axis, index)
    }

    /// Moves each element of an axis this many positions back; those that leave at the end come in at the front.
    pub fn roll(&mut self, x: NodeId, axis: usize, shift: i32) -> NodeId {
        let size = self.nodes[x].shape[axis];
        let positions = self.iota(size);
        let count = self.count(size);
        let count = self.spread(count, &[], &[size]);
        // Modulo the size first, so that no shift overflows.
        let shift = self.full(f64::from(shift), Dtype::I32, &[size]);
        let shift = self.binary(Binary::Mod, shift, count);
        let shift = self.neg(shift);
        let moved = self.add(positions, shift);
        let index = self.binary(Binary::Mod, moved, count);
        self.take(x, axis, index)
    }
}

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

    /// Two axes change places.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>, D<4>)> = input("x");
    ///     let swapped: Tensor<(D<2>, D<4>, D<3>)> = x.transpose(Axis::<1>, Axis::<-1>);
    ///     output(&swapped);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn transpose<const I: isize, const J: isize>(
        self,
        _first: Axis<I>,
        _second: Axis<J>,
    ) -> Tensor<Swapped<S, I, J>, E>
    where
        S: At<I> + At<J>,
        <S as At<I>>::Set<<S as At<J>>::Dim>: At<J>,
    {
        let _scope = op("transpose");
        shaped(|recorder| {
            let x = recorder.whole(self.node, S::DIMS);
            recorder.graph.transpose(x, <S as At<I>>::AXIS, <S as At<J>>::AXIS)
        })
    }

    /// Drops an axis of one element.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<1>, D<4>)> = input("x");
    ///     let matrix: Tensor<(D<2>, D<4>)> = x.squeeze(Axis::<1>);
    ///     output(&matrix);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn squeeze<const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Drop, E>
    where
        S: At<I, Dim: Unit>,
    {
        let _scope = op("squeeze");
        Tensor::of(record(|recorder| match S::DIMS[S::AXIS] {
            DimInfo::One => self.node,
            _ => recorder.squeeze(self.node, graph_axis(S::DIMS, S::AXIS)),
        }))
    }

    /// A new axis of one element at this place, `D<1>` or `One` as the result's type says.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, One, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<4>)> = input("x");
    ///     let row: Tensor<(One, D<2>, D<4>)> = x.unsqueeze(Axis::<0>);
    ///     let column: Tensor<(D<2>, D<4>, D<1>)> = x.unsqueeze(Axis::<-1>);
    ///     output(&(row, column));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn unsqueeze<L: Unit, const I: isize>(self, _axis: Axis<I>) -> Tensor<S::With<L>, E>
    where
        S: Insert<I>,
    {
        let _scope = op("unsqueeze");
        Tensor::of(record(|recorder| match L::INFO {
            DimInfo::One => self.node,
            _ => recorder.graph.unsqueeze(self.node, graph_axis(S::DIMS, S::AXIS)),
        }))
    }

    /// Repeats the one element of an axis as often as the result's type says.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<1>)> = input("x");
    ///     let columns: Tensor<(D<2>, D<5>)> = x.expand(Axis::<1>);
    ///     output(&columns);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn expand<L: Dim, const I: isize>(self, _axis: Axis<I>) -> Tensor<S::Set<L>, E>
    where
        S: At<I, Dim: Unit>,
    {
        let _scope = op("expand");
        Tensor::of(record(|recorder| {
            let size = recorder.dim(L::INFO);
            recorder.along(self.node, S::DIMS, S::AXIS, L::INFO, |graph, x, axis| {
                let x = graph.squeeze(x, axis);
                graph.expand(x, axis, size)
            })
        }))
    }

    /// Repeats along axes of type `One` and along new ones in front, as a right operand does.
    ///
    /// ```
    /// use luminal_core::tensor::{D, One, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<3>, One)> = input("x");
    ///     output(&x.broadcast_to::<(D<2>, D<3>, D<4>)>());
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn broadcast_to<R: Shape + Broadcast<S>>(self) -> Tensor<R, E> {
        let _scope = op("broadcast_to");
        Tensor::of(record(|recorder| recorder.broadcast(self.node, S::DIMS, R::DIMS)))
    }

    /// The elements of an axis in reverse order.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<5>)>>("x").flip(Axis::<1>)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn flip<const I: isize>(self, _axis: Axis<I>) -> Self
    where
        S: At<I>,
    {
        let _scope = op("flip");
        keep(self, |graph, x, axis| graph.flip(x, axis))
    }

    /// Moves each element of an axis this many positions back; those that leave at the end come in at the front.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<5>)>>("x").roll(Axis::<1>, -2)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn roll<const I: isize>(self, _axis: Axis<I>, shift: i32) -> Self
    where
        S: At<I>,
    {
        let _scope = op("roll");
        keep(self, |graph, x, axis| graph.roll(x, axis, shift))
    }
}

/// Shape `S` with its axes `I` and `J` exchanged.
pub type Swapped<S, const I: isize, const J: isize> =
    <<S as At<I>>::Set<<S as At<J>>::Dim> as At<J>>::Set<<S as At<I>>::Dim>;

/// Records work on nodes with every axis of their type; the result has every axis of its own.
pub(super) fn shaped<R: Shape, E: Element>(work: impl FnOnce(&mut Recorder) -> NodeId) -> Tensor<R, E> {
    Tensor::of(record(|recorder| {
        let node = work(recorder);
        recorder.bare(node, R::DIMS)
    }))
}

/// Records a composition along an axis that keeps its size.
pub(super) fn keep<S: At<I>, E: Element, F: Element, const I: isize>(
    x: Tensor<S, E>,
    work: impl FnOnce(&mut Graph, NodeId, usize) -> NodeId,
) -> Tensor<S, F> {
    Tensor::of(record(|recorder| recorder.along(x.node, S::DIMS, S::AXIS, S::DIMS[S::AXIS], work)))
}

impl<M: Dim, N: Dim, E: Element> Tensor<(M, N), E> {
    /// The matrix transposed.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let transposed: Tensor<(D<3>, D<2>)> = input::<Tensor<(D<2>, D<3>)>>("x").t();
    ///     output(&transposed);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn t(self) -> Tensor<(N, M), E> {
        let _scope = op("t");
        self.permute(axes![1, 0])
    }
}
