//! Longer computations over several tensors in the wide type of their elements, rounded once at the end.

use crate::dtype::Dtype;
use crate::graph::{Graph, NodeId};

impl Graph {
    /// A tensor in this element type; nothing is recorded where it is of that type.
    pub(crate) fn converted(&mut self, x: NodeId, dtype: Dtype) -> NodeId {
        if self.nodes[x].dtype == dtype { x } else { self.cast(x, dtype) }
    }
}
