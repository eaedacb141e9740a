//! The loops of one definition.

use super::Lowering;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::Reduce;
use crate::kernel::expr;
use crate::kernel::ir::{Affine, AxisId, Binary, BufferId, Def, E, Expr, Index, Space};
use crate::kernel::layout::{Layout, LayoutDigit};
use crate::kernel::schedule::Nest;
use crate::kernel::tile::{Accumulator, AxisLoops, For, Level, Mask, Part, Stmt, Tile, Var};
use crate::mutant::planted;
use std::rc::Rc;

/// The loops so far: how far each axis is already divided.
#[derive(Clone)]
struct State {
    /// Positions of the tile along each axis.
    tile: Vec<(AxisId, usize)>,
    loops: Vec<AxisLoops>,
    masks: Vec<Mask>,
}

/// One definition on its way down.
struct Work<'a> {
    def: &'a Def,
    nest: &'a Nest,
    over: Vec<AxisId>,
    acc: Option<Accumulator>,
}

impl Lowering<'_> {
    pub(super) fn definition(&mut self, def: &Def, nest: &Nest) -> Result<Vec<Stmt>> {
        let over = def.reduce.as_ref().map_or(vec![], |r| r.axes.clone());
        self.check_nest(def, nest, &over)?;
        let state = self.start(def, nest, &over)?;
        let acc = match &def.reduce {
            None => None,
            Some(_) => {
                let mut axes = def.axes.clone();
                let lanes = over.iter().filter(|axis| nest.lanes_of(**axis, self.schedule.lanes) > 1);
                axes.extend(lanes);
                self.accumulators += 1;
                let dtype = expr::dtype(self.kernel, &def.expr, Dtype::F32);
                Some(Accumulator { id: self.accumulators - 1, axes, dtype })
            }
        };
        let (free, inner): (Vec<AxisId>, Vec<AxisId>) =
            nest.order.iter().partition(|axis| !over.contains(axis));
        let work = Work { def, nest, over, acc };
        let mut out = self.free_loops(&work, &free, &inner, state)?;
        let scratch = |buffer: BufferId| self.kernel.buffers[buffer].space == Space::Scratch;
        if scratch(def.dst) || def.pre.iter().any(|pre| scratch(pre.dst)) {
            out.push(Stmt::Barrier);
        }
        Ok(out)
    }

    fn check_nest(&self, def: &Def, nest: &Nest, over: &[AxisId]) -> Result<()> {
        let fail = |axis: AxisId, what: &str| {
            let target = &self.kernel.buffers[def.dst].name;
            Err(Error::new(format!("axis `{}` in the nest of `{target}` {what}", self.name(axis))))
        };
        for (i, axis) in nest.order.iter().enumerate() {
            if !def.axes.contains(axis) && !over.contains(axis) {
                return fail(*axis, "is not an axis of the definition");
            }
            if nest.order[..i].contains(axis) {
                return fail(*axis, "has two loops");
            }
            if i > 0 && over.contains(&nest.order[i - 1]) && !over.contains(axis) {
                return fail(*axis, "is not reduced but inside a loop that is");
            }
        }
        for (axis, size) in &nest.tile {
            if *size == 0 || (!def.axes.contains(axis) && !over.contains(axis)) {
                return fail(*axis, "has a tile but is not an axis of the definition");
            }
            let lanes = nest.lanes_of(*axis, self.schedule.lanes);
            if size % lanes != 0 {
                return fail(*axis, "has a tile that its lanes do not divide");
            }
        }
        if let Some(axis) =
            nest.lane.into_iter().chain(nest.rows.map(|r| r.0)).find(|a| nest.tile_of(*a) == 1)
            && nest.lanes_of(axis, self.schedule.lanes) > 1
        {
            return fail(axis, "carries lanes but has no tile");
        }
        if let Some((axis, rows)) = nest.rows
            && (!rows.is_power_of_two() || rows > self.schedule.lanes || Some(axis) == nest.lane)
        {
            return fail(axis, "cannot take these lanes");
        }
        Ok(())
    }

    /// Axes without a loop: their tile is the block. Where it is longer, lanes are masked.
    fn start(&self, def: &Def, nest: &Nest, over: &[AxisId]) -> Result<State> {
        let loops = |axis: AxisId| AxisLoops {
            block: self.block(axis).is_some(),
            nest: nest.order.contains(&axis),
            align: self.block(axis).unwrap_or(0),
        };
        let mut state = State {
            tile: nest.tile.clone(),
            loops: (0..self.kernel.axes.len()).map(loops).collect(),
            masks: vec![],
        };
        for axis in def.axes.iter().chain(over).filter(|axis| !nest.order.contains(axis)) {
            let tile = nest.tile_of(*axis);
            let range = self.range(*axis);
            let longest = self.block(*axis).unwrap_or(self.kernel.axes[*axis].max);
            if tile < longest && tile < self.kernel.axes[*axis].max {
                return Err(Error::new(format!(
                    "axis `{}` has no loop, but its tile of {tile} does not hold the block of {longest}",
                    self.name(*axis)
                )));
            }
            if range.lengths.as_deref() == Some(&[tile]) {
                continue;
            }
            if nest.lanes_of(*axis, self.schedule.lanes) == 1 {
                // One position that may be missing: only an empty axis lacks it, and a block of it never runs.
                let single = tile == 1 && (self.block(*axis) == Some(1) || self.kernel.axes[*axis].max == 1);
                if single && (self.block(*axis).is_some() || self.kernel.axes[*axis].free.is_none()) {
                    continue;
                }
                return Err(Error::new(format!(
                    "axis `{}` has registers but no loop, and its length is not always {tile}",
                    self.name(*axis)
                )));
            }
            // Positions from the end of the block on belong to the next one.
            state.masks.push(Mask { axis: *axis, end: range.to });
        }
        Ok(state)
    }

    fn free_loops(
        &mut self,
        work: &Work<'_>,
        free: &[AxisId],
        inner: &[AxisId],
        state: State,
    ) -> Result<Vec<Stmt>> {
        if let Some((axis, rest)) = free.split_first() {
            return self
                .split(work, *axis, state, &mut |this, state| this.free_loops(work, rest, inner, state));
        }
        let def = work.def;
        let tile = Rc::new(self.tile(work.nest, &state));
        let Some(acc) = &work.acc else {
            return Ok(vec![self.store(def, &tile, &def.expr, None)?]);
        };
        let op = def.reduce.as_ref().expect("only reductions have accumulators").op;
        let crossed: Vec<AxisId> = acc.axes.iter().copied().filter(|axis| !def.axes.contains(axis)).collect();
        let mut epilogue = def.epilogue.clone().unwrap_or_else(|| Rc::new(Expr::Acc));
        let identity =
            if planted!(MaxFromZero) { expr::zero(acc.dtype) } else { expr::identity(op, acc.dtype) };
        let neutral = Rc::new(identity);
        let start = match &def.init {
            Some(init) if crossed.is_empty() => init.clone(),
            Some(init) => {
                // Lanes hold parts: the start value is added once, to the whole.
                let whole = Rc::new(Expr::Binary(combine(op), Rc::new(Expr::Acc), init.clone()));
                epilogue = expr::substitute_accumulator(&epilogue, &whole);
                neutral
            }
            None => neutral,
        };
        let mut out = vec![Stmt::Init { tile: tile.clone(), acc: acc.clone(), value: start }];
        out.extend(self.inner_loops(work, inner, state)?);
        let mut result = acc.clone();
        if !crossed.is_empty() {
            self.accumulators += 1;
            result = Accumulator { id: self.accumulators - 1, axes: def.axes.clone(), dtype: acc.dtype };
            let (acc, to) = (acc.clone(), result.clone());
            out.push(Stmt::Reduce { tile: tile.clone(), acc, to, op, over: crossed });
        }
        out.push(self.store(def, &tile, &epilogue, Some(result))?);
        Ok(out)
    }

    fn inner_loops(&mut self, work: &Work<'_>, inner: &[AxisId], state: State) -> Result<Vec<Stmt>> {
        if let Some((axis, rest)) = inner.split_first() {
            return self.split(work, *axis, state, &mut |this, state| this.inner_loops(work, rest, state));
        }
        let def = work.def;
        let tile = Rc::new(self.tile(work.nest, &state));
        let mut out = vec![];
        for pre in &def.pre {
            // Such registers live in one tile only, and tails have other tiles.
            self.register_layouts.remove(&pre.dst);
            out.push(self.store(pre, &tile, &pre.expr, None)?);
        }
        self.check_registers(&tile, &def.expr)?;
        out.push(Stmt::Accumulate {
            tile,
            acc: work.acc.clone().expect("only reductions have inner loops"),
            op: def.reduce.as_ref().expect("only reductions have inner loops").op,
            over: work.over.clone(),
            value: def.expr.clone(),
        });
        Ok(out)
    }

    fn store(&mut self, def: &Def, tile: &Rc<Tile>, value: &E, acc: Option<Accumulator>) -> Result<Stmt> {
        self.check_registers(tile, value)?;
        if self.kernel.buffers[def.dst].space == Space::Register {
            self.agree(def.dst, def.at.iter(), tile)?;
        }
        Ok(Stmt::Store {
            tile: tile.clone(),
            buffer: def.dst,
            at: def.at.clone(),
            axes: def.axes.clone(),
            value: value.clone(),
            acc,
        })
    }

    /// Loops over one axis: whole tiles, then what is left in smaller ones.
    fn split(
        &mut self,
        work: &Work<'_>,
        axis: AxisId,
        state: State,
        body: &mut dyn FnMut(&mut Self, State) -> Result<Vec<Stmt>>,
    ) -> Result<Vec<Stmt>> {
        let range = self.range(axis);
        let tile = work.nest.tile_of(axis);
        let lanes = work.nest.lanes_of(axis, self.schedule.lanes);
        let mut steps = if lanes > 1 {
            lane_steps(tile, lanes, range.lengths.as_deref())
        } else {
            register_steps(tile, range.lengths.as_deref())
        };
        if planted!(TailLost) {
            steps.truncate(1);
        }
        let mut parts = vec![];
        for (step, whole) in steps {
            let mut state = state.clone();
            state.align(axis, step);
            for part in &parts {
                let part: &Part = part;
                state.align(axis, part.step);
            }
            state.resize(axis, step);
            if !whole && !planted!(TailUnmasked) {
                state.masks.push(Mask { axis, end: range.to.clone() });
            }
            parts.push(Part { step, whole, body: body(self, state)? });
        }
        Ok(vec![Stmt::For(For {
            var: Var { axis, level: Level::Nest },
            from: range.from,
            to: range.to,
            parts,
        })])
    }

    fn tile(&self, nest: &Nest, state: &State) -> Tile {
        let digits = |axis: AxisId, size: usize| {
            let lanes = nest.lanes_of(axis, self.schedule.lanes);
            let masked = state.masks.iter().any(|mask| mask.axis == axis);
            let wide = nest.wide.max(1);
            let digits = if lanes == 1 {
                vec![LayoutDigit::Registers(size)]
            } else if nest.rows.is_some_and(|r| r.0 == axis) {
                let shift = (self.schedule.lanes / lanes).trailing_zeros();
                vec![LayoutDigit::Lanes { shift, size: lanes }, LayoutDigit::Registers(size / lanes)]
            } else {
                let wide = if masked || !size.is_multiple_of(lanes * wide) { 1 } else { wide };
                let rest = size / lanes / wide;
                let lanes = LayoutDigit::Lanes { shift: 0, size: lanes };
                vec![LayoutDigit::Registers(wide), lanes, LayoutDigit::Registers(rest)]
            };
            digits.into_iter().filter(|d| d.size() > 1).collect::<Vec<_>>()
        };
        let layout = state.tile.iter().map(|(axis, size)| (*axis, digits(*axis, *size)));
        Tile {
            layout: Layout(layout.filter(|a| !a.1.is_empty()).collect()),
            loops: state.loops.clone(),
            masks: state.masks.clone(),
        }
    }

    /// All nests hold a register buffer in the same way.
    fn check_registers(&mut self, tile: &Tile, value: &E) -> Result<()> {
        let mut loads = vec![];
        expr::for_each_load(value, &mut |buffer, index, _| {
            if self.kernel.buffers[buffer].space == Space::Register {
                loads.push((buffer, index));
            }
        });
        for (buffer, index) in loads {
            let computed = Affine::default();
            let at = index.iter().map(|i| if let Index::Affine(at) = i { at } else { &computed });
            self.agree(buffer, at, tile)?;
        }
        Ok(())
    }

    fn agree<'e>(
        &mut self,
        buffer: BufferId,
        at: impl Iterator<Item = &'e Affine>,
        tile: &Tile,
    ) -> Result<()> {
        let info = &self.kernel.buffers[buffer];
        let mut digits = vec![];
        for (at, size) in at.zip(&info.dims) {
            if *size <= 1 {
                digits.push(vec![]);
                continue;
            }
            let Some(axis) = at.as_axis() else {
                return Err(Error::new(format!(
                    "`{}` is in registers: its indices must be plain axes",
                    info.name
                )));
            };
            if tile.layout.size(axis) < *size && !self.in_one_nest[buffer] {
                let axis = self.name(axis);
                return Err(Error::new(format!("`{}` is in registers, but `{axis}` has a loop", info.name)));
            }
            digits.push(tile.layout.digits(axis).to_vec());
        }
        let known = self.register_layouts.entry(buffer).or_insert_with(|| digits.clone());
        if *known != digits {
            return Err(Error::new(format!(
                "`{}` is in registers, but spread over them in two ways",
                info.name
            )));
        }
        Ok(())
    }
}

