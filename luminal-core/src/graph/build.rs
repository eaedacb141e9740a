//! Adding nodes with their result types worked out. Misuse is a bug of the caller and panics; user mistakes are
//! reported before these are reached.

use super::{Binary, Dim, FreeDim, Graph, NodeId, Op, Reduce, Unary};
use crate::dtype::Dtype;

impl Graph {
    /// A free dimension, added once for each name.
    pub fn free_dim(&mut self, name: &str, max: usize) -> Dim {
        let index = self.free.iter().position(|d| d.name == name).unwrap_or_else(|| {
            self.free.push(FreeDim { name: name.into(), max });
            self.free.len() - 1
        });
        assert_eq!(self.free[index].max, max, "free dimension {name} has two bounds");
        Dim::Free { index, max }
    }

    /// A tensor given to every run.
    pub fn input(&mut self, name: &str, shape: &[Dim], dtype: Dtype) -> NodeId {
        self.push(Op::Input(name.into()), shape.to_vec(), dtype)
    }

    /// A weight. One node for each name: asking again returns the same node.
    pub fn param(&mut self, name: &str, shape: &[Dim], dtype: Dtype) -> NodeId {
        let known = self.nodes.iter().position(|n| matches!(&n.op, Op::Param(p) if p == name));
        known.unwrap_or_else(|| self.push(Op::Param(name.into()), shape.to_vec(), dtype))
    }

    /// A tensor kept between runs.
    pub fn state(&mut self, name: &str, shape: &[Dim], dtype: Dtype) -> NodeId {
        self.push(Op::State(name.into()), shape.to_vec(), dtype)
    }

    /// A scalar.
    pub fn constant(&mut self, value: f64, dtype: Dtype) -> NodeId {
        self.push(Op::Const(value), vec![], dtype)
    }

    /// `0, 1, .. n-1`
    pub fn iota(&mut self, n: Dim) -> NodeId {
        self.push(Op::Iota, vec![n], Dtype::I32)
    }

    fn shape(&self, x: NodeId) -> Vec<Dim> {
        self.nodes[x].shape.clone()
    }

    /// Pointwise function of one operand.
    pub fn unary(&mut self, op: Unary, x: NodeId) -> NodeId {
        self.push(Op::Unary(op, x), self.shape(x), self.nodes[x].dtype)
    }

    /// Pointwise function of two operands of equal shape and dtype.
    pub fn binary(&mut self, op: Binary, x: NodeId, y: NodeId) -> NodeId {
        assert_eq!(self.shape(x), self.shape(y), "operands of {op:?}");
        assert_eq!(self.nodes[x].dtype, self.nodes[y].dtype, "operands of {op:?}");
        let dtype = if op == Binary::LessThan { Dtype::Bool } else { self.nodes[x].dtype };
        self.push(Op::Binary(op, x, y), self.shape(x), dtype)
    }

    /// `condition ? then : otherwise`
    pub fn select(&mut self, condition: NodeId, then: NodeId, otherwise: NodeId) -> NodeId {
        assert_eq!(self.shape(condition), self.shape(then));
        assert_eq!(self.shape(then), self.shape(otherwise));
        self.push(Op::Select(condition, then, otherwise), self.shape(then), self.nodes[then].dtype)
    }

    /// Removes an axis.
    pub fn reduce(&mut self, op: Reduce, x: NodeId, axis: usize) -> NodeId {
        let mut shape = self.shape(x);
        shape.remove(axis);
        self.push(Op::Reduce(op, x, axis), shape, self.nodes[x].dtype)
    }

    /// Rows of a table: shape = index dims ++ table dims without the first.
    pub fn gather(&mut self, table: NodeId, index: NodeId) -> NodeId {
        let mut shape = self.shape(index);
        shape.extend(&self.shape(table)[1..]);
        self.push(Op::Gather(table, index), shape, self.nodes[table].dtype)
    }

