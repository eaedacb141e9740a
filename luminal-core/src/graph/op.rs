//! The primitive operations.

use super::NodeId;

/// Pointwise function of one operand, of `f32` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unary {
    /// `2^x`
    Exp2,
    /// Binary logarithm.
    Log2,
    /// Sine of radians.
    Sin,
    /// Square root.
    Sqrt,
    /// `1 / x`
    Recip,
}

/// Pointwise function of two operands of one shape and dtype; not of types that only store numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// Sum; wraps for integers.
    Add,
    /// Product; wraps for integers; logical and for `bool`.
    Mul,
    /// Floor modulo: the result has the sign of the divisor.
    Mod,
    /// `x < y`, a `bool`; false when either is NaN.
    LessThan,
    /// Maximum; NaN when either is NaN; logical or for `bool`.
    Max,
}

/// How one axis is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reduce {
    /// Sum; 0 for an empty axis.
    Sum,
    /// Maximum; NaN if any element is NaN; -inf (the least integer, false) for an empty axis.
    Max,
}

/// One primitive. Operands are earlier nodes. Shapes are those of the result; the node carries them.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A tensor given to every run.
    Input(String),
    /// A weight, named as in the weight file.
    Param(String),
    /// A tensor that stays on the device between runs.
    State(String),
    /// A scalar; shape `[]`. The value is exact in the node's dtype.
    Const(f64),
    /// `0, 1, .. n-1`; shape `[n]`, dtype `i32`.
    Iota,
    /// Pointwise function of one operand.
    Unary(Unary, NodeId),
    /// Pointwise function of two operands of equal shape (broadcasting is explicit: [`Op::Expand`]).
    Binary(Binary, NodeId, NodeId),
    /// `condition ? then : otherwise`, pointwise; `condition` is `bool`.
    Select(NodeId, NodeId, NodeId),
    /// Removes `axis` of the operand.
    Reduce(Reduce, NodeId, usize),
    /// `Gather(table, index)`: shape = index dims ++ table dims without the first. Indices are `i32` in range.
    Gather(NodeId, NodeId),
    /// To the node's dtype, as Rust's `as`; to `bool`: non-zero.
    Cast(NodeId),
    /// View: axis `i` of the result is axis `order[i]` of the operand.
    Permute(NodeId, Vec<usize>),
    /// View: a new axis at this position, along which the operand repeats.
    Expand(NodeId, usize),
    /// View: elements `start, start + step, ..` of `axis`; the step is positive.
    Slice {
        /// Operand.
        x: NodeId,
        /// Which axis.
        axis: usize,
        /// First position.
        start: usize,
        /// Distance of positions, at least 1.
        step: usize,
    },
    /// View: `axis` is extended by `before` elements in front and to the node's size behind, filled with `fill`.
    Pad {
        /// Operand.
        x: NodeId,
        /// Which axis.
        axis: usize,
        /// Elements added in front.
        before: usize,
        /// Their value, exact in the node's dtype.
        fill: f64,
    },
    /// View: `axis` of n becomes the two axes `axis`, `axis + 1` of the node's sizes (row-major).
    Split(NodeId, usize),
    /// View: axes `axis` and `axis + 1` become one (row-major).
    Merge(NodeId, usize),
    /// View: `axis` becomes `(position, tap)` at `axis`, `axis + 1`: element `position * stride + tap * dilation`.
    Window {
        /// Operand.
        x: NodeId,
        /// Which axis.
        axis: usize,
        /// Distance of positions.
        stride: usize,
        /// Distance of taps.
        dilation: usize,
    },
}

impl Op {
    /// The nodes this operation reads, in order.
    pub fn operands(&self) -> Vec<NodeId> {
        match self {
            Op::Input(_) | Op::Param(_) | Op::State(_) | Op::Const(_) | Op::Iota => vec![],
            Op::Unary(_, x)
            | Op::Reduce(_, x, _)
            | Op::Cast(x)
            | Op::Permute(x, _)
            | Op::Expand(x, _)
            | Op::Slice { x, .. }
            | Op::Pad { x, .. }
            | Op::Split(x, _)
            | Op::Merge(x, _)
            | Op::Window { x, .. } => vec![*x],
            Op::Binary(_, x, y) | Op::Gather(x, y) => vec![*x, *y],
            Op::Select(c, x, y) => vec![*c, *x, *y],
        }
    }

    /// The same operation on other operands, asked for in order.
    pub fn with_operands(&self, mut new: impl FnMut(NodeId) -> NodeId) -> Op {
        let mut op = self.clone();
        match &mut op {
            Op::Input(_) | Op::Param(_) | Op::State(_) | Op::Const(_) | Op::Iota => {}
            Op::Unary(_, x)
            | Op::Reduce(_, x, _)
            | Op::Cast(x)
            | Op::Permute(x, _)
            | Op::Expand(x, _)
            | Op::Slice { x, .. }
            | Op::Pad { x, .. }
            | Op::Split(x, _)
            | Op::Merge(x, _)
            | Op::Window { x, .. } => *x = new(*x),
            Op::Binary(_, x, y) | Op::Gather(x, y) => {
                *x = new(*x);
                *y = new(*y);
            }
            Op::Select(c, x, y) => {
                *c = new(*c);
                *x = new(*x);
                *y = new(*y);
            }
        }
        op
    }

    /// True for operations that only rename or repeat elements: they never become memory traffic by themselves.
    pub fn is_view(&self) -> bool {
        matches!(
            self,
            Op::Permute(..)
                | Op::Expand(..)
                | Op::Slice { .. }
                | Op::Pad { .. }
                | Op::Split(..)
                | Op::Merge(..)
                | Op::Window { .. }
        )
    }
}
