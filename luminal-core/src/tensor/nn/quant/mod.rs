//! Packed formats of weights: blocks of a few bits for each number, with scales.
//!
//! The types here are formats for [`Linear`](super::Linear) and [`Embedding`](super::Embedding): `Linear<4096, 4096, Q4_K>`.
//! A matrix in such a format stays packed in memory, as one parameter for each part of its blocks
//! ([`BlockFormat`](crate::weights::BlockFormat)), and its numbers are computed where kernels use them. What they are is a
//! composition of primitives on bytes: [`Graph::dequantise`]. Nothing below the graph knows a format.

mod compose;

use super::WeightFormat;
use crate::dtype::Dtype;
use crate::graph::{Graph, NodeId};
use crate::tensor::dim::DimInfo;
use crate::tensor::module::Kind;
use crate::tensor::trace::{op_at, record, report};
use crate::tensor::{D, Lead, Module, Scope, Shape, Tensor};
use crate::weights::{BLOCK_FORMATS, BlockFormat, Plane, StoredDtype};
use std::marker::PhantomData;

/// The most planes that a format has.
const PLANES: usize = 5;

/// A packed format, as a type.
pub trait Packed: Copy + std::fmt::Debug + 'static {
    /// Its blocks.
    const FORMAT: &'static BlockFormat;
}

/// A matrix of `O` rows and `I` columns in the packed format `F`.
///
/// ```
/// use luminal_core::tensor::nn::{Q8_0, QuantMatrix, WeightFormat};
/// use luminal_core::tensor::{D, Tensor, output, trace, weights};
///
/// let traced = trace(|| {
///     let matrix: QuantMatrix<Q8_0, 4, 64> = weights("w");
///     let values: Tensor<(D<4>, D<64>)> = Q8_0::values::<4, 64>(&matrix);
///     output(&values);
/// });
/// assert!(traced.mistakes.is_empty());
/// let text = traced.graph.to_string();
/// assert!(text.contains(r#"param "w@Q8_0.qs" : u8[4, 2, 32]"#), "{text}");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct QuantMatrix<F: Packed, const O: usize, const I: usize> {
    /// The planes, in the order of the format; empty where a mistake was reported.
    planes: Option<[NodeId; PLANES]>,
    format: PhantomData<F>,
}

impl<F: Packed, const O: usize, const I: usize> QuantMatrix<F, O, I> {
    /// The numbers of these planes; a placeholder after a mistake.
    fn numbers<S: Shape>(&self, plane: impl Fn(&mut Graph, NodeId) -> NodeId) -> Tensor<S> {
        let Some(planes) = self.planes else { return Tensor::placeholder() };
        Tensor::of(record(|recorder| {
            let planes = planes.map(|node| plane(&mut recorder.graph, node));
            recorder.graph.dequantise(F::FORMAT, &planes[..F::FORMAT.planes.len()])
        }))
    }
}

impl<F: Packed, const O: usize, const I: usize> Module for QuantMatrix<F, O, I> {
    fn build(scope: &Scope) -> Self {
        let _scope = op_at("parameter", scope.location);
        let format = F::FORMAT;
        let (dtype, path) = (format.dtype, &scope.path);
        let block = dtype.block().0;
        let mistake = if scope.kind == Kind::State {
            Some(format!("`{path}` is state and cannot be in the packed format {dtype}: use a float type"))
        } else if !I.is_multiple_of(block) {
            let smaller = if block > 32 && I.is_multiple_of(32) {
                ", such as Q8_0, whose blocks are of 32,"
            } else {
                ""
            };
            Some(format!(
                "`{path}` has rows of {I} elements, but {dtype} stores blocks of {block} and a row must be whole blocks: use \
                 another format{smaller} or a float type"
            ))
        } else {
            None
        };
        if let Some(mistake) = mistake {
            report(mistake);
            return QuantMatrix { planes: None, format: PhantomData };
        }
        let mut planes = [0; PLANES];
        for (node, plane) in planes.iter_mut().zip(format.planes) {
            let scope = scope.renamed(|name| format.plane_name(name, plane));
            let dims: Vec<_> = format.plane_shape(&[O, I], plane).into_iter().map(DimInfo::Fixed).collect();
            *node = record(|recorder| recorder.declare(&scope, &dims, element(plane)));
        }
        QuantMatrix { planes: Some(planes), format: PhantomData }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.planes.iter().flat_map(|planes| &planes[..F::FORMAT.planes.len()]).for_each(|node| f(*node));
    }
}

