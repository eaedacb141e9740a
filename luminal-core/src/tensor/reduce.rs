//! Reductions along one axis or several: sum, mean, extremes, products, truth values. `sum` drops the axes, `sum_keep`
//! leaves `One` in their place.

use super::axes::Axes;
use super::dim::{DimInfo, Dims};
use super::element::{Element, Float, Number};
use super::pointwise::float;
use super::record::graph_axis;
use super::shape::Shape;
use super::trace::{op, record, report, require_fixed};
use super::value::Tensor;
use crate::dtype::{Dtype, bf16, f16};
use crate::graph::{Dim, Graph, NodeId, Reduce, Unary};

/// Axes of a graph node as numbers: one, or several in any order.
pub trait AxisNumbers {
    /// The axes from the last to the first, so that removing one does not change the numbers of those that follow.
    fn descending(self) -> Vec<usize>;
}

impl AxisNumbers for usize {
    fn descending(self) -> Vec<usize> {
        vec![self]
    }
}
impl<const N: usize> AxisNumbers for [usize; N] {
    fn descending(self) -> Vec<usize> {
        self.as_slice().descending()
    }
}
impl AxisNumbers for &Vec<usize> {
    fn descending(self) -> Vec<usize> {
        self.as_slice().descending()
    }
}
impl AxisNumbers for &[usize] {
    fn descending(self) -> Vec<usize> {
        let mut axes = self.to_vec();
        axes.sort_unstable_by(|a, b| b.cmp(a));
        axes
    }
}

/// Compositions along axes of a graph, which disappear unless said otherwise.
impl Graph {
    /// Sum; 0 for no elements.
    pub fn sum(&mut self, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        axes.descending().into_iter().fold(x, |x, axis| self.reduce(Reduce::Sum, x, axis))
    }

    /// Greatest element; NaN if any is NaN; the least value for no elements.
    pub fn max(&mut self, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        axes.descending().into_iter().fold(x, |x, axis| self.reduce(Reduce::Max, x, axis))
    }

    /// Smallest element; NaN if any is NaN; the greatest value for no elements.
    pub fn min(&mut self, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        let reversed = self.reverse_order(x);
        let greatest = self.max(reversed, axes);
        self.reverse_order(greatest)
    }

    /// Mean of floats; NaN for no elements.
    pub fn mean(&mut self, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        let axes = axes.descending();
        let sum = self.sum(x, &axes);
        self.per_element(sum, x, &axes, 0.0)
    }

    /// Divides what a reduction of `x` along these axes gave by the number of its elements, less `fewer`. A free size is
    /// not a value of the graph, so there the elements are counted. By 0, or less, is by 0.
    pub(super) fn per_element(&mut self, reduced: NodeId, x: NodeId, axes: &[usize], fewer: f64) -> NodeId {
        let sizes: Vec<_> = axes.iter().map(|axis| self.nodes[x].shape[*axis]).collect();
        let fixed =
            sizes.iter().map(|size| if let Dim::Fixed(n) = size { *n as f64 } else { 1.0 }).product::<f64>();
        let free: Vec<_> = sizes.into_iter().filter(|size| matches!(size, Dim::Free { .. })).collect();
        if free.is_empty() {
            return self.div_number(reduced, (fixed - fewer).max(0.0));
        }
        let ones = self.full(1.0, Dtype::F32, &free);
        let all: Vec<_> = (0..free.len()).collect();
        let mut count = self.sum(ones, &all);
        if fixed != 1.0 {
            count = self.mul_number(count, fixed);
        }
        if fewer != 0.0 {
            count = self.add_number(count, float(-fewer));
            count = self.relu(count);
        }
        let share = self.unary(Unary::Recip, count);
        let shape = self.nodes[reduced].shape.clone();
        let share = self.spread(share, &[], &shape);
        self.mul(reduced, share)
    }

    /// What a reduction of `x` along these axes gave, repeated along them.
    pub fn repeat_along(&mut self, reduced: NodeId, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        axes.descending().into_iter().rev().fold(reduced, |reduced, axis| {
            let size = self.nodes[x].shape[axis];
            self.expand(reduced, axis, size)
        })
    }

    /// Product; 1 for no elements; wraps for integers. The axes must have known sizes: each is halved, and the halves
    /// multiplied, until one element is left.
    pub fn prod(&mut self, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        axes.descending().into_iter().fold(x, |x, axis| self.prod_along(x, axis))
    }

