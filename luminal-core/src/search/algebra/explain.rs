//! Why a variant equals the program as written: the rewrites that lead from one to the other.
//!
//! An e-graph that keeps proofs takes more memory, so that the search does without; this saturates once more, for the
//! chosen variant only.

use super::analysis::{Facet, Graph};
use super::saturate::{Limits, saturate_in};
use crate::search::term::{Context, Dag, Id, Term};
use egg::{Language, TreeTerm};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Longest term that is shown.
const LENGTH: usize = 160;
/// Operands are shown so deep.
const DEPTH: usize = 3;
/// So many steps are kept.
const STEPS: usize = 400;

/// One rewrite.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The rule.
    pub rule: String,
    /// The term that it matched, shortened.
    pub before: String,
    /// What replaced it, shortened.
    pub after: String,
}

/// How a variant follows from the program as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The rules with the number of different places where each was used.
    pub rules: BTreeMap<String, usize>,
    /// The rewrites, operands first; those that only swap operands are left out.
    pub steps: Vec<Step>,
    /// Roots whose rewrites were not found again.
    pub unexplained: usize,
}

/// Explains a variant of a program. Nothing is to be explained where it is the program itself.
pub fn explain(written: &Dag, chosen: &Dag, limits: Limits) -> Explanation {
    let mut explanation = Explanation::default();
    if is_same(written, chosen) {
        return explanation;
    }
    let egraph = Graph::new(Facet::new(written)).with_explanations_enabled();
    let egraph = egraph.without_explanation_length_optimization();
    let mut egraph = saturate_in(egraph, written, limits).egraph;
    // Proofs are about terms as they are spelled, not about their classes.
    let (from, to) = (spelled(&mut egraph, written), spelled(&mut egraph, chosen));
    egraph.rebuild();
    let mut walk =
        Walk { context: &written.context, seen: BTreeSet::new(), known: BTreeSet::new(), steps: vec![] };
    for (written, chosen) in written.roots.iter().zip(&chosen.roots) {
        let (from, to) = (from[usize::from(written.term)], to[usize::from(chosen.term)]);
        if egraph.find(from) == egraph.find(to) {
            walk.chain(&egraph.explain_id_equivalence(from, to).explanation_trees);
        } else {
            explanation.unexplained += 1;
        }
    }
    for step in walk.steps {
        *explanation.rules.entry(step.rule.clone()).or_default() += 1;
        if !step.rule.starts_with("comm-") && explanation.steps.len() < STEPS {
            explanation.steps.push(step);
        }
    }
    explanation
}

fn is_same(written: &Dag, chosen: &Dag) -> bool {
    let mut both = written.clone();
    let mut ids: Vec<Id> = vec![];
    for node in &chosen.nodes {
        let id = both.add(node.clone().map_children(|child| ids[usize::from(child)]));
        ids.push(id);
    }
    written.roots.iter().zip(&chosen.roots).all(|(w, c)| w.term == ids[usize::from(c.term)])
}

fn spelled(egraph: &mut Graph, dag: &Dag) -> Vec<Id> {
    let mut ids: Vec<Id> = Vec::with_capacity(dag.nodes.len());
    for node in &dag.nodes {
        let node = node.clone().map_children(|child| ids[usize::from(child)]);
        ids.push(egraph.add_uncanonical(node));
    }
    ids
}

/// Collects the steps of proofs. A proof shares its parts, so that each is visited once; it is never written out whole.
struct Walk<'a> {
    context: &'a Context,
    seen: BTreeSet<*const TreeTerm<Term>>,
    known: BTreeSet<Step>,
    steps: Vec<Step>,
}

impl Walk<'_> {
    fn chain(&mut self, chain: &[Rc<TreeTerm<Term>>]) {
        for (number, tree) in chain.iter().enumerate() {
            if !self.seen.insert(Rc::as_ptr(tree)) {
                continue;
            }
            if number > 0 {
                let (left, right) = (self.show(&chain[number - 1], true), self.show(tree, false));
                if let Some(rule) = tree.forward_rule {
                    self.step(rule.as_str(), left, right);
                } else if let Some(rule) = tree.backward_rule {
                    self.step(rule.as_str(), right, left);
                }
            }
            for proof in &tree.child_proofs {
                self.chain(proof);
            }
        }
    }

    fn step(&mut self, rule: &str, before: String, after: String) {
        let step = Step { rule: rule.into(), before, after };
        if self.known.insert(step.clone()) {
            self.steps.push(step);
        }
    }

    /// A term of a chain of equal terms, its operands as they are at the start or at the end of their own chains.
    fn show(&self, tree: &TreeTerm<Term>, last: bool) -> String {
        let text = self.nested(tree, last, DEPTH);
        match text.char_indices().nth(LENGTH) {
            Some((end, _)) => format!("{} ..", &text[..end]),
            None => text,
        }
    }

    fn nested(&self, tree: &TreeTerm<Term>, last: bool, depth: usize) -> String {
        match &tree.node {
            Term::Load(access) => return self.context.access(*access).to_string(),
            Term::Position(index) => return format!("position({})", self.context.index_expr(*index)),
            Term::Inside(inside) => return self.context.inside(*inside).to_string(),
            node @ Term::Axes(_) => {
                return node.axis_set().iter().map(|axis| format!("a{axis}")).collect::<Vec<_>>().join(" ");
            }
            node if node.is_leaf() => return node.to_string(),
            _ if depth == 0 => return "..".into(),
            _ => {}
        }
        let operands = tree.child_proofs.iter().map(|proof| {
            let operand = if last { proof.last() } else { proof.first() };
            operand.map_or_else(String::new, |operand| self.nested(operand, last, depth - 1))
        });
        format!("{}({})", tree.node, operands.collect::<Vec<_>>().join(", "))
    }
}
