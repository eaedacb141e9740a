//! Candidate kernels: cones that grow from a sink, and contractions that share an operand.

use super::atoms::Atoms;
use super::form::Form;
use super::machine::Work;
use super::problem::Problem;
use super::set::NodeSet;
use crate::search::term::AxisSet;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A cone with so many values does not grow any more.
const CONE: usize = 192;

/// A kernel that a plan may use.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The values that it is for.
    pub sinks: Vec<usize>,
    /// Everything it computes.
    pub set: NodeSet,
    /// Ops that it reads from memory.
    pub leaves: NodeSet,
    pub form: Form,
    pub fold: Option<AxisSet>,
    /// Values that it may store besides.
    pub storable: NodeSet,
    /// Without storing anything.
    pub work: Work,
}

/// Atoms that one kernel may compute.
#[derive(Clone)]
struct Cone {
    heads: NodeSet,
    /// The values of the atoms.
    set: NodeSet,
    /// The heads of other atoms that these use as operands.
    leaves: NodeSet,
}

impl Cone {
    fn add(&mut self, atoms: &Atoms, head: usize) {
        self.heads.insert(head);
        self.set.extend_from(&atoms.members[head]);
        self.leaves.extend_from(&atoms.direct[head]);
        self.leaves.subtract(&self.heads);
    }
}

/// The candidates of each value.
pub(super) type Candidates = BTreeMap<usize, Vec<Candidate>>;

impl Problem<'_> {
    /// At most `cap` candidates for each value, and those of siblings.
    pub(super) fn candidates(&self, cap: usize) -> Candidates {
        let mut all: Candidates = self.atoms.heads.iter().map(|sink| (sink, self.cones(sink, cap))).collect();
        for candidate in self.siblings(&all) {
            for sink in &candidate.sinks {
                let Some(list) = all.get_mut(sink) else { continue };
                if !list.iter().any(|known| known.set == candidate.set && known.sinks == candidate.sinks) {
                    list.push(candidate.clone());
                }
            }
        }
        all
    }

    pub(super) fn candidate(&self, set: &NodeSet, sink: usize) -> Option<Candidate> {
        let shape = self.shape(set, sink)?;
        Some(Candidate {
            sinks: vec![sink],
            leaves: self.leaves(set),
            form: shape.form,
            fold: shape.fold,
            storable: shape.storable,
            work: self.work(set, &[]),
            set: set.clone(),
        })
    }

    /// The atom alone, and what it must compute besides.
    fn seed(&self, sink: usize) -> Cone {
        let mut cone = Cone { heads: self.empty(), set: self.empty(), leaves: self.empty() };
        cone.add(&self.atoms, sink);
        cone
    }

    /// With all atoms that are computed inside in any case.
    fn close(&self, mut cone: Cone) -> Cone {
        while cone.set.len() < CONE {
            let inside = cone.leaves.iter().find(|i| self.is_absorbed(*i, &cone.set));
            let Some(i) = inside else { break };
            cone.add(&self.atoms, i);
        }
        cone
    }

    /// The cones of a sink. The choice is only at reductions, operands of contractions and values with other users.
    fn cones(&self, sink: usize, cap: usize) -> Vec<Candidate> {
        let mut seen: BTreeSet<NodeSet> = BTreeSet::new();
        let mut found = Vec::new();
        let mut queue = VecDeque::from([self.close(self.seed(sink))]);
        while let Some(cone) = queue.pop_front() {
            if seen.len() > 4 * cap || !seen.insert(cone.heads.clone()) {
                continue;
            }
            let Some(candidate) = self.candidate(&cone.set, sink) else { continue };
            found.push(candidate);
            if found.len() == cap {
                break;
            }
            if cone.set.len() < CONE {
                for leaf in cone.leaves.iter() {
                    let mut larger = cone.clone();
                    larger.add(&self.atoms, leaf);
                    queue.push_back(self.close(larger));
                }
            }
        }
        if found.is_empty() {
            found.extend(self.candidate(&self.seed(sink).set, sink));
        }
        found
    }

    /// The contraction of a candidate that has exactly one and nothing else to decide.
    fn single_contraction(&self, candidate: &Candidate) -> Option<usize> {
        if candidate.form != Form::Contraction {
            return None;
        }
        let mut contractions = candidate.set.iter().filter(|i| self.is_contraction(*i, &candidate.set));
        let first = contractions.next()?;
        contractions.next().is_none().then_some(first)
    }

    /// Contractions that share their operand and reduced axes as kernels with several sinks.
    fn siblings(&self, all: &Candidates) -> Vec<Candidate> {
        type Key = (AxisSet, Vec<usize>);
        let mut groups: BTreeMap<Key, BTreeMap<usize, Vec<&Candidate>>> = BTreeMap::new();
        for candidate in all.values().flatten() {
            let Some(contraction) = self.single_contraction(candidate) else { continue };
            let Some(body) = self.node(contraction).body() else { continue };
            let mut factors = Vec::new();
            self.factors(usize::from(body), &candidate.set, &mut factors);
            factors.retain(|x| !self.dag.weight((*x).into()));
            if !factors.is_empty() {
                let group = groups.entry((self.reduced(contraction), factors)).or_default();
                group.entry(contraction).or_default().push(candidate);
            }
        }
        let mut found = Vec::new();
        for group in groups.values().filter(|group| group.len() > 1) {
            // Bare contractions, or each with its longest epilogue.
            let shortest = group.values().filter_map(|list| list.iter().min_by_key(|c| c.set.len()));
            let longest = group.values().filter_map(|list| list.iter().max_by_key(|c| c.set.len()));
            for pick in [shortest.copied().collect::<Vec<_>>(), longest.copied().collect()] {
                // All of them, or all but one.
                for skip in 0..=pick.len() {
                    let members: Vec<&Candidate> =
                        pick.iter().enumerate().filter(|(i, _)| *i != skip).map(|(_, c)| *c).collect();
                    if members.len() > 1 {
                        found.extend(self.sibling(&members));
                    }
                }
            }
        }
        found
    }

    fn sibling(&self, members: &[&Candidate]) -> Option<Candidate> {
        let sinks: Vec<usize> = members.iter().map(|member| member.sinks[0]).collect();
        let mut set = self.empty();
        members.iter().for_each(|member| set.extend_from(&member.set));
        let leaves = self.leaves(&set);
        if sinks.iter().any(|sink| leaves.contains(*sink)) {
            return None;
        }
        let fold = members[0].fold.filter(|axes| members.iter().all(|member| member.fold == Some(*axes)));
        Some(Candidate {
            work: self.work(&set, &[]),
            form: Form::Siblings,
            fold,
            storable: NodeSet::of(self.dag.nodes.len(), sinks.iter().copied()),
            sinks,
            set,
            leaves,
        })
    }
}
