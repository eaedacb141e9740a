//! Looking up rows of a table.

use super::dim::{Dim, Dims};
use super::element::Element;
use super::shape::{Lead, Shape};
use super::trace::{op, record, report};
use super::value::Tensor;

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
