//! The values to compute, who uses them, and how much work they are.

use super::atoms::Atoms;
use super::machine::{Machine, Work};
use super::set::NodeSet;
use crate::graph::{Dim, Graph, NodeId};
use crate::search::cascade;
use crate::search::term::{AxisSet, Dag, Id, Term};
use egg::Language;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// How a fold rounds, compared with its reductions one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// As they do.
    Same,
    /// More than they do: the squared deviations of a row from a mean that is not known yet.
    More,
}

/// A partition problem: make `roots` out of `ops`.
pub(super) struct Problem<'a> {
    pub graph: &'a Graph,
    pub dag: &'a Dag,
    pub machine: Machine,
    /// The values that kernels compute. Everything else is there, or recomputed for nothing.
    pub ops: NodeSet,
    /// The values that are recomputed wherever they are used.
    pub inline: NodeSet,
    /// The values that must be stored.
    pub roots: NodeSet,
    /// For each value the ops that use it.
    pub users: Vec<NodeSet>,
    /// For each op its operands that are ops.
    pub direct: Vec<NodeSet>,
    /// For each op the ops whose stored value it loads.
    pub buffered: Vec<NodeSet>,
    /// Longest chain of ops below.
    pub depth: Vec<usize>,
    /// The ops, those together that every kernel computes together.
    pub atoms: Atoms,
    /// For each op the seconds that computing it takes at least.
    seconds: Vec<f64>,
    /// For each op what has to be computed before it, itself included.
    below: Vec<NodeSet>,
    folds: RefCell<HashMap<(AxisSet, NodeSet), Option<Rounding>>>,
}