    /// Conversion.
    pub fn cast(&mut self, x: NodeId, dtype: Dtype) -> NodeId {
        self.push(Op::Cast(x), self.shape(x), dtype)
    }

    /// Axis `i` of the result is axis `order[i]` of the operand.
    pub fn permute(&mut self, x: NodeId, order: &[usize]) -> NodeId {
        let from = self.shape(x);
        let shape = order.iter().map(|i| from[*i]).collect();
        self.push(Op::Permute(x, order.to_vec()), shape, self.nodes[x].dtype)
    }

    /// A new axis of this size, along which the operand repeats.
    pub fn expand(&mut self, x: NodeId, axis: usize, size: Dim) -> NodeId {
        let mut shape = self.shape(x);
        shape.insert(axis, size);
        self.push(Op::Expand(x, axis), shape, self.nodes[x].dtype)
    }

    /// `size` elements of an axis.
    pub fn slice(&mut self, x: NodeId, axis: usize, start: usize, step: usize, size: Dim) -> NodeId {
        let mut shape = self.shape(x);
        shape[axis] = size;
        self.push(Op::Slice { x, axis, start, step }, shape, self.nodes[x].dtype)
    }

    /// An axis extended to `size`, with `before` new elements in front.
    pub fn pad(&mut self, x: NodeId, axis: usize, before: usize, size: Dim, fill: f64) -> NodeId {
        let mut shape = self.shape(x);
        shape[axis] = size;
        self.push(Op::Pad { x, axis, before, fill }, shape, self.nodes[x].dtype)
    }

    /// An axis becomes two, the second of size `inner`. The size must be known and a multiple of it.
    pub fn split(&mut self, x: NodeId, axis: usize, inner: usize) -> NodeId {
        let mut shape = self.shape(x);
        let Dim::Fixed(n) = shape[axis] else { panic!("split of a free dimension") };
        assert!(inner > 0 && n.is_multiple_of(inner), "split of {n} by {inner}");
        shape[axis] = Dim::Fixed(n / inner);
        shape.insert(axis + 1, Dim::Fixed(inner));
        self.push(Op::Split(x, axis), shape, self.nodes[x].dtype)
    }

    /// Two axes of known sizes become one.
    pub fn merge(&mut self, x: NodeId, axis: usize) -> NodeId {
        let mut shape = self.shape(x);
        let (Dim::Fixed(a), Dim::Fixed(b)) = (shape[axis], shape[axis + 1]) else {
            panic!("merge of a free dimension")
        };
        shape.remove(axis + 1);
        shape[axis] = Dim::Fixed(a * b);
        self.push(Op::Merge(x, axis), shape, self.nodes[x].dtype)
    }

    /// An axis becomes (position, tap). The number of positions of a free axis is a free size that every run computes.
    pub fn window(&mut self, x: NodeId, axis: usize, taps: usize, stride: usize, dilation: usize) -> NodeId {
        let reach = (taps - 1) * dilation + 1;
        let positions = match self.nodes[x].shape[axis] {
            Dim::Fixed(n) => {
                assert!(taps > 0 && stride > 0 && n >= reach, "window of {reach} over {n}");
                Dim::Fixed((n - reach) / stride + 1)
            }
            n => self.derived(&[(1, n)], stride as i64 - reach as i64, stride),
        };
        self.window_to(x, axis, taps, stride, dilation, positions)
    }

    /// As [`Graph::window`], with the number of positions, which is recorded.
    pub fn window_to(
        &mut self,
        x: NodeId,
        axis: usize,
        taps: usize,
        stride: usize,
        dilation: usize,
        positions: Dim,
    ) -> NodeId {
        let reach = (taps - 1) * dilation + 1;
        let mut shape = self.shape(x);
        self.relate_equal(positions, &[(1, shape[axis])], stride as i64 - reach as i64, stride);
        shape[axis] = positions;
        shape.insert(axis + 1, Dim::Fixed(taps));
        self.push(Op::Window { x, axis, stride, dilation }, shape, self.nodes[x].dtype)
    }
}
