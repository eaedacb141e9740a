//! Plans: kernels at load, then kernels of every run, each after what it reads.

use super::atoms::ATOM;
use super::cones::Candidate;
use super::form::Form;
use super::lazy::{Clock, Effort, cheapest};
use super::machine::{Machine, Work};
use super::phases::Phases;
use super::problem::Problem;
use super::set::NodeSet;
use super::space::Space;
use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId};
use crate::search::Explored;
use crate::search::term::{AxisSet, Dag, Id, Term};
use egg::Language;
use std::collections::BTreeSet;

/// When a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum When {
    /// Once, when the model is loaded: it depends on weights alone.
    Load,
    /// In every run.
    Run,
}

/// The values that one kernel computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    /// Every value it computes, ascending, leaves excluded. Operands of these are in it, leaves, or in `inputs`.
    pub set: Vec<Id>,
    /// The values that it was made for.
    pub sinks: Vec<Id>,
    /// The values it stores: each to the graph nodes of all roots with this term, else to a buffer of its own.
    pub outputs: Vec<Id>,
    /// Values of other kernels that it needs, as operands or through the buffer of a root.
    pub inputs: Vec<Id>,
    /// Graph nodes whose buffers its loads read.
    pub reads: Vec<NodeId>,
    /// What shape of kernel computes it.
    pub form: Form,
    /// Axes that may be streamed as a fold (`cascade::derive` of the set over these axes).
    pub fold: Option<AxisSet>,
    /// At load or in every run.
    pub when: When,
    /// Seconds that it takes at least.
    pub bound: f64,
    /// What plans are compared by.
    pub cost: f64,
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes read and written at least.
    pub bytes: f64,
}

/// Limits of a partition, in work.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Candidates for each value.
    pub cones: usize,
    /// States that are kept for each value: those with the least cost so far and arithmetic left. Only if there are more
    /// is the plan not known to be the best.
    pub width: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { cones: 64, width: 256 }
    }
}

/// A plan for one DAG.
#[derive(Clone, Debug)]
pub struct Partition {
    /// In execution order.
    pub kernels: Vec<Fused>,
    /// Seconds of a run, at least.
    pub bound: f64,
    /// What plans are compared by: the bound, and arithmetic that may be repeated.
    pub cost: f64,
    /// States and candidate kernels that were looked at, for reports.
    pub explored: Explored,
    /// What was measured of the kernels of a run.
    pub effort: Effort,
}

/// The two partition problems of a DAG.
pub(super) struct Problems<'a> {
    pub load: Problem<'a>,
    pub run: Problem<'a>,
}

impl<'a> Problems<'a> {
    /// With atoms of at most `atom` values.
    pub fn new(graph: &'a Graph, dag: &'a Dag, machine: Machine, atom: usize) -> Problems<'a> {
        let count = dag.nodes.len();
        let phases = Phases::new(dag);
        let root_terms = || dag.roots.iter().map(|root| usize::from(root.term));
        // Values at load may also be inline in a run; only those that are stored are operands there.
        let mut stored_at_load = phases.load.clone();
        stored_at_load.subtract(&phases.inline);
        let mut at_load = NodeSet::of(count, root_terms().filter(|i| stored_at_load.contains(*i)));
        let computed = phases.run.union(&phases.inline);
        for i in computed.iter() {
            let operands = dag.nodes[i].values().iter().map(|x| usize::from(*x));
            for x in operands.filter(|x| stored_at_load.contains(*x)) {
                at_load.insert(x);
            }
        }
        let wanted = NodeSet::of(count, root_terms().filter(|i| phases.run.contains(*i)));
        let needed = |wanted: &NodeSet, within: &NodeSet| {
            let mut needed = wanted.clone();
            for i in (0..count).rev().filter(|i| within.contains(*i)) {
                if needed.contains(i) {
                    for x in dag.nodes[i].values().iter().map(|x| usize::from(*x)) {
                        if within.contains(x) {
                            needed.insert(x);
                        }
                    }
                }
            }
            needed
        };
        let load_ops = needed(&at_load, &phases.load);
        let run_ops = needed(&wanted, &phases.run);
        let (inline_at_load, inline) = (phases.inline_at_load, phases.inline);
        Problems {
            load: Problem::new(graph, dag, machine, load_ops, [inline_at_load, at_load], atom),
            run: Problem::new(graph, dag, machine, run_ops, [inline, wanted], atom),
        }
    }
}

