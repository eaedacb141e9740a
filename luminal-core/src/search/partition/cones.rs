//! Candidate kernels: cones that grow from a sink, and contractions that share an operand.

use super::form::Form;
use super::machine::Work;
use super::problem::Problem;
use super::set::NodeSet;
use crate::search::term::AxisSet;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// No kernel computes more values than this.
const CONE: usize = 48;

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
    /// With the sinks as its only outputs.
    pub work: Work,
}

/// The candidates of each value.
pub(super) type Candidates = BTreeMap<usize, Vec<Candidate>>;

impl Problem<'_> {
    /// At most `cap` candidates for each value, and those of siblings.
    pub(super) fn candidates(&self, cap: usize) -> Candidates {
        let mut all: Candidates = self.ops.iter().map(|sink| (sink, self.cones(sink, cap))).collect();
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
            work: self.work(set, &[sink]),
            set: set.clone(),
        })
    }

    /// True if computing a value inside is never worse than reading it: pointwise, needed nowhere else, and not the
    /// operand of a contraction, which would compute it again for every tile.
    fn is_absorbed(&self, i: usize, set: &NodeSet) -> bool {
        !self.node(i).is_reduction()
            && !self.roots.contains(i)
            && self.users[i].is_subset(set)
            && (self.is_padding(i) || !self.users[i].iter().any(|user| self.is_operand_product(user, set)))
    }

    fn close(&self, mut set: NodeSet) -> NodeSet {
        while set.len() < CONE {
            let next = self.direct_leaves(&set).iter().find(|i| self.is_absorbed(*i, &set));
            match next {
                Some(i) => set.insert(i),
                None => break,
            };
        }
        set
    }

    /// The cones of a sink. The choice is only at reductions, operands of contractions and values with other users.
    fn cones(&self, sink: usize, cap: usize) -> Vec<Candidate> {
        let alone = NodeSet::of(self.dag.nodes.len(), [sink]);
        let mut seen: BTreeSet<NodeSet> = BTreeSet::new();
        let mut found = Vec::new();
        let mut queue = VecDeque::from([self.close(alone.clone())]);
        while let Some(set) = queue.pop_front() {
            if !seen.insert(set.clone()) || seen.len() > 4 * cap {
                continue;
            }
            let Some(candidate) = self.candidate(&set, sink) else { continue };
            found.push(candidate);
            if found.len() == cap {
                break;
            }
            if set.len() < CONE {
                for leaf in self.direct_leaves(&set).iter() {
                    let mut larger = set.clone();
                    larger.insert(leaf);
                    queue.push_back(self.close(larger));
                }
            }
        }
        if found.is_empty() {
            found.extend(self.candidate(&alone, sink));
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
            work: self.work(&set, &sinks),
            form: Form::Siblings,
            fold,
            storable: NodeSet::of(self.dag.nodes.len(), sinks.iter().copied()),
            sinks,
            set,
            leaves,
        })
    }
}
