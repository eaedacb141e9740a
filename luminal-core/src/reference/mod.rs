//! The reference interpreter: the meaning of graphs.
//!
//! It is slow and obvious. Every faster way to compute a graph - rewrites, generated kernels, constant folding - is
//! right if it agrees with this one; `docs/numerics.md` states the same meaning in words.

mod compare;
mod evaluate;
mod feeds;
mod random;
mod ranges;
pub mod scalar;
mod tensor;
mod view;

pub use compare::{Tolerance, compare};
pub use feeds::{random_feeds, random_negative_feeds};
pub use random::SplitMix64;
pub use tensor::{Data, Tensor};

use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId, Op};
use evaluate::Values;
use std::collections::BTreeMap;

/// Tensors by name: inputs, params and states.
pub type Feeds = BTreeMap<String, Tensor>;

/// Computes a graph with these inputs, params and states (by name) and these sizes of its free dimensions.
///
/// The graph is verified first. Feeds that the graph does not name are ignored.
pub fn run<'g>(graph: &'g Graph, feeds: &Feeds, free: &[usize]) -> Result<Evaluation<'g>> {
    run_with_limit(graph, feeds, free, evaluate::STORED_ELEMENTS)
}

fn run_with_limit<'g>(
    graph: &'g Graph,
    feeds: &Feeds,
    free: &[usize],
    limit: usize,
) -> Result<Evaluation<'g>> {
    graph.verify()?;
    graph.check_sizes(free)?;
    let mut values = Values::new(graph, free, limit);
    for id in 0..graph.nodes.len() {
        match &graph.nodes[id].op {
            Op::Input(name) | Op::Param(name) | Op::State(name) => {
                let data = feed(graph, id, name, feeds, values.sizes(id))?;
                values.store(id, data);
            }
            _ => values.compute(id)?,
        }
    }
    let tensors = |ids: Vec<NodeId>| ids.into_iter().map(|id| values.tensor(id)).collect::<Result<Vec<_>>>();
    let outputs = tensors(graph.outputs.iter().map(|output| output.1).collect())?;
    let mut states = BTreeMap::new();
    for (id, node) in graph.nodes.iter().enumerate() {
        if let Op::State(name) = &node.op {
            let written = graph.writes.iter().find(|write| write.0 == id);
            states.insert(name.clone(), values.tensor(written.map_or(id, |write| write.1))?);
        }
    }
    Ok(Evaluation { outputs, states, values })
}

fn feed(graph: &Graph, id: NodeId, name: &str, feeds: &Feeds, sizes: &[usize]) -> Result<Data> {
    let kind = graph.nodes[id].op.name();
    let dtype = graph.nodes[id].dtype;
    let Some(tensor) = feeds.get(name) else {
        return Err(Error::new(format!("{kind} {name:?} is missing: {dtype}{sizes:?}")));
    };
    if tensor.shape != sizes
        || tensor.dtype() != dtype
        || tensor.data.len() != sizes.iter().product::<usize>()
    {
        let (given, shape, elements) = (tensor.dtype(), &tensor.shape, tensor.data.len());
        return Err(Error::new(format!(
            "{kind} {name:?} must be {dtype}{sizes:?}, given is {given}{shape:?} with {elements} elements"
        )));
    }
    Ok(tensor.data.clone())
}

/// A graph with all its values.
#[derive(Debug)]
pub struct Evaluation<'g> {
    /// What the model returns, in the order of [`Graph::outputs`].
    pub outputs: Vec<Tensor>,
    /// What every state holds after the run, by name; those without a write hold what they held before.
    pub states: Feeds,
    values: Values<'g>,
}

impl Evaluation<'_> {
    /// The value of any node.
    pub fn value(&self, node: NodeId) -> Result<Tensor> {
        let count = self.values.len();
        if node >= count {
            return Err(Error::new(format!("there is no node %{node}, the graph has {count} nodes")));
        }
        self.values.tensor(node)
    }
}

#[cfg(test)]
mod tests;
