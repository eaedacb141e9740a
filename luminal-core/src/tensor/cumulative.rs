//! Sums and products of all elements up to each one.

use super::axis::Axis;
use super::element::Element;
use super::reduce::Total;
use super::shape::{At, Shape};
use super::statistics::keep;
use super::trace::{op, require_fixed};
use super::value::Tensor;
use crate::graph::{Dim, Graph, NodeId};

/// Which elements count for each position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Not the element itself.
    pub exclusive: bool,
    /// Those behind, not those in front.
    pub reverse: bool,
}

/// Compositions along an axis, which stays.
impl Graph {
    /// Sum of the elements up to each position. The elements that do not count are left out and not multiplied by 0, so
    /// infinities and NaN have no influence on what is in front of them. Takes time with the square of the size.
    pub fn cumsum(&mut self, x: NodeId, axis: usize, scan: Scan) -> NodeId {
        let mut shape = self.nodes[x].shape.clone();
        let size = shape[axis];
        // Axis `axis` is the position of the result, and the one behind it that of the element.
        shape.insert(axis, size);
        let position = self.iota(size);
        let row = self.spread(position, &[axis], &shape);
        let column = self.spread(position, &[axis + 1], &shape);
        let counts = match (scan.exclusive, scan.reverse) {
            (false, false) => self.less_equal(column, row),
            (true, false) => self.less(column, row),
            (false, true) => self.less_equal(row, column),
            (true, true) => self.less(row, column),
        };
        let repeated = self.expand(x, axis, size);
        let zero = self.full_like(0.0, repeated);
        let counted = self.select(counts, repeated, zero);
        self.sum(counted, axis + 1)
    }

    /// Product of the elements up to each position; the axis must have a known size. In each step the tensor is multiplied
    /// by itself, shifted by twice as many positions as before, with ones in front.
    pub fn cumprod(&mut self, x: NodeId, axis: usize, scan: Scan) -> NodeId {
        let Dim::Fixed(size) = self.nodes[x].shape[axis] else {
            panic!("cumulative product over a free dimension")
        };
        let mut product = x;
        if scan.exclusive {
            product = self.shifted(product, axis, 1.min(size), scan.reverse);
        }
        let mut shift = 1;
        while shift < size {
            let earlier = self.shifted(product, axis, shift, scan.reverse);
            product = self.mul(product, earlier);
            shift *= 2;
        }
        product
    }

    /// The elements moved by some positions to the back, or to the front, with ones where nothing moves to.
    fn shifted(&mut self, x: NodeId, axis: usize, by: usize, to_front: bool) -> NodeId {
        let size = self.nodes[x].shape[axis].max();
        let rest = Dim::Fixed(size - by);
        let (start, before) = if to_front { (by, 0) } else { (0, by) };
        let moved = self.slice(x, axis, start, 1, rest);
        self.pad(moved, axis, before, Dim::Fixed(size), 1.0)
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Sum along an axis of all elements up to each one, itself included. Infinities and NaN have no influence on what is
    /// in front of them. Takes time with the square of the size of the axis.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<4>)>>("x").cumsum(Axis::<1>)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn cumsum<const I: isize>(self, _axis: Axis<I>) -> Self
    where
        S: At<I>,
        E: Total,
    {
        let _scope = op("cumsum");
        keep(self, |graph, x, axis| graph.cumsum(x, axis, Scan::default()))
    }

    /// Product along an axis of fixed size of all elements up to each one, itself included.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<4>)>>("x").cumprod(Axis::<1>)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn cumprod<const I: isize>(self, _axis: Axis<I>) -> Self
    where
        S: At<I>,
        E: Total,
    {
        let _scope = op("cumprod");
        if require_fixed(&format!("axis {}", S::AXIS), S::DIMS[S::AXIS], S::DIMS).is_none() {
            return Tensor::placeholder();
        }
        keep(self, |graph, x, axis| graph.cumprod(x, axis, Scan::default()))
    }
}
