//! Pooling to a given size: windows as even as they can be.

use super::dim::{Dim, Dims};
use super::element::{Element, Float, Number};
use super::pointwise::float;
use super::pool::least;
use super::shape::Shape;
use super::trace::{op, report};
use super::value::Tensor;
use super::window::axis_names;
use crate::graph::{Dim as Size, Graph, NodeId, Reduce, Unary};

/// Pooling of an axis of `L` elements to `size`, as PyTorch does: window `i` has the elements from `floor(i L / size)` to
/// `ceil((i + 1) L / size)`, exclusively.
impl Graph {
    /// Mean of each window of floats.
    pub fn adaptive_avg_pool(&mut self, x: NodeId, axis: usize, size: usize) -> NodeId {
        let length = self.nodes[x].shape[axis].max();
        if let Some(each) = even(length, size) {
            let sum = self.even_windows(x, axis, each, Reduce::Sum);
            return self.mul_number(sum, float(1.0 / each as f64));
        }
        let inside = self.adaptive_windows(length, size);
        let (sum, shape) = self.uneven_windows(x, axis, inside, Reduce::Sum, 0.0);
        // The window's size, as many elements as are inside.
        let dtype = self.nodes[x].dtype;
        let ones = self.cast(inside, dtype);
        let count = self.reduce(Reduce::Sum, ones, 1);
        let share = self.unary(Unary::Recip, count);
        let share = self.spread(share, &[axis], &shape);
        self.mul(sum, share)
    }

    /// Greatest element of each window; NaN if any is NaN.
    pub fn adaptive_max_pool(&mut self, x: NodeId, axis: usize, size: usize) -> NodeId {
        let length = self.nodes[x].shape[axis].max();
        if let Some(each) = even(length, size) {
            return self.even_windows(x, axis, each, Reduce::Max);
        }
        let inside = self.adaptive_windows(length, size);
        self.uneven_windows(x, axis, inside, Reduce::Max, least(self.nodes[x].dtype)).0
    }

    fn even_windows(&mut self, x: NodeId, axis: usize, each: usize, function: Reduce) -> NodeId {
        let split = self.split(x, axis, each);
        self.reduce(function, split, axis + 1)
    }

    fn uneven_windows(
        &mut self,
        x: NodeId,
        axis: usize,
        inside: NodeId,
        function: Reduce,
        fill: f64,
    ) -> (NodeId, Vec<Size>) {
        // A window is in front of the elements that it chooses from.
        let windows = self.nodes[inside].shape[0];
        let all = self.expand(x, axis, windows);
        let shape = self.nodes[all].shape.clone();
        let inside = self.spread(inside, &[axis, axis + 1], &shape);
        let fill = self.full_like(fill, all);
        let seen = self.select(inside, all, fill);
        let result = self.reduce(function, seen, axis + 1);
        (result, self.nodes[result].shape.clone())
    }

    /// `[size, length]`: whether a window has an element. No division is needed: element `l` is at or behind the start
    /// `floor(i L / size)` if `i L < (l + 1) size`, and in front of the end if `l size < (i + 1) L`.
    fn adaptive_windows(&mut self, length: usize, size: usize) -> NodeId {
        let most = (length + 1).checked_mul(size + 1).filter(|most| i32::try_from(*most).is_ok());
        assert!(most.is_some(), "{length} elements to {size}: positions do not fit into 32 bits");
        let shape = [Size::Fixed(size), Size::Fixed(length)];
        let mut scaled = |axis: usize, by: usize, add: usize| {
            let position = self.iota(shape[axis]);
            let position = self.add_number(position, add as f64);
            let scaled = self.mul_number(position, by as f64);
            self.spread(scaled, &[axis], &shape)
        };
        let (start, next) = (scaled(0, length, 0), scaled(1, size, 1));
        let (this, end) = (scaled(1, size, 0), scaled(0, length, 1));
        let (from, to) = (self.less(start, next), self.less(this, end));
        self.and(from, to)
    }
}

/// The size of each window if all are equal and do not overlap.
fn even(length: usize, size: usize) -> Option<usize> {
    (size > 0 && length > 0 && length.is_multiple_of(size)).then(|| length / size)
}

