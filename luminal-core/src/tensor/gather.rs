//! Looking up elements by index: rows of a table, parts of an axis, single elements.
//!
//! One rule holds for every lookup: an index below 0 means the first position, one behind the end the last. So no input
//! reads outside of a tensor, and what it would read does not depend on the machine.

use super::axis::Axis;
use super::dim::{Dim, DimInfo, Dims};
use super::element::{Element, Index};
use super::movement::shaped;
use super::shape::{At, Insert, Join, Lead, Shape};
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Dim as Size, Graph, NodeId, Reduce};

/// Compositions for axes that are numbers. An index is `i32`, or another integer type.
impl Graph {
    /// Elements of an axis by an index of any rank, whose axes take the place of the axis. Indices are moved into the
    /// axis; one that has no position gives zeros.
    pub fn index_select(&mut self, x: NodeId, axis: usize, index: NodeId) -> NodeId {
        let size = self.nodes[x].shape[axis];
        if size == Size::Fixed(0) {
            let (mut shape, place) = (self.nodes[x].shape.clone(), self.nodes[index].shape.clone());
            shape.splice(axis..axis + 1, place);
            return self.full(0.0, self.nodes[x].dtype, &shape);
        }
        let index = self.clamped_index(index, size);
        match size {
            Size::Fixed(_) => self.take(x, axis, index),
            // The axis may be empty: one more position is there in any case.
            Size::Free { .. } => {
                let longer = self.derived(&[(1, size)], 1, 1);
                let x = self.pad(x, axis, 0, longer, 0.0);
                self.take(x, axis, index)
            }
        }
    }

    /// As [`Graph::index_select`], for an `i32` index that is known to be in range.
    pub(crate) fn take(&mut self, x: NodeId, axis: usize, index: NodeId) -> NodeId {
        let (rank, index_rank) = (self.nodes[x].shape.len(), self.nodes[index].shape.len());
        let table = self.move_axis(x, axis, 0);
        let taken = self.gather(table, index);
        let before = (0..axis).map(|at| index_rank + at);
        let behind = (axis..rank - 1).map(|at| index_rank + at);
        let order: Vec<usize> = before.chain(0..index_rank).chain(behind).collect();
        self.reorder(taken, &order)
    }

    /// Single elements along an axis, by an index of the rank of `x`: element `[i][j][k]` of the result is
    /// `x[i][index[i][j][k]][k]` for axis 1. The other axes of the index are at most as long as those of `x`. Called
    /// `gather` in PyTorch and `take_along_axis` in NumPy.
    ///
    /// Where other axes are of free size every position is compared with the index, which takes time in proportion to
    /// the length of the axis.
    pub fn gather_along(&mut self, x: NodeId, axis: usize, index: NodeId) -> NodeId {
        let shape = self.nodes[index].shape.clone();
        if self.nodes[x].shape.iter().chain(&shape).any(|size| *size == Size::Fixed(0)) {
            return self.full(0.0, self.nodes[x].dtype, &shape);
        }
        let index = self.clamped_index(index, self.nodes[x].shape[axis]);
        self.take_along(x, axis, index)
    }

    /// As [`Graph::gather_along`], for an `i32` index that is known to be in range of an axis that is not empty.
    pub(crate) fn take_along(&mut self, x: NodeId, axis: usize, index: NodeId) -> NodeId {
        let (sizes, shape) = (self.nodes[x].shape.clone(), self.nodes[index].shape.clone());
        if sizes.len() == 1 {
            return self.take(x, 0, index);
        }
        let count = sizes.iter().try_fold(1usize, |count, size| match size {
            Size::Fixed(n) => count.checked_mul(*n).filter(|count| *count < i32::MAX as usize),
            Size::Free { .. } => None,
        });
        if count.is_none() {
            return self.compare_along(x, axis, index);
        }
        // The place in row-major order.
        let mut place = None;
        let mut stride = 1;
        for at in (0..sizes.len()).rev() {
            let coordinate = match at == axis {
                true => index,
                false => {
                    let positions = self.iota(shape[at]);
                    self.spread(positions, &[at], &shape)
                }
            };
            let distance = self.mul_number(coordinate, stride as f64);
            place = Some(place.map_or(distance, |place| self.add(place, distance)));
            stride *= sizes[at].max();
        }
        let place = place.expect("at least two axes");
        let flat = self.reshape(x, &[Size::Fixed(stride)]);
        self.take(flat, 0, place)
    }