/// Element type of a plane in the graph.
pub(crate) fn element(plane: &Plane) -> Dtype {
    match plane.dtype {
        StoredDtype::F16 => Dtype::F16,
        _ => Dtype::U8,
    }
}

macro_rules! formats {
    ($($index:literal $Format:ident, $bits:literal, $meaning:literal;)*) => {$(
        #[doc = concat!("A packed format of ", $bits, " bits a number: ", $meaning)]
        ///
        /// ```
        #[doc = concat!("use luminal_core::tensor::nn::{Embedding, Linear, ", stringify!($Format), "};")]
        /// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
        ///
        /// let traced = trace(|| {
        #[doc = concat!("    let [table]: [Embedding<10, 256, ", stringify!($Format), ">; 1] = weights(\"table\");")]
        #[doc = concat!("    let [layer]: [Linear<256, 8, ", stringify!($Format), ", false>; 1] = weights(\"layer\");")]
        ///     let tokens: Tensor<(D<3>,), i32> = input("tokens");
        ///     let y: Tensor<(D<3>, D<8>)> = layer.forward(table.forward(tokens));
        ///     output(&y);
        /// });
        /// assert_eq!(traced.mistakes, []);
        /// ```
        #[allow(non_camel_case_types, reason = "the name of the file format")]
        #[derive(Clone, Copy, Debug)]
        pub struct $Format;

        impl Packed for $Format {
            const FORMAT: &'static BlockFormat = &BLOCK_FORMATS[$index];
        }

        impl WeightFormat for $Format {
            type Matrix<const O: usize, const I: usize> = QuantMatrix<$Format, O, I>;
            type Vector = f32;

            fn values<const O: usize, const I: usize>(matrix: &Self::Matrix<O, I>) -> Tensor<(D<O>, D<I>)> {
                matrix.numbers(|_, plane| plane)
            }

            fn rows<S: Shape + Lead, const O: usize, const I: usize>(
                matrix: &Self::Matrix<O, I>,
                index: Tensor<S, i32>,
            ) -> Tensor<S::With<D<I>>> {
                rows(matrix, index)
            }
        }
    )*};
}

formats! {
    0 Q4_0, "4.5", "blocks of 32, `d (q - 8)` with `q` of 4 bits.";
    1 Q4_1, "5", "blocks of 32, `d q + m` with `q` of 4 bits.";
    2 Q5_0, "5.5", "blocks of 32, `d (q - 16)` with `q` of 5 bits.";
    3 Q5_1, "6", "blocks of 32, `d q + m` with `q` of 5 bits.";
    4 Q8_0, "8.5", "blocks of 32, `d q` with `q` a signed byte.";
    5 Q4_K, "4.5", "blocks of 256 in eight parts, `d s q - dmin m` with `q` of 4 bits, `s` and `m` of 6 bits for each part.";
    6 Q5_K, "5.5", "as [`Q4_K`], with `q` of 5 bits.";
    7 Q6_K, "6.5625", "blocks of 256 in sixteen parts, `d s (q - 32)` with `q` of 6 bits, `s` a signed byte for each part.";
}

/// Rows of a table: those of every plane, and only these are dequantised.
fn rows<F: Packed, S: Shape + Lead, const O: usize, const I: usize>(
    matrix: &QuantMatrix<F, O, I>,
    index: Tensor<S, i32>,
) -> Tensor<S::With<D<I>>> {
    let Some(last) = O.checked_sub(1).and_then(|last| i32::try_from(last).ok()) else {
        report(format!("the table [{O}, {I}] has {O} rows; it must have at least 1 and fewer than 2^31"));
        return Tensor::placeholder();
    };
    let index = index.maximum(0).minimum(last);
    matrix.numbers(|graph, plane| graph.gather(plane, index.node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_what_they_are_called() {
        let names = [
            (Q4_0::FORMAT, StoredDtype::Q4_0),
            (Q4_1::FORMAT, StoredDtype::Q4_1),
            (Q5_0::FORMAT, StoredDtype::Q5_0),
            (Q5_1::FORMAT, StoredDtype::Q5_1),
            (Q8_0::FORMAT, StoredDtype::Q8_0),
            (Q4_K::FORMAT, StoredDtype::Q4_K),
            (Q5_K::FORMAT, StoredDtype::Q5_K),
            (Q6_K::FORMAT, StoredDtype::Q6_K),
        ];
        assert!(names.iter().all(|(format, dtype)| format.dtype == *dtype && format.planes.len() <= PLANES));
    }
}
