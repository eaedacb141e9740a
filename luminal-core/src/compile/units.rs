//! Schedules for all kernels, in execution order: a kernel chooses the order in memory of what it writes, and those
//! that read it follow. Kernels that are the same are scheduled and compiled once.

use super::Options;
use crate::error::{Error, Result};
use crate::graph::{Graph, Op};
use crate::kernel::ir::{Freedom, Kernel, Storage};
use crate::kernel::tile::Program as TileProgram;
use crate::kernel::{schedule, text};
use crate::mutant::planted;
use crate::search::lower::{Lowered, Program, Source, ValueId};
use crate::search::partition::When;
use std::collections::BTreeMap;

/// A distinct kernel.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The kernel before scheduling: places open, weights in any order.
    pub kernel: Kernel,
    /// The tile program of the chosen schedule.
    pub program: TileProgram,
    /// Seconds that the model predicts for one launch.
    pub predicted: f64,
    /// How many schedules were ranked.
    pub candidates: usize,
    /// Lines for the head of the generated function.
    pub notes: Vec<String>,
}

/// The distinct kernels of a model.
#[derive(Clone, Debug, Default)]
pub struct Units {
    /// Each once.
    pub list: Vec<Unit>,
    /// For each kernel of the program its unit.
    pub of: Vec<usize>,
    /// For each kernel of the program the order in memory of each argument.
    pub storages: Vec<Vec<Storage>>,
}

/// Schedules every kernel.
pub fn schedule(graph: &Graph, program: &Program, options: &Options) -> Result<Units> {
    let mut units = Units::default();
    let mut orders: BTreeMap<ValueId, Storage> = BTreeMap::new();
    let mut known: BTreeMap<u64, usize> = BTreeMap::new();
    for lowered in &program.kernels {
        let kernel = constrain(graph, program, lowered, &orders);
        let key = text::hash(&kernel);
        let unit = match known.get(&key) {
            Some(unit) => *unit,
            None => {
                let name = format!("{}_{}", options.prefix, units.list.len());
                units.list.push(new_unit(kernel, lowered, name, options)?);
                known.insert(key, units.list.len() - 1);
                units.list.len() - 1
            }
        };
        let buffers = &units.list[unit].program.kernel.buffers;
        let storages: Vec<Storage> = (0..lowered.args.len()).map(|i| buffers[i].storage.clone()).collect();
        for ((value, writes), storage) in lowered.args.iter().zip(&lowered.writes).zip(&storages) {
            if *writes {
                orders.insert(*value, storage.clone());
            }
        }
        units.of.push(unit);
        units.storages.push(storages);
    }
    Ok(units)
}

/// The kernel with the freedom that each argument has at this point.
fn constrain(
    graph: &Graph,
    program: &Program,
    lowered: &Lowered,
    orders: &BTreeMap<ValueId, Storage>,
) -> Kernel {
    let mut kernel = lowered.kernel.clone();
    for (i, value) in lowered.args.iter().enumerate() {
        let buffer = &mut kernel.buffers[i];
        let border = program.outputs.contains(value) || program.writes.iter().any(|(_, to)| to == value);
        buffer.freedom = match program.values.list[*value].source {
            // A weight is reordered for the kernels that run every time; those at load read it as it is.
            Source::Given(node)
                if matches!(graph.nodes[node].op, Op::Param(_)) && lowered.when == When::Run =>
            {
                Freedom::Pack
            }
            Source::Given(_) => Freedom::Fixed,
            _ if lowered.writes[i] && !border && !orders.contains_key(value) => Freedom::Choose,
            _ => Freedom::Fixed,
        };
        if let (Some(storage), false) = (orders.get(value), planted!(OrderIgnored)) {
            buffer.storage = storage.clone();
        }
    }
    kernel
}

fn new_unit(kernel: Kernel, lowered: &Lowered, name: String, options: &Options) -> Result<Unit> {
    let failed = |error: Error| {
        Error::new(format!("no schedule for a kernel of {}: {error}", lowered.fused.join(", ")))
    };
    let candidates = schedule::candidates(&kernel, &options.machine).len();
    let (_, mut program, predicted) = schedule::best(&name, &kernel, &options.machine).map_err(failed)?;
    program.notes = lowered.fused.clone();
    Ok(Unit { kernel, program, predicted, candidates, notes: lowered.fused.clone() })
}
