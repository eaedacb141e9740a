//! Products of matrices and vectors.

use super::dim::{Dim, DimInfo, Fits};
use super::element::Number;
use super::shape::{EndsWith, Shape, With};
use super::trace::{op, record};
use super::value::Tensor;
use crate::graph::{Graph, NodeId};

/// Matrix product: `[.., M, K] x [.., K, N]`; leading dimensions of the right operand broadcast to those of the left. If
/// the right operand has more of them, those of the left broadcast to them.
#[diagnostic::on_unimplemented(
    message = "matmul: cannot multiply shape `{Self}` by shape `{R}`",
    label = "expected `(.., K, N)` where `K` is the last dimension of `{Self}`",
    note = "(.., M, K) x (.., K, N) = (.., M, N); leading dimensions of the right operand must equal those on the left, \
            be `One`, or be absent, or the left operand lacks them"
)]
pub trait MatMul<R>: Shape {
    /// The shape of the result.
    type Out: Shape;
}

// Leading dims of the longer operand alone, then pairs `longer:shorter` of leading dims.
macro_rules! matmul {
    (left $(($($alone:ident)*) ($($left:ident : $right:ident)*);)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($alone: Dim,)* $($left: Dim + Fits<$right>, $right: Dim,)* M: Dim, K: Dim, N: Dim>
            MatMul<($($right,)* K, N)> for ($($alone,)* $($left,)* M, K)
        {
            type Out = ($($alone,)* $($left,)* M, N);
        }
    )*};
    (right $(($($alone:ident)*) ($($right:ident : $left:ident)*);)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($alone: Dim,)* $($right: Dim + Fits<$left>, $left: Dim,)* M: Dim, K: Dim, N: Dim>
            MatMul<($($alone,)* $($right,)* K, N)> for ($($left,)* M, K)
        {
            type Out = ($($alone,)* $($right,)* M, N);
        }
    )*};
    // A column on the right, a row on the left.
    (vector $(($($lead:ident)*);)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($lead: Dim,)* M: Dim, K: Dim> MatMul<(K,)> for ($($lead,)* M, K) {
            type Out = ($($lead,)* M,);
        }
        #[diagnostic::do_not_recommend]
        impl<$($lead: Dim,)* K: Dim, N: Dim> MatMul<($($lead,)* K, N)> for (K,) {
            type Out = ($($lead,)* N,);
        }
    )*};
}
matmul! { left
    () (); (A) (); (A B) (); (A B C) (); (A B C E) ();
    () (A:R); (A) (B:R); (A B) (C:R); (A B C) (E:R);
    () (A:R B:S); (A) (B:R C:S); (A B) (C:R E:S);
    () (A:R B:S C:T); (A) (B:R C:S E:T);
    () (A:R B:S C:T E:U);
}
matmul! { right
    (A) (); (A B) (); (A B C) (); (A B C E) ();
    (A) (B:R); (A B) (C:R); (A B C) (E:R);
    (A) (B:R C:S); (A B) (C:R E:S);
    (A) (B:R C:S E:T);
}
matmul! { vector (); (A); (A B); (A B C); (A B C E); }
#[diagnostic::do_not_recommend]
impl<K: Dim> MatMul<(K,)> for (K,) {
    type Out = ();
}

/// Labels of the axes of left operand, right operand and result of a matrix product, from the ranks of the operands.
fn labels(left: usize, right: usize) -> [Vec<usize>; 3] {
    const M: usize = 100;
    const K: usize = 101;
    const N: usize = 102;
    let batch = |rank: usize| (0..rank.saturating_sub(2)).rev();
    let rows = (left > 1).then_some(M);
    let columns = (right > 1).then_some(N);
    [
        batch(left).chain(rows).chain([K]).collect(),
        batch(right).chain([K]).chain(columns).collect(),
        batch(left.max(right)).chain(rows).chain(columns).collect(),
    ]
}

impl Graph {
    /// Matrix product `[.., M, K] x [.., K, N]` with the rules of NumPy: leading axes are aligned at the last one and are
    /// equal, of size 1, or absent; an operand of rank 1 is a row on the left and a column on the right.
    pub fn matmul(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let (left, right) = (&self.nodes[x].shape, &self.nodes[y].shape);
        let (inner, rows) = (left[left.len() - 1], right[right.len().saturating_sub(2)]);
        assert_eq!(inner, rows, "the last axis on the left and the rows on the right");
        let [in_x, in_y, out] = labels(left.len(), right.len());
        self.contract(&[(x, in_x), (y, in_y)], &out)
    }

    /// `x W^T` for a weight stored as `[O, I]`.
    pub fn linear(&mut self, x: NodeId, weight: NodeId) -> NodeId {
        let lead = self.nodes[x].shape.len() - 1;
        let [input, output] = [lead, lead + 1];
        let labels = |last: usize| (0..lead).chain([last]).collect::<Vec<_>>();
        self.contract(&[(x, labels(input)), (weight, vec![output, input])], &labels(output))
    }
}

impl<S: Shape, E: Number> Tensor<S, E> {
    /// Matrix product, `[.., M, K] x [.., K, N] = [.., M, N]`. Leading dimensions of the right operand are those of the
    /// left, `One`, or absent; or the left operand lacks them. An operand of rank 1 is a row on the left and a column on
    /// the right.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<8>, D<2>, D<3>)> = input("x");
    ///     let shared: Tensor<(D<3>, D<4>)> = input("shared");
    ///     let y: Tensor<(D<8>, D<2>, D<4>)> = x.matmul(shared);
    ///     let square: Tensor<(D<2>, D<2>)> = input("square");
    ///     let z: Tensor<(D<8>, D<2>, D<4>)> = square.matmul(y);
    ///     output(&z);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn matmul<R: Shape>(self, right: Tensor<R, E>) -> Tensor<S::Out, E>
    where
        S: MatMul<R>,
    {
        let _scope = op("matmul");
        let [in_left, in_right, out] = labels(S::DIMS.len(), R::DIMS.len());
        self.product(&in_left, right, &in_right, &out)
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
        let lead = S::DIMS.len() - 1;
        let labels = |last: usize| (0..lead).chain([last]).collect::<Vec<_>>();
        self.product(&labels(lead), weight, &[lead + 1, lead], &labels(lead + 1))
    }

    fn product<R: Shape, O: Shape>(
        self,
        labels: &[usize],
        right: Tensor<R, E>,
        right_labels: &[usize],
        out: &[usize],
    ) -> Tensor<O, E> {
        let factors: [(NodeId, &[DimInfo], &[usize]); 2] =
            [(self.node, S::DIMS, labels), (right.node, R::DIMS, right_labels)];
        Tensor::of(record(|recorder| recorder.contract(factors, out)))
    }
}

impl<N: Dim, E: Number> Tensor<(N,), E> {
    /// Sum of the products of two vectors.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<3>,)> = input("x");
    ///     let squared_length: Tensor<()> = x.dot(x);
    ///     output(&squared_length);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn dot(self, other: Tensor<(N,), E>) -> Tensor<(), E> {
        let _scope = op("dot");
        self.product(&[0], other, &[0], &[])
    }

    /// Every product of an element of this vector and one of the other: `out[i, j] = self[i] * other[j]`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<3>,)> = input("x");
    ///     let y: Tensor<(D<5>,)> = input("y");
    ///     let table: Tensor<(D<3>, D<5>)> = x.outer(y);
    ///     output(&table);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn outer<M: Dim>(self, other: Tensor<(M,), E>) -> Tensor<(N, M), E> {
        let _scope = op("outer");
        self.product(&[0], other, &[1], &[0, 1])
    }
}