    fn compare_along(&mut self, mut x: NodeId, axis: usize, index: NodeId) -> NodeId {
        let shape = self.nodes[index].shape.clone();
        for (at, size) in shape.iter().enumerate() {
            if at != axis && self.nodes[x].shape[at] != *size {
                x = self.slice(x, at, 0, 1, *size);
            }
        }
        let size = self.nodes[x].shape[axis];
        let x = self.expand(x, axis, shape[axis]);
        let wanted = self.expand(index, axis + 1, size);
        let compared = self.nodes[wanted].shape.clone();
        let positions = self.iota(size);
        let positions = self.spread(positions, &[axis + 1], &compared);
        let other = self.differs(wanted, positions);
        self.widened([x], |graph, [x]| {
            let least = graph.least(x);
            let chosen = graph.select(other, least, x);
            graph.reduce(Reduce::Max, chosen, axis + 1)
        })
    }

    /// Slices by index tuples along the last axis of `index`: entry `t` of a tuple is a position of axis `batch + t`. The
    /// first `batch` axes of both belong together. Indices are moved into their axes. All sizes are fixed.
    pub fn gather_nd(&mut self, x: NodeId, index: NodeId, batch: usize) -> NodeId {
        let (sizes, shape) = (self.nodes[x].shape.clone(), self.nodes[index].shape.clone());
        let (tuple, places) = shape.split_last().expect("an axis of tuples");
        let (entries, rest) = (Size::max(*tuple), &sizes[batch + Size::max(*tuple)..]);
        let result = [places, rest].concat();
        if sizes.iter().chain(&shape[..shape.len() - 1]).any(|size| (*size).max() == 0) {
            return self.full(0.0, self.nodes[x].dtype, &result);
        }
        let mut place = self.full(0.0, Dtype::I32, places);
        for (at, size) in sizes[..batch + entries].iter().enumerate() {
            let coordinate = if at < batch {
                let positions = self.iota(*size);
                self.spread(positions, &[at], places)
            } else {
                let entry = self.entry(index, at - batch);
                self.clamped_index(entry, *size)
            };
            let outer = self.mul_number(place, (*size).max() as f64);
            place = self.add(outer, coordinate);
        }
        let rows = sizes[..batch + entries].iter().map(|size| (*size).max()).product();
        let table = self.reshape(x, &[&[Size::Fixed(rows)], rest].concat());
        self.take(table, 0, place)
    }

    /// One entry of the tuples along the last axis, which disappears.
    pub(crate) fn entry(&mut self, index: NodeId, entry: usize) -> NodeId {
        let last = self.nodes[index].shape.len() - 1;
        let entry = self.slice(index, last, entry, 1, Size::Fixed(1));
        self.squeeze(entry, last)
    }

    /// 1 at the position that the index names, 0 elsewhere and for an index that names none, along a new axis.
    pub fn one_hot(&mut self, index: NodeId, axis: usize, size: Size, dtype: Dtype) -> NodeId {
        let index = self.integer(index);
        let index = self.expand(index, axis, size);
        let shape = self.nodes[index].shape.clone();
        let positions = self.iota(size);
        let positions = self.spread(positions, &[axis], &shape);
        let positions = self.like(positions, index);
        let other = self.differs(index, positions);
        let (zero, one) = (self.full(0.0, dtype, &shape), self.full(1.0, dtype, &shape));
        self.select(other, zero, one)
    }

    /// Negative indices as counted from the end of an axis of this size: the size is added to them, once.
    pub fn wrapped_index(&mut self, index: NodeId, size: Size) -> NodeId {
        let index = self.integer(index);
        let count = self.count(size);
        let count = self.spread_like(count, index);
        let zero = self.full_like(0.0, index);
        let negative = self.less(index, zero);
        let counted = self.add(index, count);
        self.select(negative, counted, index)
    }

