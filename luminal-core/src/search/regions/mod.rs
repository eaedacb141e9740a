//! Regions: a deep model cut into graphs that are searched one by one, equal ones once.
//!
//! A model of many layers is long but narrow: between two layers one tensor crosses, the residual stream. [`cut`] finds
//! such places, keeps what belongs together - a normalisation with the product that feeds it, both halves of a repeated
//! block - and makes a graph of each region, in which weights, states and crossing tensors are numbered slots. So thirty
//! equal layers are thirty equal graphs, and each has few axes.

mod extract;
mod places;
#[cfg(test)]
mod tests;

use crate::graph::{Graph, NodeId};
use places::Part;

/// Nodes of a model that is searched as a whole.
pub const WHOLE: usize = 400;

/// Nodes up to which neighbouring parts share a region.
const REGION: usize = 300;

/// Longest period of parts, such as the attention and the feed-forward half of a layer, that is looked for.
const PERIOD: usize = 16;

/// What an output of a region's graph is in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The output of the model with this number.
    Output(usize),
    /// A value that later regions read.
    Crossing,
}

/// A part of a model as a graph of its own.
#[derive(Clone, Debug)]
pub struct Region {
    /// The part. What crosses into it is an input. Names are numbered slots, unless the region is the whole model.
    pub graph: Graph,
    /// For each of its nodes the node of the model.
    pub nodes: Vec<NodeId>,
    /// For each of its nodes whether this region is where the model has it. Elsewhere it is computed again: masks, tables
    /// of positions and folded weights cost less than they would take to pass on.
    pub own: Vec<bool>,
    /// What each output of its graph is.
    pub outputs: Vec<Role>,
    /// For each write of its graph the write of the model.
    pub writes: Vec<usize>,
}

/// Cuts a verified graph. The regions are in execution order; together they compute every output and every write.
pub fn cut(graph: &Graph) -> Vec<Region> {
    if graph.nodes.len() <= WHOLE {
        return vec![extract::whole(graph)];
    }
    let narrow = places::Narrow::new(graph);
    let parts = narrow.parts();
    let of = |part: &Part| narrow.region(part.nodes.clone()).graph.stable_hash();
    let shapes: Vec<Shape> = parts
        .iter()
        .map(|part| Shape { hash: of(part), nodes: part.nodes.len(), contracts: part.contracts })
        .collect();
    let mut regions = vec![];
    let mut first = 0;
    for count in grouped(&shapes) {
        regions.push(narrow.region(parts[first].nodes.start..parts[first + count - 1].nodes.end));
        first += count;
    }
    regions
}

/// What grouping looks at.
#[derive(Clone, Copy)]
struct Shape {
    hash: u128,
    nodes: usize,
    contracts: bool,
}

/// How many neighbouring parts share a region: the period where a sequence of parts repeats, else as many as fit. A
/// region starts with a contraction, so that what only transforms its result stays with it.
fn grouped(parts: &[Shape]) -> Vec<usize> {
    let equal = |x: &[Shape], y: &[Shape]| x.iter().zip(y).all(|(x, y)| x.hash == y.hash);
    let repeats = |at: usize, period: usize| {
        at + 2 * period <= parts.len() && equal(&parts[at..at + period], &parts[at + period..at + 2 * period])
    };
    let fits = |at: usize, count: usize| {
        count == 1 || parts[at..at + count].iter().map(|part| part.nodes).sum::<usize>() <= REGION
    };
    let period = |at: usize| {
        (1..=PERIOD).find(|period| parts[at].contracts && repeats(at, *period) && fits(at, *period))
    };
    let mut groups = vec![];
    let mut at = 0;
    while at < parts.len() {
        if let Some(period) = period(at) {
            // All repetitions: as long as the next one is the same again, and the last of them.
            while repeats(at, period) {
                groups.push(period);
                at += period;
            }
            groups.push(period);
            at += period;
            continue;
        }
        let mut count = 1;
        while let Some(next) = parts.get(at + count) {
            if next.contracts && (!fits(at, count + 1) || period(at + count).is_some()) {
                break;
            }
            count += 1;
        }
        groups.push(count);
        at += count;
    }
    groups
}
