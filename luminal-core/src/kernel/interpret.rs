//! Tile programs, run directly: registers, lanes, masks and scratch as [`super::tile`] defines them. It checks
//! lowering against [`super::meaning`] without a compiler; no renderer takes part.

use super::expr::operands;
use super::ir::{Affine, AxisId, Buffer, BufferId, E, Expr, Index, Space};
use super::layout::{Slot, register};
use super::meaning::{Known, Rounding, Scalar, Values, binary, cast, unary};
use super::tile::{Accumulator, Bound, For, Level, Program, Stmt, Tile, Var};
use crate::error::{Error, Result};
use crate::graph::Reduce;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Elements in the order of the buffer's storage; padding is zero.
pub fn to_storage(buffer: &Buffer, values: &Values) -> Values {
    let mut stored = Values::zeros(buffer.dtype, buffer.len());
    each_position(&buffer.dims, |place, position| stored.set(buffer.offset(position), values.get(place)));
    stored
}

/// The inverse of [`to_storage`].
pub fn from_storage(buffer: &Buffer, stored: &Values) -> Values {
    let mut values = Values::zeros(buffer.dtype, buffer.dims.iter().product());
    each_position(&buffer.dims, |place, position| values.set(place, stored.get(buffer.offset(position))));
    values
}

fn each_position(dims: &[usize], mut visit: impl FnMut(usize, &[usize])) {
    let count: usize = dims.iter().product();
    let mut position = vec![0; dims.len()];
    for place in 0..count {
        visit(place, &position);
        for dim in (0..dims.len()).rev() {
            position[dim] += 1;
            if position[dim] < dims[dim] {
                break;
            }
            position[dim] = 0;
        }
    }
}

/// Runs some blocks of a program. `memory` holds the arguments in the order of their storage. An error names an access
/// that is out of bounds or reads what was never written.
pub fn run(program: &Program, memory: &mut [Values], sizes: &[usize], blocks: Range<usize>) -> Result<()> {
    let axes = program.kernel.axes.len();
    for block in blocks {
        let scratch = |b: &Buffer| if b.space == Space::Scratch { vec![None; b.len()] } else { vec![] };
        let mut machine = Machine {
            program,
            memory,
            sizes,
            block: vec![0; axes],
            nest: vec![0; axes],
            scratch: program.kernel.buffers.iter().map(scratch).collect(),
            registers: HashMap::new(),
            accumulators: HashMap::new(),
        };
        let mut left = block;
        for dimension in program.grid.iter().rev() {
            let count = program.size(dimension.axis, sizes).div_ceil(dimension.size);
            machine.block[dimension.axis] = (left % count * dimension.size) as i64;
            left /= count;
        }
        machine.run(&program.body)?;
    }
    Ok(())
}

/// Registers: one value for each lane; None in lanes that are off.
type Lanes = Vec<Option<Scalar>>;

struct Machine<'a> {
    program: &'a Program,
    memory: &'a mut [Values],
    sizes: &'a [usize],
    /// First position of the present block.
    block: Vec<i64>,
    /// Variables of loops in nests.
    nest: Vec<i64>,
    scratch: Vec<Vec<Option<Scalar>>>,
    registers: HashMap<(BufferId, Vec<usize>), Lanes>,
    accumulators: HashMap<(usize, Vec<usize>), Lanes>,
}

/// One lane of one register of a tile.
struct Point<'a> {
    tile: &'a Tile,
    slot: &'a Slot,
    lane: usize,
    /// On each axis.
    position: Vec<i64>,
    acc: Option<&'a Accumulator>,
}

impl<'a> Machine<'a> {
    fn variable(&self, var: Var) -> i64 {
        match var.level {
            Level::Block => self.block[var.axis],
            Level::Nest => self.nest[var.axis],
        }
    }

    fn bound(&self, bound: &Bound) -> i64 {
        bound.eval(|var| self.variable(var), self.sizes)
    }

