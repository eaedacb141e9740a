//! Writing elements by index: into single places, into whole rows, at a position known at run time.
//!
//! One rule holds for every write: an index that is not a position of the axis writes nothing. Where several indices
//! name one place, the last in the order of the index stays when values are set; added values are summed up in that
//! order.
//!
//! Every element of the result asks which index names it, so a write by index takes time in proportion to the number of
//! elements times the number of indices. What is written is selected, never multiplied: infinities and NaN stay where
//! they belong.

use super::axis::Axis;
use super::dim::Dim;
use super::element::{Element, Index, Number};
use super::movement::shaped;
use super::shape::{At, Join, Shape};
use super::slice::slice_start;
use super::trace::{op, report};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Dim as Size, Graph, NodeId, Reduce};

/// What happens to an element that an index names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scatter {
    /// It is replaced; the last value stays.
    Set,
    /// All values are added to it.
    Add,
    /// It is multiplied by all values, whose number is fixed.
    Mul,
    /// The greatest of it and the values.
    Max,
    /// The smallest of it and the values.
    Min,
}

/// Compositions for axes that are numbers. An index is `i32`, or another integer type.
impl Graph {
    /// Single elements along an axis, by an index of the rank of `x`: `x[index[i][j][k]][j][k]` is written with
    /// `new[i][j][k]` for axis 0. Index and new values have one shape, whose other axes are at most as long as those of
    /// `x`. Called `scatter` in PyTorch and `ScatterElements` in ONNX.
    pub fn scatter_along(
        &mut self,
        x: NodeId,
        axis: usize,
        index: NodeId,
        new: NodeId,
        how: Scatter,
    ) -> NodeId {
        let mut index = self.integer(index);
        let mut new = new;
        for at in (0..self.nodes[x].shape.len()).filter(|at| *at != axis) {
            let size = self.nodes[x].shape[at];
            if self.nodes[index].shape[at] != size {
                // Where there is no index, -1 writes nothing.
                index = self.pad(index, at, 0, size, -1.0);
                new = self.pad(new, at, 0, size, 0.0);
            }
        }
        let size = self.nodes[x].shape[axis];
        let index = self.expand(index, axis, size);
        let compared = self.nodes[index].shape.clone();
        let positions = self.iota(size);
        let positions = self.spread(positions, &[axis], &compared);
        let positions = self.like(positions, index);
        let other = self.differs(index, positions);
        if how == Scatter::Set {
            let last = self.last_writer(other, axis + 1);
            return self.written(x, last, |graph, place| graph.gather_along(new, axis, place));
        }
        self.combined(x, other, new, axis, how)
    }

    /// Rows along an axis, by an index of one axis: row `index[i]` of `x` is written with row `i` of `new`. Called
    /// `index_put`, `index_copy` and `index_add` in PyTorch.
    pub fn index_put(&mut self, x: NodeId, axis: usize, index: NodeId, new: NodeId, how: Scatter) -> NodeId {
        let index = self.integer(index);
        let shape = self.nodes[x].shape.clone();
        let (size, count) = (shape[axis], self.nodes[index].shape[0]);
        let index = self.expand(index, 0, size);
        let positions = self.iota(size);
        let positions = self.expand(positions, 1, count);
        let positions = self.like(positions, index);
        let other = self.differs(index, positions);
        if how == Scatter::Set {
            let last = self.last_writer(other, 1);
            let taken = self.index_select(new, axis, last);
            let last = self.spread(last, &[axis], &shape);
            return self.written(x, last, |_, _| taken);
        }
        let mut compared = shape;
        compared.insert(axis + 1, count);
        let other = self.spread(other, &[axis, axis + 1], &compared);
        self.combined(x, other, new, axis, how)
    }

    /// The number of the last index that names a place, -1 where there is none. `other` says of each place and index
    /// along `axis` that it does not.
    fn last_writer(&mut self, other: NodeId, axis: usize) -> NodeId {
        let compared = self.nodes[other].shape.clone();
        let order = self.iota(compared[axis]);
        let order = self.spread(order, &[axis], &compared);
        let none = self.full_like(-1.0, order);
        let order = self.select(other, none, order);
        let last = self.reduce(Reduce::Max, order, axis);
        // Without any index the maximum is the least number.
        let none = self.full_like(-1.0, last);
        self.maximum(last, none)
    }

