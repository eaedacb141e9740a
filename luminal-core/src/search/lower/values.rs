//! The tensors that cross kernels or the model's border.

use super::super::term::{Dag, Id, IndexExpr};
use crate::dtype::Dtype;
use crate::graph::{Dim, Graph, NodeId, Op};
use std::collections::BTreeMap;

/// Position in [`Values::list`].
pub type ValueId = usize;

/// What a tensor in memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// An input, weight or state of the graph.
    Given(NodeId),
    /// The value of a graph node, written by a kernel.
    Node(NodeId),
    /// A value that no graph node has: it exists only in the chosen variant.
    Term(usize),
    /// Output number, where the output must be a tensor of its own: it is given to the model, or returned twice.
    Output(usize),
    /// What a state becomes, where that must be a tensor of its own.
    Write(usize),
}

/// A tensor in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// What it is.
    pub source: Source,
    /// A name for reports and generated code.
    pub name: String,
    /// Sizes.
    pub shape: Vec<Dim>,
    /// Element type.
    pub dtype: Dtype,
}

/// All tensors in memory.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// In order of first use.
    pub list: Vec<Value>,
    known: BTreeMap<Source, ValueId>,
}

impl Values {
    fn intern(&mut self, source: Source, make: impl FnOnce() -> (String, Vec<Dim>, Dtype)) -> ValueId {
        if let Some(id) = self.known.get(&source) {
            return *id;
        }
        let (name, shape, dtype) = make();
        self.list.push(Value { source, name, shape, dtype });
        self.known.insert(source, self.list.len() - 1);
        self.list.len() - 1
    }

    /// Adds a tensor that was made elsewhere, or finds the one with its source.
    pub(crate) fn adopt(&mut self, value: Value) -> ValueId {
        self.intern(value.source, || (value.name, value.shape, value.dtype))
    }

    /// The buffer of a graph node.
    pub fn of_node(&mut self, graph: &Graph, node: NodeId) -> ValueId {
        let (source, name) = match &graph.nodes[node].op {
            Op::Input(name) | Op::Param(name) | Op::State(name) => (Source::Given(node), name.clone()),
            _ => (Source::Node(node), format!("v{node}")),
        };
        self.intern(source, || (name, graph.nodes[node].shape.clone(), graph.nodes[node].dtype))
    }

    /// A tensor of its own with the type of a graph node.
    pub fn copy_of(&mut self, graph: &Graph, node: NodeId, source: Source) -> ValueId {
        let name = match source {
            Source::Output(i) => format!("out{i}"),
            Source::Write(i) => format!("write{i}"),
            _ => unreachable!("copies are outputs or writes"),
        };
        self.intern(source, || (name, graph.nodes[node].shape.clone(), graph.nodes[node].dtype))
    }

    /// Where a value of the DAG that crosses kernels lies, and under which index: in the buffer of a graph node that
    /// is the same value, else in one of its own, indexed by its free axes.
    pub fn of_term(&mut self, graph: &Graph, dag: &Dag, term: Id) -> (ValueId, Vec<IndexExpr>) {
        if let Some(root) = dag.roots.iter().find(|root| root.term == term) {
            return (self.of_node(graph, root.node), root.index.clone());
        }
        let axes: Vec<_> = dag.free(term).iter().collect();
        let number = usize::from(term);
        let id = self.intern(Source::Term(number), || {
            let shape = axes.iter().map(|axis| dag.context.extent(*axis)).collect();
            (format!("t{number}"), shape, dag.dtype(term))
        });
        (id, axes.into_iter().map(IndexExpr::axis).collect())
    }
}