    fn run(&mut self, body: &'a [Stmt]) -> Result<()> {
        for stmt in body {
            match stmt {
                Stmt::For(l) => self.run_loop(l)?,
                Stmt::Init { tile, acc, value } => self.init(tile, acc, value)?,
                Stmt::Accumulate { tile, acc, op, over, value } => {
                    self.accumulate(tile, acc, *op, over, value)?
                }
                Stmt::Reduce { tile, acc, to, op, over } => self.reduce(tile, acc, to, *op, over)?,
                Stmt::Store { tile, buffer, at, axes, value, acc } => {
                    self.store(tile, (*buffer, at, axes), value, acc.as_ref())?;
                }
                Stmt::Barrier => {}
            }
        }
        Ok(())
    }

    fn run_loop(&mut self, l: &'a For) -> Result<()> {
        let (mut at, end) = (self.bound(&l.from), self.bound(&l.to));
        for part in &l.parts {
            let step = part.step as i64;
            while if part.whole { at + step <= end } else { at < end } {
                match l.var.level {
                    Level::Block => self.block[l.var.axis] = at,
                    Level::Nest => self.nest[l.var.axis] = at,
                }
                self.run(&part.body)?;
                at += step;
            }
        }
        if at < end {
            let axis = &self.program.kernel.axes[l.var.axis].name;
            return Err(Error::new(format!("the loop over `{axis}` stops at {at} before its end {end}")));
        }
        Ok(())
    }

