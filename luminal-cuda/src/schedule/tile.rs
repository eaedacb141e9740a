//! Register tiles: how many results a thread computes side by side, so that it uses each value more than once.

use super::spread::{Spread, Subject};
use luminal_core::kernel::ir::AxisId;

/// Registers along axes that stay, and adjacent positions of the lane axis that a thread owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tiling {
    /// Factors; 1 where an axis is missing.
    pub registers: Vec<(AxisId, usize)>,
    /// 4 for accesses of 16 bytes, else 1.
    pub wide: usize,
}

/// Results of all threads below which fewer registers are taken, so that more threads run.
const ENOUGH_THREADS: f64 = 16_384.0;

impl Tiling {
    /// No registers.
    pub fn plain() -> Tiling {
        Tiling { registers: vec![], wide: 1 }
    }

    pub fn of(&self, axis: AxisId) -> usize {
        self.registers.iter().find(|entry| entry.0 == axis).map_or(1, |entry| entry.1)
    }
}

/// The tile of the definition that decides the grid.
pub(super) fn choose(subject: &Subject, spread: &Spread) -> Tiling {
    let wide = may_be_wide(subject, spread);
    if let Some((a, b)) = reusing_axes(subject, spread, wide) {
        return contraction(subject, spread, wide, a, b);
    }
    let threads = subject.outputs() * reduced_threads(subject, spread);
    Tiling { registers: vec![], wide: if wide && threads / 4.0 >= 4.0 * ENOUGH_THREADS { 4 } else { 1 } }
}

/// Threads that work on one result.
fn reduced_threads(subject: &Subject, spread: &Spread) -> f64 {
    subject.reduced.iter().map(|axis| spread.along(*axis) as f64).product()
}

/// Four adjacent positions of the lane axis are one access in memory, or one value, wherever they occur.
fn may_be_wide(subject: &Subject, spread: &Spread) -> bool {
    let Some(lane) = spread.lane else { return false };
    let mut accesses = subject.accesses.inner.iter().chain(&subject.accesses.outer);
    let fits =
        accesses.all(|access| !access.depends_on(lane) || (access.stride(lane) == 1 && !access.scattered));
    fits && subject.extents[lane].is_multiple_of(4) && subject.extents[lane] >= 4
}

/// Two axes such that one value does not depend on the first and another not on the second: a tile over both loads
/// fewer values than it multiplies. Axes that have threads already are preferred; the lane axis only if a thread can
/// own adjacent positions.
fn reusing_axes(subject: &Subject, spread: &Spread, wide: bool) -> Option<(AxisId, AxisId)> {
    subject.def.reduce.as_ref()?;
    let loads = &subject.accesses.inner;
    let complementary = |a: AxisId, b: AxisId| {
        let only = |x: AxisId, y: AxisId| loads.iter().any(|load| load.depends_on(x) && !load.depends_on(y));
        only(a, b) && only(b, a)
    };
    let rank = |axis: AxisId| match axis {
        _ if spread.lane == Some(axis) => wide.then_some(0),
        _ if spread.row == Some(axis) => Some(1),
        _ if subject.cut[axis] && subject.extents[axis] > 1 => Some(2),
        _ => None,
    };
    let mut best: Option<(usize, AxisId, AxisId)> = None;
    for a in &subject.def.axes {
        for b in subject.def.axes.iter().filter(|b| *b != a) {
            let (Some(first), Some(second)) = (rank(*a), rank(*b)) else { continue };
            let better = best.is_none_or(|(known, ..)| first + second < known);
            if first <= second && better && complementary(*a, *b) {
                best = Some((first + second, *a, *b));
            }
        }
    }
    best.map(|(_, a, b)| (a, b))
}

fn contraction(subject: &Subject, spread: &Spread, wide: bool, a: AxisId, b: AxisId) -> Tiling {
    let per_result = reduced_threads(subject, spread);
    let longest = |axis: AxisId| subject.extents[axis].div_ceil(spread.along(axis)).max(1);
    for (x, y) in [(4, 4), (4, 2), (2, 4), (2, 2), (2, 1), (1, 2)] {
        let adjacent = spread.lane == Some(a) && wide;
        if adjacent && x != 4 {
            continue;
        }
        let enough = subject.outputs() * per_result / (x * y) as f64 >= ENOUGH_THREADS;
        if x <= longest(a) && y <= longest(b) && enough {
            return Tiling { registers: vec![(a, x), (b, y)], wide: if adjacent { 4 } else { 1 } };
        }
    }
    Tiling::plain()
}
