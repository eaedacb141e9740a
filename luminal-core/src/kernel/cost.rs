//! How long a tile program takes: a model of one core, read off the program.
//!
//! Statements of the innermost loops cost the most used of: multiply-adds and other arithmetic, loads, the latency of
//! dependent additions, instruction issue, and bytes that stream from the second cache because the loops between two
//! uses of an operand touch more than the first one holds. To that come spills, where accumulators and operands need
//! more registers than there are, and accesses a page apart, which use one element of each line that they fetch. Loops
//! count with their tails, so that a tile that does not divide the axis pays for what is left. Memory is billed once
//! for each argument, from the cache where it fits, and overlaps with arithmetic for the most part.
//!
//! The numbers are estimates for ranking. The best of eight by this model is usually within a few percent of the best.

use super::expr;
use super::ir::{AxisId, Binary, Buffer, BufferId, Def, Digit, E, Expr, Index, Kernel, Space};
use super::layout::LayoutDigit;
use super::schedule::Machine;
use super::tile::{Accumulator, For, Program, Stmt, Tile, Var};
use crate::dtype::Dtype;
use crate::graph::{Reduce, Unary};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Bytes of a line of the caches.
const LINE: usize = 64;

/// Cycles of a block's own loop and of finding its place in the grid.
const BLOCK_CYCLES: f64 = 20.0;

/// Seconds for one launch on one core, free sizes at their bound.
pub fn predict(program: &Program, machine: &Machine) -> f64 {
    predict_with(program, machine, &Uses::new(&program.kernel))
}

/// How the definitions of a kernel use its buffers, under any schedule.
pub struct Uses {
    /// For each buffer how many of its elements they can reach at most.
    touched: Vec<usize>,
    /// For each buffer how many read it.
    readers: Vec<usize>,
}

impl Uses {
    /// The uses of a kernel.
    pub fn new(kernel: &Kernel) -> Uses {
        Uses { touched: touched(kernel), readers: readers(kernel) }
    }
}

/// As [`predict`], for several programs of one kernel.
pub fn predict_with(program: &Program, machine: &Machine, uses: &Uses) -> f64 {
    let blocks: f64 = program
        .grid
        .iter()
        .map(|b| (program.kernel.axes[b.axis].max as f64 / b.size as f64).ceil())
        .product();
    let walk = Walk { program, machine, readers: &uses.readers };
    let cycles = walk.statements(&program.body, &[]);
    let compute = blocks * (cycles + BLOCK_CYCLES);
    let memory = memory_cycles(program, machine, &uses.touched);
    (compute.max(memory) + 0.3 * compute.min(memory)) / (machine.ghz * 1e9)
}

/// The factor by which the busiest of the machine's cores has more to do than an even share.
pub fn imbalance(program: &Program, machine: &Machine) -> f64 {
    let blocks: usize =
        program.grid.iter().map(|b| program.kernel.axes[b.axis].max.div_ceil(b.size).max(1)).product();
    let rounds = blocks.div_ceil(machine.threads);
    (rounds * machine.threads) as f64 / blocks as f64
}

fn memory_cycles(program: &Program, machine: &Machine, touched: &[usize]) -> f64 {
    let mut cycles = 0.0;
    for (buffer, touched) in program.kernel.buffers[..program.kernel.args].iter().zip(touched) {
        // A gather reads some rows of its table.
        let bytes = (buffer.len().min(*touched) * buffer.dtype.bytes()) as f64;
        cycles += bytes / level_bandwidth(machine, bytes);
    }
    cycles
}

/// All definitions, and each of their values.
fn values(kernel: &Kernel) -> impl Iterator<Item = (&Def, &E)> {
    let defs = kernel.defs().flat_map(|def| def.pre.iter().map(move |pre| (pre, def)).chain([(def, def)]));
    defs.flat_map(|(def, around)| {
        [Some(&def.expr), def.init.as_ref(), def.epilogue.as_ref()]
            .into_iter()
            .flatten()
            .map(move |e| (around, e))
    })
}

