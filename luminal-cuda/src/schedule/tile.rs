//! Register tiles: how many results a thread computes side by side, so that it uses each value more than once.

use super::spread::{Spread, Subject};
use luminal_core::kernel::ir::AxisId;

/// Results of all threads below which fewer registers are taken, so that more threads run.
const ENOUGH_THREADS: f64 = 16_384.0;

/// Axes with the number of registers along them, for the definition that decides the grid; 1 where an axis is
/// missing. Adjacent positions of the lane axis are counted in the spread, not here.
pub(super) fn registers(subject: &Subject, spread: &Spread) -> Vec<(AxisId, usize)> {
    let Some((a, b)) = reusing_axes(subject, spread) else { return vec![] };
    let threads_for_one: f64 = subject.reduced.iter().map(|axis| spread.along(*axis) as f64).product();
    let fits =
        |axis: AxisId, count: usize| count <= subject.extents[axis].div_ceil(spread.along(axis)).max(1);
    for (x, y) in [(4, 4), (4, 2), (2, 4), (2, 2), (4, 1), (1, 4), (2, 1), (1, 2)] {
        let adjacent = spread.lane == Some(a);
        if adjacent && x != 4 {
            continue;
        }
        let enough = subject.outputs() * threads_for_one / (x * y) as f64 >= ENOUGH_THREADS;
        if enough && (adjacent || fits(a, x)) && fits(b, y) {
            return if adjacent { vec![(b, y)] } else { vec![(a, x), (b, y)] };
        }
    }
    vec![]
}

/// Two axes such that one value does not depend on the first and another not on the second: a tile over both loads
/// fewer values than it multiplies. Axes that have threads already are preferred; the lane axis only if a thread can
/// own adjacent positions.
fn reusing_axes(subject: &Subject, spread: &Spread) -> Option<(AxisId, AxisId)> {
    subject.def.reduce.as_ref()?;
    let loads = &subject.accesses.inner;
    let complementary = |a: AxisId, b: AxisId| {
        let only = |x: AxisId, y: AxisId| loads.iter().any(|load| load.depends_on(x) && !load.depends_on(y));
        only(a, b) && only(b, a)
    };
    let rank = |axis: AxisId| match axis {
        _ if spread.lane == Some(axis) => (spread.wide > 1).then_some(0),
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
