//! What the search found: its text, and its execution by definition.

use super::cascade::{FoldRun, derive};
use super::partition::{Cut, Effort, Fused, When};
use super::term::{Buffers, Dag, Dense, Evaluator, Id, Precision, Root};
use crate::error::{Error, Result};
use crate::graph::Graph;
use std::collections::BTreeMap;
use std::fmt;

/// The chosen program and its kernels.
#[derive(Clone, Debug)]
pub struct Found {
    /// The chosen variant.
    pub dag: Dag,
    /// Its number among the variants.
    pub variant: usize,
    /// Its kernels in execution order: those at load first, each after what it reads. Roots that are leaves (an output
    /// that is an element of an input, a literal or a position) are no kernel's output.
    pub kernels: Vec<Fused>,
    /// Seconds of a run, at least.
    pub bound: f64,
    /// How the result came about, one sentence each.
    pub log: Vec<String>,
    /// How much was looked at.
    pub explored: Explored,
}

/// How much a search looked at, in work and not in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Nodes of the e-graph.
    pub e_nodes: usize,
    /// Rounds of all rules.
    pub iterations: usize,
    /// True if no rule had anything to add.
    pub saturated: bool,
    /// States of all partitions.
    pub states: usize,
    /// Candidate kernels of all partitions: what is computed, and what of it is stored.
    pub candidates: usize,
    /// True if each partition was solved exactly, false if a beam left states out.
    pub exact: bool,
}

impl Default for Explored {
    fn default() -> Explored {
        Explored { e_nodes: 0, iterations: 0, saturated: true, states: 0, candidates: 0, exact: true }
    }
}

impl Explored {
    /// That of two searches: the larger e-graph, the sum of states and candidates.
    pub fn and(self, other: Explored) -> Explored {
        Explored {
            e_nodes: self.e_nodes.max(other.e_nodes),
            iterations: self.iterations.max(other.iterations),
            saturated: self.saturated && other.saturated,
            states: self.states + other.states,
            candidates: self.candidates + other.candidates,
            exact: self.exact && other.exact,
        }
    }
}

/// The decisions of a search, to be recorded: with them the same result is there again without searching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The number of the variant.
    pub variant: usize,
    /// Its kernels in execution order.
    pub kernels: Vec<Cut>,
}

/// A sentence about measurements, if there were any.
pub(super) fn measured(effort: &Effort) -> Option<String> {
    let percent = |gap: Option<f64>| gap.map_or("unknown".into(), |gap| format!("{:.1} %", gap * 100.0));
    (effort.measured > 0).then(|| {
        format!(
            "  {} of {} candidate kernels measured; another plan may be better by {} as estimated, by {} as proved",
            effort.measured,
            effort.candidates,
            percent(effort.estimated_gap),
            percent(effort.proved_gap)
        )
    })
}

impl Found {
    /// What to record.
    pub fn recipe(&self) -> Recipe {
        Recipe { variant: self.variant, kernels: self.kernels.iter().map(Cut::of).collect() }
    }