/// For each buffer how many of its elements definitions can reach at most.
fn touched(kernel: &Kernel) -> Vec<usize> {
    let mut touched = vec![0usize; kernel.buffers.len()];
    let points = |axes: &mut dyn Iterator<Item = AxisId>| {
        axes.map(|axis| kernel.axes[axis].max).fold(1, usize::saturating_mul)
    };
    for (_, value) in values(kernel) {
        expr::for_each_load(value, &mut |buffer, index, _| {
            let count = points(&mut index_axes(index).into_iter());
            touched[buffer] = touched[buffer].saturating_add(count);
        });
    }
    for def in kernel.defs().flat_map(|def| def.pre.iter().chain([def])) {
        let count = points(&mut def.axes.iter().copied());
        touched[def.dst] = touched[def.dst].saturating_add(count);
    }
    touched
}

/// For each buffer how many definitions read it.
fn readers(kernel: &Kernel) -> Vec<usize> {
    let mut found: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); kernel.buffers.len()];
    for (def, value) in values(kernel) {
        let place = std::ptr::from_ref(def) as usize;
        expr::for_each_load(value, &mut |buffer, _, _| {
            found[buffer].insert(place);
        });
    }
    found.into_iter().map(|defs| defs.len()).collect()
}

/// Bytes in a cycle from where so many bytes fit.
fn level_bandwidth(machine: &Machine, bytes: f64) -> f64 {
    let level = machine.caches.iter().position(|size| bytes <= *size);
    level.map_or(machine.memory_bandwidth, |level| machine.cache_bandwidth[level])
}

/// A loop around a statement.
#[derive(Clone, Copy)]
struct Trip {
    var: Var,
    count: f64,
    step: usize,
}

/// Instructions of one statement.
#[derive(Clone, Copy, Default)]
struct Work {
    arithmetic: f64,
    loads: f64,
}

struct Walk<'a> {
    program: &'a Program,
    machine: &'a Machine,
    /// For each buffer how many definitions read it.
    readers: &'a [usize],
}

