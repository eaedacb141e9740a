//! The exact search: a shortest path over frontiers.
//!
//! A state is the set of values still needed. The deepest is produced next, so that every plan is met in one order
//! only; leaves of the kernel join the frontier, and other needed values that the kernel computes may leave it as side
//! outputs. Recomputation is free to express: a value may be in two cones.

use super::cones::{Candidate, Candidates};
use super::form::Form;
use super::problem::Problem;
use super::set::NodeSet;
use std::collections::HashMap;

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
    /// The state that needs nothing; none if the limit came first.
    end: Option<usize>,
}

/// One way out of a state.
struct Way<'c> {
    kernel: &'c Candidate,
    outputs: Vec<usize>,
    next: NodeSet,
    bytes: f64,
}

impl Way<'_> {
    /// Needs no more inputs, bytes or arithmetic: it wins under any monotone cost.
    fn is_as_good_as(&self, other: &Way) -> bool {
        self.next.is_subset(&other.next)
            && self.bytes <= other.bytes
            && self.kernel.work.seconds <= other.kernel.work.seconds
            && self.kernel.work.repeatable <= other.kernel.work.repeatable
            && self.kernel.form <= other.kernel.form
    }
}

/// Removes ways that another one beats; of equals the first stays.
fn prune(ways: Vec<Way<'_>>) -> Vec<Way<'_>> {
    let beaten = |i: usize| {
        (0..ways.len())
            .any(|j| j != i && ways[j].is_as_good_as(&ways[i]) && (j < i || !ways[i].is_as_good_as(&ways[j])))
    };
    let keep: Vec<bool> = (0..ways.len()).map(|i| !beaten(i)).collect();
    ways.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(way, _)| way).collect()
}

impl<'c> Space<'c> {
    /// Explores at most `limit` states.
    pub fn new(problem: &Problem, candidates: &'c Candidates, limit: usize) -> Space<'c> {
        let mut space = Space { states: Vec::new(), steps: Vec::new(), end: None };
        let mut numbers: HashMap<NodeSet, usize> = HashMap::from([(problem.roots.clone(), 0)]);
        let mut order = vec![problem.roots.clone()];
        let mut steps: HashMap<(*const Candidate, Vec<usize>), usize> = HashMap::new();
        while space.states.len() < order.len() && order.len() <= limit {
            let need = order[space.states.len()].clone();
            let mut edges = Vec::new();
            let deepest = need.iter().max_by_key(|i| (problem.depth[*i], *i));
            if deepest.is_none() {
                space.end = Some(space.states.len());
            }
            for way in prune(deepest.map_or(Vec::new(), |value| ways(problem, &candidates[&value], &need))) {
                let key = (std::ptr::from_ref(way.kernel), way.outputs.clone());
                let step = *steps.entry(key).or_insert_with(|| {
                    let cost = problem.work(&way.kernel.set, &way.outputs).cost(&problem.machine);
                    space.steps.push(Step { kernel: way.kernel, outputs: way.outputs, cost });
                    space.steps.len() - 1
                });
                let next = *numbers.entry(way.next.clone()).or_insert_with(|| {
                    order.push(way.next);
                    order.len() - 1
                });
                edges.push((step, next));
            }
            space.states.push(edges);
        }
        space.states.resize(order.len(), Vec::new());
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
        let outputs: Vec<usize> =
            need.iter().filter(|i| kernel.sinks.contains(i) || kernel.storable.contains(*i)).collect();
        let mut next = need.clone();
        outputs.iter().for_each(|i| next.remove(*i));
        next.extend_from(&kernel.leaves);
        let side = outputs.iter().filter(|i| !kernel.sinks.contains(i));
        let extra: f64 = side.map(|i| problem.volume(problem.free(*i)) * 4.0).sum();
        ways.push(Way { kernel, outputs, next, bytes: kernel.work.bytes + extra });
    }
    ways
}