    fn prod_along(&mut self, mut x: NodeId, axis: usize) -> NodeId {
        let Dim::Fixed(mut size) = self.nodes[x].shape[axis] else { panic!("product over a free dimension") };
        if size == 0 {
            x = self.pad(x, axis, 0, Dim::Fixed(1), 1.0);
        }
        while size > 1 {
            let half = size.div_ceil(2);
            if size % 2 == 1 {
                x = self.pad(x, axis, 0, Dim::Fixed(size + 1), 1.0);
            }
            let front = self.slice(x, axis, 0, 1, Dim::Fixed(half));
            let back = self.slice(x, axis, half, 1, Dim::Fixed(half));
            x = self.mul(front, back);
            size = half;
        }
        // No view drops an axis; the maximum of one element is that element.
        self.reduce(Reduce::Max, x, axis)
    }

    /// Whether any of the truth values holds; false for none.
    pub fn any(&mut self, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        self.max(x, axes)
    }

    /// Whether all truth values hold; true for none.
    pub fn all(&mut self, x: NodeId, axes: impl AxisNumbers) -> NodeId {
        let not = self.not(x);
        let any = self.any(not, axes);
        self.not(any)
    }
}

/// A reduction along the graph axes given.
type Function<'a> = &'a dyn Fn(&mut Graph, NodeId, &[usize]) -> NodeId;

/// Records a reduction of which one element is itself: axes of type `One` are passed over.
pub(super) fn fold<S: Axes<P>, P, R: Shape, E: Element>(x: Tensor<S, E>, function: Function) -> Tensor<R, E> {
    if named_twice::<S, P>() {
        return Tensor::placeholder();
    }
    let axes = S::AXES.iter().filter(|axis| S::DIMS[**axis] != DimInfo::One);
    let axes: Vec<_> = axes.map(|axis| graph_axis(S::DIMS, *axis)).collect();
    if axes.is_empty() {
        return Tensor::of(x.node);
    }
    Tensor::of(record(|recorder| recorder.graph.widened([x.node], |graph, [x]| function(graph, x, &axes))))
}

/// Records any other reduction: axes of type `One` get an axis of one element in the graph. The result has the element
/// type `F`, which may be another one than the function's.
pub(super) fn reduce<S: Axes<P>, P, R: Shape, E: Element, F: Element>(
    x: Tensor<S, E>,
    function: Function,
) -> Tensor<R, F> {
    if named_twice::<S, P>() {
        return Tensor::placeholder();
    }
    Tensor::of(record(|recorder| {
        let mut node = x.node;
        let mut axes = S::AXES.to_vec();
        axes.sort_unstable();
        let mut dims = S::DIMS.to_vec();
        for axis in &axes {
            (node, _) = recorder.materialize(node, &dims, *axis);
            if dims[*axis] == DimInfo::One {
                dims[*axis] = DimInfo::Fixed(1);
            }
        }
        let axes: Vec<_> = axes.iter().map(|axis| graph_axis(&dims, *axis)).collect();
        let graph = &mut recorder.graph;
        if graph.nodes[node].dtype.wide() != graph.nodes[node].dtype {
            node = graph.cast(node, E::DTYPE.wide());
        }
        let result = function(graph, node, &axes);
        if graph.nodes[result].dtype == F::DTYPE { result } else { graph.cast(result, F::DTYPE) }
    }))
}

fn named_twice<S: Axes<P>, P>() -> bool {
    let twice = S::AXES.iter().enumerate().find(|(i, axis)| S::AXES[..*i].contains(axis));
    if let Some((_, axis)) = twice {
        report(format!("axis {axis} of {} is named twice: name each axis once", Dims(S::DIMS)));
    }
    twice.is_some()
}