    /// The index as `i32`, moved into an axis of this size.
    pub fn clamped_index(&mut self, index: NodeId, size: Size) -> NodeId {
        let index = self.integer(index);
        let zero = self.full_like(0.0, index);
        let last = match size {
            Size::Fixed(n) => self.full_like(n as f64 - 1.0, index),
            size => {
                let last = self.count(size);
                let last = self.add_number(last, -1.0);
                self.spread_like(last, index)
            }
        };
        let behind = self.less(last, index);
        let index = self.select(behind, last, index);
        let index = self.maximum(index, zero);
        self.as_i32(index)
    }

    /// An `i32` scalar in the shape and element type of an index.
    pub(crate) fn spread_like(&mut self, scalar: NodeId, index: NodeId) -> NodeId {
        let scalar = self.like(scalar, index);
        let shape = self.nodes[index].shape.clone();
        self.spread(scalar, &[], &shape)
    }

    /// Integers in a type that has arithmetic.
    pub(crate) fn integer(&mut self, index: NodeId) -> NodeId {
        let dtype = self.nodes[index].dtype;
        if dtype.wide() == dtype { index } else { self.cast(index, dtype.wide()) }
    }

    /// In the element type of another tensor.
    pub(crate) fn like(&mut self, x: NodeId, other: NodeId) -> NodeId {
        let dtype = self.nodes[other].dtype;
        if self.nodes[x].dtype == dtype { x } else { self.cast(x, dtype) }
    }

    pub(crate) fn as_i32(&mut self, index: NodeId) -> NodeId {
        if self.nodes[index].dtype == Dtype::I32 { index } else { self.cast(index, Dtype::I32) }
    }

    /// Whether two numbers differ; false where one is NaN.
    pub(crate) fn differs(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let (less, greater) = (self.less(x, y), self.less(y, x));
        self.or(less, greater)
    }

    /// The value that every other one is at least, in the shape and element type of `x`.
    pub(crate) fn least(&mut self, x: NodeId) -> NodeId {
        let value = match self.nodes[x].dtype {
            Dtype::Bool | Dtype::U8 => 0.0,
            Dtype::F32 | Dtype::F16 | Dtype::BF16 => f64::NEG_INFINITY,
            Dtype::I32 | Dtype::I64 => f64::from(i32::MIN),
        };
        let least = self.full_like(value, x);
        match self.nodes[x].dtype {
            // Literals of 64 bits end at 2^53.
            Dtype::I64 => self.mul_number(least, 2f64.powi(32)),
            _ => least,
        }
    }
}

impl<Rows: Dim, N: Dim, E: Element> Tensor<(Rows, N), E> {
    /// For each index that row of this table: an embedding. Negative indices mean the first row, indices behind the end
    /// the last one, so that no input reads outside of the table.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let table: Tensor<(D<50>, D<8>)> = input("table");
    ///     let tokens: Tensor<(D<5>,), i32> = input("tokens");
    ///     let rows: Tensor<(D<5>, D<8>)> = table.gather(tokens);
    ///     output(&rows);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn gather<S: Shape + Lead, X: Index>(self, index: Tensor<S, X>) -> Tensor<S::With<N>, E> {
        let _scope = op("gather");
        looked_up(self, 0, index)
    }
}

impl<Rows: Dim, E: Element> Tensor<(Rows,), E> {
    /// For each index that element of this table, with the same rule for indices out of range.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let table: Tensor<(D<50>,)> = input("table");
    ///     let index: Tensor<(D<2>, D<5>), i32> = input("index");
    ///     output(&table.gather(index));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn gather<S: Shape, X: Index>(self, index: Tensor<S, X>) -> Tensor<S, E> {
        let _scope = op("gather");
        looked_up(self, 0, index)
    }
}

