//! Partitions as records: what a plan consists of, and the plan again.

use super::atoms::ATOM;
use super::cones::Candidate;
use super::form::Form;
use super::machine::Machine;
use super::plan::{Fused, Partition, Problems, When, finish, fused};
use super::problem::Problem;
use super::set::NodeSet;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::search::Explored;
use crate::search::term::{Axis, AxisSet, Dag, Id};
use std::fmt::{self, Display, Formatter};

/// What is needed to have a [`Fused`] again: numbers of terms in the program it was found for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// At load or in every run.
    pub when: When,
    /// The terms that it computes, ascending.
    pub set: Vec<usize>,
    /// The terms that it was made for.
    pub sinks: Vec<usize>,
    /// The terms that it stores.
    pub outputs: Vec<usize>,
    /// Axes that may be streamed as a fold; given if there are several sinks, for else they follow from the set.
    pub fold: Option<Vec<usize>>,
}

fn numbers(ids: &[Id]) -> Vec<usize> {
    ids.iter().map(|id| usize::from(*id)).collect()
}

impl Cut {
    /// What to record of a kernel.
    pub fn of(kernel: &Fused) -> Cut {
        let fold = kernel.fold.filter(|_| kernel.sinks.len() > 1);
        Cut {
            when: kernel.when,
            set: numbers(&kernel.set),
            sinks: numbers(&kernel.sinks),
            outputs: numbers(&kernel.outputs),
            fold: fold.map(|axes| axes.iter().map(usize::from).collect()),
        }
    }

    /// Reads what `Display` writes: `run 3 4 7 for 7 stores 4 7`, and `folds 2` at the end if axes are given.
    ///
    /// # Errors
    /// The word that is wrong.
    pub fn parse(text: &str) -> Result<Cut> {
        let mut words = text.split_whitespace();
        let when = match words.next() {
            Some("load") => When::Load,
            Some("run") => When::Run,
            _ => return Err(Error::new(format!("`{text}` begins with neither `load` nor `run`"))),
        };
        let mut cut = Cut { when, set: vec![], sinks: vec![], outputs: vec![], fold: None };
        let mut list = &mut cut.set;
        for word in words {
            match word {
                "for" => list = &mut cut.sinks,
                "stores" => list = &mut cut.outputs,
                "folds" => list = cut.fold.insert(vec![]),
                _ => list.push(
                    word.parse().map_err(|_| Error::new(format!("`{word}` in `{text}` is no number")))?,
                ),
            }
        }
        Ok(cut)
    }
}

impl Display for Cut {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let list = |items: &[usize]| items.iter().map(|i| i.to_string()).collect::<Vec<_>>().join(" ");
        let when = if self.when == When::Load { "load" } else { "run" };
        write!(f, "{when} {} for {} stores {}", list(&self.set), list(&self.sinks), list(&self.outputs))?;
        match &self.fold {
            Some(axes) => write!(f, " folds {}", list(axes)),
            None => Ok(()),
        }
    }
}

/// The plan that consists of these kernels.
///
/// # Errors
/// They are not of this program, or do not make a plan of it.
pub fn replay(graph: &Graph, dag: &Dag, machine: Machine, cuts: &[Cut]) -> Result<Partition> {
    let problems = Problems::new(graph, dag, machine, ATOM);
    let kernels = cuts.iter().map(|cut| {
        let problem = if cut.when == When::Load { &problems.load } else { &problems.run };
        let candidate = problem.recorded(cut)?;
        Ok(fused(problem, &candidate, &cut.outputs, cut.when))
    });
    finish(dag, kernels.collect::<Result<_>>()?, Explored::default())
}

impl Problem<'_> {
    fn recorded(&self, cut: &Cut) -> Result<Candidate> {
        let fail =
            |what: &str| Error::new(format!("the recorded kernel `{cut}` is none of this model: {what}"));
        let count = self.dag.nodes.len();
        if cut.set.iter().chain(&cut.sinks).chain(&cut.outputs).any(|i| *i >= count) {
            return Err(fail("it names terms that the model does not have"));
        }
        // What is recomputed wherever it is used comes along by itself.
        let set = NodeSet::of(count, cut.set.iter().copied().filter(|i| self.ops.contains(*i)));
        if cut.sinks.is_empty() || cut.sinks.iter().chain(&cut.outputs).any(|i| !set.contains(*i)) {
            return Err(fail("it does not compute what it stores"));
        }
        if let [sink] = cut.sinks[..] {
            let candidate =
                self.candidate(&set, sink).ok_or_else(|| fail("no form of kernel computes it"))?;
            let stores = |i: &usize| *i == sink || candidate.storable.contains(*i);
            return if cut.outputs.iter().all(stores) {
                Ok(candidate)
            } else {
                Err(fail("it cannot store this"))
            };
        }
        let axes = self.dag.context.extents.len();
        let fold = match &cut.fold {
            Some(fold) if fold.iter().any(|axis| *axis >= axes) => return Err(fail("it has no such axis")),
            Some(fold) => Some(fold.iter().map(|axis| *axis as Axis).collect::<AxisSet>()),
            None => None,
        };
        if fold.is_some_and(|axes| self.folds(&set, axes).is_none()) {
            return Err(fail("it is no fold"));
        }
        Ok(Candidate {
            work: self.work(&set, &cut.sinks),
            form: Form::Siblings,
            fold,
            storable: NodeSet::of(count, cut.sinks.iter().copied()),
            leaves: self.leaves(&set),
            sinks: cut.sinks.clone(),
            set,
        })
    }
}