impl State {
    fn align(&mut self, axis: AxisId, step: usize) {
        let align = &mut self.loops[axis].align;
        *align = gcd(*align, step);
    }

    fn resize(&mut self, axis: AxisId, size: usize) {
        match self.tile.iter_mut().find(|t| t.0 == axis) {
            Some(tile) => tile.1 = size,
            None => self.tile.push((axis, size)),
        }
    }
}

impl Nest {
    /// Positions of the tile along an axis.
    pub fn tile_of(&self, axis: AxisId) -> usize {
        self.tile.iter().find(|t| t.0 == axis).map_or(1, |t| t.1)
    }

    /// Lanes that an axis takes, of `all`.
    pub fn lanes_of(&self, axis: AxisId, all: usize) -> usize {
        match self.rows {
            Some((rows, taken)) if rows == axis => taken,
            _ if self.lane == Some(axis) => all / self.rows.map_or(1, |r| r.1),
            _ => 1,
        }
    }
}

/// The binary function of a reduction.
pub fn combine(op: Reduce) -> Binary {
    match op {
        Reduce::Sum => Binary::Add,
        Reduce::Max => Binary::Max,
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Steps of an axis with lanes: whole tiles, single registers, and one that is masked.
fn lane_steps(tile: usize, lanes: usize, lengths: Option<&[usize]>) -> Vec<(usize, bool)> {
    let may = |test: &dyn Fn(usize) -> bool| lengths.is_none_or(|lengths| lengths.iter().any(|n| test(*n)));
    let mut steps = vec![];
    if may(&|n| n >= tile) {
        steps.push((tile, true));
    }
    if tile > lanes && may(&|n| n % tile >= lanes) {
        steps.push((lanes, true));
    }
    if may(&|n| n % lanes > 0) || steps.is_empty() {
        steps.push((lanes, false));
    }
    steps
}

/// Steps of an axis in registers: whole tiles; then exactly what is left, or a ladder of powers of two.
fn register_steps(tile: usize, lengths: Option<&[usize]>) -> Vec<(usize, bool)> {
    let mut left: Vec<usize> =
        lengths.map_or(vec![], |l| l.iter().map(|n| n % tile).filter(|n| *n > 0).collect());
    left.dedup();
    let mut steps = vec![];
    if lengths.is_none_or(|lengths| lengths.is_empty() || lengths.iter().any(|n| *n >= tile)) {
        steps.push((tile, true));
    }
    match (lengths, &left[..]) {
        (Some(_), []) => {}
        (Some(_), [left]) => steps.push((*left, true)),
        _ => {
            let mut step = tile.next_power_of_two() / 2;
            while step > 0 {
                steps.push((step, true));
                step /= 2;
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_cover_every_length() {
        for tile in 1..9 {
            for known in [true, false] {
                for length in 0..40 {
                    let lengths = [length];
                    let mut at = 0;
                    for (step, whole) in register_steps(tile, known.then_some(&lengths[..])) {
                        assert!(whole, "registers have no masks");
                        while at + step <= length {
                            at += step;
                        }
                    }
                    assert_eq!(at, length, "tile {tile}, length {length}");
                }
            }
        }
        assert_eq!(register_steps(6, None), [(6, true), (4, true), (2, true), (1, true)]);
    }

    #[test]
    fn lanes_are_masked_only_where_needed() {
        assert_eq!(lane_steps(16, 8, Some(&[32])), [(16, true)]);
        assert_eq!(lane_steps(16, 8, Some(&[24])), [(16, true), (8, true)]);
        assert_eq!(lane_steps(16, 8, Some(&[10])), [(8, true), (8, false)]);
        assert_eq!(lane_steps(16, 8, None), [(16, true), (8, true), (8, false)]);
        assert_eq!(lane_steps(8, 8, Some(&[5])), [(8, false)]);
    }
}
