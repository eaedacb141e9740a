//! Other orders and other axes for the same elements: permute, transpose, squeeze, unsqueeze, expand, flip, roll.

use super::axis::Permute;
use super::dim::{Dim, DimInfo, Dims};
use super::element::Element;
use super::record::graph_axis;
use super::shape::Shape;
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
}

impl<M: Dim, N: Dim, E: Element> Tensor<(M, N), E> {
    /// The matrix transposed.
    #[track_caller]
    pub fn t(self) -> Tensor<(N, M), E> {
        let _scope = op("t");
        self.permute(axes![1, 0])
    }
}
