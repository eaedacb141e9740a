//! Schedules for all kernels, in execution order: a kernel chooses the order in memory of what it writes, and those
//! that read it follow. Kernels that are the same are scheduled and compiled once.

use super::Options;
use super::judge::{Candidate, Judge, Outcome, Trial};
use crate::error::{Error, Result};
use crate::graph::{Graph, Op};
use crate::kernel::ir::{Freedom, Kernel, Storage};
use crate::kernel::schedule::{self, Machine, Schedule};
use crate::kernel::tile::Program as TileProgram;
use crate::kernel::{cost, lower, text};
use crate::mutant::planted;
use crate::search::lower::{Lowered, Program, Source, ValueId};
use crate::search::partition::When;
use std::collections::BTreeMap;

/// A distinct kernel.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The kernel before scheduling: places open, weights in any order.
    pub kernel: Kernel,
    /// The chosen schedule.
    pub schedule: Schedule,
    /// Its tile program.
    pub program: TileProgram,
    /// Seconds that the model predicts for one launch.
    pub predicted: f64,
    /// Seconds of one launch, if it was measured in this build.
    pub measured: Option<f64>,
    /// Who chose.
    pub chosen: Chosen,
    /// The schedules that were looked at, those that should be fastest first; none if the choice is recorded.
    pub tried: Vec<Tried>,
    /// Lines for the head of the generated function.
    pub notes: Vec<String>,
}

/// Who chose a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The model of the machine.
    ByModel,
    /// The clock.
    ByTime,
    /// A record.
    Recorded,
}

/// A schedule that was looked at.
#[derive(Clone, Debug)]
pub struct Tried {
    /// How the kernel is cut.
    pub schedule: Schedule,
    /// Seconds of one launch by the model.
    pub predicted: f64,
    /// What became of it.
    pub outcome: Outcome,
}

/// Of the schedules of a kernel so many are timed.
pub const TIMED: usize = 8;

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
pub fn schedule(graph: &Graph, program: &Program, options: &Options, judge: &mut dyn Judge) -> Result<Units> {
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
                units.list.push(new_unit(graph, kernel, lowered, &name, options, judge)?);
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

fn new_unit(
    graph: &Graph,
    kernel: Kernel,
    lowered: &Lowered,
    name: &str,
    options: &Options,
    judge: &mut dyn Judge,
) -> Result<Unit> {
    let failed = |error: Error| {
        Error::new(format!("no schedule for a kernel of {}: {error}", lowered.fused.join(", ")))
    };
    let notes = lowered.fused.clone();
    if let Some(schedule) = judge.schedule(&kernel, &notes)? {
        let refused = |error| judge.unusable(&format!("kernel {:016x}", text::hash(&kernel)), &error);
        schedule.suits(&kernel).map_err(refused)?;
        let mut program = lower::lower(name, &kernel, &schedule).map_err(refused)?;
        program.notes = notes.clone();
        let predicted = cost::predict(&program, &options.machine);
        let chosen = Chosen::Recorded;
        return Ok(Unit {
            kernel,
            schedule,
            program,
            predicted,
            measured: None,
            chosen,
            tried: vec![],
            notes,
        });
    }
    let candidates = candidates(&kernel, &options.machine, usize::MAX);
    let timed = &candidates[..TIMED.min(candidates.len())];
    let trial = Trial { graph, kernel: &kernel, candidates: timed, fused: &notes, purpose: "schedule" };
    let outcomes = if judge.measures() { judge.time(&trial)? } else { None };
    let seconds = |number: usize| match outcomes.as_ref().and_then(|all| all.get(number)) {
        Some(Outcome::Seconds(seconds)) => Some(*seconds),
        _ => None,
    };
    let fastest = (0..timed.len()).filter(|n| seconds(*n).is_some());
    let fastest = fastest.min_by(|x, y| f64::total_cmp(&seconds(*x).unwrap(), &seconds(*y).unwrap()));
    let best = fastest.unwrap_or(0);
    let outcome = |n: usize| outcomes.as_ref().and_then(|all| all.get(n)).copied().unwrap_or(Outcome::NotRun);
    let tried = candidates.iter().enumerate().map(|(number, candidate)| Tried {
        schedule: candidate.schedule.clone(),
        predicted: candidate.predicted,
        outcome: outcome(number),
    });
    let tried = tried.collect();
    let schedule = candidates[best].schedule.clone();
    let mut program = lower::lower(name, &kernel, &schedule).map_err(failed)?;
    program.notes = notes.clone();
    Ok(Unit {
        predicted: candidates[best].predicted,
        measured: seconds(best),
        chosen: if fastest.is_some() { Chosen::ByTime } else { Chosen::ByModel },
        kernel,
        schedule,
        program,
        tried,
        notes,
    })
}

/// The name of kernels that are tried.
pub const TRIAL: &str = "trial";

/// The schedules of a kernel with their programs, those that should be fastest first; at least one, `most` at most.
pub fn candidates(kernel: &Kernel, machine: &Machine, most: usize) -> Vec<Candidate> {
    let candidate = |schedule: Schedule| {
        let program = lower::lower(TRIAL, kernel, &schedule).ok()?;
        let predicted = cost::predict(&program, machine);
        Some(Candidate { schedule, program, predicted })
    };
    schedule::candidates(kernel, machine).into_iter().filter_map(candidate).take(most).collect()
}