impl<Rows: Dim, N: Dim, M: Dim, E: Element> Tensor<(Rows, N, M), E> {
    /// For each index that matrix of this table, with the same rule for indices out of range.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let table: Tensor<(D<50>, D<2>, D<3>)> = input("table");
    ///     let index: Tensor<(D<5>,), i32> = input("index");
    ///     let matrices: Tensor<(D<5>, D<2>, D<3>)> = table.gather(index);
    ///     output(&matrices);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn gather<S, X: Index>(self, index: Tensor<S, X>) -> Tensor<<S::With<N> as Insert<-1>>::With<M>, E>
    where
        S: Shape + Lead<With<N>: Insert<-1>>,
    {
        let _scope = op("gather");
        looked_up(self, 0, index)
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Elements of an axis by an index of one axis, which takes its place. Indices out of range mean the first and the
    /// last element.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<10>, D<3>)> = input("x");
    ///     let index: Tensor<(D<4>,), i32> = input("index");
    ///     let chosen: Tensor<(D<2>, D<4>, D<3>)> = x.index_select(Axis::<1>, index);
    ///     output(&chosen);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn index_select<K: Dim, X: Index, const I: isize>(
        self,
        _axis: Axis<I>,
        index: Tensor<(K,), X>,
    ) -> Tensor<S::Set<K>, E>
    where
        S: At<I>,
    {
        let _scope = op("index_select");
        looked_up(self, S::AXIS, index)
    }

    /// Single elements along an axis, by an index that differs in shape along that axis alone: element `[i][j][k]` of the
    /// result is `x[i][index[i][j][k]][k]` for axis 1. This is `gather` in PyTorch, `take_along_axis` in NumPy and
    /// `GatherElements` in ONNX. Indices out of range mean the first and the last element.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let scores: Tensor<(D<2>, D<10>)> = input("scores");
    ///     let label: Tensor<(D<2>, D<1>), i32> = input("label");
    ///     let chosen: Tensor<(D<2>, D<1>)> = scores.gather_along(Axis::<1>, label);
    ///     output(&chosen);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn gather_along<R: Shape, X: Index, const I: isize>(
        self,
        _axis: Axis<I>,
        index: Tensor<R, X>,
    ) -> Tensor<R, E>
    where
        S: Join<R, I>,
    {
        let _scope = op("gather_along");
        if is_empty_table(S::DIMS, S::AXIS, R::DIMS) {
            return Tensor::placeholder();
        }
        shaped(|recorder| {
            let (x, index) = (recorder.whole(self.node, S::DIMS), recorder.whole(index.node, R::DIMS));
            recorder.graph.gather_along(x, S::AXIS, index)
        })
    }
}

impl<S: Shape + Lead, X: Index> Tensor<S, X> {
    /// 1 at the position that each index names, 0 elsewhere, along a new last axis. An index that names none gives zeros.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let label: Tensor<(D<2>,), i32> = input("label");
    ///     let hot: Tensor<(D<2>, D<10>)> = label.one_hot();
    ///     output(&hot);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn one_hot<L: Dim, E: Element>(self) -> Tensor<S::With<L>, E> {
        let _scope = op("one_hot");
        Tensor::of(record(|recorder| {
            let size = recorder.dim(L::INFO);
            let at = recorder.graph.nodes[self.node].shape.len();
            let hot = recorder.graph.one_hot(self.node, at, size, E::DTYPE);
            recorder.settle(hot, L::INFO, at)
        }))
    }
}

/// A lookup whose index takes the place of an axis.
fn looked_up<S: Shape, R: Shape, T: Shape, E: Element, X: Index>(
    table: Tensor<S, E>,
    axis: usize,
    index: Tensor<T, X>,
) -> Tensor<R, E> {
    if is_empty_table(S::DIMS, axis, T::DIMS) {
        return Tensor::placeholder();
    }
    shaped(|recorder| {
        let (table, index) = (recorder.whole(table.node, S::DIMS), recorder.whole(index.node, T::DIMS));
        recorder.graph.index_select(table, axis, index)
    })
}

/// Reports a lookup in an axis that has no element, or more than an index can count. It is none if nothing is looked up.
fn is_empty_table(dims: &[DimInfo], axis: usize, index: &[DimInfo]) -> bool {
    let rows = dims[axis].max();
    let right = (1..i32::MAX as usize).contains(&rows) || index.iter().any(|dim| dim.max() == 0);
    if !right {
        let what = if axis == 0 { "rows".into() } else { format!("elements along axis {axis}") };
        let table = Dims(dims);
        report(format!("the table {table} has {rows} {what}; it must have at least 1 and fewer than 2^31"));
    }
    !right
}
