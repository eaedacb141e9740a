//! Variants of a program: one spelling for each class, chosen by the cost of the whole DAG.

use super::analysis::Graph;
use super::saturate::Saturated;
use crate::graph::NodeId;
use crate::search::term::{Context, Dag, Facts, Id, Root, Term};
use egg::Language;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Rounds of local search; it ends earlier when nothing improves.
const ROUNDS: usize = 20;
/// Leaves and weight-only values cost almost nothing: they are computed once, at load.
const NEGLIGIBLE: f64 = 1e-3;

/// Arithmetic of a node over all its elements.
pub fn node_cost(context: &Context, node: &Term, of: impl Fn(Id) -> Facts) -> f64 {
    let facts = context.facts(node, &of);
    if facts.weight || node.is_leaf() {
        return NEGLIGIBLE;
    }
    let elements = node.body().map_or(facts.free, |body| of(body).free);
    let each = match node {
        Term::Exp2(_) | Term::Log2(_) | Term::Sin(_) => 8.0,
        Term::Sqrt(_) | Term::Recip(_) => 4.0,
        _ => 1.0,
    };
    context.volume(elements) * each
}

/// Arithmetic of a whole DAG.
pub fn dag_cost(dag: &Dag) -> f64 {
    dag.nodes.iter().map(|node| node_cost(&dag.context, node, |id| dag.facts(id))).sum()
}

/// One spelling for each class; classes that no root needs may be missing.
type Choice = HashMap<Id, Term>;

/// Cost of the terms that the roots need, and their classes, operands first.
struct Priced {
    cost: f64,
    order: Vec<Id>,
}

struct Extractor<'a> {
    egraph: &'a Graph,
    roots: Vec<Id>,
}

impl Extractor<'_> {
    fn cost_of(&self, node: &Term) -> f64 {
        node_cost(&self.egraph.analysis.context, node, |id| self.egraph[id].data.facts)
    }

    /// None if the choice is cyclic or incomplete.
    fn price(&self, choice: &Choice) -> Option<Priced> {
        let mut priced = Priced { cost: 0.0, order: Vec::new() };
        let mut finished: HashMap<Id, bool> = HashMap::new();
        let mut stack: Vec<(Id, bool)> = self.roots.iter().rev().map(|root| (*root, false)).collect();
        while let Some((class, children_done)) = stack.pop() {
            let node = choice.get(&class)?;
            if children_done {
                finished.insert(class, true);
                priced.cost += self.cost_of(node);
                priced.order.push(class);
                continue;
            }
            match finished.get(&class) {
                Some(true) => continue,
                Some(false) => return None,
                None => {}
            }
            finished.insert(class, false);
            stack.push((class, true));
            for child in node.children().iter().rev() {
                let child = self.egraph.find(*child);
                match finished.get(&child) {
                    Some(true) => {}
                    Some(false) => return None,
                    None => stack.push((child, false)),
                }
            }
        }
        Some(priced)
    }

    /// The spellings of the DAG that the e-graph started from.
    fn imported(&self, dag: &Dag, saturated: &Saturated) -> Choice {
        let mut choice = Choice::new();
        for (node, class) in dag.nodes.iter().zip(&saturated.classes) {
            let node = node.clone().map_children(|child| saturated.classes[usize::from(child)]);
            // A literal has dropped its other spellings.
            let node = self.egraph[*class].data.literal.clone().unwrap_or(node);
            choice.insert(*class, node);
        }
        choice
    }

    /// Every class takes the spelling whose whole set of needed classes is cheapest, leaves first.
    fn greedy(&self) -> Choice {
        let mut ids: Vec<Id> = self.egraph.classes().map(|class| class.id).collect();
        ids.sort();
        let position: HashMap<Id, usize> = ids.iter().enumerate().map(|(i, id)| (*id, i)).collect();
        let at = |id: &Id| position[&self.egraph.find(*id)];
        let mut parents: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); ids.len()];
        for (i, id) in ids.iter().enumerate() {
            for node in &self.egraph[*id].nodes {
                node.for_each(|child| {
                    parents[at(&child)].insert(i);
                });
            }
        }
        let mut best: Vec<Option<Cheapest>> = vec![None; ids.len()];
        let mut queue: BTreeSet<usize> = (0..ids.len()).collect();
        while let Some(i) = queue.pop_first() {
            let mut improved = false;
            for node in &self.egraph[ids[i]].nodes {
                let children: Option<Vec<&Cheapest>> =
                    node.children().iter().map(|child| best[at(child)].as_ref()).collect();
                let Some(children) = children else { continue };
                let mut needed = vec![0u64; ids.len().div_ceil(64)];
                for child in children {
                    needed.iter_mut().zip(&child.needed).for_each(|(all, some)| *all |= some);
                }
                if needed[i / 64] >> (i % 64) & 1 == 1 {
                    continue;
                }
                let own = self.cost_of(node);
                let cost = own + bits(&needed).filter_map(|j| best[j].as_ref()).map(|b| b.own).sum::<f64>();
                needed[i / 64] |= 1 << (i % 64);
                if best[i].as_ref().is_none_or(|b| cost < b.cost - 1e-9 * b.cost.abs()) {
                    best[i] = Some(Cheapest { cost, own, needed, node: node.clone() });
                    improved = true;
                }
            }
            if improved {
                queue.extend(&parents[i]);
            }
        }
        ids.iter().zip(best).filter_map(|(id, best)| Some((*id, best?.node))).collect()
    }

    /// Flips one class at a time while the cost of the whole falls.
    fn improve(&self, choice: &mut Choice, mut priced: Priced) -> Priced {
        for _ in 0..ROUNDS {
            let before = priced.cost;
            for class in priced.order.clone() {
                if self.egraph[class].data.facts.weight {
                    continue;
                }
                for node in &self.egraph[class].nodes {
                    let Some(old) = choice.insert(class, node.clone()) else { continue };
                    match self.price(choice) {
                        Some(new) if new.cost < priced.cost * (1.0 - 1e-9) => priced = new,
                        _ => {
                            choice.insert(class, old);
                        }
                    }
                }
            }
            if priced.cost == before {
                break;
            }
        }
        priced
    }

    /// All single flips away from a choice, cheapest first.
    fn flips(&self, choice: &mut Choice, order: &[Id]) -> Vec<(Id, Term)> {
        let mut flips: Vec<(f64, Id, Term)> = Vec::new();
        for class in order.iter().filter(|class| !self.egraph[**class].data.facts.weight) {
            for node in &self.egraph[*class].nodes {
                let Some(old) = choice.insert(*class, node.clone()) else { continue };
                if *node != old
                    && let Some(priced) = self.price(choice)
                {
                    flips.push((priced.cost, *class, node.clone()));
                }
                choice.insert(*class, old);
            }
        }
        flips.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)).then(x.2.cmp(&y.2)));
        flips.into_iter().map(|(_, class, node)| (class, node)).collect()
    }
}

