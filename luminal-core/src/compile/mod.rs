//! The road from a graph to tile programs and a plan, stage by stage.
//!
//! Renderers and the C compiler are the caller's: this module ends where text begins.

mod assemble;
pub mod check;
mod join;
#[cfg(test)]
mod tests;
mod units;

pub use assemble::grid;
pub use units::{Unit, Units};

use crate::error::{Error, Result};
use crate::graph::{FreeDim, Graph};
use crate::kernel::schedule::Machine;
use crate::mutant::planted;
use crate::plan::Plan;
use crate::search::{self, Found, lower, regions};
use join::Join;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

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
    /// For each distinct region of the model the chosen variant and its kernels as sets of terms, and how many regions
    /// are like it.
    pub found: Vec<(Found, usize)>,
    /// The distinct regions as graphs, and the kernels of each: what was found for them.
    pub regions: Vec<(Graph, lower::Program)>,
    /// The kernels in index notation, with the tensors between them.
    pub program: lower::Program,
    /// The distinct kernels with their schedules and tile programs.
    pub units: Units,
    /// Buffers and launches. Its kernels have no entries yet: those are symbols of text that the caller compiles.
    pub plan: Plan,
}

/// Searches, schedules and plans a model.
///
/// # Errors
/// What the model asks for and kernels cannot do yet, or a bug of ours; the message says which.
pub fn compile(graph: &Graph, options: &Options) -> Result<Compiled> {
    graph.verify().map_err(|e| Error::new(format!("the traced graph is not well formed: {e}")))?;
    let mut distinct: BTreeMap<u128, (usize, lower::Program)> = BTreeMap::new();
    let mut searched = vec![];
    let mut found: Vec<(Found, usize)> = vec![];
    let mut join = Join::new(graph);
    for region in regions::cut(graph) {
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
                let options = search::Options { fuse: options.fuse, ..Default::default() };
                let best = search::search(&region.graph, &options)?;
                let program = lower::lower(&region.graph, &best, &lower::Options::default())?;
                found.push((best, 0));
                searched.push((region.graph.clone(), program.clone()));
                new.insert((found.len() - 1, program))
            }
        };
        found[*number].1 += 1;
        join.add(&region, program)?;
    }
    let program = join.finish()?;
    let units = units::schedule(graph, &program, options)?;
    check::check_orders(graph, &program, &units).map_err(unsound)?;
    let plan = assemble::plan(graph, &program, &units, options)?;
    plan.check().map_err(unsound)?;
    Ok(Compiled { free: graph.free.clone(), found, regions: searched, program, units, plan })
}

/// A plan that a check refuses is a bug of ours, and the message says so.
fn unsound(error: Error) -> Error {
    Error::new(format!("{BUG}: the plan that was made is not sound and was not used\n{error}"))
}
