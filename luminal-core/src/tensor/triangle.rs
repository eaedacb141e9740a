//! What is chosen by position: triangles of matrices, the identity, numbers in order.

use super::dim::Dim;
use super::element::{Element, Number};
use super::movement::shaped;
use super::pointwise::float;
use super::shape::{At, Shape};
use super::trace::op;
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Dim as Size, Graph, NodeId};

/// Compositions for axes that are numbers.
impl Graph {
    /// The lower triangle of the last two axes: where the column is at most `diagonal` behind the row; 0 elsewhere. Chosen,
    /// not multiplied: what is cut away has no influence.
    pub fn tril(&mut self, x: NodeId, diagonal: i32) -> NodeId {
        let lower = self.lower(x, diagonal);
        let zero = self.full_like(0.0, x);
        self.select(lower, x, zero)
    }

    /// The upper triangle of the last two axes: where the column is at least `diagonal` behind the row; 0 elsewhere.
    pub fn triu(&mut self, x: NodeId, diagonal: i32) -> NodeId {
        let below = self.lower(x, diagonal.saturating_sub(1));
        let zero = self.full_like(0.0, x);
        self.select(below, zero, x)
    }

    /// Where the column is at most `diagonal` behind the row.
    fn lower(&mut self, x: NodeId, diagonal: i32) -> NodeId {
        let shape = self.nodes[x].shape.clone();
        let rank = shape.len();
        let matrix = &shape[rank - 2..];
        // No axis is longer than this, so nothing overflows.
        let longest = matrix.iter().map(|size| (*size).max() as i32).max().unwrap_or(0);
        let diagonal = diagonal.clamp(-longest - 1, longest + 1);
        let rows = self.iota(matrix[0]);
        let rows = self.add_number(rows, f64::from(diagonal) + 1.0);
        let rows = self.spread(rows, &[0], matrix);
        let columns = self.iota(matrix[1]);
        let columns = self.spread(columns, &[1], matrix);
        let lower = self.less(columns, rows);
        self.spread(lower, &[rank - 2, rank - 1], &shape)
    }

    /// 1 where the column is `diagonal` behind the row, 0 elsewhere.
    pub fn eye(&mut self, rows: Size, columns: Size, diagonal: i32, dtype: Dtype) -> NodeId {
        let shape = [rows, columns];
        let row = self.iota(rows);
        let row = self.add_number(row, f64::from(diagonal));
        let row = self.spread(row, &[0], &shape);
        let column = self.iota(columns);
        let column = self.spread(column, &[1], &shape);
        let off = self.differs(row, column);
        let (zero, one) = (self.full(0.0, dtype, &shape), self.full(1.0, dtype, &shape));
        self.select(off, zero, one)
    }

    /// `start, start + step, ..`: each element is computed from its position, so that errors do not add up.
    pub fn arange(&mut self, size: Size, start: f64, step: f64, dtype: Dtype) -> NodeId {
        let positions = self.iota(size);
        let positions =
            if dtype.wide() == Dtype::I32 { positions } else { self.cast(positions, dtype.wide()) };
        let exact = |number: f64| if dtype.wide() == Dtype::F32 { float(number) } else { number };
        let steps = self.mul_number(positions, exact(step));
        let numbers = self.add_number(steps, exact(start));
        if dtype.wide() == dtype { numbers } else { self.cast(numbers, dtype) }
    }
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// The lower triangle of the last two axes: where the column is at most `diagonal` behind the row; 0 elsewhere. Chosen,
    /// not multiplied: infinities and NaN that are cut away leave nothing.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<4>, D<4>)>>("x").tril(0)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn tril(self, diagonal: i32) -> Self
    where
        S: At<-2>,
    {
        let _scope = op("tril");
        shaped(|recorder| {
            let x = recorder.whole(self.node, S::DIMS);
            recorder.graph.tril(x, diagonal)
        })
    }

    /// The upper triangle of the last two axes: where the column is at least `diagonal` behind the row; 0 elsewhere.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| output(&input::<Tensor<(D<2>, D<4>, D<4>)>>("x").triu(1)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn triu(self, diagonal: i32) -> Self
    where
        S: At<-2>,
    {
        let _scope = op("triu");
        shaped(|recorder| {
            let x = recorder.whole(self.node, S::DIMS);
            recorder.graph.triu(x, diagonal)
        })
    }
}

impl<R: Dim, C: Dim, E: Element> Tensor<(R, C), E> {
    /// 1 where the column is `diagonal` behind the row, 0 elsewhere.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, output, trace};
    ///
    /// let traced = trace(|| output(&Tensor::<(D<3>, D<3>)>::eye(0)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn eye(diagonal: i32) -> Self {
        let _scope = op("eye");
        shaped(|recorder| {
            let (rows, columns) = (recorder.dim(R::INFO), recorder.dim(C::INFO));
            recorder.graph.eye(rows, columns, diagonal, E::DTYPE)
        })
    }
}

impl<L: Dim, E: Element> Tensor<(L,), E> {
    /// `start, start + step, ..`: each element is computed from its position, so that errors do not add up.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, output, trace};
    ///
    /// let traced = trace(|| output(&Tensor::<(D<8>,)>::arange(1.0, 0.5)));
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn arange(start: E, step: E) -> Self
    where
        E: Number,
    {
        let _scope = op("arange");
        shaped(|recorder| {
            let size = recorder.dim(L::INFO);
            recorder.graph.arange(size, start.to_f64(), step.to_f64(), E::DTYPE)
        })
    }
}
