//! Joining, cutting and repeating along an axis: concat, stack, split, chunk, repeat.

use super::axis::Axis;
use super::dim::{D, Dim, DimInfo, Dims};
use super::element::Element;
use super::record::graph_axis;
use super::shape::{At, Insert, Join, Shape};
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Dim as Size, Graph, NodeId};

/// Compositions for axes that are numbers.
impl Graph {
    /// Tensors one after the other along an axis of fixed sizes; at least one. What one of them holds, infinities and NaN
    /// included, has no influence on the others.
    pub fn concat(&mut self, parts: &[NodeId], axis: usize) -> NodeId {
        let sizes = parts.iter().map(|part| match self.nodes[*part].shape[axis] {
            Size::Fixed(n) => n,
            Size::Free { .. } => panic!("concat of free sizes without a name for the result"),
        });
        let total = Size::Fixed(sizes.sum());
        self.concat_to(parts, axis, total)
    }

    /// As [`Graph::concat`], with the size of the result, which free sizes need: the sum of all, as is recorded.
    pub fn concat_to(&mut self, parts: &[NodeId], axis: usize, total: Size) -> NodeId {
        let (first, rest) = parts.split_first().expect("at least one part");
        let sizes: Vec<(usize, Size)> = parts.iter().map(|part| (1, self.nodes[*part].shape[axis])).collect();
        self.relate_equal(total, &sizes, 0, 1);
        if self.nodes[*first].shape[axis] == total && rest.is_empty() {
            return *first;
        }
        let mut joined = self.pad(*first, axis, 0, total, 0.0);
        // Where the next part starts: a number, and a scalar of the graph once a free size is in front.
        let (mut fixed, mut free) = match self.nodes[*first].shape[axis] {
            Size::Fixed(n) => (n, None),
            size => (0, Some(self.count(size))),
        };
        for part in rest {
            let size = self.nodes[*part].shape[axis];
            if size == Size::Fixed(0) {
                continue;
            }
            let shape = self.nodes[joined].shape.clone();
            let positions = self.iota(total);
            let start = self.constant(fixed as f64, Dtype::I32);
            let start = free.map_or(start, |free| self.add(free, start));
            let spread_start = self.spread(start, &[], &[total]);
            let placed = match free {
                None => self.pad(*part, axis, fixed, total, 0.0),
                Some(_) => {
                    let back = self.neg(spread_start);
                    let index = self.add(positions, back);
                    self.index_select(*part, axis, index)
                }
            };
            let earlier = self.less(positions, spread_start);
            let earlier = self.spread(earlier, &[axis], &shape);
            joined = self.select(earlier, joined, placed);
            match size {
                Size::Fixed(n) => fixed += n,
                size => {
                    let count = self.count(size);
                    free = Some(free.map_or(count, |free| self.add(free, count)));
                }
            }
        }
        joined
    }

    /// Tensors of one shape along a new axis; at least one.
    pub fn stack(&mut self, parts: &[NodeId], axis: usize) -> NodeId {
        let parts: Vec<NodeId> = parts.iter().map(|part| self.unsqueeze(*part, axis)).collect();
        self.concat(&parts, axis)
    }

    /// Cuts an axis into parts of these sizes, whose sum it is.
    pub fn split_sizes(&mut self, x: NodeId, axis: usize, sizes: &[Size]) -> Vec<NodeId> {
        let whole = self.nodes[x].shape[axis];
        let terms: Vec<(usize, Size)> = sizes.iter().map(|size| (1, *size)).collect();
        self.relate_equal(whole, &terms, 0, 1);
        let (mut fixed, mut free) = (0, None);
        let mut parts = vec![];
        for size in sizes {
            parts.push(match free {
                _ if *size == whole => x,
                None => self.slice(x, axis, if *size == Size::Fixed(0) { 0 } else { fixed }, 1, *size),
                Some(free) => {
                    let start = self.add_number(free, fixed as f64);
                    self.take_from(x, axis, start, *size)
                }
            });
            match size {
                Size::Fixed(n) => fixed += n,
                size => {
                    let count = self.count(*size);
                    free = Some(free.map_or(count, |free| self.add(free, count)));
                }
            }
        }
        parts
    }

    /// Cuts an axis of fixed size into parts of one size, the last of which may be smaller: `chunks` of them, or fewer
    /// where that is enough.
    pub fn chunk(&mut self, x: NodeId, axis: usize, chunks: usize) -> Vec<NodeId> {
        let Size::Fixed(n) = self.nodes[x].shape[axis] else { panic!("chunk of a free axis") };
        let size = n.div_ceil(chunks.max(1)).max(1);
        let starts: Vec<usize> = (0..n.max(1)).step_by(size).collect();
        let sizes: Vec<Size> = starts.iter().map(|start| Size::Fixed(size.min(n - start))).collect();
        self.split_sizes(x, axis, &sizes)
    }