    fn point<'p>(
        &self,
        tile: &'p Tile,
        slot: &'p Slot,
        lane: usize,
        acc: Option<&'p Accumulator>,
    ) -> Point<'p> {
        let position = (0..self.block.len())
            .map(|axis| {
                let base = tile.loops[axis].var(axis).map_or(0, |var| self.variable(var));
                let (offset, lanes) = tile.layout.position(axis, register(slot, axis));
                base + offset + lanes.iter().map(|digit| digit.at(lane)).sum::<i64>()
            })
            .collect();
        Point { tile, slot, lane, position, acc }
    }

    /// True if no mask over one of these axes turns the lane off.
    fn is_on(&self, point: &Point<'_>, axes: &[AxisId]) -> bool {
        let mut masks = point.tile.masks.iter().filter(|mask| axes.contains(&mask.axis));
        masks.all(|mask| point.position[mask.axis] < self.bound(&mask.end))
    }

    fn init(&mut self, tile: &Tile, acc: &Accumulator, value: &'a E) -> Result<()> {
        let needs: Vec<AxisId> = super::expr::axes(value, &[]).into_iter().collect();
        for slot in tile.layout.slots(&acc.axes) {
            let mut lanes = vec![None; self.program.lanes];
            for (lane, held) in lanes.iter_mut().enumerate() {
                let point = self.point(tile, &slot, lane, None);
                if self.is_on(&point, &needs) {
                    *held = Some(self.eval(value, &point)?);
                }
            }
            self.accumulators.insert((acc.id, registers_of(&slot, &acc.axes)), lanes);
        }
        Ok(())
    }

    fn accumulate(
        &mut self,
        tile: &Tile,
        acc: &Accumulator,
        op: Reduce,
        over: &[AxisId],
        value: &'a E,
    ) -> Result<()> {
        let inner: Vec<AxisId> = over.iter().copied().filter(|axis| !acc.axes.contains(axis)).collect();
        for outer in tile.layout.slots(&inner) {
            for slot in tile.layout.slots(&acc.axes) {
                let key = (acc.id, registers_of(&slot, &acc.axes));
                let slot: Slot = outer.iter().chain(&slot).copied().collect();
                let mut lanes = self.accumulators[&key].clone();
                for (lane, sum) in lanes.iter_mut().enumerate() {
                    let point = self.point(tile, &slot, lane, None);
                    let Some(before) = *sum else { continue };
                    if self.is_on(&point, over) && self.is_on(&point, &acc.axes) {
                        *sum = Some(combine(op, before, self.eval(value, &point)?));
                    }
                }
                self.accumulators.insert(key, lanes);
            }
        }
        Ok(())
    }

    fn reduce(
        &mut self,
        tile: &Tile,
        acc: &Accumulator,
        to: &Accumulator,
        op: Reduce,
        over: &[AxisId],
    ) -> Result<()> {
        let digits: Vec<_> = over.iter().flat_map(|axis| tile.layout.position(*axis, 0).1).collect();
        // Lanes that agree outside the reduced digits hold parts of one value.
        let group =
            |lane: usize| digits.iter().fold(lane, |left, digit| left & !((digit.size - 1) << digit.shift));
        for slot in tile.layout.slots(&to.axes) {
            let mut sums: HashMap<usize, Scalar> = HashMap::new();
            for part in tile.layout.slots(over) {
                let whole: Slot = slot.iter().chain(&part).copied().collect();
                let lanes = &self.accumulators[&(acc.id, registers_of(&whole, &acc.axes))];
                for (lane, value) in lanes.iter().enumerate() {
                    let Some(value) = value else { continue };
                    let sum = sums.entry(group(lane)).or_insert(Scalar::identity(op, acc.dtype));
                    *sum = combine(op, *sum, *value);
                }
            }
            let lanes = (0..self.program.lanes).map(|lane| sums.get(&group(lane)).copied()).collect();
            self.accumulators.insert((to.id, registers_of(&slot, &to.axes)), lanes);
        }
        Ok(())
    }

    fn store(
        &mut self,
        tile: &Tile,
        (buffer, at, axes): (BufferId, &'a [Affine], &'a [AxisId]),
        value: &'a E,
        acc: Option<&Accumulator>,
    ) -> Result<()> {
        let info = &self.program.kernel.buffers[buffer];
        for slot in tile.layout.slots(axes) {
            // All lanes compute before any stores: a value that lanes share may replace what it was computed from.
            let mut lanes: Lanes = vec![None; self.program.lanes];
            for (lane, held) in lanes.iter_mut().enumerate() {
                let point = self.point(tile, &slot, lane, acc);
                if self.is_on(&point, axes) {
                    *held = Some(self.eval(value, &point)?);
                }
            }
            for (lane, held) in lanes.iter().enumerate() {
                let Some(value) = *held else { continue };
                let point = self.point(tile, &slot, lane, acc);
                match info.space {
                    Space::Register => {}
                    Space::Scratch => {
                        let place = self.place(info, at.iter().map(|at| self.relative(at, &point)))?;
                        self.scratch[buffer][place] = Some(value);
                    }
                    Space::Global => {
                        let place = self.place(info, at.iter().map(|at| at.eval(&point.position)))?;
                        self.memory[buffer].set(place, value);
                    }
                    Space::Local => return Err(Error::new(format!("`{}` has no place", info.name))),
                }
            }
            if info.space == Space::Register {
                let names = at.iter().map(|at| at.as_axis().map_or(0, |axis| register(&slot, axis)));
                self.registers.insert((buffer, names.collect()), lanes);
            }
        }
        Ok(())
    }

    /// An index counted from the start of the block.
    fn relative(&self, at: &Affine, point: &Point<'_>) -> i64 {
        let start = |axis: AxisId| if point.tile.loops[axis].block { self.block[axis] } else { 0 };
        at.offset + at.terms.iter().map(|(axis, c)| c * (point.position[*axis] - start(*axis))).sum::<i64>()
    }

    fn place(&self, buffer: &Buffer, index: impl Iterator<Item = i64>) -> Result<usize> {
        let index: Vec<i64> = index.collect();
        for (at, size) in index.iter().zip(&buffer.dims) {
            if !(0..*size as i64).contains(at) {
                return Err(Error::new(format!("`{}` has no element {index:?}", buffer.name)));
            }
        }
        Ok(buffer.offset(&index.iter().map(|at| *at as usize).collect::<Vec<_>>()))
    }

    fn load(&self, buffer: BufferId, index: &[Index], point: &Point<'_>) -> Result<Scalar> {
        let info = &self.program.kernel.buffers[buffer];
        let unset = || Error::new(format!("`{}` is read before it is written", info.name));
        if info.space == Space::Register {
            let names = index.iter().map(|i| match i {
                Index::Affine(at) => at.as_axis().map_or(0, |axis| register(point.slot, axis)),
                Index::Value(_) => 0,
            });
            let lanes = self.registers.get(&(buffer, names.collect())).ok_or_else(unset)?;
            return lanes[point.lane].ok_or_else(unset);
        }
        let mut places = vec![];
        for i in index {
            places.push(match i {
                Index::Affine(at) if info.space == Space::Scratch => self.relative(at, point),
                Index::Affine(at) => at.eval(&point.position),
                Index::Value(e) => match self.eval(e, point)? {
                    Scalar::Int(at) => i64::from(at),
                    other => return Err(Error::new(format!("{other:?} is not an index"))),
                },
            });
        }
        let place = self.place(info, places.into_iter())?;
        match info.space {
            Space::Scratch => self.scratch[buffer][place].ok_or_else(unset),
            _ => Ok(self.memory[buffer].get(place)),
        }
    }

    fn eval(&self, value: &E, point: &Point<'_>) -> Result<Scalar> {
        self.eval_once(value, point, &mut Known::new())
    }

    /// What is shared is evaluated once: as a tree, a deep expression has more nodes than can be visited.
    fn eval_once(&self, value: &E, point: &Point<'_>, known: &mut Known) -> Result<Scalar> {
        if Rc::strong_count(value) == 1 || operands(value).is_empty() {
            return self.eval_node(value, point, known);
        }
        if let Some(known) = known.get(&Rc::as_ptr(value)) {
            return Ok(*known);
        }
        let result = self.eval_node(value, point, known)?;
        known.insert(Rc::as_ptr(value), result);
        Ok(result)
    }

    fn eval_node(&self, value: &E, point: &Point<'_>, known: &mut Known) -> Result<Scalar> {
        let rounding = Rounding::F32;
        let mut eval = |x: &E| self.eval_once(x, point, known);
        Ok(match &**value {
            Expr::Float(x) => Scalar::Float(f64::from(*x)),
            Expr::Int(x) => Scalar::Int(*x),
            Expr::Long(x) => Scalar::Long(*x),
            Expr::Bool(x) => Scalar::Bool(*x),
            Expr::Size(free) => Scalar::Int(self.sizes[*free] as i32),
            Expr::Position(at) => Scalar::Int(at.eval(&point.position) as i32),
            Expr::NotNegative(at) => Scalar::Bool(at.eval(&point.position) >= 0),
            Expr::Load { buffer, index, guards } => {
                let outside = |g: &super::ir::Guard| !g.holds(g.at.eval(&point.position), self.sizes);
                if guards.iter().any(outside) {
                    return Ok(Scalar::zero(self.program.kernel.buffers[*buffer].dtype));
                }
                self.load(*buffer, index, point)?
            }
            Expr::Acc => {
                let acc =
                    point.acc.ok_or_else(|| Error::new("the reduced value occurs outside an epilogue"))?;
                let key = (acc.id, registers_of(point.slot, &acc.axes));
                let lanes =
                    self.accumulators.get(&key).ok_or_else(|| Error::new("a reduction has no result"))?;
                lanes[point.lane].ok_or_else(|| Error::new("a lane that is off is read"))?
            }
            Expr::Unary(op, x) => unary(*op, eval(x)?, rounding),
            Expr::Binary(op, x, y) => {
                let (x, y) = (eval(x)?, eval(y)?);
                binary(*op, x, y, rounding)
            }
            Expr::Select(c, x, y) => match eval(c)? {
                Scalar::Bool(true) => eval(x)?,
                _ => eval(y)?,
            },
            Expr::Cast(to, x) => cast(*to, eval(x)?, rounding),
        })
    }
}

fn registers_of(slot: &Slot, axes: &[AxisId]) -> Vec<usize> {
    axes.iter().map(|axis| register(slot, *axis)).collect()
}

fn combine(op: Reduce, x: Scalar, y: Scalar) -> Scalar {
    binary(super::lower::combine(op), x, y, Rounding::F32)
}
