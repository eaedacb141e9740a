//! The road from a graph to tile programs and a plan, stage by stage.
//!
//! Renderers and the C compiler are the caller's: this module ends where text begins.

mod assemble;
pub mod check;
mod correlation;
mod join;
mod judge;
mod stopwatch;
#[cfg(test)]
mod tests;
mod timed;
mod units;

pub use assemble::grid;
pub use judge::{ByModel, Candidate, Judge, Outcome, Trial};
pub use units::{Chosen, TRIAL, Tried, Unit, Units};

use crate::error::{Error, Result};
use crate::graph::{FreeDim, Graph};
use crate::kernel::schedule::Machine;
use crate::mutant::planted;
use crate::phases::Phases;
use crate::plan::Plan;
use crate::search::partition::NoClock;
use crate::search::{self, Found, lower, regions};
use join::Join;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use stopwatch::{Stopwatch, Times};
use timed::Timed;

/// False if this crate was compiled without optimisation: then the search takes several times as long.
pub const IS_OPTIMISED: bool = !matches!(env!("LUMINAL_CORE_OPT_LEVEL").as_bytes(), b"0");

/// How the message begins if the fault is ours. The build then writes down all that is needed to find it.
pub const BUG: &str = "this is a bug in luminal, not in your model";

/// What the build may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// A name that no other model linked into the same program has: the start of every symbol.
    pub prefix: String,
    /// The name of the model.
    pub model: String,
    /// False: one kernel for each operation, to compare with.
    pub fuse: bool,
    /// The machine that schedules are ranked for.
    pub machine: Machine,
}

/// Everything known about a compiled model.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Sizes known at run time only.
    pub free: Vec<FreeDim>,
    /// The distinct regions of the model.
    pub regions: Vec<Region>,
    /// The kernels in index notation, with the tensors between them.
    pub program: lower::Program,
    /// The distinct kernels with their schedules and tile programs.
    pub units: Units,
    /// Buffers and launches. Its kernels have no entries yet: those are symbols of text that the caller compiles.
    pub plan: Plan,
    /// How long it took. Nothing but reports may depend on it.
    pub phases: Phases,
}

/// A distinct region of a model.
#[derive(Clone, Debug)]
pub struct Region {
    /// What equal regions share.
    pub hash: u128,
    /// The region as a graph; names are numbered slots, unless it is the whole model.
    pub graph: Graph,
    /// The chosen variant and its kernels as sets of terms.
    pub found: Found,
    /// How many regions of the model are like it.
    pub times: usize,
    /// Its kernels in index notation.
    pub program: lower::Program,
}

/// Searches, schedules and plans a model; where there is a choice, the model of the machine decides.
///
/// # Errors
/// What the model asks for and kernels cannot do yet, or a bug of ours; the message says which.
pub fn compile(graph: &Graph, options: &Options) -> Result<Compiled> {
    compile_with(graph, options, &mut ByModel)
}

/// As [`compile`]; a judge decides.
///
/// # Errors
/// As [`compile`], and what the judge cannot decide.
pub fn compile_with(graph: &Graph, options: &Options, judge: &mut dyn Judge) -> Result<Compiled> {
    graph.verify().map_err(|e| Error::new(format!("the traced graph is not well formed: {e}")))?;
    let mut distinct: BTreeMap<u128, (usize, lower::Program)> = BTreeMap::new();
    let mut found: Vec<Region> = vec![];
    let mut join = Join::new(graph);
    let mut times = Times::default();
    let mut phases = Phases::default();
    let mut judge = Timed { judge, seconds: 0.0 };
    for region in phases.time("regions", || regions::cut(graph)) {
        let hash = match planted!(RegionsAlike) {
            false => region.graph.stable_hash(),
            true => {
                let without = |line: &str| line.split("const").next().map(String::from);
                let text: Vec<_> = region.graph.to_string().lines().map(without).collect();
                crate::graph::hash::stable_hash(format!("{text:?}").as_bytes())
            }
        };
        let (number, program) = match distinct.entry(hash) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let best = search_region(&region.graph, options, &mut judge, &mut times, &mut phases)?;
                judge.settle("partition", &mut phases);
                let lower = || lower::lower(&region.graph, &best, &lower::Options::default());
                let program = phases.time("lower", lower)?;
                found.push(Region {
                    hash,
                    found: best,
                    times: 0,
                    graph: region.graph.clone(),
                    program: program.clone(),
                });
                new.insert((found.len() - 1, program))
            }
        };
        found[*number].times += 1;
        join.add(&region, program)?;
    }
    let program = join.finish()?;
    let units = phases.time("schedule", || units::schedule(graph, &program, options, &mut judge))?;
    judge.settle("schedule", &mut phases);
    check::check_orders(graph, &program, &units).map_err(unsound)?;
    let plan = phases.time("plan", || assemble::plan(graph, &program, &units, options))?;
    plan.check().map_err(unsound)?;
    Ok(Compiled { free: graph.free.clone(), regions: found, program, units, plan, phases })
}

/// A plan that a check refuses is a bug of ours, and the message says so.
fn unsound(error: Error) -> Error {
    Error::new(format!("{BUG}: the plan that was made is not sound and was not used\n{error}"))
}

/// What a record holds of a region, or what a search finds.
fn search_region(
    region: &Graph,
    options: &Options,
    judge: &mut dyn Judge,
    times: &mut Times,
    phases: &mut Phases,
) -> Result<Found> {
    let search_options = search_options(options);
    if !options.fuse {
        return search::search_timed(region, &search_options, &mut NoClock, phases);
    }
    if let Some(recipe) = judge.partition(region)? {
        let refused = |error| judge.unusable(&format!("region {:032x}", region.stable_hash()), &error);
        return phases.time("replay", || search::replay(region, &recipe, &search_options)).map_err(refused);
    }
    if !judge.measures() {
        return search::search_timed(region, &search_options, &mut NoClock, phases);
    }
    let mut clock = Stopwatch { graph: region, machine: &options.machine, judge, times };
    search::search_timed(region, &search_options, &mut clock, phases)
}

/// What a compilation with these options lets the search do.
pub(crate) fn search_options(options: &Options) -> search::Options {
    search::Options { fuse: options.fuse, ..Default::default() }
}