/// Records pooling of the last `axes` axes, one after the other.
fn pooled<S: Shape, R: Shape, E: Element>(
    x: Tensor<S, E>,
    axes: usize,
    work: fn(&mut Graph, NodeId, usize, usize) -> NodeId,
) -> Tensor<R, E> {
    let first = S::DIMS.len() - axes;
    let mut sizes = vec![];
    for (axis, name) in (first..).zip(axis_names(axes)) {
        let mistake = match (S::DIMS[axis].fixed(), R::DIMS[axis].fixed()) {
            (Some(0), _) => Some(format!("the {name} of the input is 0; it must be at least 1")),
            (Some(length), Some(size)) => {
                let most = (length + 1).checked_mul(size + 1);
                let fits = most.is_some_and(|most| i32::try_from(most).is_ok());
                sizes.push((axis, size));
                (!fits)
                    .then(|| format!("the {name} is too large: {length} times {size} must be less than 2^31"))
            }
            _ => Some(format!("the {name} of input and result must be fixed sizes, `D<N>`")),
        };
        if let Some(mistake) = mistake {
            report(format!("input {}, result {}: {mistake}", Dims(S::DIMS), Dims(R::DIMS)));
            return Tensor::placeholder();
        }
    }
    Tensor::with_all_axes([x.loose()], |graph, [x], _| {
        sizes.iter().fold(x, |x, (axis, size)| work(graph, x, *axis, *size))
    })
}

impl<B: Dim, C: Dim, L: Dim, E: Element> Tensor<(B, C, L), E> {
    /// Means of windows as even as they can be, of which there are as many as the result's type names: window `i` of `n`
    /// has the elements from `floor(i L / n)` to `ceil((i + 1) L / n)`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<8>, D<10>)> = input("x");
    ///     let four: Tensor<(D<2>, D<8>, D<4>)> = x.adaptive_avg_pool1d();
    ///     output(&four);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn adaptive_avg_pool1d<OutLength: Dim>(self) -> Tensor<(B, C, OutLength), E>
    where
        E: Float,
    {
        let _scope = op("adaptive_avg_pool1d");
        pooled(self, 1, Graph::adaptive_avg_pool)
    }

    /// As [`adaptive_avg_pool1d`](Tensor::adaptive_avg_pool1d), the greatest element of each window.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<8>, D<10>)> = input("x");
    ///     let greatest: Tensor<(D<2>, D<8>, D<4>)> = x.adaptive_max_pool1d();
    ///     output(&greatest);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn adaptive_max_pool1d<OutLength: Dim>(self) -> Tensor<(B, C, OutLength), E>
    where
        E: Number,
    {
        let _scope = op("adaptive_max_pool1d");
        pooled(self, 1, Graph::adaptive_max_pool)
    }
}

impl<B: Dim, C: Dim, H: Dim, W: Dim, E: Element> Tensor<(B, C, H, W), E> {
    /// Means of windows as even as they can be, of which there are as many rows and columns as the result's type names;
    /// see [`adaptive_avg_pool1d`](Tensor::adaptive_avg_pool1d).
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let maps: Tensor<(D<2>, D<8>, D<10>, D<12>)> = input("maps");
    ///     let grid: Tensor<(D<2>, D<8>, D<7>, D<7>)> = maps.adaptive_avg_pool2d();
    ///     output(&grid);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn adaptive_avg_pool2d<OutHeight: Dim, OutWidth: Dim>(self) -> Tensor<(B, C, OutHeight, OutWidth), E>
    where
        E: Float,
    {
        let _scope = op("adaptive_avg_pool2d");
        pooled(self, 2, Graph::adaptive_avg_pool)
    }

    /// As [`adaptive_avg_pool2d`](Tensor::adaptive_avg_pool2d), the greatest element of each window.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<8>, D<10>, D<12>)> = input("x");
    ///     let greatest: Tensor<(D<2>, D<8>, D<7>, D<7>)> = x.adaptive_max_pool2d();
    ///     output(&greatest);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn adaptive_max_pool2d<OutHeight: Dim, OutWidth: Dim>(self) -> Tensor<(B, C, OutHeight, OutWidth), E>
    where
        E: Number,
    {
        let _scope = op("adaptive_max_pool2d");
        pooled(self, 2, Graph::adaptive_max_pool)
    }
}
