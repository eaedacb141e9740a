//! Candidate schedules from spreads and tiles.

use super::fits;
use super::spread::{Spread, Subject};
use super::tile;
use luminal_core::kernel::ir::{AxisId, Def, Item, Kernel};
use luminal_core::kernel::lower::{lower, may_block};
use luminal_core::kernel::schedule::{Nest, Place, Schedule};

/// Positions of a fold that a block handles at a time.
const FOLD: usize = 32;
/// Ways to spread the definition that decides that are tried.
const TRIED: usize = 6;
/// Positions of the grid that keep a GPU busy.
const ENOUGH_BLOCKS: usize = 1024;
/// Elements of a local value that a thread may keep in registers.
const IN_REGISTERS: usize = 32;

/// Schedules from the most promising to those that always fit.
pub(super) fn candidates(kernel: &Kernel) -> Vec<Schedule> {
    let cut = axes_to_cut(kernel);
    let mut found = vec![];
    for spread in leading_spreads(kernel, &cut) {
        for tiled in [true, false] {
            found.push(from_leader(kernel, &cut, &spread, tiled));
        }
    }
    let single = || cut.iter().enumerate().filter(|(_, cut)| **cut).map(|(axis, _)| (axis, 1)).collect();
    found.push(Schedule { grid: single(), folds: folds(kernel), ..Schedule::plain(kernel) });
    found.push(Schedule::plain(kernel));
    found
}

/// Axes that the grid cuts. A definition without one of them is repeated by each block, so an axis that some
/// definition lacks is cut only where the others leave the GPU idle.
fn axes_to_cut(kernel: &Kernel) -> Vec<bool> {
    let may: Vec<bool> =
        (0..kernel.axes.len()).map(|axis| kernel.axes[axis].max > 1 && may_block(kernel, axis)).collect();
    let in_all = |axis: AxisId| kernel.defs().all(|def| def.axes.contains(&axis));
    let shared = || (0..kernel.axes.len()).filter(|axis| may[*axis] && in_all(*axis));
    let parallel: usize = shared().map(|axis| kernel.axes[axis].max).fold(1, usize::saturating_mul);
    (0..kernel.axes.len()).map(|axis| may[axis] && (parallel < ENOUGH_BLOCKS || in_all(axis))).collect()
}

fn folds(kernel: &Kernel) -> Vec<usize> {
    kernel
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Fold { axis, .. } => Some(kernel.axes[*axis].max.clamp(1, FOLD)),
            Item::Def(_) => None,
        })
        .collect()
}

/// Definitions with the fold axis around them.
fn definitions(kernel: &Kernel) -> Vec<(&Def, Option<AxisId>)> {
    kernel
        .items
        .iter()
        .flat_map(|item| match item {
            Item::Def(def) => vec![(def, None)],
            Item::Fold { axis, defs, .. } => defs.iter().map(|def| (def, Some(*axis))).collect(),
        })
        .collect()
}

/// The definition with the most work decides the grid; later ones win ties.
fn leader<'a>(kernel: &'a Kernel, cut: &[bool]) -> Option<(usize, Subject<'a>)> {
    let whole: Vec<usize> = kernel.axes.iter().map(|axis| axis.max).collect();
    let subjects = definitions(kernel).into_iter().map(|(def, fold)| {
        let mut extents = whole.clone();
        if let Some(axis) = fold {
            extents[axis] = extents[axis].min(FOLD);
        }
        Subject::new(kernel, def, extents, cut.to_vec())
    });
    subjects.enumerate().max_by(|a, b| a.1.work().total_cmp(&b.1.work()))
}

fn leading_spreads(kernel: &Kernel, cut: &[bool]) -> Vec<Spread> {
    let Some((_, subject)) = leader(kernel, cut) else { return vec![] };
    let ranked = subject.ranked(None);
    let mut tried: Vec<Spread> = ranked.iter().copied().take(TRIED).collect();
    // the best with few threads, should shared memory be short
    tried.extend(ranked.iter().find(|spread| spread.threads() <= 64));
    tried
}