    /// The new value where some index names the place, the old one elsewhere.
    fn written(&mut self, x: NodeId, last: NodeId, new: impl FnOnce(&mut Graph, NodeId) -> NodeId) -> NodeId {
        let zero = self.full_like(0.0, last);
        let old = self.less(last, zero);
        let new = new(self, last);
        self.select(old, x, new)
    }

    /// All values of a place and its old one. `other` says which values along `axis + 1` do not belong to it.
    fn combined(&mut self, x: NodeId, other: NodeId, new: NodeId, axis: usize, how: Scatter) -> NodeId {
        let new = self.expand(new, axis, self.nodes[x].shape[axis]);
        self.widened([x, new], |graph, [x, new]| match how {
            Scatter::Add => {
                let zero = graph.full_like(0.0, new);
                let counted = graph.select(other, zero, new);
                let sum = graph.reduce(Reduce::Sum, counted, axis + 1);
                graph.add(x, sum)
            }
            Scatter::Mul => {
                let one = graph.full_like(1.0, new);
                let counted = graph.select(other, one, new);
                let product = graph.prod(counted, axis + 1);
                graph.mul(x, product)
            }
            _ => {
                let reversed = how == Scatter::Min;
                let turn = |graph: &mut Graph, x| if reversed { graph.reverse_order(x) } else { x };
                let (x, new) = (turn(graph, x), turn(graph, new));
                let least = graph.least(new);
                let counted = graph.select(other, least, new);
                let greatest = graph.reduce(Reduce::Max, counted, axis + 1);
                let greatest = graph.maximum(x, greatest);
                turn(graph, greatest)
            }
        })
    }

    /// Slices by index tuples along the last axis of `index`: entry `t` of a tuple is a position of axis `t` of `x`. All
    /// sizes are fixed.
    pub fn scatter_nd(&mut self, x: NodeId, index: NodeId, new: NodeId, how: Scatter) -> NodeId {
        let (sizes, shape) = (self.nodes[x].shape.clone(), self.nodes[index].shape.clone());
        let (tuple, places) = shape.split_last().expect("an axis of tuples");
        let (entries, rest) = (Size::max(*tuple), &sizes[Size::max(*tuple)..]);
        let mut place = self.full(0.0, Dtype::I32, places);
        let mut outside = self.full(0.0, Dtype::Bool, places);
        for (at, size) in sizes[..entries].iter().enumerate() {
            let entry = self.entry(index, at);
            let entry = self.integer(entry);
            let inside = self.clamped_index(entry, *size);
            let same = self.like(inside, entry);
            let moved = self.differs(entry, same);
            outside = self.or(outside, moved);
            let outer = self.mul_number(place, (*size).max() as f64);
            place = self.add(outer, inside);
        }
        let nowhere = self.full_like(-1.0, place);
        let place = self.select(outside, nowhere, place);
        let volume = |sizes: &[Size]| Size::Fixed(sizes.iter().map(|size| (*size).max()).product());
        let place = self.reshape(place, &[volume(places)]);
        let new = self.reshape(new, &[&[volume(places)], rest].concat());
        let rows = self.reshape(x, &[&[volume(&sizes[..entries])], rest].concat());
        let written = self.index_put(rows, 0, place, new, how);
        self.reshape(written, &sizes)
    }

    /// Consecutive positions of an axis from one that is known at run time, a scalar, replaced by `new`. What falls
    /// outside of the axis is not written. One pass over the elements.
    pub fn write_at(&mut self, x: NodeId, axis: usize, position: NodeId, new: NodeId) -> NodeId {
        let shape = self.nodes[x].shape.clone();
        let (size, length) = (shape[axis], self.nodes[new].shape[axis]);
        if length == Size::Fixed(0) || size == Size::Fixed(0) {
            return x;
        }
        let position = self.integer(position);
        let (size_now, length_now) = (self.count(size), self.count(length));
        // From where nothing is inside in front to where nothing is behind, so that sums do not overflow.
        let (latest, taken) = (self.like(size_now, position), self.like(length_now, position));
        let earliest = self.neg(taken);
        let position = self.maximum(position, earliest);
        let behind = self.less(latest, position);
        let position = self.select(behind, latest, position);
        let position = self.as_i32(position);
        let end = self.add(position, length_now);
        let [position, end] = [position, end].map(|x| self.spread(x, &[], &[size]));
        let positions = self.iota(size);
        let back = self.neg(position);
        let index = self.add(positions, back);
        let placed = self.index_select(new, axis, index);
        let before = self.less(positions, position);
        let within = self.less(positions, end);
        // Inside, but not in front of the position.
        let written = self.less(before, within);
        let written = self.spread(written, &[axis], &shape);
        self.select(written, placed, x)
    }

