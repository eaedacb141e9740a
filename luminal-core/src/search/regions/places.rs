//! Where a graph may be cut.

use super::Region;
use super::extract::Extractor;
use crate::graph::{Binary, Graph, NodeId, Op, Reduce};
use crate::search::import::is_given;
use std::collections::BTreeSet;
use std::ops::Range;

/// A value is computed again in each region that reads it, not passed on, if that takes at most so many operations.
const REPEATED: usize = 64;

/// Neighbouring nodes that are not cut.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub nodes: Range<NodeId>,
    /// It holds a contraction. Others can be the epilogue of what is in front of them, in one kernel with it.
    pub contracts: bool,
}

/// What is known about the values of a graph.
pub(super) struct Narrow<'g> {
    pub graph: &'g Graph,
    /// For each node: it is given, or cheap enough to be computed wherever it is read.
    pub repeated: Vec<bool>,
    /// For each node the value that it is a view of, or itself.
    pub base: Vec<NodeId>,
    /// For each node the last one that computes with it or with a view of it; itself if there is none. Views compute
    /// nothing: one that is only returned, or written to a state, does not keep a value alive.
    pub last: Vec<NodeId>,
}

impl<'g> Narrow<'g> {
    pub fn new(graph: &'g Graph) -> Narrow<'g> {
        let count = graph.nodes.len();
        let (mut repeated, mut work, mut base) = (vec![false; count], vec![0usize; count], vec![0; count]);
        let mut weights = vec![false; count];
        for (id, node) in graph.nodes.iter().enumerate() {
            let operands = node.op.operands();
            weights[id] =
                !matches!(node.op, Op::Input(_) | Op::State(_)) && operands.iter().all(|x| weights[*x]);
            work[id] = operands.iter().fold(1, |sum: usize, x| sum.saturating_add(work[*x]));
            let simple = !matches!(node.op, Op::Reduce(..) | Op::Gather(..)) && work[id] <= REPEATED;
            repeated[id] =
                is_given(&node.op) || operands.iter().all(|x| repeated[*x]) && (simple || weights[id]);
            base[id] = if node.op.is_view() && !repeated[id] { base[operands[0]] } else { id };
        }
        let mut last: Vec<NodeId> = (0..count).collect();
        for (id, node) in graph.nodes.iter().enumerate().filter(|(id, _)| base[*id] == *id) {
            for x in node.op.operands() {
                last[base[x]] = id;
            }
        }
        Narrow { graph, repeated, base, last }
    }

    /// True for a value that crosses a cut in front of the node `at`.
    pub fn crosses(&self, value: NodeId, at: NodeId) -> bool {
        value < at && self.last[value] >= at && !self.repeated[value] && self.base[value] == value
    }

    /// Ranges of nodes between which one value crosses, apart from those which most of the model reads.
    pub fn parts(&self) -> Vec<Part> {
        let count = self.graph.nodes.len();
        let long = (count / 4).max(super::WHOLE);
        let mut live = BTreeSet::new();
        let mut cuts: Vec<NodeId> = vec![0];
        let mut crossing = None;
        for at in 0..count {
            live.retain(|value| self.last[*value] >= at);
            let mut short = live.iter().filter(|value| self.last[**value] - **value <= long);
            if let (Some(only), None) = (short.next(), short.next())
                && crossing != Some(*only)
                && !self.is_summed_product(*only)
            {
                crossing = Some(*only);
                cuts.push(at);
            }
            if self.base[at] == at && !self.repeated[at] {
                live.insert(at);
            }
        }
        cuts.push(count);
        let mut parts: Vec<Part> = vec![];
        for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
            let nodes = pair[0]..pair[1];
            let contracts = self.contracts(&nodes);
            match parts.last_mut() {
                Some(before) if !contracts && !before.contracts => before.nodes.end = nodes.end,
                _ => parts.push(Part { nodes, contracts }),
            }
        }
        parts
    }

    /// A product that is only there to be summed: both are one contraction.
    fn is_summed_product(&self, value: NodeId) -> bool {
        let is_product = matches!(self.graph.nodes[value].op, Op::Binary(Binary::Mul, ..));
        is_product && matches!(self.graph.nodes[self.last[value]].op, Op::Reduce(Reduce::Sum, ..))
    }

    /// True if a product of different values, one of them repeated along an axis, is summed in this range.
    fn contracts(&self, part: &Range<NodeId>) -> bool {
        part.clone().any(|id| {
            let Op::Reduce(Reduce::Sum, mut x, _) = self.graph.nodes[id].op else { return false };
            while let Op::Reduce(Reduce::Sum, inner, _) = self.graph.nodes[x].op {
                x = inner;
            }
            let Op::Binary(Binary::Mul, a, b) = self.graph.nodes[x].op else { return false };
            let (a, b) = (self.factor(a), self.factor(b));
            a.0 != b.0 && (a.1 || b.1)
        })
    }

    /// The value behind views, and whether they repeat elements.
    fn factor(&self, mut x: NodeId) -> (NodeId, bool) {
        let mut repeats = false;
        while self.graph.nodes[x].op.is_view() {
            repeats |= matches!(self.graph.nodes[x].op, Op::Expand(..) | Op::Window { .. });
            x = self.graph.nodes[x].op.operands()[0];
        }
        (x, repeats)
    }

    /// The nodes of a range as a graph.
    pub fn region(&self, part: Range<NodeId>) -> Region {
        Extractor::new(self, part).finish()
    }
}
