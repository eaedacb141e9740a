//! Looking up elements by index: rows of a table, parts of an axis, single elements.
//!
//! One rule holds for every lookup: an index below 0 means the first position, one behind the end the last. So no input
//! reads outside of a tensor, and what it would read does not depend on the machine.

use super::dim::{Dim, Dims};
use super::element::Element;
use super::shape::{Lead, Shape};
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
        self.to_i32(index)
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

    pub(crate) fn to_i32(&mut self, index: NodeId) -> NodeId {
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
    pub fn gather<S: Shape + Lead>(self, index: Tensor<S, i32>) -> Tensor<S::With<N>, E> {
        let _scope = op("gather");
        match clamped::<Rows, S>(index, <(Rows, N)>::DIMS) {
            Some(index) => Tensor::of(record(|recorder| {
                let (table, _) = recorder.materialize(self.node, <(Rows, N)>::DIMS, 0);
                recorder.graph.gather(table, index.node)
            })),
            None => Tensor::placeholder(),
        }
    }
}

impl<Rows: Dim, E: Element> Tensor<(Rows,), E> {
    /// For each index that element of this table, with the same rule for indices out of range.
    #[track_caller]
    pub fn gather<S: Shape>(self, index: Tensor<S, i32>) -> Tensor<S, E> {
        let _scope = op("gather");
        match clamped::<Rows, S>(index, <(Rows,)>::DIMS) {
            Some(index) => Tensor::of(record(|recorder| {
                let (table, _) = recorder.materialize(self.node, <(Rows,)>::DIMS, 0);
                recorder.graph.gather(table, index.node)
            })),
            None => Tensor::placeholder(),
        }
    }
}

/// The index within the table. A table without rows, or of unknown size, is reported.
fn clamped<Rows: Dim, S: Shape>(index: Tensor<S, i32>, table: &[super::DimInfo]) -> Option<Tensor<S, i32>> {
    let rows = super::trace::require_fixed("axis 0", Rows::INFO, table)?;
    let Some(last) = rows.checked_sub(1).and_then(|last| i32::try_from(last).ok()) else {
        report(format!(
            "the table {} has {rows} rows; it must have at least 1 and fewer than 2^31",
            Dims(table)
        ));
        return None;
    };
    let index = index.maximum(0);
    Some(index.greater(last).select(Tensor::<S, i32>::full(last), index))
}