    /// Positions `start, start + step, ..` of an axis replaced by `new`; all are within the axis.
    pub fn slice_scatter(
        &mut self,
        x: NodeId,
        axis: usize,
        start: usize,
        step: usize,
        new: NodeId,
    ) -> NodeId {
        let shape = self.nodes[x].shape.clone();
        let ones = self.full(1.0, Dtype::Bool, &[self.nodes[new].shape[axis]]);
        let written = self.dilated(ones, 0, start, step, shape[axis]);
        let written = self.spread(written, &[axis], &shape);
        let new = self.dilated(new, axis, start, step, shape[axis]);
        self.select(written, new, x)
    }

    /// The elements of an axis at `start, start + step, ..` of one of this size, with 0 between.
    fn dilated(&mut self, x: NodeId, axis: usize, start: usize, step: usize, size: Size) -> NodeId {
        let mut x = x;
        if step > 1 && self.nodes[x].shape[axis].max() > 1 {
            let Size::Fixed(count) = self.nodes[x].shape[axis] else { panic!("steps of a free axis") };
            x = self.unsqueeze(x, axis + 1);
            x = self.pad(x, axis + 1, 0, Size::Fixed(step), 0.0);
            x = self.merge(x, axis);
            x = self.slice(x, axis, 0, 1, Size::Fixed((count - 1) * step + 1));
        }
        self.pad(x, axis, start, size, 0.0)
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Replaces single elements along an axis: `[index[i][j]][j]` becomes `new[i][j]` for axis 0. The last of several
    /// values for one place stays; an index that is not a position writes nothing. This is `scatter` in PyTorch and
    /// `ScatterElements` in ONNX.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<5>, D<3>)> = input("x");
    ///     let index: Tensor<(D<2>, D<3>), i32> = input("index");
    ///     let new: Tensor<(D<2>, D<3>)> = input("new");
    ///     output(&x.scatter(Axis::<0>, index, new));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn scatter<R: Shape, X: Index, const I: isize>(
        self,
        _axis: Axis<I>,
        index: Tensor<R, X>,
        new: Tensor<R, E>,
    ) -> Self
    where
        S: Join<R, I>,
    {
        let _scope = op("scatter");
        scattered(self, S::AXIS, index, new, Scatter::Set)
    }