impl<'a> Problem<'a> {
    pub fn new(
        graph: &'a Graph,
        dag: &'a Dag,
        machine: Machine,
        ops: NodeSet,
        [inline, roots]: [NodeSet; 2],
        atom: usize,
    ) -> Problem<'a> {
        let count = dag.nodes.len();
        let empty = vec![NodeSet::new(count); count];
        let mut stored: BTreeMap<NodeId, usize> = BTreeMap::new();
        for root in &dag.roots {
            stored.insert(root.node, usize::from(root.term));
        }
        let (mut users, mut direct, mut buffered) = (empty.clone(), empty.clone(), empty);
        for i in ops.iter() {
            for child in dag.nodes[i].children() {
                let c = usize::from(*child);
                if ops.contains(c) {
                    direct[i].insert(c);
                    users[c].insert(i);
                } else if let (Term::Load(_), Some(access)) = (dag.node(*child), dag.access(*child))
                    && let Some(root) = stored.get(&access.node)
                    && ops.contains(*root)
                {
                    buffered[i].insert(*root);
                }
            }
        }
        let mut problem = Problem {
            graph,
            dag,
            machine,
            ops,
            inline,
            roots,
            users,
            direct,
            buffered,
            depth: vec![0; count],
            atoms: Atoms::default(),
            seconds: vec![0.0; count],
            below: vec![NodeSet::new(count); count],
            folds: RefCell::default(),
        };
        for i in problem.ops.clone().iter() {
            problem.measure_depth(i);
        }
        problem.atoms = Atoms::new(&problem, atom);
        for head in problem.atoms.heads.iter() {
            let members = &problem.atoms.members[head];
            for i in members.iter() {
                let mut work = Work::default();
                problem.arithmetic(i, members, &mut work);
                problem.seconds[i] = work.seconds;
            }
        }
        // Loads of stored values may point to later ones: operands first is the order of depth.
        let mut order: Vec<usize> = problem.ops.iter().collect();
        order.sort_by_key(|i| problem.depth[*i]);
        for i in order {
            let mut below = NodeSet::of(count, [i]);
            for x in problem.direct[i].union(&problem.buffered[i]).iter() {
                below.extend_from(&problem.below[x]);
            }
            problem.below[i] = below;
        }
        problem
    }

    /// Seconds of arithmetic that are left at least when these values are still needed.
    pub fn left(&self, need: &NodeSet) -> f64 {
        let mut below = self.empty();
        need.iter().for_each(|i| below.extend_from(&self.below[i]));
        below.iter().map(|i| self.seconds[i]).sum()
    }

    fn measure_depth(&mut self, i: usize) -> usize {
        if self.depth[i] == 0 {
            let below = self.direct[i].union(&self.buffered[i]);
            let deepest = below.iter().map(|x| self.measure_depth(x)).max().unwrap_or(0);
            self.depth[i] = deepest + 1;
        }
        self.depth[i]
    }

    pub fn node(&self, i: usize) -> &Term {
        &self.dag.nodes[i]
    }

    pub fn free(&self, i: usize) -> AxisSet {
        self.dag.free(Id::from(i))
    }

    pub fn reduced(&self, i: usize) -> AxisSet {
        self.dag.reduced_axes(Id::from(i))
    }

    pub fn volume(&self, axes: AxisSet) -> f64 {
        self.dag.context.volume(axes)
    }

    pub fn empty(&self) -> NodeSet {
        NodeSet::new(self.dag.nodes.len())
    }

    /// The ops that a set reads from memory.
    pub fn leaves(&self, set: &NodeSet) -> NodeSet {
        let mut leaves = self.direct_leaves(set);
        set.iter().for_each(|i| leaves.extend_from(&self.buffered[i]));
        leaves
    }

    /// Those that the set could compute itself.
    pub fn direct_leaves(&self, set: &NodeSet) -> NodeSet {
        let mut leaves = self.empty();
        set.iter().for_each(|i| leaves.extend_from(&self.direct[i]));
        leaves.subtract(set);
        leaves
    }

    /// A selection that only hides what lies outside a buffer: part of how its user reads.
    pub fn is_padding(&self, i: usize) -> bool {
        match self.node(i) {
            Term::Select([condition, _, _]) => matches!(self.dag.node(*condition), Term::Inside(_)),
            _ => false,
        }
    }

    /// True if computing a value inside is never worse than reading it: pointwise, needed nowhere else, and not the
    /// operand of a contraction, which would compute it again for every tile.
    pub fn is_absorbed(&self, i: usize, set: &NodeSet) -> bool {
        !self.node(i).is_reduction()
            && !self.roots.contains(i)
            && self.users[i].is_subset(set)
            && (self.is_padding(i) || !self.users[i].iter().any(|user| self.is_operand_product(user, set)))
    }

    /// The factors of a product, as far as the set computes it.
    pub fn factors(&self, i: usize, set: &NodeSet, out: &mut Vec<usize>) {
        match self.node(i) {
            Term::Mul([x, y]) if set.contains(i) => {
                self.factors(usize::from(*x), set, out);
                self.factors(usize::from(*y), set, out);
            }
            _ => out.push(i),
        }
    }

    /// A sum of products of two values that share a reduced axis, one of which lacks an axis of the other: each element
    /// is used more than once. The square of a row is none.
    pub fn is_contraction(&self, i: usize, set: &NodeSet) -> bool {
        let Term::Sum([_, body]) = self.node(i) else { return false };
        let over = self.reduced(i);
        let mut factors = Vec::new();
        self.factors(usize::from(*body), set, &mut factors);
        let axes: Vec<AxisSet> =
            factors.into_iter().map(|x| self.free(x)).filter(|a| a.meets(over)).collect();
        axes.iter().enumerate().any(|(n, x)| axes[n + 1..].iter().any(|y| x != y && (*x & *y).meets(over)))
    }

    /// True if the value is a product that a contraction of the set sums.
    pub fn is_operand_product(&self, i: usize, set: &NodeSet) -> bool {
        matches!(self.node(i), Term::Mul(_))
            && self.users[i].iter().any(|user| set.contains(user) && self.is_contraction(user, set))
    }

    /// Whether the reductions of a set over these axes are a fold, and how it rounds.
    pub fn folds(&self, set: &NodeSet, axes: AxisSet) -> Option<Rounding> {
        // Only what these reductions depend on matters, so that cones share the answer.
        let mut relevant = self.empty();
        for i in (0..self.dag.nodes.len()).rev().filter(|i| set.contains(*i)) {
            if self.reduced(i) == axes || relevant.contains(i) {
                relevant.insert(i);
                for x in self.node(i).values() {
                    if set.contains(usize::from(*x)) {
                        relevant.insert(usize::from(*x));
                    }
                }
            }
        }
        let key = (axes, relevant);
        if let Some(known) = self.folds.borrow().get(&key) {
            return *known;
        }
        let fold = cascade::derive(self.dag, &|id| key.1.contains(usize::from(id)), axes);
        let folds = fold.ok().map(|fold| {
            let moments = fold.components.iter().any(|part| matches!(part.law, cascade::Law::Moment { .. }));
            if moments { Rounding::More } else { Rounding::Same }
        });
        self.folds.borrow_mut().insert(key, folds);
        folds
    }

    /// Bytes of a value.
    pub fn bytes(&self, id: Id) -> f64 {
        self.volume(self.dag.free(id)) * self.dag.dtype(id).bytes() as f64
    }

    /// Bytes and arithmetic of a kernel that computes this set and stores these values.
    pub fn work(&self, set: &NodeSet, outputs: &[usize]) -> Work {
        let mut work = Work::default();
        let mut seen = self.empty();
        let mut loaded: BTreeMap<NodeId, f64> = BTreeMap::new();
        let operands = self.operand_arithmetic(set);
        for i in set.iter() {
            self.reads(i, set, &mut seen, &mut work, &mut loaded);
            let before = work.seconds;
            self.arithmetic(i, set, &mut work);
            if operands.contains(i) {
                work.repeatable += work.seconds - before;
            }
        }
        for (node, bytes) in loaded {
            // Windows read the same elements many times, from cache.
            let Some(node) = self.graph.nodes.get(node) else { continue };
            let elements: f64 = node.shape.iter().map(|dim| Dim::max(*dim) as f64).product();
            work.bytes += bytes.min(elements * node.dtype.bytes() as f64);
        }
        for output in outputs {
            work.bytes += self.bytes(Id::from(*output));
        }
        work
    }

    fn reads(
        &self,
        i: usize,
        set: &NodeSet,
        seen: &mut NodeSet,
        work: &mut Work,
        loaded: &mut BTreeMap<NodeId, f64>,
    ) {
        for child in self.node(i).children() {
            let c = usize::from(*child);
            if set.contains(c) || !seen.insert(c) {
                continue;
            }
            match self.dag.node(*child) {
                Term::Load(access) => {
                    let of_gather = matches!(self.node(i), Term::Gather(_));
                    let bytes = self.bytes(if of_gather { Id::from(i) } else { *child });
                    *loaded.entry(self.dag.context.access(*access).node).or_default() += bytes;
                }
                node if node.is_leaf() => {}
                // Inline values are made of leaves.
                _ if self.inline.contains(c) => self.reads(c, set, seen, work, loaded),
                _ => work.bytes += self.bytes(*child),
            }
        }
    }

    /// The pointwise values that a set makes of loaded values for the operands of its contractions. What depends on a
    /// reduction of the set (a normalised row, the weights of attention) cannot be made anywhere else.
    fn operand_arithmetic(&self, set: &NodeSet) -> NodeSet {
        let mut queue = Vec::new();
        for contraction in set.iter().filter(|i| self.is_contraction(*i, set)) {
            if let Some(body) = self.node(contraction).body() {
                self.factors(usize::from(body), set, &mut queue);
            }
        }
        let mut reduces = self.empty();
        for i in set.iter() {
            if self.node(i).is_reduction() || self.direct[i].iter().any(|x| reduces.contains(x)) {
                reduces.insert(i);
            }
        }
        let mut operands = self.empty();
        while let Some(i) = queue.pop() {
            if set.contains(i) && !reduces.contains(i) && operands.insert(i) {
                queue.extend(self.direct[i].iter());
            }
        }
        operands
    }

    fn arithmetic(&self, i: usize, set: &NodeSet, work: &mut Work) {
        let node = self.node(i);
        let elements = self.volume(node.body().map_or(self.free(i), |body| self.dag.free(body)));
        if self.is_contraction(i, set) {
            work.flops += 2.0 * elements;
            work.seconds += 2.0 * elements / self.machine.contraction;
        } else if !self.is_operand_product(i, set) && !self.is_padding(i) {
            work.flops += elements;
            work.seconds += match node {
                Term::Exp2(_) | Term::Log2(_) | Term::Sin(_) => elements / self.machine.transcendental,
                _ => elements / self.machine.pointwise,
            };
        }
    }
}