impl Walk<'_> {
    fn statements(&self, body: &[Stmt], trips: &[Trip]) -> f64 {
        body.iter().map(|stmt| self.statement(stmt, trips)).sum()
    }

    fn statement(&self, stmt: &Stmt, trips: &[Trip]) -> f64 {
        match stmt {
            Stmt::For(l) => self.run_loop(l, trips),
            Stmt::Accumulate { tile, acc, op, over, value } => {
                self.accumulate((tile, acc, *op, over), value, trips)
            }
            Stmt::Init { tile, acc, value } => {
                let work = self.work(tile, value, &[]);
                registers(tile, &acc.axes) / 4.0 + self.throughput(work)
            }
            Stmt::Reduce { tile, to, over, .. } => {
                registers(tile, &to.axes) * (10.0 + 2.0 * registers(tile, over))
            }
            Stmt::Store { tile, buffer, axes, at, value, acc } => {
                let work = self.work(tile, value, acc.as_ref().map_or(&[], |a| &a.axes));
                let mut streamed = 0.0;
                let mut far = 0.0;
                expr::for_each_load(value, &mut |buffer, index, _| {
                    streamed += self.streamed(tile, buffer, index, trips);
                    far += self.far(tile, &self.program.kernel.buffers[buffer], index, trips);
                });
                let target = &self.program.kernel.buffers[*buffer];
                if target.space == Space::Register {
                    return self.throughput(work).max(streamed) + far;
                }
                let count = registers(tile, axes);
                let index: Vec<Index> = at.iter().cloned().map(Index::Affine).collect();
                let stores = match access(tile, target, &index, self.program.lanes) {
                    Access::Scattered => count * self.program.lanes as f64 * 1.5,
                    _ => count,
                };
                let masked = tile.masks.iter().any(|m| axes.contains(&m.axis));
                let far = far + self.far(tile, target, &index, trips);
                let mask = if masked { count * 4.0 } else { 0.0 };
                self.throughput(work).max(stores / self.machine.stores).max(streamed) + mask + far
            }
            Stmt::Barrier => 0.0,
        }
    }

    fn run_loop(&self, l: &For, trips: &[Trip]) -> f64 {
        let axes = &self.program.kernel.axes;
        let sizes: Vec<usize> = free_bounds(self.program);
        // Blocks of other axes stand in their middle: a fold that ends early is halved.
        let place = |var: Var| if var.axis == l.var.axis { 0 } else { (axes[var.axis].max / 2) as i64 };
        let mut left = (l.to.eval(place, &sizes) - l.from.eval(place, &sizes)).max(0) as f64;
        let mut cycles = 4.0;
        for part in &l.parts {
            let step = part.step as f64;
            let count = if part.whole { (left / step).floor() } else { (left / step).ceil() };
            left = (left - count * step).max(0.0);
            if count > 0.0 {
                let mut trips = trips.to_vec();
                trips.push(Trip { var: l.var, count, step: part.step });
                cycles += count * (self.statements(&part.body, &trips) + 1.0);
            }
        }
        cycles
    }

    fn throughput(&self, work: Work) -> f64 {
        let machine = self.machine;
        (work.arithmetic / machine.fma)
            .max(work.loads / machine.loads)
            .max((work.arithmetic + work.loads) / machine.issue)
    }

    fn accumulate(
        &self,
        (tile, acc, op, over): (&Tile, &Accumulator, Reduce, &[AxisId]),
        value: &E,
        trips: &[Trip],
    ) -> f64 {
        let machine = self.machine;
        let all: Vec<AxisId> =
            acc.axes.iter().chain(over.iter().filter(|a| !acc.axes.contains(a))).copied().collect();
        let steps = registers(tile, &all);
        let accumulators = registers(tile, &acc.axes);
        let mut work = self.work(tile, value, &[]);
        let fused =
            op == Reduce::Sum && acc.dtype == Dtype::F32 && matches!(&**value, Expr::Binary(Binary::Mul, ..));
        if fused {
            // The last product is part of the sum.
            let axes: Vec<AxisId> = expr::axes(value, &[]).into_iter().collect();
            work.arithmetic -= registers(tile, &axes);
        }
        work.arithmetic += steps * if op == Reduce::Max && acc.dtype == Dtype::F32 { 3.0 } else { 1.0 };
        if tile.masks.iter().any(|mask| over.contains(&mask.axis)) {
            work.arithmetic += steps * 2.0;
        }
        let latency = machine.latency * steps / accumulators;
        let lanes: f64 = acc
            .axes
            .iter()
            .filter(|a| tile.layout.has_lanes(**a))
            .map(|a| tile.layout.registers(*a) as f64)
            .product();
        // The smaller operand stays, the other one comes register by register.
        let held = accumulators + lanes.min(accumulators / lanes) + 1.0 + constants(value);
        let spills = (held - machine.registers as f64).max(0.0) * 4.0;
        let mut streamed = 0.0;
        let mut far = 0.0;
        expr::for_each_load(value, &mut |buffer, index, _| {
            streamed += self.streamed(tile, buffer, index, trips);
            far += self.far(tile, &self.program.kernel.buffers[buffer], index, trips);
        });
        let cycles = self.throughput(work).max(latency).max(streamed) + far + spills;
        // Compilers seldom manage to use the last register without a spill.
        if held == machine.registers as f64 { cycles * 1.05 } else { cycles }
    }

    /// Cycles for what comes from the second cache or beyond, again and again.
    fn streamed(&self, tile: &Tile, buffer: BufferId, index: &[Index], trips: &[Trip]) -> f64 {
        // A value that another definition of the block reads or wrote comes from where a block's part of it fits.
        let shared = self.readers[buffer] > 1 || buffer >= self.program.kernel.args;
        let buffer = &self.program.kernel.buffers[buffer];
        if buffer.space == Space::Register {
            return 0.0;
        }
        let axes = index_axes(index);
        let lanes = if tile.layout.any_lanes(&axes) { self.program.lanes as f64 } else { 1.0 };
        let bytes = registers(tile, &axes) * lanes * buffer.dtype.bytes() as f64;
        let mut footprint = bytes;
        let mut again = false;
        for trip in trips.iter().rev() {
            if axes.contains(&trip.var.axis) {
                footprint *= trip.count;
            } else {
                again = trip.count > 1.0;
                if again {
                    break;
                }
            }
        }
        footprint = footprint.min((buffer.len() * buffer.dtype.bytes()) as f64);
        if (again || shared) && footprint > self.machine.caches[0] * 0.9 {
            bytes / level_bandwidth(self.machine, footprint)
        } else {
            0.0
        }
    }

    /// Cycles for lines of which one pass uses a small part before it leaves them.
    fn far(&self, tile: &Tile, buffer: &Buffer, index: &[Index], trips: &[Trip]) -> f64 {
        let bytes = (buffer.len() * buffer.dtype.bytes()) as f64;
        if buffer.space == Space::Register || bytes <= self.machine.caches[0] {
            return 0.0;
        }
        let axes = index_axes(index);
        let near = |axis: AxisId| (stride(buffer, index, axis) * buffer.dtype.bytes()) < LINE;
        let lanes = axes.iter().filter(|axis| tile.layout.has_lanes(**axis)).collect::<Vec<_>>();
        // Neighbours in lanes or in registers use whole lines.
        let side_by_side: usize =
            axes.iter().filter(|axis| near(**axis)).map(|axis| tile.layout.size(*axis)).product();
        let elements =
            registers(tile, &axes) * if lanes.is_empty() { 1.0 } else { self.program.lanes as f64 };
        let lines = elements / (side_by_side.min(LINE / buffer.dtype.bytes()) as f64);
        // Lines are used again once a loop moves along them; until then, the loops inside fetch others.
        let mut kept = lines;
        let mut used_again = side_by_side * buffer.dtype.bytes() >= LINE;
        for trip in trips.iter().rev().filter(|trip| axes.contains(&trip.var.axis)) {
            if near(trip.var.axis) && trip.count > 1.0 {
                used_again = true;
                break;
            }
            kept *= trip.count;
        }
        let moved = trips.last().map_or(0, |trip| stride(buffer, index, trip.var.axis) * trip.step);
        let adjacent = moved * buffer.dtype.bytes() < 8 * LINE;
        if used_again
            && (adjacent || side_by_side * buffer.dtype.bytes() >= LINE)
            && lanes.iter().all(|a| near(**a))
        {
            return 0.0;
        }
        // Lines at a long distance share the sets of a cache: an eighth of it counts.
        let kept = kept * LINE as f64 * 8.0;
        let each = match self.machine.caches.iter().position(|size| kept <= *size) {
            Some(0) => 0.0,
            Some(1) => 2.0,
            _ if used_again => 6.0,
            _ => 12.0,
        };
        lines * each
    }

    /// Instructions for a value: each node once for each register along its own axes.
    fn work(&self, tile: &Tile, value: &E, acc: &[AxisId]) -> Work {
        let along = |axis: &(AxisId, Vec<LayoutDigit>)| {
            (axis.0, tile.layout.registers(axis.0) as f64, tile.layout.has_lanes(axis.0))
        };
        let axes = tile.layout.0.iter().map(along).collect();
        let mut sum = WorkSum { walk: self, tile, acc, axes, known: HashMap::new(), work: Work::default() };
        sum.add(value);
        sum.work
    }

    /// Arithmetic and loads of one node in one register.
    fn node(&self, tile: &Tile, node: &Expr, lanes: bool) -> (f64, f64) {
        let all = self.program.lanes as f64;
        match node {
            Expr::Load { buffer, index, guards } => {
                let buffer = &self.program.kernel.buffers[*buffer];
                if buffer.space == Space::Register {
                    return (0.0, 0.0);
                }
                let axes = index_axes(index);
                let masked = tile.masks.iter().any(|m| axes.contains(&m.axis)) as usize as f64;
                let tests = guards.len() as f64 * if lanes { 3.0 } else { 1.0 } + masked * 2.0;
                let widen = match buffer.dtype {
                    Dtype::Bool => 2.0,
                    Dtype::F16 | Dtype::BF16 | Dtype::U8 | Dtype::I64 => 1.0,
                    Dtype::F32 | Dtype::I32 => 0.0,
                };
                match access(tile, buffer, index, self.program.lanes) {
                    Access::Scattered => (all + tests, all * if tests > 0.0 { 2.0 } else { 1.0 }),
                    Access::Adjacent | Access::Uniform => (tests + widen, 1.0),
                }
            }
            Expr::Unary(op, _) => (
                match op {
                    Unary::Exp2 => 18.0,
                    Unary::Log2 => 30.0,
                    Unary::Sin => 22.0,
                    Unary::Sqrt => 12.0,
                    Unary::Recip => 10.0,
                },
                0.0,
            ),
            Expr::Binary(op, x, _) => {
                let float = expr::dtype(&self.program.kernel, x, Dtype::F32) == Dtype::F32;
                let one = match op {
                    Binary::Max if float => 3.0,
                    Binary::Mod | Binary::FloorDiv => 12.0 * if lanes { all } else { 1.0 },
                    _ => 1.0,
                };
                (one, 0.0)
            }
            Expr::Select(..) => (2.0, 0.0),
            Expr::Cast(..) | Expr::Position(_) | Expr::NotNegative(_) => (1.0, 0.0),
            Expr::Float(_) | Expr::Int(_) | Expr::Long(_) | Expr::Bool(_) | Expr::Size(_) | Expr::Acc => {
                (0.0, 0.0)
            }
        }
    }
}

