//! All terms that the rules can reach, within limits that do not depend on time.

use super::analysis::{Facet, Graph};
use super::rules::RULES;
use crate::search::term::{Dag, Id, Term};
use egg::{Language, Runner};
use std::time::Duration;

/// Limits of a saturation, in work and never in seconds: the same model gives the same result on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Nodes of the e-graph.
    pub nodes: usize,
    /// Rounds of all rules.
    pub iterations: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: 10_000, iterations: 14 }
    }
}

/// An e-graph after the rules have fired.
pub struct Saturated {
    /// The classes of equal terms.
    pub egraph: Graph,
    /// The class of each node of the DAG that it started from.
    pub classes: Vec<Id>,
    /// Rounds that were needed, or the limit.
    pub iterations: usize,
    /// True if no rule had anything to add.
    pub complete: bool,
}

/// Applies all rules to a DAG.
pub fn saturate(dag: &Dag, limits: Limits) -> Saturated {
    saturate_in(Graph::new(Facet::new(dag)), dag, limits)
}

/// As [`saturate`], in an empty e-graph that may keep proofs.
pub(super) fn saturate_in(mut egraph: Graph, dag: &Dag, limits: Limits) -> Saturated {
    let mut ids: Vec<Id> = Vec::with_capacity(dag.nodes.len());
    for node in &dag.nodes {
        let node = node.clone().map_children(|child| ids[usize::from(child)]);
        ids.push(egraph.add(node));
    }
    egraph.rebuild();
    let rules: Vec<_> = RULES.iter().map(|rule| rule.rewrite()).collect();
    let runner = Runner::<Term, Facet, ()>::new(Facet::new(dag))
        .with_egraph(egraph)
        .with_node_limit(limits.nodes)
        .with_iter_limit(limits.iterations)
        .with_time_limit(Duration::from_secs(24 * 3600))
        .run(&rules);
    let complete = matches!(runner.stop_reason, Some(egg::StopReason::Saturated));
    let (iterations, egraph) = (runner.iterations.len(), runner.egraph);
    let classes = ids.into_iter().map(|id| egraph.find(id)).collect();
    Saturated { egraph, classes, iterations, complete }
}