    /// The whole axis again and again: `1 2 3 1 2 3`.
    pub fn repeat(&mut self, x: NodeId, axis: usize, times: usize) -> NodeId {
        match self.nodes[x].shape[axis] {
            Size::Fixed(_) => {
                let repeated = self.expand(x, axis, Size::Fixed(times));
                self.merge(repeated, axis)
            }
            size => {
                let total = self.derived(&[(times, size)], 0, 1);
                self.repeat_to(x, axis, times, total)
            }
        }
    }

    /// As [`Graph::repeat`], with the size of the result, which is recorded.
    pub fn repeat_to(&mut self, x: NodeId, axis: usize, times: usize, total: Size) -> NodeId {
        let size = self.nodes[x].shape[axis];
        self.relate_equal(total, &[(times, size)], 0, 1);
        if let (Size::Fixed(_), Size::Fixed(_)) = (size, total) {
            return self.repeat(x, axis, times);
        }
        let positions = self.iota(total);
        let count = self.count(size);
        let count = self.spread(count, &[], &[total]);
        let index = self.binary(crate::graph::Binary::Mod, positions, count);
        // There are no positions where the axis is empty.
        self.take(x, axis, index)
    }

    /// Each element of an axis several times in turn: `1 1 2 2 3 3`.
    pub fn repeat_interleave(&mut self, x: NodeId, axis: usize, times: usize) -> NodeId {
        match self.nodes[x].shape[axis] {
            Size::Fixed(_) => {
                let repeated = self.expand(x, axis + 1, Size::Fixed(times));
                self.merge(repeated, axis)
            }
            size => {
                let total = self.derived(&[(times, size)], 0, 1);
                self.repeat_interleave_to(x, axis, times, total)
            }
        }
    }

    /// As [`Graph::repeat_interleave`], with the size of the result, which is recorded.
    pub fn repeat_interleave_to(&mut self, x: NodeId, axis: usize, times: usize, total: Size) -> NodeId {
        let size = self.nodes[x].shape[axis];
        self.relate_equal(total, &[(times, size)], 0, 1);
        if let (Size::Fixed(_), Size::Fixed(_)) = (size, total) {
            return self.repeat_interleave(x, axis, times);
        }
        // 0 0 1 1 2 2 .. for the bound, cut to the size: views, where a division would be arithmetic.
        let positions = self.iota(Size::Fixed(total.max().div_ceil(times.max(1))));
        let index = self.repeat_interleave(positions, 0, times.max(1));
        let index = self.slice(index, 0, 0, 1, total);
        self.take(x, axis, index)
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Joins two tensors along an axis. The joined size is named by the result's type; of free sizes it is a free
    /// dimension, which need not be in an input. What one part holds, infinities and NaN included, has no influence on
    /// the other.
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
        joined(&[(self.node, S::DIMS), (other.node, R::DIMS)], S::AXIS, Length::INFO)
    }

    /// Cuts an axis into equal parts, as many as the result's type says.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<6>)> = input("x");
    ///     let [q, k, v]: [Tensor<(D<2>, D<2>)>; 3] = x.chunk(Axis::<1>);
    ///     output(&(q, k, v));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn chunk<Length: Dim, const N: usize, const I: isize>(
        self,
        _axis: Axis<I>,
    ) -> [Tensor<S::Set<Length>, E>; N]
    where
        S: At<I>,
    {
        let _scope = op("chunk");
        let parts = cut(self.node, S::DIMS, S::AXIS, &[Length::INFO; N]);
        std::array::from_fn(|part| match &parts {
            Some(parts) => Tensor::of(parts[part]),
            None => Tensor::placeholder(),
        })
    }

    /// Cuts an axis into parts of the sizes that the types of the results name.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<6>)> = input("x");
    ///     let (left, right): (Tensor<(D<2>, D<2>)>, Tensor<(D<2>, D<4>)>) = x.split(Axis::<1>);
    ///     output(&(left, right));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn split<P: Parts<S, E, I>, const I: isize>(self, _axis: Axis<I>) -> P
    where
        S: At<I>,
    {
        let _scope = op("split");
        let parts = cut(self.node, S::DIMS, S::AXIS, &P::sizes());
        P::of(parts.as_deref())
    }

    /// The whole axis again and again: `1 2 3 1 2 3`. The result's type names the size.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let twice: Tensor<(D<2>, D<6>)> = x.repeat(Axis::<1>, 2);
    ///     output(&twice);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn repeat<Length: Dim, const I: isize>(self, axis: Axis<I>, times: usize) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("repeat");
        repeated(self, axis, times, Graph::repeat_to)
    }

    /// Each element of an axis several times in turn: `1 1 2 2 3 3`. So heads of grouped attention are shared.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let keys: Tensor<(D<2>, D<8>)> = input("keys");
    ///     let shared: Tensor<(D<6>, D<8>)> = keys.repeat_interleave(Axis::<0>, 3);
    ///     output(&shared);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn repeat_interleave<Length: Dim, const I: isize>(
        self,
        axis: Axis<I>,
        times: usize,
    ) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
    {
        let _scope = op("repeat_interleave");
        repeated(self, axis, times, Graph::repeat_interleave_to)
    }
}