    /// Adds to single elements along an axis; all values for one place are summed up. See [`scatter`](Tensor::scatter).
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let index: Tensor<(D<8>,), i32> = input("index");
    ///     let histogram = Tensor::<(D<5>,)>::zeros().scatter_add(Axis::<0>, index, Tensor::full(1.0));
    ///     output(&histogram);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn scatter_add<R: Shape, X: Index, const I: isize>(
        self,
        _axis: Axis<I>,
        index: Tensor<R, X>,
        new: Tensor<R, E>,
    ) -> Self
    where
        S: Join<R, I>,
        E: Number,
    {
        let _scope = op("scatter_add");
        scattered(self, S::AXIS, index, new, Scatter::Add)
    }

    /// Replaces whole rows along an axis: row `index[i]` becomes row `i` of `new`. The last of several rows for one place
    /// stays; an index that is not a position writes nothing. Called `index_copy` in PyTorch.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<5>, D<3>)> = input("x");
    ///     let index: Tensor<(D<2>,), i32> = input("index");
    ///     let rows: Tensor<(D<2>, D<3>)> = input("rows");
    ///     output(&x.index_put(Axis::<0>, index, rows));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn index_put<K: Dim, X: Index, const I: isize>(
        self,
        _axis: Axis<I>,
        index: Tensor<(K,), X>,
        new: Tensor<S::Set<K>, E>,
    ) -> Self
    where
        S: At<I>,
    {
        let _scope = op("index_put");
        put(self, S::AXIS, index, new, Scatter::Set)
    }

    /// Adds rows to those that an index names; all rows for one place are summed up. See
    /// [`index_put`](Tensor::index_put).
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<5>, D<3>)> = input("x");
    ///     let index: Tensor<(D<2>,), i32> = input("index");
    ///     let rows: Tensor<(D<2>, D<3>)> = input("rows");
    ///     output(&x.index_add(Axis::<0>, index, rows));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn index_add<K: Dim, X: Index, const I: isize>(
        self,
        _axis: Axis<I>,
        index: Tensor<(K,), X>,
        new: Tensor<S::Set<K>, E>,
    ) -> Self
    where
        S: At<I>,
        E: Number,
    {
        let _scope = op("index_add");
        put(self, S::AXIS, index, new, Scatter::Add)
    }

    /// Replaces consecutive positions of an axis from one that is known at run time: a cache of keys and values. What
    /// falls outside of the axis is not written. One pass over the elements.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let cache: Tensor<(D<64>, D<8>)> = input("cache");
    ///     let position: Tensor<(), i32> = input("position");
    ///     let keys: Tensor<(D<1>, D<8>)> = input("keys");
    ///     output(&cache.write_at(Axis::<0>, position, keys));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn write_at<R: Shape, X: Index, const I: isize>(
        self,
        _axis: Axis<I>,
        position: Tensor<(), X>,
        new: Tensor<R, E>,
    ) -> Self
    where
        S: Join<R, I>,
    {
        let _scope = op("write_at");
        shaped(|recorder| {
            let (x, new) = (recorder.whole(self.node, S::DIMS), recorder.whole(new.node, R::DIMS));
            recorder.graph.write_at(x, S::AXIS, position.node, new)
        })
    }

    /// Replaces the positions `start, start + step, ..` of an axis, as many as `new` has.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<6>, D<3>)> = input("x");
    ///     let new: Tensor<(D<2>, D<3>)> = input("new");
    ///     output(&x.slice_scatter(Axis::<0>, 1, 2, new)); // rows 1 and 3
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn slice_scatter<R: Shape, const I: isize>(
        self,
        _axis: Axis<I>,
        start: usize,
        step: usize,
        new: Tensor<R, E>,
    ) -> Self
    where
        S: Join<R, I>,
    {
        let _scope = op("slice_scatter");
        let (axis, length) = (S::AXIS, R::DIMS[S::AXIS]);
        if step != 1 && length.is_free() {
            report(format!(
                "a step of {step} needs a fixed number of positions, but the new values have {length}"
            ));
            return Tensor::placeholder();
        }
        let (from, by) = [start, step].map(|n| i64::try_from(n).unwrap_or(i64::MAX)).into();
        if let Err(mistake) = slice_start(S::DIMS, axis, length, from, by) {
            report(mistake);
            return Tensor::placeholder();
        }
        shaped(|recorder| {
            let (x, new) = (recorder.whole(self.node, S::DIMS), recorder.whole(new.node, R::DIMS));
            recorder.graph.slice_scatter(x, axis, start, step, new)
        })
    }
}

fn scattered<S: Shape, R: Shape, E: Element, X: Index>(
    x: Tensor<S, E>,
    axis: usize,
    index: Tensor<R, X>,
    new: Tensor<R, E>,
    how: Scatter,
) -> Tensor<S, E> {
    shaped(|recorder| {
        let x = recorder.whole(x.node, S::DIMS);
        let [index, new] = [index.node, new.node].map(|node| recorder.whole(node, R::DIMS));
        recorder.graph.scatter_along(x, axis, index, new, how)
    })
}

fn put<S: Shape, R: Shape, K: Dim, E: Element, X: Index>(
    x: Tensor<S, E>,
    axis: usize,
    index: Tensor<(K,), X>,
    new: Tensor<R, E>,
    how: Scatter,
) -> Tensor<S, E> {
    shaped(|recorder| {
        let (x, new) = (recorder.whole(x.node, S::DIMS), recorder.whole(new.node, R::DIMS));
        let index = recorder.whole(index.node, <(K,)>::DIMS);
        recorder.graph.index_put(x, axis, index, new, how)
    })
}