/// The best plan by time and bound, or one that a beam found where there are too many ways: see [`Limits`].
///
/// # Errors
/// A bug of the partition: the plan it found is not executable.
pub fn partition(
    graph: &Graph,
    dag: &Dag,
    machine: Machine,
    limits: Limits,
    clock: &mut dyn Clock,
) -> Result<Partition> {
    let problems = Problems::new(graph, dag, machine, ATOM);
    let mut kernels = Vec::new();
    let mut effort = Effort::default();
    let mut explored = Explored::default();
    for (problem, when) in [(&problems.load, When::Load), (&problems.run, When::Run)] {
        let candidates = problem.candidates(limits.cones);
        let space = Space::new(problem, &candidates, limits.width);
        explored.states += space.states.len();
        explored.candidates += space.steps.len();
        explored.exact &= space.exact;
        // What is computed once, at load, is not worth measuring.
        let found = match when {
            When::Load => space.solve(|step| step.cost).map(|(_, path)| (path, Effort::default())),
            When::Run => cheapest(problem, &space, clock)?,
        };
        match found {
            Some((path, spent)) => {
                if when == When::Run {
                    effort = spent;
                }
                for step in path.into_iter().map(|step| &space.steps[step]) {
                    kernels.push(fused(problem, step.kernel, &step.outputs, when));
                }
            }
            None => kernels.extend(one_for_each(problem, when)?),
        }
    }
    Ok(Partition { effort, ..finish(dag, kernels, explored)? })
}

/// One kernel for each operation; the product of a contraction stays with its sum, and padding with what reads it.
///
/// # Errors
/// A bug of the partition: the plan it found is not executable.
pub fn separate(graph: &Graph, dag: &Dag, machine: Machine) -> Result<Partition> {
    let problems = Problems::new(graph, dag, machine, ATOM);
    let mut kernels = one_for_each(&problems.load, When::Load)?;
    kernels.extend(one_for_each(&problems.run, When::Run)?);
    finish(dag, kernels, Explored::default())
}

fn one_for_each(problem: &Problem, when: When) -> Result<Vec<Fused>> {
    let count = problem.dag.nodes.len();
    let part_of_user = |i: usize, user: usize| {
        let summed = matches!(problem.node(i), Term::Mul(_)) && problem.users[i].len() == 1;
        problem.is_padding(i) || (summed && problem.is_contraction(user, &product_below(problem, user)))
    };
    let own: Vec<usize> = problem
        .ops
        .iter()
        .filter(|i| {
            let mut users = problem.users[*i].iter();
            problem.roots.contains(*i) || !users.all(|user| part_of_user(*i, user))
        })
        .collect();
    let mut left: Vec<(usize, NodeSet)> = Vec::new();
    for sink in own {
        let mut set = NodeSet::of(count, [sink]);
        let mut queue = vec![sink];
        while let Some(user) = queue.pop() {
            for i in problem.direct[user].iter().filter(|i| part_of_user(*i, user)) {
                if !problem.roots.contains(i) && set.insert(i) {
                    queue.push(i);
                }
            }
        }
        left.push((sink, set));
    }
    // Loads of stored values may point to later nodes.
    left.sort_by_key(|(sink, _)| (problem.depth[*sink], *sink));
    left.into_iter()
        .map(|(sink, set)| {
            let candidate = problem.candidate(&set, sink).ok_or_else(|| {
                let text = problem.dag.show(Id::from(sink), 2);
                Error::new(format!("no kernel form computes {text}; please report this model"))
            })?;
            Ok(fused(problem, &candidate, &[sink], when))
        })
        .collect()
}

