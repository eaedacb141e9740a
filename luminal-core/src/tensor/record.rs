//! The graph under construction, and the steps that every operation is made of.
//!
//! An axis whose type is [`One`](super::One) has no axis in the graph: `max_keep` is a reduction and nothing else, and
//! stretching is one `Expand`. So "graph axis" below counts the axes that are not `One`.

use super::border::Declared;
use super::dim::DimInfo;
use super::trace::{Mistake, Place, Traced};
use crate::dtype::Dtype;
use crate::graph::{Dim, Graph, NodeId, Op, Origin, determined};

/// What a trace has recorded so far.
#[derive(Default)]
pub(crate) struct Recorder {
    pub graph: Graph,
    /// Weights and state, in the order of their declaration.
    pub declared: Vec<Declared>,
    mistakes: Vec<Mistake>,
    origin: Option<Origin>,
    depth: usize,
    /// Free dimensions of the user and where they are in `graph.free`.
    free: Vec<(DimInfo, usize)>,
}

impl Recorder {
    pub fn enter(&mut self, origin: impl FnOnce() -> Origin) {
        if self.depth == 0 {
            self.origin = Some(origin());
        }
        self.depth += 1;
    }

    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.origin = None;
        }
    }

    /// Does some work; the nodes it adds belong to the operation whose scope is open.
    pub fn stamped<T>(&mut self, work: impl FnOnce(&mut Recorder) -> T) -> T {
        let (first, known) = (self.graph.nodes.len(), self.graph.relations.len());
        let result = work(self);
        for node in &mut self.graph.nodes[first..] {
            node.origin = self.origin.clone();
        }
        for relation in &mut self.graph.relations[known..] {
            relation.origin = self.origin.clone();
        }
        result
    }

    pub fn report(&mut self, message: String) {
        let mistake = match &self.origin {
            Some(at) => Mistake {
                place: Some(Place { file: at.file.to_string(), line: at.line, column: at.column }),
                message: format!("{}: {message}", at.op),
            },
            None => Mistake { place: None, message },
        };
        // A loop in the model would repeat it.
        if !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    /// Checks what can only be seen at the end.
    pub fn finish(mut self) -> Traced {
        self.origin = None;
        self.note_ties();
        for tied in self.declared.iter().filter(|known| known.tied) {
            let Declared { kind, name, path, .. } = tied;
            let found =
                self.declared.iter().any(|other| !other.tied && other.kind == *kind && other.name == *name);
            if !found {
                let message = format!(
                    "`{path}` is tied to `{name}`, which no field declares: write the whole name as in the weight file, \
                     such as `embed.weight`"
                );
                self.mistakes.push(Mistake { place: None, message });
            }
        }
        let mut known = vec![false; self.graph.free.len()];
        for node in self.graph.nodes.iter().filter(|node| matches!(node.op, Op::Input(_))) {
            for dim in &node.shape {
                if let Dim::Free { index, .. } = dim {
                    known[*index] = true;
                }
            }
        }
        determined(&self.graph.relations, &mut known, |_, _| {});
        for (free, _) in self.graph.free.iter().zip(known).filter(|(_, known)| !known) {
            let name = &free.name;
            self.mistakes.push(Mistake {
                place: None,
                message: format!(
                    "the free dimension `{name}` is in the shape of no input, so its size is not known when the model \
                     runs: use it in an input or replace it by `D<N>`"
                ),
            });
        }
        if self.graph.outputs.is_empty() && self.graph.writes.is_empty() {
            let message =
                "the model returns nothing and changes no state (`&mut T`), so there is nothing to run"
                    .into();
            self.mistakes.push(Mistake { place: None, message });
        }
        Traced { graph: self.graph, mistakes: self.mistakes }
    }

    /// A dimension of the graph.
    pub fn dim(&mut self, info: DimInfo) -> Dim {
        let DimInfo::Free { name, module, max } = info else { return Dim::Fixed(info.max()) };
        if let Some((_, index)) = self.free.iter().find(|(known, _)| *known == info) {
            return Dim::Free { index: *index, max };
        }
        let namesake = self.free.iter().find_map(|(known, _)| match known {
            DimInfo::Free { name: other, module, .. } if *other == name => Some(*module),
            _ => None,
        });
        let mut label = name.to_string();
        if let Some(other) = namesake {
            let (first, second) = (in_crate(other), in_crate(module));
            self.report(format!(
                "two free dimensions are named `{name}`, one in `{first}` and one in `{second}`: rename one, or use one \
                 type for both"
            ));
            label = format!("{module}::{name}");
        }
        self.free.push((info, self.graph.free.len()));
        self.graph.free_dim(&label, max)
    }

    /// The axes that a tensor of this shape has in the graph.
    pub fn shape(&mut self, dims: &[DimInfo]) -> Vec<Dim> {
        dims.iter().filter(|dim| **dim != DimInfo::One).map(|dim| self.dim(*dim)).collect()
    }

    /// One value everywhere.
    pub fn fill(&mut self, value: f64, dtype: Dtype, dims: &[DimInfo]) -> NodeId {
        let shape = self.shape(dims);
        self.graph.full(value, dtype, &shape)
    }

    /// Repeats a tensor along the axes of `want` that it lacks or that are `One` in it. `have` says for each axis of
    /// `want` which axis the tensor has there.
    pub fn spread(&mut self, mut node: NodeId, have: &[Option<DimInfo>], want: &[DimInfo]) -> NodeId {
        let mut axis = 0;
        for (have, want) in have.iter().zip(want) {
            if *want == DimInfo::One {
                continue;
            }
            if matches!(have, None | Some(DimInfo::One)) {
                let size = self.dim(*want);
                node = self.graph.expand(node, axis, size);
            }
            axis += 1;
        }
        node
    }

    /// Broadcasts to a shape of at least the same rank, aligned at the last axis.
    pub fn broadcast(&mut self, node: NodeId, have: &[DimInfo], want: &[DimInfo]) -> NodeId {
        let missing = want.len() - have.len();
        let aligned: Vec<_> =
            std::iter::repeat_n(None, missing).chain(have.iter().copied().map(Some)).collect();
        self.spread(node, &aligned, want)
    }

    /// Removes an axis of one element.
    pub fn squeeze(&mut self, node: NodeId, axis: usize) -> NodeId {
        self.graph.squeeze(node, axis)
    }

    /// Applies a composition to one axis. Where the axis is of type `One` it gets an axis of one element in the graph for
    /// it. `after` is what the axis becomes: `One` if the composition removes it.
    pub fn along(
        &mut self,
        node: NodeId,
        dims: &[DimInfo],
        axis: usize,
        after: DimInfo,
        work: impl FnOnce(&mut Graph, NodeId, usize) -> NodeId,
    ) -> NodeId {
        let (node, at) = self.materialize(node, dims, axis);
        let rank = self.graph.nodes[node].shape.len();
        let node = work(&mut self.graph, node, at);
        let removed = self.graph.nodes[node].shape.len() < rank;
        if removed { node } else { self.settle(node, after, at) }
    }

    /// A node with every axis of the shape; those of type `One` have one element.
    pub fn whole(&mut self, node: NodeId, dims: &[DimInfo]) -> NodeId {
        self.full(node, dims)
    }

    /// The inverse of [`Recorder::whole`].
    pub fn bare(&mut self, mut node: NodeId, dims: &[DimInfo]) -> NodeId {
        for axis in (0..dims.len()).rev().filter(|axis| dims[*axis] == DimInfo::One) {
            node = self.squeeze(node, axis);
        }
        node
    }

    /// What is wrong with `left = sum of terms + plus` between sizes of which some are free: no sizes would fit.
    pub fn impossible(&mut self, left: DimInfo, terms: &[(usize, DimInfo)], plus: i64) -> Option<String> {
        if terms.iter().all(|(factor, info)| *factor == 0 || !info.is_free()) {
            let sum: i64 = terms.iter().map(|(factor, info)| factor.saturating_mul(info.max()) as i64).sum();
            return Some(format!("the size is always {}: name `D<{0}>` in place of {left}", sum + plus));
        }
        let left = self.dim(left);
        let terms: Vec<(usize, Dim)> =
            terms.iter().map(|(factor, info)| (*factor, self.dim(*info))).collect();
        let mut graph = Graph { free: self.graph.free.clone(), ..Graph::default() };
        graph.relations = self.graph.relations.clone();
        graph.relate_equal(left, &terms, plus, 1);
        let rule = graph.relations.last()?;
        let bounds: Vec<usize> = graph.free.iter().map(|free| free.max).collect();
        if graph.sizes_near(&bounds).is_ok() {
            return None;
        }
        let named = |free: usize| graph.free[free].name.clone();
        let limits: Vec<String> =
            graph.free.iter().map(|free| format!("{} <= {}", free.name, free.max)).collect();
        Some(format!("no sizes fulfil `{}` within their bounds: {}", rule.text(named), limits.join(", ")))
    }

    /// Gives an axis of type `One` an axis in the graph, for operations that change its size. Returns the graph axis.
    pub fn materialize(&mut self, node: NodeId, dims: &[DimInfo], axis: usize) -> (NodeId, usize) {
        let at = graph_axis(dims, axis);
        let node = match dims[axis] {
            DimInfo::One => self.graph.expand(node, at, Dim::Fixed(1)),
            _ => node,
        };
        (node, at)
    }

    /// The inverse of [`Recorder::materialize`], once the axis has its new size.
    pub fn settle(&mut self, node: NodeId, size: DimInfo, at: usize) -> NodeId {
        match size {
            DimInfo::One => self.squeeze(node, at),
            _ => node,
        }
    }
}

/// Where an axis of the shape is in the graph.
pub(crate) fn graph_axis(dims: &[DimInfo], axis: usize) -> usize {
    dims[..axis].iter().filter(|dim| **dim != DimInfo::One).count()
}

/// The path of a module as the user writes it: in a build script its first part is the name of the script.
fn in_crate(module: &str) -> String {
    match module.split_once("::") {
        Some((_, path)) => format!("crate::{path}"),
        None => "crate".into(),
    }
}