/// Adds up the work of the nodes of a value.
struct WorkSum<'a> {
    walk: &'a Walk<'a>,
    tile: &'a Tile,
    /// The axes of [`Expr::Acc`].
    acc: &'a [AxisId],
    /// The axes of the tile that have more than one position, with their registers, and whether lanes lie along them.
    axes: Vec<(AxisId, f64, bool)>,
    /// The axes of nodes that are met again, as bits in the order of `axes`.
    known: HashMap<*const Expr, u64>,
    work: Work,
}

impl WorkSum<'_> {
    fn bits(&self, axes: impl Iterator<Item = AxisId>) -> u64 {
        let bit = |axis| self.axes.iter().position(|known| known.0 == axis).map_or(0, |place| 1 << place);
        axes.fold(0, |bits, axis| bits | bit(axis))
    }

    /// Adds a node and those below it, each once; its axes.
    fn add(&mut self, node: &E) -> u64 {
        let shared = Rc::strong_count(node) > 1;
        if let Some(known) = shared.then(|| self.known.get(&Rc::as_ptr(node))).flatten() {
            return *known;
        }
        let bits = match &**node {
            Expr::Unary(_, x) | Expr::Cast(_, x) => self.add(x),
            Expr::Binary(_, x, y) => self.add(x) | self.add(y),
            Expr::Select(c, x, y) => self.add(c) | self.add(x) | self.add(y),
            Expr::Position(at) | Expr::NotNegative(at) => self.bits(at.terms.iter().map(|t| t.0)),
            Expr::Load { index, guards, .. } => {
                let guards = self.bits(guards.iter().flat_map(|g| g.at.terms.iter().map(|t| t.0)));
                let of = |this: &mut Self, index: &Index| match index {
                    Index::Affine(at) => this.bits(at.terms.iter().map(|t| t.0)),
                    Index::Value(e) => this.add(e),
                };
                index.iter().fold(guards, |bits, index| bits | of(self, index))
            }
            Expr::Acc => self.bits(self.acc.iter().copied()),
            Expr::Float(_) | Expr::Int(_) | Expr::Long(_) | Expr::Bool(_) | Expr::Size(_) => 0,
        };
        let own = || self.axes.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1).map(|(_, a)| a);
        let count: f64 = own().map(|axis| axis.1).product();
        let lanes = own().any(|axis| axis.2);
        let (arithmetic, loads) = self.walk.node(self.tile, node, lanes);
        self.work.arithmetic += count * arithmetic;
        self.work.loads += count * loads;
        if shared {
            self.known.insert(Rc::as_ptr(node), bits);
        }
        bits
    }
}

