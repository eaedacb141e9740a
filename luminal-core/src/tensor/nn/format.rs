//! How the matrices of layers are stored: as floats, or packed.

use crate::tensor::trace::op;
use crate::tensor::{D, Element, EndsWith, Float, Lead, Module, Shape, Tensor, With};
use std::fmt::Debug;

/// How a layer stores its matrix: the third parameter of [`Linear`](super::Linear) and [`Embedding`](super::Embedding).
///
/// Every float element type is a format; a packed format (`Q4_1`) is a type of its own whose [`Matrix`](Self::Matrix)
/// holds blocks of bytes. Layers compute in `f32` whatever the format, from what [`values`](Self::values) says, and round
/// once to the element type of their input. So weights in `bf16` or in blocks of four bits work on activations in `f32`.
///
/// A format needs [`Matrix`](Self::Matrix), [`values`](Self::values) and [`rows`](Self::rows).
/// [`linear`](Self::linear) is replaced where a product can be written better than over single numbers.
///
/// ```
/// use luminal_core::tensor::nn::{Linear, WeightFormat};
/// use luminal_core::tensor::{D, Dim, Tensor, input, output, trace, weights};
///
/// // A layer that works for every format.
/// fn project<B: Dim, F: WeightFormat>(layer: &Linear<8, 4, F>, x: Tensor<(B, D<8>)>) -> Tensor<(B, D<4>)> {
///     layer.forward(x)
/// }
///
/// let traced = trace(|| {
///     let layer: Linear<8, 4, f32> = weights("layer");
///     output(&project(&layer, input::<Tensor<(D<2>, D<8>)>>("x")));
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a format of weights",
    label = "use a float type such as `f32`, or a packed format"
)]
pub trait WeightFormat: Copy + Debug + 'static {
    /// A stored matrix of `O` rows and `I` columns. It is built under the name of the field, such as `weight`.
    type Matrix<const O: usize, const I: usize>: Module + Copy + Debug;

    /// Element type of single vectors: of a bias beside the matrix, and of rows that are looked up in it.
    type Vector: Float;

    /// The numbers of the matrix, `[O, I]`. Kernels compute them where they use them; nothing is stored.
    fn values<const O: usize, const I: usize>(matrix: &Self::Matrix<O, I>) -> Tensor<(D<O>, D<I>)>;

    /// The rows with these indices, `[.., I]`, in the type of the vectors: only what is asked for is read. An index out of
    /// range means the first or the last row.
    fn rows<S: Shape + Lead, const O: usize, const I: usize>(
        matrix: &Self::Matrix<O, I>,
        index: Tensor<S, i32>,
    ) -> Tensor<S::With<D<I>>, Self::Vector>;

    /// `x W^T`, `[.., I]` to `[.., O]`.
    fn linear<S: EndsWith<D<I>>, const O: usize, const I: usize>(
        x: Tensor<S>,
        matrix: &Self::Matrix<O, I>,
    ) -> Tensor<With<S, D<O>>> {
        x.linear(Self::values::<O, I>(matrix))
    }
}

impl<E: Float> WeightFormat for E {
    type Matrix<const O: usize, const I: usize> = Tensor<(D<O>, D<I>), E>;
    type Vector = E;

    fn values<const O: usize, const I: usize>(matrix: &Tensor<(D<O>, D<I>), E>) -> Tensor<(D<O>, D<I>)> {
        matrix.convert()
    }

    fn rows<S: Shape + Lead, const O: usize, const I: usize>(
        matrix: &Tensor<(D<O>, D<I>), E>,
        index: Tensor<S, i32>,
    ) -> Tensor<S::With<D<I>>, E> {
        matrix.gather(index)
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// As [`cast`](Tensor::cast), but nothing is recorded where the type stays.
    pub(crate) fn convert<F: Element>(self) -> Tensor<S, F> {
        let _scope = op("cast");
        if E::DTYPE == F::DTYPE { Tensor::of(self.node) } else { self.cast() }
    }
}
