//! The graph as it was traced, as a picture: its primitives, gathered by the user's operation.

use super::number::{bytes, plural};
use super::picture::{Kind, Picture};
use crate::graph::{Dim, Graph, NodeId, Op};
use std::collections::{BTreeMap, BTreeSet};

/// What a node is to the picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Made of constants and positions: left out.
    Constant,
    /// Made of weights: named where it is used.
    Weight,
    /// Of this group.
    Group(usize),
}

struct Gathered<'g> {
    graph: &'g Graph,
    part: Vec<Part>,
    groups: Vec<Group>,
}

#[derive(Default)]
struct Group {
    nodes: Vec<NodeId>,
    /// Groups whose values it uses.
    uses: BTreeSet<usize>,
}

pub(super) fn picture(graph: &Graph) -> Picture {
    let mut gathered = Gathered { graph, part: vec![], groups: vec![] };
    for node in 0..graph.nodes.len() {
        let part = gathered.part_of(node);
        gathered.part.push(part);
    }
    gathered.draw()
}

/// `f32[1, 128]`, free sizes by name.
pub(super) fn shape_text(graph: &Graph, shape: &[Dim], dtype: crate::dtype::Dtype) -> String {
    let size = |dim: &Dim| match dim {
        Dim::Fixed(n) => n.to_string(),
        Dim::Free { index, .. } => graph.free.get(*index).map_or("?".into(), |free| free.name.clone()),
    };
    format!("{dtype}[{}]", shape.iter().map(size).collect::<Vec<_>>().join(", "))
}

/// Bytes at the bounds of free sizes.
pub(super) fn size(shape: &[Dim], dtype: crate::dtype::Dtype) -> usize {
    shape.iter().map(|&dim| dim.max()).product::<usize>() * dtype.bytes()
}

impl Gathered<'_> {
    fn part_of(&mut self, node: NodeId) -> Part {
        let graph = self.graph;
        let operands = graph.nodes[node].op.operands();
        match &graph.nodes[node].op {
            Op::Input(_) | Op::State(_) => return self.new_group(node),
            Op::Param(_) => return Part::Weight,
            _ => {}
        }
        let parts: Vec<Part> = operands.iter().map(|operand| self.part[*operand]).collect();
        if parts.iter().all(|part| *part == Part::Constant) && !self.is_result(node) {
            return Part::Constant;
        }
        let mut uses: BTreeSet<usize> = BTreeSet::new();
        uses.extend(
            parts.iter().filter_map(|part| if let Part::Group(group) = part { Some(*group) } else { None }),
        );
        if uses.is_empty() && !self.is_result(node) {
            return Part::Weight;
        }
        // The group of an operand from the same call, unless the way there leads through another group.
        let origin = &graph.nodes[node].origin;
        let joins = uses.iter().copied().find(|group| {
            let first = &graph.nodes[self.groups[*group].nodes[0]];
            let given = matches!(first.op, Op::Input(_) | Op::State(_));
            !given
                && origin.is_some()
                && first.origin == *origin
                && uses.iter().all(|other| other == group || !self.leads(*group, *other))
        });
        match joins {
            Some(group) => {
                self.groups[group].nodes.push(node);
                self.groups[group].uses.extend(uses.into_iter().filter(|other| *other != group));
                Part::Group(group)
            }
            None => {
                let part = self.new_group(node);
                self.groups.last_mut().expect("one was just added").uses = uses;
                part
            }
        }
    }

    fn is_result(&self, node: NodeId) -> bool {
        let graph = self.graph;
        graph.outputs.iter().any(|(_, output)| *output == node)
            || graph.writes.iter().any(|(_, value)| *value == node)
    }

    fn new_group(&mut self, node: NodeId) -> Part {
        self.groups.push(Group { nodes: vec![node], uses: BTreeSet::new() });
        Part::Group(self.groups.len() - 1)
    }

    /// True if a group's value is used, on whatever way, by another.
    fn leads(&self, from: usize, to: usize) -> bool {
        let (mut queue, mut seen) = (vec![to], BTreeSet::new());
        while let Some(group) = queue.pop() {
            if group == from {
                return true;
            }
            if seen.insert(group) {
                queue.extend(&self.groups[group].uses);
            }
        }
        false
    }

    /// The weights that a group reads, on the way through values that are made of weights alone.
    fn weights(&self, group: &Group) -> Vec<NodeId> {
        let graph = self.graph;
        let (mut weights, mut seen) = (vec![], BTreeSet::new());
        let mut queue: Vec<NodeId> =
            group.nodes.iter().rev().flat_map(|node| graph.nodes[*node].op.operands()).collect();
        while let Some(node) = queue.pop() {
            if self.part[node] != Part::Weight || !seen.insert(node) {
                continue;
            }
            if matches!(graph.nodes[node].op, Op::Param(_)) {
                weights.push(node);
            }
            queue.extend(graph.nodes[node].op.operands());
        }
        weights.sort_unstable();
        weights
    }

    fn draw(&self) -> Picture {
        let graph = self.graph;
        let mut picture = Picture::default();
        let text = |node: NodeId| shape_text(graph, &graph.nodes[node].shape, graph.nodes[node].dtype);
        for group in &self.groups {
            let (first, last) = (group.nodes[0], *group.nodes.last().unwrap_or(&group.nodes[0]));
            match &graph.nodes[first].op {
                Op::Input(name) => {
                    picture.shape(Kind::Input, name.clone(), vec![text(first)]);
                    continue;
                }
                Op::State(name) => {
                    picture.shape(Kind::State, name.clone(), vec![text(first)]);
                    continue;
                }
                _ => {}
            }
            let origin = graph.nodes[first].origin.as_ref();
            let title =
                origin.map_or(graph.nodes[first].op.name().to_string(), |origin| origin.op.to_string());
            let mut lines = vec![text(last)];
            for weight in self.weights(group) {
                let Op::Param(name) = &graph.nodes[weight].op else { continue };
                let node = &graph.nodes[weight];
                lines.push(format!("{name} {}", bytes(size(&node.shape, node.dtype) as f64)));
            }
            let shape = picture.shape(Kind::Operation, title, lines);
            let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
            group.nodes.iter().for_each(|node| *kinds.entry(graph.nodes[*node].op.name()).or_default() += 1);
            let kinds: Vec<String> = kinds.iter().map(|(name, count)| format!("{count} {name}")).collect();
            let place =
                origin.map(|at| format!("{}:{}:{}\n", at.file, at.line, at.column)).unwrap_or_default();
            let count = plural(group.nodes.len(), "primitive");
            picture.shapes[shape].tip = format!("{place}{count}: {}", kinds.join(", "));
        }
        for (number, group) in self.groups.iter().enumerate() {
            group.uses.iter().for_each(|from| picture.edge(*from, number));
        }
        for (name, node) in &graph.outputs {
            let shape = picture.shape(Kind::Output, name.clone(), vec![text(*node)]);
            if let Part::Group(group) = self.part[*node] {
                picture.edge(group, shape);
            }
        }
        for (state, node) in &graph.writes {
            let Op::State(name) = &graph.nodes[*state].op else { continue };
            let shape = picture.shape(Kind::State, format!("{name}, new"), vec![text(*node)]);
            if let Part::Group(group) = self.part[*node] {
                picture.edge(group, shape);
            }
        }
        picture
    }
}