/// The grid that the leader wants, and nests for all definitions.
fn from_leader(kernel: &Kernel, cut: &[bool], spread: &Spread, tiled: bool) -> Schedule {
    let (number, subject) = leader(kernel, cut).expect("spreads are those of a leader");
    let registers = if tiled { tile::registers(&subject, spread) } else { vec![] };
    let mut grid = vec![];
    for (axis, info) in kernel.axes.iter().enumerate().filter(|(axis, _)| cut[*axis]) {
        let block = tile_size(spread, &registers, axis);
        // an axis of one block needs no place in the grid
        if block < info.max || info.free.is_some() {
            grid.push((axis, block));
        }
    }
    let threads = spread.threads();
    let mut nests = vec![];
    for (position, (def, fold)) in definitions(kernel).into_iter().enumerate() {
        let extents = extents_in_block(kernel, &grid, fold);
        let subject = Subject::new(kernel, def, extents, vec![false; kernel.axes.len()]);
        if position == number {
            nests.push(nest(kernel, &grid, fold, &subject, spread, &registers));
            continue;
        }
        let ranked = subject.ranked(Some(threads));
        let least = ranked.first().map_or(0.0, |best| subject.cost(best));
        // rows on the same threads as the leader's keep local values in registers
        let same = |other: &&Spread| (other.row, other.rows) == (spread.row, spread.rows);
        let close = |other: &&Spread| subject.cost(other) <= 1.25 * least;
        let chosen = ranked.iter().filter(close).find(same).or(ranked.first()).copied().unwrap_or(*spread);
        nests.push(nest(kernel, &grid, fold, &subject, &chosen, &[]));
    }
    let plain = Schedule::plain(kernel);
    Schedule { grid, folds: folds(kernel), nests, lanes: threads, ..plain }
}

/// Positions of each axis that one block works on.
fn extents_in_block(kernel: &Kernel, grid: &[(AxisId, usize)], fold: Option<AxisId>) -> Vec<usize> {
    let mut extents: Vec<usize> = kernel.axes.iter().map(|axis| axis.max).collect();
    for (axis, block) in grid {
        extents[*axis] = extents[*axis].min(*block);
    }
    if let Some(axis) = fold {
        extents[axis] = extents[axis].min(FOLD);
    }
    extents
}

/// Positions of a reduced axis that are unrolled.
fn unrolled(extent: usize) -> usize {
    match extent {
        0 | 1 => 1,
        2..=4 => extent,
        _ => 4,
    }
}

/// Positions of an axis that all threads of a block hold together.
fn tile_size(spread: &Spread, registers: &[(AxisId, usize)], axis: AxisId) -> usize {
    let adjacent = if spread.lane == Some(axis) { spread.wide } else { 1 };
    let registers = registers.iter().find(|entry| entry.0 == axis).map_or(1, |entry| entry.1);
    spread.along(axis) * adjacent * registers
}

fn nest(
    kernel: &Kernel,
    grid: &[(AxisId, usize)],
    fold: Option<AxisId>,
    subject: &Subject,
    spread: &Spread,
    registers: &[(AxisId, usize)],
) -> Nest {
    let mut result = Nest {
        lane: spread.lane,
        wide: spread.wide,
        rows: spread.row.map(|axis| (axis, spread.rows)),
        ..Nest::default()
    };
    let innermost = subject.reduced.iter().rev().copied().find(|axis| spread.along(*axis) == 1);
    for axis in subject.axes() {
        let threads = spread.along(axis);
        let extent = subject.extents[axis];
        let mut size = tile_size(spread, registers, axis);
        if Some(axis) == innermost || (subject.is_reduced(axis) && threads == 1 && extent <= 4) {
            size = unrolled(extent);
        }
        if size > 1 {
            result.tile.push((axis, size));
        }
        if needs_loop(kernel, grid, fold, axis, size, threads, extent) {
            result.order.push(axis);
        }
    }
    result
}

/// A tile that holds the block needs no loop: threads beyond the end are masked, registers must fit exactly.
fn needs_loop(
    kernel: &Kernel,
    grid: &[(AxisId, usize)],
    fold: Option<AxisId>,
    axis: AxisId,
    size: usize,
    threads: usize,
    extent: usize,
) -> bool {
    let info = &kernel.axes[axis];
    let block = if fold == Some(axis) {
        Some(extent)
    } else {
        grid.iter().find(|entry| entry.0 == axis).map(|e| e.1)
    };
    let whole =
        info.free.is_none() && fold != Some(axis) && block.is_none_or(|block| info.max.is_multiple_of(block));
    let exact = whole && size == extent;
    if threads > 1 {
        size < extent || (size > threads && !exact)
    } else {
        !(exact || (size == 1 && block == Some(1)))
    }
}

/// Local values in registers where all nests spread them over the same threads.
pub(super) fn with_registers(kernel: &Kernel, schedule: Schedule) -> Schedule {
    let mut best = schedule;
    for local in 0..best.places.len() {
        let mut trial = best.clone();
        trial.places[local] = Place::Register;
        let few = lower("candidate", kernel, &trial).is_ok_and(|program| {
            let elements: usize = program.kernel.buffers[kernel.args + local].dims.iter().product();
            elements.div_ceil(trial.lanes) <= IN_REGISTERS
        });
        if few && fits(kernel, &trial).is_ok() {
            best = trial;
        }
    }
    best
}
