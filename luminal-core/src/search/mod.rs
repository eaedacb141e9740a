//! The search: from a graph of primitives to a set of fused kernels.
//!
//! [`regions`] cuts a deep model, [`import`] turns each graph into terms in index notation, [`algebra`] finds equal programs, [`partition`] cuts each
//! into kernels with the help of [`cascade`], and the cheapest by bound is the result.

pub mod algebra;
pub mod cascade;
mod found;
pub mod import;
pub mod lower;
pub mod partition;
pub mod regions;
pub mod term;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use crate::error::Error;
pub use found::{Explored, Found, Recipe};

use crate::error::Result;
use crate::graph::Graph;
use crate::phases::Phases;
use partition::{Clock, Machine, NoClock, Partition};

/// What the search may do.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// False: one kernel for each operation of the graph, no algebra.
    pub fuse: bool,
    /// Programs of equal meaning that are cut into kernels.
    pub variants: usize,
    /// Limits of the e-graph.
    pub algebra: algebra::Limits,
    /// Limits of the partition.
    pub partition: partition::Limits,
    /// The machine that bounds are for.
    pub machine: Machine,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            fuse: true,
            variants: 4,
            algebra: algebra::Limits::default(),
            partition: partition::Limits::default(),
            machine: Machine::CPU,
        }
    }
}

/// Cuts a verified graph into kernels. The result depends on the graph and the options alone, never on time.
///
/// # Errors
/// What index expressions cannot say (reshapes of free dimensions, too many axes); the message says where.
pub fn search(graph: &Graph, options: &Options) -> Result<Found> {
    search_with(graph, options, &mut NoClock)
}

/// As [`search`], with a clock for kernels that plans differ in.
///
/// # Errors
/// As [`search`], and what the clock finds wrong.
pub fn search_with(graph: &Graph, options: &Options, clock: &mut dyn Clock) -> Result<Found> {
    search_timed(graph, options, clock, &mut Phases::default())
}

/// As [`search_with`], and tells how long each phase took.
///
/// # Errors
/// As [`search_with`].
pub fn search_timed(
    graph: &Graph,
    options: &Options,
    clock: &mut dyn Clock,
    phases: &mut Phases,
) -> Result<Found> {
    let imported = phases.time("import", || import::import(graph))?;
    let mut log = imported.log;
    if !options.fuse {
        let Partition { kernels, bound, .. } = partition::separate(graph, &imported.dag, options.machine)?;
        return Ok(Found {
            dag: imported.dag,
            variant: 0,
            kernels,
            bound,
            log,
            explored: Explored::default(),
        });
    }
    let (saturated, variants) = phases.time("algebra", || {
        let saturated = algebra::saturate(&imported.dag, options.algebra);
        let variants = algebra::variants(&saturated, &imported.dag, options.variants);
        (saturated, variants)
    });
    let count = variants.len();
    let mut looked_at = Explored {
        e_nodes: saturated.egraph.total_number_of_nodes(),
        iterations: saturated.iterations,
        saturated: saturated.complete,
        ..Explored::default()
    };
    let mut best: Option<(f64, Found)> = None;
    for (variant, dag) in variants.into_iter().enumerate() {
        let found = phases.time("partition", || {
            partition::partition(graph, &dag, options.machine, options.partition, clock)
        })?;
        let Partition { kernels, bound, cost, explored, effort } = found;
        log.push(format!(
            "variant {} of {count}: {} kernels, at least {:.3} us ({} states, {} candidate kernels)",
            variant + 1,
            kernels.len(),
            bound * 1e6,
            explored.states,
            explored.candidates
        ));
        log.extend(found::measured(&effort));
        let cost = effort.seconds.unwrap_or(cost);
        looked_at = looked_at.and(explored);
        // A tie goes to the earlier, which has less arithmetic.
        if best.as_ref().is_none_or(|best| cost < best.0 * (1.0 - 1e-9)) {
            best = Some((cost, Found { dag, variant, kernels, bound, log: Vec::new(), explored: looked_at }));
        }
    }
    let (_, best) =
        best.ok_or_else(|| Error::new("the search found no program; please report this model"))?;
    Ok(Found { log, explored: looked_at, ..best })
}

/// What an earlier search of an equal graph found, without searching.
///
/// # Errors
/// As [`search`]; or the recipe is not one of this graph.
pub fn replay(graph: &Graph, recipe: &Recipe, options: &Options) -> Result<Found> {
    let imported = import::import(graph)?;
    let mut log = imported.log;
    let number = recipe.variant;
    let saturated = algebra::saturate(&imported.dag, options.algebra);
    let variants = algebra::variants(&saturated, &imported.dag, options.variants);
    let dag = variants.into_iter().nth(number).ok_or_else(|| {
        Error::new(format!("the recorded variant {} of the program does not exist", number + 1))
    })?;
    let Partition { kernels, bound, .. } = partition::replay(graph, &dag, options.machine, &recipe.kernels)?;
    log.push(format!("variant {} and its {} kernels are recorded", recipe.variant + 1, kernels.len()));
    Ok(Found { dag, variant: number, kernels, bound, log, explored: Explored::default() })
}

/// The rewrites that lead from a graph as written to the variant that a search found.
///
/// # Errors
/// As [`search`].
pub fn explain(graph: &Graph, found: &Found, options: &Options) -> Result<algebra::Explanation> {
    Ok(algebra::explain(&import::import(graph)?.dag, &found.dag, options.algebra))
}