    /// Runs the plan kernel by kernel on buffers only, folds in random blocks; adds the buffer of every root.
    ///
    /// `buffers` hold inputs, weights and states. This is for tests: it is as slow as the definition.
    ///
    /// # Errors
    /// A kernel computes something that it may not, or reads what nobody stored.
    pub fn execute(
        &self,
        graph: &Graph,
        mut buffers: Buffers,
        free: &[usize],
        precision: Precision,
    ) -> Result<Buffers> {
        let mut stored: BTreeMap<Id, Dense> = BTreeMap::new();
        let mut leaves: Vec<&Root> =
            self.dag.roots.iter().filter(|root| self.dag.node(root.term).is_leaf()).collect();
        let mut left: Vec<usize> = (0..self.kernels.len()).collect();
        loop {
            // A root that is an element of another one is no kernel's output: it is there as soon as that one is.
            let there = |root: &&&Root| match self.dag.access(root.term) {
                Some(access) => buffers.contains_key(&access.node),
                None => true,
            };
            if let Some(place) = leaves.iter().position(|root| there(&root)) {
                let root = leaves.remove(place);
                let shape = graph.sizes(root.node, free);
                let mut evaluator = Evaluator::new(&self.dag, &buffers, free, precision);
                let data = evaluator.store(root.term, &root.index, &shape);
                buffers.insert(root.node, (shape, data));
                continue;
            }
            let ready = |number: &usize| self.kernels[*number].reads.iter().all(|n| buffers.contains_key(n));
            let Some(number) = left.iter().copied().find(ready) else { break };
            left.retain(|other| *other != number);
            let kernel = &self.kernels[number];
            self.check(number, kernel)?;
            let mut evaluator = Evaluator::new(&self.dag, &buffers, free, precision);
            for input in &kernel.inputs {
                if let Some(value) = stored.get(input) {
                    evaluator.known.insert(*input, value.clone());
                }
            }
            if let Some(axes) = kernel.fold {
                let fold = derive(&self.dag, &|id| kernel.set.binary_search(&id).is_ok(), axes)
                    .map_err(|e| Error::new(format!("kernel {number} is no fold after all: {e}")))?;
                FoldRun { fold: &fold, evaluator: &mut evaluator, seed: number as u64 }.run();
            }
            let mut written = Buffers::new();
            for output in &kernel.outputs {
                evaluator.evaluate(*output);
                stored.insert(*output, evaluator.known[output].clone());
                for root in self.dag.roots.iter().filter(|root| root.term == *output) {
                    let shape = graph.sizes(root.node, free);
                    let data = evaluator.store(root.term, &root.index, &shape);
                    written.insert(root.node, (shape, data));
                }
            }
            buffers.extend(written);
        }
        match left.first() {
            Some(number) => Err(Error::new(format!("kernel {number} reads what no kernel stores"))),
            None => Ok(buffers),
        }
    }

    /// Operands of what a kernel computes are computed there, leaves, or inputs.
    fn check(&self, number: usize, kernel: &Fused) -> Result<()> {
        let inside = |id: &Id| kernel.set.binary_search(id).is_ok();
        for id in &kernel.set {
            for operand in self.dag.node(*id).values() {
                if !inside(operand) && !self.dag.node(*operand).is_leaf() && !kernel.inputs.contains(operand)
                {
                    return Err(Error::new(format!(
                        "kernel {number} needs v{operand}, which is not an input"
                    )));
                }
            }
        }
        match kernel.outputs.iter().find(|id| !inside(id)) {
            Some(id) => Err(Error::new(format!("kernel {number} stores v{id} without computing it"))),
            None => Ok(()),
        }
    }
}

fn values(ids: &[Id]) -> String {
    ids.iter().map(|id| format!("v{id}")).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Found {
    /// The terms, then one kernel a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dag)?;
        for (number, kernel) in self.kernels.iter().enumerate() {
            let when = match kernel.when {
                When::Load => "load",
                When::Run => "run",
            };
            write!(f, "kernel {number} {when}: {}", kernel.form.name())?;
            if let Some(axes) = kernel.fold {
                let axes: Vec<String> = axes.iter().map(|axis| format!("a{axis}")).collect();
                write!(f, ", a fold over {}", axes.join(" "))?;
            }
            let reads: Vec<String> = kernel.reads.iter().map(|node| format!("n{node}")).collect();
            let direct: Vec<Id> =
                kernel.inputs.iter().copied().filter(|id| self.is_operand(kernel, *id)).collect();
            writeln!(
                f,
                " stores {}, computes {}, reads {}",
                values(&kernel.outputs),
                values(&kernel.set),
                [reads.join(" "), values(&direct)].join(" ").trim()
            )?;
        }
        Ok(())
    }
}

impl Found {
    /// True if a kernel reads an input as an operand, not only through the buffer of a graph node.
    fn is_operand(&self, kernel: &Fused, input: Id) -> bool {
        kernel.set.iter().any(|id| self.dag.node(*id).values().contains(&input))
    }
}