/// A contraction with the product that it sums.
fn product_below(problem: &Problem, i: usize) -> NodeSet {
    let mut set = NodeSet::of(problem.dag.nodes.len(), [i]);
    let mut queue: Vec<usize> = problem.node(i).body().into_iter().map(usize::from).collect();
    while let Some(x) = queue.pop() {
        if let Term::Mul(operands) = problem.node(x)
            && problem.ops.contains(x)
            && set.insert(x)
        {
            queue.extend(operands.iter().map(|x| usize::from(*x)));
        }
    }
    set
}

/// A step of a plan with everything that later stages ask for.
pub(super) fn fused(problem: &Problem, kernel: &Candidate, outputs: &[usize], when: When) -> Fused {
    let work = problem.work(&kernel.set, outputs);
    let (bound, cost) = (work.bound(&problem.machine), work.cost(&problem.machine));
    let Work { bytes, flops, .. } = work;
    // Inline values are computed here like the rest.
    let mut set = kernel.set.clone();
    let mut inputs = kernel.leaves.clone();
    let mut reads = BTreeSet::new();
    let mut queue: Vec<usize> = kernel.set.iter().collect();
    while let Some(i) = queue.pop() {
        for child in problem.node(i).children() {
            let c = usize::from(*child);
            if let Some(access) = problem.dag.access(*child).filter(|_| problem.node(c).is_leaf()) {
                reads.insert(access.node);
            } else if problem.inline.contains(c) && !kernel.leaves.contains(c) {
                if set.insert(c) {
                    queue.push(c);
                }
            } else if !problem.node(c).is_leaf() && !set.contains(c) {
                inputs.insert(c);
            }
        }
    }
    for root in problem.dag.roots.iter().filter(|root| reads.contains(&root.node)) {
        if !problem.dag.node(root.term).is_leaf() {
            inputs.insert(usize::from(root.term));
        }
    }
    Fused {
        sinks: kernel.sinks.iter().copied().map(Id::from).collect(),
        outputs: outputs.iter().copied().map(Id::from).collect(),
        set: set.ids(),
        inputs: inputs.ids(),
        reads: reads.into_iter().collect(),
        form: kernel.form,
        // What lies along the stream cannot be stored before its end.
        fold: kernel.fold.filter(|axes| !outputs.iter().any(|i| problem.free(*i).meets(*axes))),
        when,
        bound,
        cost,
        flops,
        bytes,
    }
}

/// Checks that the kernels can run in this order and store what is wanted.
pub(super) fn finish(dag: &Dag, kernels: Vec<Fused>, explored: Explored) -> Result<Partition> {
    let mut stored: BTreeSet<Id> = BTreeSet::new();
    for (i, kernel) in kernels.iter().enumerate() {
        if let Some(missing) = kernel.inputs.iter().find(|id| !stored.contains(id)) {
            let text = dag.show(*missing, 2);
            return Err(Error::new(format!(
                "kernel {i} reads a value that no kernel before it stores: {text}; please report this model"
            )));
        }
        stored.extend(&kernel.outputs);
    }
    let wanted = dag.roots.iter().filter(|root| !dag.node(root.term).is_leaf());
    if let Some(root) = wanted.into_iter().find(|root| !stored.contains(&root.term)) {
        return Err(Error::new(format!("no kernel stores node {}; please report this model", root.node)));
    }
    let runs = || kernels.iter().filter(|kernel| kernel.when == When::Run);
    let (bound, cost) = (runs().map(|kernel| kernel.bound).sum(), runs().map(|kernel| kernel.cost).sum());
    Ok(Partition { kernels, bound, cost, explored, effort: Effort::default() })
}
