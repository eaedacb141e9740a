//! Which axes of a definition the threads of a block are spread over.

use super::access::{Access, Accesses};
use luminal_core::kernel::ir::{AxisId, Def, Kernel};

/// The threads of a block, as two axes take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spread {
    /// The axis along which neighbouring threads lie.
    pub lane: Option<AxisId>,
    /// Threads along it, or all threads where no axis has any.
    pub lanes: usize,
    /// The axis of the upper bits of the thread number.
    pub row: Option<AxisId>,
    /// Threads along it.
    pub rows: usize,
}

/// The most threads of a block.
pub(super) const MAX_THREADS: usize = 256;
/// Threads of a warp.
const WARP: usize = 32;
/// Warps that a GPU runs at once: 132 multiprocessors with 16 each.
const WARPS_AT_ONCE: f64 = 132.0 * 16.0;

impl Spread {
    pub fn threads(&self) -> usize {
        self.lanes * self.rows
    }

    /// Threads along an axis.
    pub fn along(&self, axis: AxisId) -> usize {
        match axis {
            _ if self.lane == Some(axis) => self.lanes,
            _ if self.row == Some(axis) => self.rows,
            _ => 1,
        }
    }
}

/// A definition, and how far its axes extend.
pub(super) struct Subject<'a> {
    pub def: &'a Def,
    pub accesses: Accesses,
    pub reduced: Vec<AxisId>,
    /// Positions of each axis of the kernel that one block works on, if the grid is known; else all.
    pub extents: Vec<usize>,
    /// Axes that the grid is still free to cut.
    pub cut: Vec<bool>,
}

impl<'a> Subject<'a> {
    pub fn new(kernel: &Kernel, def: &'a Def, extents: Vec<usize>, cut: Vec<bool>) -> Subject<'a> {
        let reduced = def.reduce.as_ref().map_or(vec![], |reduction| reduction.axes.clone());
        Subject { def, accesses: Accesses::of(kernel, def), reduced, extents, cut }
    }

    pub fn is_reduced(&self, axis: AxisId) -> bool {
        self.reduced.contains(&axis)
    }

    /// Axes that stay, then reduced ones.
    pub fn axes(&self) -> impl Iterator<Item = AxisId> {
        self.def.axes.iter().chain(&self.reduced).copied()
    }

    /// Values that are computed.
    pub fn outputs(&self) -> f64 {
        self.def.axes.iter().map(|axis| self.extents[*axis] as f64).product()
    }

    /// Values that are computed, times the values that go into each.
    pub fn work(&self) -> f64 {
        self.axes().map(|axis| self.extents[axis].max(1) as f64).product()
    }

    /// All spreads with so many threads, or with any number of whole warps; the best first. Equal ones keep the order
    /// in which later axes, which lie closer in memory, come first.
    pub fn ranked(&self, threads: Option<usize>) -> Vec<Spread> {
        let mut found: Vec<(f64, Spread)> =
            self.spreads(threads).into_iter().map(|spread| (self.cost(&spread), spread)).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.into_iter().map(|(_, spread)| spread).collect()
    }

    fn spreads(&self, threads: Option<usize>) -> Vec<Spread> {
        // an axis of one position is not worth threads
        let mut axes: Vec<AxisId> = self.axes().filter(|axis| self.extents[*axis] > 1).collect();
        axes.reverse();
        let counts = threads.map_or(vec![MAX_THREADS, 128, 64, WARP], |threads| vec![threads]);
        let mut found = vec![];
        for count in &counts {
            for lane in &axes {
                found.push(Spread { lane: Some(*lane), lanes: *count, row: None, rows: 1 });
                for row in axes.iter().filter(|row| *row != lane) {
                    let most = self.extents[*row].next_power_of_two().min(*count / 2);
                    let powers = (1..).map(|bits| 1 << bits).take_while(|rows| *rows <= most);
                    found.extend(powers.map(|rows| {
                        let lanes = count / rows;
                        Spread { lane: Some(*lane), lanes, row: Some(*row), rows }
                    }));
                }
            }
        }
        // all threads compute the same
        let fewest = *counts.last().expect("there is a count");
        found.push(Spread { lane: None, lanes: fewest, row: None, rows: 1 });
        found
    }

    /// Passes of one thread along an axis.
    fn passes(&self, axis: AxisId, spread: &Spread) -> f64 {
        let along = spread.along(axis);
        if self.cut[axis] { 1.0 } else { self.extents[axis].div_ceil(along).max(1) as f64 }
    }

    /// An estimate of the time, in cycles of a warp, up to a factor.
    pub fn cost(&self, spread: &Spread) -> f64 {
        let blocks: f64 = self
            .axes()
            .filter(|axis| self.cut[*axis])
            .map(|axis| self.extents[axis].div_ceil(spread.along(axis)).max(1) as f64)
            .product();
        let outer: f64 = self.def.axes.iter().map(|axis| self.passes(*axis, spread)).product();
        let inner: f64 = outer * self.reduced.iter().map(|axis| self.passes(*axis, spread)).product::<f64>();
        let memory =
            |accesses: &[Access]| accesses.iter().map(|access| transactions(access, spread)).sum::<f64>();
        let mut time =
            inner * (memory(&self.accesses.inner) + 1.0) + outer * (memory(&self.accesses.outer) + 1.0);
        let reduced = |axis: Option<AxisId>| axis.is_some_and(|axis| self.is_reduced(axis));
        let mut exchange = 0.0;
        if reduced(spread.lane) {
            exchange += 4.0 * spread.lanes.min(WARP).ilog2() as f64;
        }
        // warps meet at barriers
        let across = if reduced(spread.lane) { spread.lanes.div_ceil(WARP) } else { 1 }
            * if reduced(spread.row) { spread.rows } else { 1 };
        if across > 1 {
            exchange += 60.0 + 2.0 * across as f64;
        }
        time += outer * exchange;
        let warps = blocks * (spread.threads() / WARP) as f64;
        time * (warps / WARPS_AT_ONCE).max(1.0)
    }
}

/// Cycles that one access of a warp takes in the cache: sectors of 32 bytes that it touches, four a cycle.
fn transactions(access: &Access, spread: &Spread) -> f64 {
    let along = |axis: Option<AxisId>, count: usize| {
        let Some(axis) = axis else { return 1 };
        let stride = access.stride(axis) as usize;
        if stride == 0 { 1 } else { (count * stride.min(8)).div_ceil(8) }
    };
    let lanes = spread.lanes.min(WARP);
    let sectors = along(spread.lane, lanes) * along(spread.row, spread.rows.min(WARP / lanes));
    if access.local { 1.0 } else { (sectors as f64 / 4.0).max(1.0) }
}
