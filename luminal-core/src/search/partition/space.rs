//! The search for the best set of kernels: a shortest path over frontiers.
//!
//! A state is the set of values still needed. The deepest is produced next, so that every plan is met in one order
//! only; leaves of the kernel join the frontier, and other needed values that the kernel computes may leave it as side
//! outputs. Recomputation is free to express: a value may be in two cones.
//!
//! States are explored in the order of their deepest value. Where more states share one than the limit, a beam keeps
//! those that promise most; otherwise the result is exact.

use super::cones::{Candidate, Candidates};
use super::form::Form;
use super::machine::Work;
use super::problem::Problem;
use super::set::NodeSet;
use crate::search::term::Id;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// A kernel with the values it stores.
#[derive(Clone, Debug)]
pub(super) struct Step<'c> {
    pub kernel: &'c Candidate,
    pub outputs: Vec<usize>,
    /// What plans are compared by.
    pub cost: f64,
}

/// The states that plans go through. State 0 needs the roots.
pub(super) struct Space<'c> {
    /// For each state its ways on: step and next state.
    pub states: Vec<Vec<(usize, usize)>>,
    pub steps: Vec<Step<'c>>,
    /// The state that needs nothing; none if some value has no candidate.
    end: Option<usize>,
    /// True if no state was left out.
    pub exact: bool,
}

/// One way out of a state.
struct Way<'c> {
    kernel: &'c Candidate,
    outputs: NodeSet,
    next: NodeSet,
    work: Work,
}

impl Way<'_> {
    /// Needs no more inputs, bytes or arithmetic: it wins under any monotone cost.
    fn is_as_good_as(&self, other: &Way) -> bool {
        self.next.is_subset(&other.next)
            && self.work.bytes <= other.work.bytes
            && self.work.seconds <= other.work.seconds
            && self.work.repeatable <= other.work.repeatable
            && self.kernel.form <= other.kernel.form
    }
}