/// Distance in elements of neighbours along an axis; computed indices do not count.
fn stride(buffer: &Buffer, index: &[Index], axis: AxisId) -> usize {
    let of = |(index, digits): (&Index, &Vec<Digit>)| match index {
        Index::Affine(at) => {
            at.terms.iter().find(|t| t.0 == axis).map_or(0, |t| t.1 * digits[0].stride as i64)
        }
        Index::Value(_) => 0,
    };
    index.iter().zip(&buffer.storage).map(of).sum::<i64>().unsigned_abs() as usize
}

/// Registers that the constants of functions fill.
fn constants(value: &E) -> f64 {
    let mut most: f64 = 0.0;
    expr::for_each(value, &mut |node| {
        if let Expr::Unary(Unary::Exp2 | Unary::Log2 | Unary::Sin, _) = &**node {
            most = 8.0;
        }
    });
    most
}

fn index_axes(index: &[Index]) -> Vec<AxisId> {
    let mut axes: Vec<AxisId> = Vec::with_capacity(index.len());
    for i in index {
        match i {
            Index::Affine(at) => axes.extend(at.terms.iter().map(|t| t.0)),
            Index::Value(e) => axes.extend(expr::axes(e, &[])),
        }
    }
    axes.sort();
    axes.dedup();
    axes
}