/// The cheapest spelling of a class so far.
#[derive(Clone)]
struct Cheapest {
    cost: f64,
    /// Cost of the node alone.
    own: f64,
    /// Classes it needs, itself included: a bit set.
    needed: Vec<u64>,
    node: Term,
}

fn bits(words: &[u64]) -> impl Iterator<Item = usize> {
    words
        .iter()
        .enumerate()
        .flat_map(|(i, word)| (0..64).filter(move |b| word >> b & 1 == 1).map(move |b| i * 64 + b))
}

/// Recognises variants that differ only in the order of operands.
#[derive(Default)]
struct Shapes {
    known: BTreeMap<Term, usize>,
}

impl Shapes {
    /// The same numbers for the same program.
    fn key(&mut self, dag: &Dag) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::new();
        for node in &dag.nodes {
            let mut node = node.clone().map_children(|child| Id::from(numbers[usize::from(child)]));
            if let Term::Add(ids) | Term::Mul(ids) | Term::Max(ids) = &mut node {
                ids.sort();
            }
            let next = self.known.len();
            numbers.push(*self.known.entry(node).or_insert(next));
        }
        dag.roots.iter().map(|root| numbers[usize::from(root.term)]).collect()
    }
}

/// The chosen terms as a DAG.
fn build(
    egraph: &Graph,
    choice: &Choice,
    order: &[Id],
    like: &Dag,
    roots: &[Id],
    origins: &HashMap<Id, BTreeSet<NodeId>>,
) -> Dag {
    let mut dag = Dag::new(Rc::clone(&like.context));
    let mut built: HashMap<Id, Id> = HashMap::new();
    for class in order {
        let node = choice[class].clone().map_children(|child| built[&egraph.find(child)]);
        let children: Vec<Id> = node.children().to_vec();
        let id = dag.add(node);
        match origins.get(class) {
            Some(nodes) => dag.add_origins(id, nodes.iter().copied()),
            // A new value comes from whatever its operands come from.
            None => {
                let nodes: BTreeSet<NodeId> =
                    children.iter().flat_map(|child| dag.origins(*child).clone()).collect();
                dag.add_origins(id, nodes);
            }
        }
        built.insert(*class, id);
    }
    let roots = like.roots.iter().zip(roots);
    dag.roots = roots.map(|(root, class)| Root { term: built[class], ..root.clone() }).collect();
    dag
}

/// At most `count` different programs with the meaning of `dag`, which is always one of them: the cheapest that local
/// search finds, then the imported one, then the cheapest that differ from the first in one class.
pub fn variants(saturated: &Saturated, dag: &Dag, count: usize) -> Vec<Dag> {
    let egraph = &saturated.egraph;
    let roots: Vec<Id> = dag.roots.iter().map(|root| saturated.classes[usize::from(root.term)]).collect();
    let mut origins: HashMap<Id, BTreeSet<NodeId>> = HashMap::new();
    for (id, class) in dag.ids().zip(&saturated.classes) {
        origins.entry(*class).or_default().extend(dag.origins(id));
    }
    let extractor = Extractor { egraph, roots };
    let greedy = extractor.greedy();
    let mut choice = greedy.clone();
    choice.extend(extractor.imported(dag, saturated));
    // Where rules made two imported values equal, their spellings may need each other.
    let start = match (extractor.price(&choice), extractor.price(&greedy)) {
        (Some(imported), Some(cheap)) if cheap.cost >= imported.cost => imported,
        (Some(imported), None) => imported,
        (_, Some(cheap)) => {
            choice = greedy;
            cheap
        }
        (None, None) => return vec![dag.clone()],
    };
    let best = extractor.improve(&mut choice, start);
    let make = |choice: &Choice, order: &[Id]| build(egraph, choice, order, dag, &extractor.roots, &origins);
    let mut shapes = Shapes::default();
    let first = make(&choice, &best.order);
    let mut seen = BTreeSet::from([shapes.key(&first)]);
    let mut all = vec![first];
    if seen.insert(shapes.key(dag)) {
        all.push(dag.clone());
    }
    for (class, node) in extractor.flips(&mut choice, &best.order) {
        if all.len() >= count {
            break;
        }
        let Some(old) = choice.insert(class, node) else { continue };
        if let Some(priced) = extractor.price(&choice) {
            let variant = make(&choice, &priced.order);
            if seen.insert(shapes.key(&variant)) {
                all.push(variant);
            }
        }
        choice.insert(class, old);
    }
    all
}
