//! Which dimensions of different graph nodes are the same axis.

use crate::graph::{Graph, NodeId, Op};

/// Classes of dimensions that pointwise operations and dimension-keeping views align.
pub(super) struct DimClasses {
    /// Position of a node's first dimension.
    first: Vec<usize>,
    parent: Vec<usize>,
}

impl DimClasses {
    /// The classes of a graph.
    pub fn new(graph: &Graph) -> DimClasses {
        let mut first = Vec::with_capacity(graph.nodes.len());
        let mut count = 0;
        for node in &graph.nodes {
            first.push(count);
            count += node.shape.len();
        }
        let mut classes = DimClasses { first, parent: (0..count).collect() };
        for (id, node) in graph.nodes.iter().enumerate() {
            classes.align_node(graph, id, &node.op);
        }
        classes
    }

    /// The class of a dimension.
    pub fn class(&self, node: NodeId, dim: usize) -> usize {
        let mut at = self.first[node] + dim;
        while self.parent[at] != at {
            at = self.parent[at];
        }
        at
    }

    fn join(&mut self, x: (NodeId, usize), y: (NodeId, usize)) {
        let (x, y) = (self.class(x.0, x.1), self.class(y.0, y.1));
        // The smaller number represents the class, so that names do not depend on the order of joins.
        self.parent[x.max(y)] = x.min(y);
    }

    fn align_node(&mut self, graph: &Graph, id: NodeId, op: &Op) {
        let rank = graph.nodes[id].shape.len();
        match op {
            Op::Unary(..) | Op::Binary(..) | Op::Select(..) | Op::Cast(_) => {
                for operand in op.operands() {
                    (0..rank).for_each(|dim| self.join((id, dim), (operand, dim)));
                }
            }
            Op::Slice { x, .. } | Op::Pad { x, .. } => {
                (0..rank).for_each(|dim| self.join((id, dim), (*x, dim)));
            }
            Op::Permute(x, order) => {
                order.iter().enumerate().for_each(|(dim, from)| self.join((id, dim), (*x, *from)));
            }
            // The operand has one dimension more, at or after `axis`.
            Op::Reduce(_, x, axis) => {
                (0..rank).for_each(|dim| self.join((id, dim), (*x, dim + usize::from(dim >= *axis))));
            }
            Op::Merge(x, axis) => {
                let others = (0..rank).filter(|dim| dim != axis);
                others.for_each(|dim| self.join((id, dim), (*x, dim + usize::from(dim > *axis))));
            }
            // The result has one dimension more, at `axis` or after it.
            Op::Expand(x, axis) => {
                let others = (0..rank).filter(|dim| dim != axis);
                others.for_each(|dim| self.join((id, dim), (*x, dim - usize::from(dim > *axis))));
            }
            Op::Split(x, axis) | Op::Window { x, axis, .. } => {
                let others = (0..rank).filter(|dim| *dim != *axis && *dim != *axis + 1);
                others.for_each(|dim| self.join((id, dim), (*x, dim - usize::from(dim > *axis))));
            }
            Op::Gather(table, index) => {
                let index_rank = graph.nodes[*index].shape.len();
                for dim in 0..rank {
                    let from = if dim < index_rank { (*index, dim) } else { (*table, dim - index_rank + 1) };
                    self.join((id, dim), from);
                }
            }
            Op::Input(_) | Op::Param(_) | Op::State(_) | Op::Const(_) | Op::Iota => {}
        }
    }
}
