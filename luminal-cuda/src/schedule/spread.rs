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
    /// Adjacent positions of the lane axis that a thread owns: 4 for accesses of 16 bytes, else 1.
    pub wide: usize,
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
                found.push(Spread { lane: Some(*lane), lanes: *count, row: None, rows: 1, wide: 1 });
                for row in axes.iter().filter(|row| *row != lane) {
                    let most = self.extents[*row].next_power_of_two().min(*count / 2);
                    let powers = (1..).map(|bits| 1 << bits).take_while(|rows| *rows <= most);
                    found.extend(powers.map(|rows| {
                        let lanes = count / rows;
                        Spread { lane: Some(*lane), lanes, row: Some(*row), rows, wide: 1 }
                    }));
                }
            }
        }
        let wide: Vec<Spread> = found
            .iter()
            .filter(|spread| self.may_be_wide(spread))
            .map(|spread| Spread { wide: 4, ..*spread })
            .collect();
        found.extend(wide);
        // all threads compute the same, where there is nothing to share or their number is given
        if axes.is_empty() || threads.is_some() {
            let fewest = *counts.last().expect("there is a count");
            found.push(Spread { lane: None, lanes: fewest, row: None, rows: 1, wide: 1 });
        }
        found
    }

    /// Four adjacent positions of the lane axis are one access in memory, or one value, wherever they occur.
    fn may_be_wide(&self, spread: &Spread) -> bool {
        let Some(lane) = spread.lane else { return false };
        let extent = self.extents[lane];
        let mut accesses = self.accesses.inner.iter().chain(&self.accesses.outer);
        let fits = accesses
            .all(|access| !access.depends_on(lane) || (access.stride(lane) == 1 && !access.scattered));
        fits && extent.is_multiple_of(4) && extent >= 4 * spread.lanes
    }

    /// Positions of an axis in one pass of all threads.
    fn step(axis: AxisId, spread: &Spread) -> usize {
        spread.along(axis) * if spread.lane == Some(axis) { spread.wide } else { 1 }
    }

    /// Positions of an axis that one thread handles.
    fn passes(&self, axis: AxisId, spread: &Spread) -> f64 {
        let step = Self::step(axis, spread);
        let times = if self.cut[axis] { 1 } else { self.extents[axis].div_ceil(step).max(1) };
        (times * step / spread.along(axis)) as f64
    }

    /// Elements that a block reads from memory in one step, for each thread: threads that read the same share it.
    fn footprint(&self, spread: &Spread) -> f64 {
        let elements = |access: &Access| {
            let axes = self.axes().filter(|axis| access.depends_on(*axis));
            axes.map(|axis| Self::step(axis, spread) as f64).product::<f64>()
        };
        let loads = self.accesses.inner.iter().filter(|access| !access.local);
        loads.map(elements).sum::<f64>() / (spread.threads() * spread.wide) as f64
    }

    /// An estimate of the time, in cycles of a warp, up to a factor.
    pub fn cost(&self, spread: &Spread) -> f64 {
        let blocks: f64 = self
            .axes()
            .filter(|axis| self.cut[*axis])
            .map(|axis| self.extents[axis].div_ceil(Self::step(axis, spread)).max(1) as f64)
            .product();
        let outer: f64 = self.def.axes.iter().map(|axis| self.passes(*axis, spread)).product();
        let inner: f64 = outer * self.reduced.iter().map(|axis| self.passes(*axis, spread)).product::<f64>();
        let wide = spread.wide as f64;
        // a value that does not change along the lane axis is loaded once for all positions of a thread
        let cycles = |access: &Access| match spread.lane {
            Some(lane) if !access.depends_on(lane) => transactions(access, spread) / wide,
            _ => transactions(access, spread),
        };
        let memory = |accesses: &[Access]| accesses.iter().map(cycles).sum::<f64>();
        let inside = memory(&self.accesses.inner) + self.footprint(spread);
        let mut time = inner * (inside + 1.0 / wide) + outer * (memory(&self.accesses.outer) + 1.0 / wide);
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
        // few warps in a block leave places of a multiprocessor empty
        time *= 1.0 + 0.05 * (MAX_THREADS / spread.threads()).ilog2() as f64;
        let busy = |axis: AxisId| {
            let step = Self::step(axis, spread);
            self.extents[axis] as f64 / self.extents[axis].next_multiple_of(step).max(1) as f64
        };
        let busy: f64 = self.axes().filter(|axis| spread.along(*axis) > 1).map(busy).product();
        time *= 1.0 + 0.25 * (1.0 - busy);
        // idle places cost nothing, but warps that are not needed are in the way of others
        let waves = warps / WARPS_AT_ONCE;
        time * (waves.max(1.0) + 0.1 * waves)
    }
}

/// Cycles that one access of a warp takes: by the sectors of 32 bytes and the lines of 128 bytes that it touches.
fn transactions(access: &Access, spread: &Spread) -> f64 {
    if access.local {
        return 1.0;
    }
    let lanes = spread.lanes.min(WARP);
    let rows = spread.rows.min(WARP / lanes);
    // elements of 4 bytes in a unit of memory
    let touched = |unit: usize| {
        let along = |axis: Option<AxisId>, count: usize| match axis.map(|axis| access.stride(axis) as usize) {
            None | Some(0) => 1,
            Some(stride) => (count * stride.min(unit)).div_ceil(unit),
        };
        (along(spread.lane, lanes) * along(spread.row, rows)) as f64
    };
    ((touched(8) + touched(32)) / 5.0).max(1.0)
}
