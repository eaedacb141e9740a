//! The tensor itself, and tensors made from nothing.

use super::dim::{Dim, DimInfo};
use super::element::Element;
use super::shape::Shape;
use super::trace::{op, record};
use crate::graph::NodeId;
use std::fmt;
use std::marker::PhantomData;

/// A tensor of a model: a value that is computed when the model runs.
///
/// `S` is the shape, a tuple of dimensions; `E` the element type. While a model is traced a tensor is the number of a
/// node and costs nothing to copy; it has no elements before the compiled model runs.
///
/// Every operation is checked: by rustc where types can say it, while tracing where sizes must be computed.
#[must_use]
pub struct Tensor<S, E = f32> {
    pub(crate) node: NodeId,
    kind: PhantomData<fn() -> (S, E)>,
}

// Not derived: a derive would ask for `S: Clone` and `E: Clone`.
impl<S, E> Clone for Tensor<S, E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, E> Copy for Tensor<S, E> {}

impl<S: Shape, E: Element> fmt::Debug for Tensor<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}: {}{}", self.node, E::DTYPE, super::dim::Dims(S::DIMS))
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// The tensor of this type that a node of the graph computes.
    pub(crate) fn of(node: NodeId) -> Self {
        record(|recorder| {
            let shape = recorder.shape(S::DIMS);
            let found = &recorder.graph.nodes[node];
            debug_assert_eq!((&found.shape, found.dtype), (&shape, E::DTYPE), "node %{node}");
        });
        Tensor { node, kind: PhantomData }
    }

    /// Stands for the result of an operation that was reported as wrong.
    pub(crate) fn placeholder() -> Self {
        Tensor::of(record(|recorder| recorder.fill(0.0, E::DTYPE, S::DIMS)))
    }

    /// One value in every element.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, output, trace};
    ///
    /// let traced = trace(|| output(&Tensor::<(D<2>, D<3>)>::full(0.5)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn full(value: E) -> Self {
        let _scope = op("full");
        Tensor::of(record(|recorder| {
            let shape = recorder.shape(S::DIMS);
            value.record(&mut recorder.graph, &shape)
        }))
    }

    /// Zero, or `false`, in every element.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, output, trace};
    ///
    /// let traced = trace(|| output(&Tensor::<(D<2>, D<3>), i32>::zeros()));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn zeros() -> Self {
        let _scope = op("zeros");
        Tensor::full(E::default())
    }
}

impl<L: Dim> Tensor<(L,), i32> {
    /// `0, 1, 2, ..`: positions along an axis.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, output, trace};
    ///
    /// let traced = trace(|| output(&Tensor::<(D<8>,), i32>::iota().less(3)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn iota() -> Self {
        let _scope = op("iota");
        Tensor::of(record(|recorder| match L::INFO {
            DimInfo::One => recorder.graph.constant(0.0, i32::DTYPE),
            info => {
                let size = recorder.dim(info);
                recorder.graph.iota(size)
            }
        }))
    }
}