fn registers(tile: &Tile, axes: &[AxisId]) -> f64 {
    axes.iter().map(|axis| tile.layout.registers(*axis) as f64).product()
}

fn free_bounds(program: &Program) -> Vec<usize> {
    let mut bounds = vec![];
    for axis in &program.kernel.axes {
        if let Some(d) = axis.free {
            if bounds.len() <= d {
                bounds.resize(d + 1, 0);
            }
            bounds[d] = axis.max;
        }
    }
    bounds
}

/// How lanes reach memory.
enum Access {
    /// One element for all.
    Uniform,
    /// Neighbours.
    Adjacent,
    /// One by one.
    Scattered,
}

fn access(tile: &Tile, buffer: &Buffer, index: &[Index], lanes: usize) -> Access {
    let mut stride = 0;
    let mut any = false;
    for (index, digits) in index.iter().zip(&buffer.storage) {
        match index {
            Index::Affine(at) => {
                for (_, c) in at.terms.iter().filter(|t| tile.layout.has_lanes(t.0)) {
                    any = true;
                    // Lanes stay inside the lowest digit of a packed dimension if that is wide enough.
                    let fits = digits[0].size >= lanes || digits.len() == 1;
                    stride += if fits { c * digits[0].stride as i64 } else { 2 };
                }
            }
            Index::Value(e) => {
                let axes: Vec<AxisId> = expr::axes(e, &[]).into_iter().collect();
                if tile.layout.any_lanes(&axes) {
                    return Access::Scattered;
                }
            }
        }
    }
    match (any, stride) {
        (false, _) => Access::Uniform,
        (true, 1) => Access::Adjacent,
        (true, _) => Access::Scattered,
    }
}