/// Two methods for each reduction, one that drops the axes and one that keeps them.
macro_rules! reductions {
    ($Bound:ident -> $Result:ty, $record:ident: $(
        $(#[$doc:meta])*
        $name:ident $keep:ident ($($parameter:ident: $Type:ty = $example:literal),*) = |$graph:ident, $x:ident, $axes:ident| $composition:expr;
    )*) => {
        impl<S: Shape, E: Element> Tensor<S, E> {
            $(
                $(#[$doc])*
                ///
                #[doc = concat!(
                    "```\n",
                    "use luminal_core::axes;\n",
                    "use luminal_core::tensor::{Axis, D, One, Tensor, input, output, trace};\n\n",
                    "let traced = trace(|| {\n",
                    "    let x: Tensor<(D<2>, D<3>, D<4>)", reductions!(@element $Bound), "> = input(\"x\");\n",
                    "    let along_one: Tensor<(D<2>, D<4>), _> = x.", stringify!($name), "(Axis::<1>", $(", ", $example,)* ");\n",
                    "    let along_two: Tensor<(D<3>,), _> = x.", stringify!($name), "(axes![0, -1]", $(", ", $example,)* ");\n",
                    "    let kept: Tensor<(D<2>, D<3>, One), _> = x.", stringify!($keep), "(Axis::<-1>", $(", ", $example,)* ");\n",
                    "    output(&(along_one, along_two, kept));\n",
                    "});\n",
                    "assert!(traced.mistakes.is_empty());\n",
                    "```",
                )]
                #[track_caller]
                pub fn $name<P>(self, _axes: P, $($parameter: $Type),*) -> Tensor<S::Drop, $Result>
                where
                    S: Axes<P>,
                    E: $Bound,
                {
                    let _scope = op(stringify!($name));
                    reductions!(@check $name S P);
                    $record(self, &|$graph, $x, $axes| $composition)
                }

                #[doc = concat!("As [`", stringify!($name), "`](Tensor::", stringify!($name), "); the axes stay as `One`.")]
                #[track_caller]
                pub fn $keep<P>(self, _axes: P, $($parameter: $Type),*) -> Tensor<S::Keep, $Result>
                where
                    S: Axes<P>,
                    E: $Bound,
                {
                    let _scope = op(stringify!($keep));
                    reductions!(@check $name S P);
                    $record(self, &|$graph, $x, $axes| $composition)
                }
            )*
        }
    };
    (@element Truth) => { ", bool" };
    (@element $Bound:ident) => { "" };
    (@check prod $S:ident $P:ident) => {
        for axis in <$S as Axes<$P>>::AXES {
            if require_fixed(&format!("axis {axis}"), $S::DIMS[*axis], $S::DIMS).is_none() {
                return Tensor::placeholder();
            }
        }
    };
    (@check $name:ident $S:ident $P:ident) => {};
}
pub(super) use reductions;

/// Element types that hold sums and products of their values: all numbers but `u8`, whose sums would wrap at 256.
#[diagnostic::on_unimplemented(
    message = "sums and products of `{Self}` do not fit into `{Self}`",
    label = "convert first, such as with `.cast::<i32>()`"
)]
pub trait Total: Number {}
impl Total for f32 {}
impl Total for f16 {}
impl Total for bf16 {}
impl Total for i32 {}
impl Total for i64 {}

reductions! { Total -> E, fold:
    /// Sum along axes, which disappear; 0 for no elements.
    sum sum_keep() = |graph, x, axes| graph.sum(x, axes);
    /// Product along axes of fixed sizes, which disappear; 1 for no elements.
    prod prod_keep() = |graph, x, axes| graph.prod(x, axes);
}

reductions! { Number -> E, fold:
    /// Greatest element along axes, which disappear; NaN if any is NaN; the least value for no elements.
    max max_keep() = |graph, x, axes| graph.max(x, axes);
    /// Smallest element along axes, which disappear; NaN if any is NaN; the greatest value for no elements.
    min min_keep() = |graph, x, axes| graph.min(x, axes);
}

reductions! { Float -> E, fold:
    /// Mean along axes, which disappear; NaN for no elements.
    mean mean_keep() = |graph, x, axes| graph.mean(x, axes);
}

/// `bool`, as a bound of methods.
#[diagnostic::on_unimplemented(
    message = "this needs truth values, found `{Self}`",
    label = "compare first, such as with `.not_equal(..)`"
)]
pub trait Truth: Element {}
impl Truth for bool {}

reductions! { Truth -> E, fold:
    /// Whether any element along axes holds; the axes disappear; false for no elements.
    any any_keep() = |graph, x, axes| graph.any(x, axes);
    /// Whether all elements along axes hold; the axes disappear; true for no elements.
    all all_keep() = |graph, x, axes| graph.all(x, axes);
}