/// Joins any number of tensors of one shape along an axis, whose whole size the result's type names.
///
/// ```
/// use luminal_core::tensor::{Axis, D, Tensor, concat_all, input, output, trace};
///
/// let traced = trace(|| {
///     let heads: [Tensor<(D<2>, D<3>)>; 3] = ["a", "b", "c"].map(input);
///     let joined: Tensor<(D<2>, D<9>)> = concat_all(heads, Axis::<1>);
///     output(&joined);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[track_caller]
pub fn concat_all<S, Length, E, const N: usize, const I: isize>(
    parts: [Tensor<S, E>; N],
    _axis: Axis<I>,
) -> Tensor<S::Set<Length>, E>
where
    S: At<I>,
    Length: Dim,
    E: Element,
{
    let _scope = op("concat_all");
    joined(&parts.map(|part| (part.node, S::DIMS)), S::AXIS, Length::INFO)
}

/// Puts tensors of one shape beside each other along a new axis.
///
/// ```
/// use luminal_core::tensor::{Axis, D, Tensor, input, output, stack, trace};
///
/// let traced = trace(|| {
///     let rows: [Tensor<(D<4>,)>; 3] = ["a", "b", "c"].map(input);
///     let matrix: Tensor<(D<3>, D<4>)> = stack(rows, Axis::<0>);
///     output(&matrix);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[track_caller]
pub fn stack<S, E, const N: usize, const I: isize>(
    parts: [Tensor<S, E>; N],
    _axis: Axis<I>,
) -> Tensor<S::With<D<N>>, E>
where
    S: Insert<I>,
    E: Element,
{
    let _scope = op("stack");
    if N == 0 {
        report("there are no tensors to stack");
        return Tensor::placeholder();
    }
    Tensor::of(record(|recorder| {
        let parts = parts.map(|part| part.node);
        recorder.graph.stack(&parts, graph_axis(S::DIMS, S::AXIS))
    }))
}

/// What [`split`](Tensor::split) cuts a tensor into: a tuple of two to six tensors that differ along axis `I` alone.
#[diagnostic::on_unimplemented(
    message = "split: a tensor of shape `{S}` is not cut along axis {I} into `{Self}`",
    label = "expected a tuple of two to six tensors that differ from `{S}` along axis {I} alone"
)]
pub trait Parts<S, E, const I: isize>: Sized {
    /// The sizes along the axis.
    #[doc(hidden)]
    fn sizes() -> Vec<DimInfo>;
    /// The parts; placeholders if there are none.
    #[doc(hidden)]
    fn of(parts: Option<&[NodeId]>) -> Self;
}

macro_rules! parts {
    ($(($($shape:ident $number:literal)*);)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<S: $(Join<$shape, I> +)* At<I>, E: Element, $($shape: Shape,)* const I: isize> Parts<S, E, I>
            for ($(Tensor<$shape, E>,)*)
        {
            fn sizes() -> Vec<DimInfo> {
                vec![$($shape::DIMS[<S as At<I>>::AXIS]),*]
            }

            fn of(parts: Option<&[NodeId]>) -> Self {
                ($(parts.map_or_else(Tensor::<$shape, E>::placeholder, |parts| Tensor::of(parts[$number])),)*)
            }
        }
    )*};
}
parts! {
    (A 0 B 1);
    (A 0 B 1 C 2);
    (A 0 B 1 C 2 F 3);
    (A 0 B 1 C 2 F 3 G 4);
    (A 0 B 1 C 2 F 3 G 4 H 5);
}

