//! A model as a static graph of about fifteen primitive operations.
//!
//! The graph is what tracing produces and what everything below starts from; its meaning is defined by
//! [`crate::reference`]. Nodes are in topological order: an operand has a smaller number.

mod build;
pub mod hash;
mod op;
mod parse;
mod relation;
#[cfg(test)]
pub(crate) mod samples;
mod text;
mod verify;

pub use op::{Binary, Op, Reduce, Unary};
pub use parse::ParseError;
pub(crate) use relation::determined;
pub use relation::{Relation, Rule, Term};
pub use verify::VerifyError;

use crate::dtype::Dtype;
use std::borrow::Cow;

/// Position of a node in [`Graph::nodes`].
pub type NodeId = usize;

/// Size of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dim {
    /// Known when the model is built.
    Fixed(usize),
    /// Known at run time only, up to a bound. `index` points into [`Graph::free`].
    Free {
        /// Which free dimension.
        index: usize,
        /// Its bound, repeated here for convenience.
        max: usize,
    },
}

impl Dim {
    /// The size, or the bound of a free dimension.
    pub fn max(self) -> usize {
        match self {
            Dim::Fixed(n) | Dim::Free { max: n, .. } => n,
        }
    }

    /// The size when free dimensions have these sizes (one entry for each of [`Graph::free`]).
    pub fn size(self, free: &[usize]) -> usize {
        match self {
            Dim::Fixed(n) => n,
            Dim::Free { index, .. } => free[index],
        }
    }
}

/// A dimension that the user named with `#[dim(max = N)]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FreeDim {
    /// The name of the user's type.
    pub name: String,
    /// Greatest size.
    pub max: usize,
}

/// Where a node comes from: reports name the user's operation, not our primitives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The public operation, such as `conv2d`.
    pub op: Cow<'static, str>,
    /// Source file as the compiler names it.
    pub file: Cow<'static, str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// One operation with the type of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// Sizes of the result.
    pub shape: Vec<Dim>,
    /// Element type of the result.
    pub dtype: Dtype,
    /// The user's operation and line. Not part of the graph's identity.
    pub origin: Option<Origin>,
}

/// A model: nodes, what it returns and what it writes back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// In topological order.
    pub nodes: Vec<Node>,
    /// Sizes known at run time only.
    pub free: Vec<FreeDim>,
    /// What holds between these sizes in every run.
    pub relations: Vec<Relation>,
    /// Named results, in the order of the model's return type.
    pub outputs: Vec<(String, NodeId)>,
    /// `(state, value)`: after a run the state holds the value. All writes are parallel.
    pub writes: Vec<(NodeId, NodeId)>,
    /// `(field, param)`: the names of tied fields and those of the parameters that they are. A weight file may have the
    /// tensor under either name.
    pub ties: Vec<(String, String)>,
}

impl Graph {
    /// Adds a node. Operands must exist already; [`Graph::verify`] checks the rest.
    pub fn push(&mut self, op: Op, shape: Vec<Dim>, dtype: Dtype) -> NodeId {
        self.nodes.push(Node { op, shape, dtype, origin: None });
        self.nodes.len() - 1
    }

    /// Sizes of a node's result under given free sizes.
    pub fn sizes(&self, node: NodeId, free: &[usize]) -> Vec<usize> {
        self.nodes[node].shape.iter().map(|d| d.size(free)).collect()
    }
}