/// Removes ways that another one beats; of equals the first stays.
fn prune(mut ways: Vec<Way<'_>>) -> Vec<Way<'_>> {
    // What beats a way is in front of it: it needs no more values, and as many only if they are the same.
    ways.sort_by(|x, y| {
        let by = |way: &Way| (way.next.len(), way.kernel.form);
        let work = |way: &Way| [way.work.bytes, way.work.seconds, way.work.repeatable];
        let floats = work(x).into_iter().zip(work(y)).map(|(x, y)| x.total_cmp(&y));
        by(x).cmp(&by(y)).then(floats.fold(Ordering::Equal, Ordering::then))
    });
    let mut kept: Vec<Way> = Vec::new();
    for way in ways {
        if !kept.iter().any(|known| known.is_as_good_as(&way)) {
            kept.push(way);
        }
    }
    kept
}

/// A state while the space grows.
struct Draft {
    need: NodeSet,
    /// Of the cheapest way to it.
    cost: f64,
}

impl<'c> Space<'c> {
    /// Explores at most `width` states for each value that is the deepest one needed.
    pub fn new(problem: &Problem, candidates: &'c Candidates, width: usize) -> Space<'c> {
        let mut space = Space { states: Vec::new(), steps: Vec::new(), end: None, exact: true };
        let mut drafts = vec![Draft { need: problem.roots.clone(), cost: 0.0 }];
        let mut numbers: HashMap<NodeSet, usize> = HashMap::from([(problem.roots.clone(), 0)]);
        let mut steps: HashMap<(*const Candidate, NodeSet), usize> = HashMap::new();
        // Every way leads to states whose deepest value is less deep: when it is a value's turn, all ways to its states
        // are known.
        let deepest = |need: &NodeSet| need.iter().map(|i| (problem.depth[i], i)).max();
        let mut turns: BTreeMap<Option<(usize, usize)>, Vec<usize>> = BTreeMap::new();
        turns.entry(deepest(&problem.roots)).or_default().push(0);
        while let Some((turn, mut states)) = turns.pop_last() {
            let Some((_, value)) = turn else {
                space.end = states.first().copied();
                break;
            };
            if states.len() > width {
                space.exact = false;
                let promise = |state: &usize| drafts[*state].cost + problem.left(&drafts[*state].need);
                let mut ranked: Vec<(f64, usize)> = states.iter().map(|s| (promise(s), *s)).collect();
                ranked.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
                states = ranked.into_iter().take(width).map(|(_, state)| state).collect();
            }
            let kernels = candidates.get(&value).map_or(&[][..], Vec::as_slice);
            for state in states {
                let Draft { need, cost } = &drafts[state];
                let (ways, cost) = (prune(ways(problem, kernels, need)), *cost);
                let mut edges = Vec::with_capacity(ways.len());
                for way in ways {
                    let step = *steps
                        .entry((std::ptr::from_ref(way.kernel), way.outputs.clone()))
                        .or_insert_with(|| {
                            let (outputs, cost) =
                                (way.outputs.iter().collect(), way.work.cost(&problem.machine));
                            space.steps.push(Step { kernel: way.kernel, outputs, cost });
                            space.steps.len() - 1
                        });
                    let total = cost + space.steps[step].cost;
                    let next = *numbers.entry(way.next.clone()).or_insert_with(|| {
                        turns.entry(deepest(&way.next)).or_default().push(drafts.len());
                        drafts.push(Draft { need: way.next, cost: total });
                        drafts.len() - 1
                    });
                    drafts[next].cost = drafts[next].cost.min(total);
                    edges.push((step, next));
                }
                if space.states.len() < drafts.len() {
                    space.states.resize(drafts.len(), Vec::new());
                }
                space.states[state] = edges;
            }
        }
        space.states.resize(drafts.len(), Vec::new());
        space
    }

    /// The cheapest plan under a cost of each step, in the order of execution.
    pub fn solve(&self, cost: impl Fn(&Step) -> f64) -> Option<(f64, Vec<usize>)> {
        self.shortest(&self.steps.iter().map(cost).collect::<Vec<_>>())
    }

    /// As [`Space::solve`], with the cost of each step in the order of `steps`.
    pub fn shortest(&self, costs: &[f64]) -> Option<(f64, Vec<usize>)> {
        let end = self.end?;
        let mut best: Vec<Option<(f64, usize)>> = vec![None; self.states.len()];
        let mut done = vec![false; self.states.len()];
        best[end] = Some((0.0, usize::MAX));
        done[end] = true;
        // Depth first; the graph of states is acyclic because the deepest needed value sinks.
        let mut stack = vec![(0, false)];
        while let Some((state, children_done)) = stack.pop() {
            if done[state] {
                continue;
            }
            if !children_done {
                stack.push((state, true));
                let open = self.states[state].iter().filter(|edge| !done[edge.1]);
                stack.extend(open.map(|edge| (edge.1, false)));
                continue;
            }
            for (i, (step, next)) in self.states[state].iter().enumerate() {
                let Some((rest, _)) = best[*next] else { continue };
                let total = rest + costs[*step];
                if best[state].is_none_or(|known| total < known.0) {
                    best[state] = Some((total, i));
                }
            }
            done[state] = true;
        }
        let (total, _) = best[0]?;
        let mut path = Vec::new();
        let mut state = 0;
        while state != end {
            let (step, next) = self.states[state][best[state]?.1];
            path.push(step);
            state = next;
        }
        path.reverse();
        Some((total, path))
    }
}

/// All ways to produce what `candidates` are for, while `need` is needed.
fn ways<'c>(problem: &Problem, candidates: &'c [Candidate], need: &NodeSet) -> Vec<Way<'c>> {
    let mut ways = Vec::new();
    for kernel in candidates {
        if kernel.form == Form::Siblings && !kernel.sinks.iter().all(|sink| need.contains(*sink)) {
            continue;
        }
        let mut outputs = need.intersection(&kernel.storable);
        kernel.sinks.iter().filter(|sink| need.contains(**sink)).for_each(|sink| {
            outputs.insert(*sink);
        });
        let mut next = need.clone();
        next.subtract(&outputs);
        next.extend_from(&kernel.leaves);
        let mut work = kernel.work;
        work.bytes += outputs.iter().map(|i| problem.bytes(Id::from(i))).sum::<f64>();
        ways.push(Way { kernel, outputs, next, work });
    }
    ways
}