/// What is wrong with a whole that should be the sum of parts, if anything. `whole` and `named` say where they stand.
fn sum_mistake(
    whole: DimInfo,
    parts: &[DimInfo],
    fixed: impl FnOnce(usize, usize) -> String,
) -> Option<String> {
    let sizes: Option<Vec<usize>> = parts.iter().map(|part| part.fixed()).collect();
    if let (Some(sizes), Some(whole)) = (sizes, whole.fixed()) {
        let sum = sizes.iter().fold(0usize, |sum, size| sum.saturating_add(*size));
        return (sum != whole).then(|| fixed(sum, whole));
    }
    let terms: Vec<(usize, DimInfo)> = parts.iter().map(|part| (1, *part)).collect();
    if let Some(mistake) = record(|recorder| recorder.impossible(whole, &terms, 0)) {
        return Some(mistake);
    }
    // A fixed whole must have room for each part at its bound, where the ones in front of it are fixed.
    let mut before = 0;
    for part in parts {
        if !whole.is_free() && before + part.max() > whole.max() {
            let size = before + part.max();
            return Some(format!(
                "{part} is up to {}, which makes {size}, but the whole is {whole}",
                part.max()
            ));
        }
        match part.fixed() {
            Some(size) => before += size,
            None => break,
        }
    }
    None
}

fn joined<R: Shape, E: Element>(
    parts: &[(NodeId, &[DimInfo])],
    axis: usize,
    length: DimInfo,
) -> Tensor<R, E> {
    if parts.is_empty() {
        report("there are no tensors to join");
        return Tensor::placeholder();
    }
    let sizes: Vec<DimInfo> = parts.iter().map(|(_, dims)| dims[axis]).collect();
    let result = Dims(R::DIMS);
    let mistake = sum_mistake(length, &sizes, |sum, length| match parts {
        [(_, left), (_, right)] => {
            let (left, right) = (Dims(left), Dims(right));
            format!("{left} and {right} along axis {axis} give {sum}, but the result {result} names {length}")
        }
        _ => {
            let (count, shape) = (parts.len(), Dims(parts[0].1));
            format!(
                "{count} times {shape} along axis {axis} give {sum}, but the result {result} names {length}"
            )
        }
    });
    if let Some(mistake) = mistake {
        report(mistake);
        return Tensor::placeholder();
    }
    Tensor::of(record(|recorder| {
        let total = recorder.dim(length);
        let nodes: Vec<NodeId> =
            parts.iter().map(|(node, dims)| recorder.materialize(*node, dims, axis).0).collect();
        let at = graph_axis(parts[0].1, axis);
        let joined = recorder.graph.concat_to(&nodes, at, total);
        recorder.settle(joined, length, at)
    }))
}

/// The parts of an axis; none if their sizes do not fit, which is reported.
fn cut(x: NodeId, dims: &[DimInfo], axis: usize, sizes: &[DimInfo]) -> Option<Vec<NodeId>> {
    let (shape, parts) = (Dims(dims), Dims(sizes));
    let mistake = sum_mistake(dims[axis], sizes, |sum, whole| {
        format!("the parts {parts} along axis {axis} of {shape} are {sum} together, but the axis has {whole}")
    });
    if let Some(mistake) = mistake {
        report(mistake);
        return None;
    }
    Some(record(|recorder| {
        let (x, at) = recorder.materialize(x, dims, axis);
        let lengths: Vec<Size> = sizes.iter().map(|size| recorder.dim(*size)).collect();
        let parts = recorder.graph.split_sizes(x, at, &lengths);
        parts.into_iter().zip(sizes).map(|(part, size)| recorder.settle(part, *size, at)).collect()
    }))
}

fn repeated<S: At<I>, Length: Dim, E: Element, const I: isize>(
    x: Tensor<S, E>,
    _axis: Axis<I>,
    times: usize,
    work: fn(&mut Graph, NodeId, usize, usize, Size) -> NodeId,
) -> Tensor<S::Set<Length>, E> {
    let (axis, size, length) = (S::AXIS, S::DIMS[S::AXIS], Length::INFO);
    let (shape, result) = (Dims(S::DIMS), Dims(<S::Set<Length> as Shape>::DIMS));
    let mistake = match (size.fixed(), length.fixed()) {
        (Some(size), Some(length)) => {
            let right = size.saturating_mul(times);
            (right != length).then(|| {
                format!(
                    "{times} times axis {axis} of {shape} is {right}, but the result {result} names {length}"
                )
            })
        }
        _ => record(|recorder| recorder.impossible(length, &[(times, size)], 0)),
    };
    if let Some(mistake) = mistake {
        report(mistake);
        return Tensor::placeholder();
    }
    Tensor::of(record(|recorder| {
        let total = recorder.dim(length);
        recorder.along(x.node, S::DIMS, axis, length, |graph, x, at| work(graph, x, at, times, total))
    }))
}
