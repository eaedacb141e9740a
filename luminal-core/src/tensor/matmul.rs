//! Matrix products. Both are an outer product summed along one axis; nothing below knows the word.

use super::dim::{Dim, DimInfo, Fits};
use super::element::Number;
use super::record::graph_axis;
use super::shape::{EndsWith, Shape, With};
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::{Binary, NodeId, Reduce};

/// Matrix product: `[.., M, K] x [.., K, N]`; leading dimensions of the right operand broadcast to those of the left.
#[diagnostic::on_unimplemented(
    message = "matmul: cannot multiply shape `{Self}` by shape `{R}`",
    label = "expected `(.., K, N)` where `K` is the last dimension of `{Self}`",
    note = "(.., M, K) x (.., K, N) = (.., M, N); leading dimensions of the right operand must equal those on the left, \
            be `One`, or be absent"
)]
pub trait MatMul<R>: Shape {
    /// The shape of the result.
    type Out: Shape;
    /// Rank of the leading dimensions of the left operand.
    #[doc(hidden)]
    const BATCH: usize;
}

// Leading dims of the left operand alone, then pairs `left:right` of leading dims, then `[M, K]`.
macro_rules! matmul {
    ($($batch:literal: ($($only_left:ident)*) ($($left:ident : $right:ident)*);)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($only_left: Dim,)* $($left: Dim + Fits<$right>, $right: Dim,)* M: Dim, K: Dim, N: Dim>
            MatMul<($($right,)* K, N)> for ($($only_left,)* $($left,)* M, K)
        {
            type Out = ($($only_left,)* $($left,)* M, N,);
            const BATCH: usize = $batch;
        }
    )*};
}
matmul! {
    0: () ();
    1: (A) ();
    2: (A B) ();
    1: () (A:R);
    2: (A) (B:R);
    2: () (A:R B:S);
}
#[diagnostic::do_not_recommend]
impl<K: Dim, N: Dim> MatMul<(K, N)> for (K,) {
    type Out = (N,);
    const BATCH: usize = 0;
}
#[diagnostic::do_not_recommend]
impl<K: Dim> MatMul<(K,)> for (K,) {
    type Out = ();
    const BATCH: usize = 0;
}
#[diagnostic::do_not_recommend]
impl<M: Dim, K: Dim> MatMul<(K,)> for (M, K) {
    type Out = (M,);
    const BATCH: usize = 0;
}

/// An operand of a product: its node and, for each axis of the product's space, the axis it has there.
type Factor = (NodeId, Vec<Option<DimInfo>>);

/// Multiplies in the whole space and sums along one of its axes.
fn contract(left: Factor, right: Factor, space: &[DimInfo], along: usize) -> NodeId {
    record(|recorder| {
        let left = recorder.spread(left.0, &left.1, space);
        let right = recorder.spread(right.0, &right.1, space);
        let product = recorder.graph.binary(Binary::Mul, left, right);
        match space[along] {
            DimInfo::One => product,
            _ => recorder.graph.reduce(Reduce::Sum, product, graph_axis(space, along)),
        }
    })
}

impl<S: Shape, E: Number> Tensor<S, E> {
    /// Matrix product, `[.., M, K] x [.., K, N] = [.., M, N]`; rank-1 operands are a row on the left and a column on the
    /// right.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let w: Tensor<(D<3>, D<4>)> = input("w");
    ///     let y: Tensor<(D<2>, D<4>)> = x.matmul(w);
    ///     output(&y);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn matmul<R: Shape>(self, right: Tensor<R, E>) -> Tensor<S::Out, E>
    where
        S: MatMul<R>,
    {
        let _scope = op("matmul");
        // The space is [batch.., M, K, N]; an operand of rank 1 has no M or no N.
        let (left_dims, right_dims) = (S::DIMS, R::DIMS);
        let (batch, rows) = left_dims[..left_dims.len() - 1].split_at(S::BATCH);
        let inner = left_dims[left_dims.len() - 1];
        let (right_batch, columns) = match right_dims {
            [batch @ .., _, columns] => (batch, Some(*columns)),
            _ => (&[][..], None),
        };
        let along = left_dims.len() - 1;
        let space: Vec<_> = left_dims.iter().copied().chain(columns).collect();
        let in_left = left_dims.iter().copied().map(Some).chain(columns.map(|_| None)).collect();
        let in_right = std::iter::repeat_n(None, batch.len() - right_batch.len())
            .chain(right_batch.iter().copied().map(Some))
            .chain(rows.iter().map(|_| None))
            .chain([Some(inner)])
            .chain(columns.map(Some))
            .collect();
        Tensor::of(contract((self.node, in_left), (right.node, in_right), &space, along))
    }

    /// `x W^T` for a weight stored as `[O, I]`, as PyTorch stores it, and any leading dimensions of `x`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<3>)> = input("x");
    ///     let w: Tensor<(D<4>, D<3>)> = input("w");
    ///     let y: Tensor<(D<2>, D<4>)> = x.linear(w);
    ///     output(&y);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn linear<In: Dim, Out: Dim>(self, weight: Tensor<(Out, In), E>) -> Tensor<With<S, Out>, E>
    where
        S: EndsWith<In>,
    {
        let _scope = op("linear");
        // The space is [lead.., O, I]: neither operand needs a permutation.
        let lead = &S::DIMS[..S::DIMS.len() - 1];
        let space: Vec<_> = lead.iter().copied().chain([Out::INFO, In::INFO]).collect();
        let along = space.len() - 1;
        let left = lead.iter().copied().map(Some).chain([None, Some(In::INFO)]).collect();
        let right = lead.iter().map(|_| None).chain([Some(Out::INFO), Some(In::INFO)]).collect();
        Tensor::of(contract((self.node, left), (weight.node, right), &space, along))
    }
}
