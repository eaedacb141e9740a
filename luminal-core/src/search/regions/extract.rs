//! A range of nodes as a graph of its own.

use super::places::Narrow;
use super::{Region, Role};
use crate::graph::{Graph, NodeId, Op};
use std::collections::BTreeMap;
use std::ops::Range;

/// The model as its only region, names and all.
pub(super) fn whole(graph: &Graph) -> Region {
    Region {
        graph: graph.clone(),
        nodes: (0..graph.nodes.len()).collect(),
        own: vec![true; graph.nodes.len()],
        outputs: (0..graph.outputs.len()).map(Role::Output).collect(),
        writes: (0..graph.writes.len()).collect(),
    }
}

/// Builds a region by demand, operands first: the order of its nodes depends on their structure alone, not on what the
/// model computes between them.
pub(super) struct Extractor<'a> {
    narrow: &'a Narrow<'a>,
    part: Range<NodeId>,
    region: Region,
    known: BTreeMap<NodeId, NodeId>,
    /// Inputs, params and states so far.
    slots: [usize; 3],
}

impl<'a> Extractor<'a> {
    pub fn new(narrow: &'a Narrow<'a>, part: Range<NodeId>) -> Extractor<'a> {
        let (free, relations) = (narrow.graph.free.clone(), narrow.graph.relations.clone());
        let graph = Graph { free, relations, ..Graph::default() };
        let region = Region { graph, nodes: vec![], own: vec![], outputs: vec![], writes: vec![] };
        Extractor { narrow, part, region, known: BTreeMap::new(), slots: [0; 3] }
    }

    pub fn finish(mut self) -> Region {
        let model = self.narrow.graph;
        let is_output = |id: &NodeId| model.outputs.iter().any(|(_, node)| node == id);
        let crossing = self.part.clone().filter(|id| self.narrow.crosses(*id, self.part.end));
        let mut wanted: Vec<(NodeId, Role)> =
            crossing.filter(|id| !is_output(id)).map(|id| (id, Role::Crossing)).collect();
        for (number, (_, node)) in model.outputs.iter().enumerate() {
            if self.is_own(*node) {
                wanted.push((*node, Role::Output(number)));
            }
        }
        for (id, role) in wanted {
            let node = self.node(id);
            let name = format!("y{}", self.region.outputs.len());
            self.region.graph.outputs.push((name, node));
            self.region.outputs.push(role);
        }
        for (number, (state, value)) in model.writes.iter().enumerate() {
            if self.is_own(*value) {
                let write = (self.node(*state), self.node(*value));
                self.region.graph.writes.push(write);
                self.region.writes.push(number);
            }
        }
        self.region
    }

    /// True if the value is computed in this part, or a view of one that is, wherever that stands.
    fn is_own(&self, id: NodeId) -> bool {
        self.part.contains(&self.narrow.base[id])
    }

    fn node(&mut self, id: NodeId) -> NodeId {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let mut node = self.narrow.graph.nodes[id].clone();
        let op = match &node.op {
            Op::Input(_) => self.slot(0, Op::Input),
            Op::Param(_) => self.slot(1, Op::Param),
            Op::State(_) => self.slot(2, Op::State),
            _ if self.narrow.crosses(id, self.part.start) => self.slot(0, Op::Input),
            op => op.with_operands(|x| self.node(x)),
        };
        node.op = op;
        self.region.graph.nodes.push(node);
        self.region.nodes.push(id);
        self.region.own.push(self.is_own(id));
        let new = self.region.nodes.len() - 1;
        self.known.insert(id, new);
        new
    }

    fn slot(&mut self, kind: usize, op: fn(String) -> Op) -> Op {
        let number = self.slots[kind];
        self.slots[kind] += 1;
        op(format!("{}{number}", ["x", "p", "s"][kind]))
    }
}
