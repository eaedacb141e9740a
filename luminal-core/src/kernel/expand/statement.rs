//! Statements, register by register.

use super::address::EvaluatedIndex;
use super::value::{accumulator_name, moved, register_name, wide_axis};
use super::{Condition, Expansion, Target, Value};
use crate::dtype::Dtype;
use crate::graph::Reduce;
use crate::kernel::ir::{Affine, AxisId, Binary, BufferId, E, Expr, Space};
use crate::kernel::layout::{LayoutDigit, Slot, register};
use crate::kernel::tile::{Accumulator, Stmt, Tile};

impl<T: Target> Expansion<'_, T> {
    pub(super) fn statements(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.values.clear();
            self.conditions.clear();
            self.axes.clear();
            match stmt {
                Stmt::For(l) => {
                    self.target.begin_for(l);
                    for part in &l.parts {
                        self.target.begin_part(l, part);
                        self.statements(&part.body);
                        self.target.end_part(l, part);
                    }
                    self.target.end_for(l);
                }
                Stmt::Init { tile, acc, value } => self.init(tile, acc, value),
                Stmt::Accumulate { tile, acc, op, over, value } => {
                    self.target.open_scope();
                    self.accumulate(tile, acc, *op, over, value);
                    self.target.close_scope();
                }
                Stmt::Reduce { tile, acc, to, op, over } => self.reduce(tile, acc, to, *op, over),
                Stmt::Store { tile, buffer, at, axes, value, acc } => {
                    self.target.open_scope();
                    self.store(tile, (*buffer, at, axes), value, acc.as_ref());
                    self.target.close_scope();
                }
                Stmt::Barrier => self.target.barrier(),
            }
        }
    }

    fn init(&mut self, tile: &Tile, acc: &Accumulator, value: &E) {
        for slot in tile.layout.slots(&acc.axes) {
            let value = self.eval(value, tile, &slot, None);
            self.target.define(&accumulator_name(acc, &slot), &value, tile.layout.any_lanes(&acc.axes));
        }
    }

    fn accumulate(&mut self, tile: &Tile, acc: &Accumulator, op: Reduce, over: &[AxisId], value: &E) {
        let inner: Vec<AxisId> = over.iter().copied().filter(|axis| !acc.axes.contains(axis)).collect();
        let lanes = tile.layout.any_lanes(&acc.axes);
        for outer in tile.layout.slots(&inner) {
            for slot in tile.layout.slots(&acc.axes) {
                let register = Value { text: accumulator_name(acc, &slot), lanes, dtype: acc.dtype };
                let slot: Slot = outer.iter().chain(&slot).copied().collect();
                // Only a reduced axis needs its mask here: elsewhere the lanes that are off are never stored.
                let mut on: Option<Value> = None;
                for mask in tile.masks.iter().filter(|mask| over.contains(&mask.axis)) {
                    let holds = self.mask(tile, &slot, mask.axis, &mask.end);
                    on = Some(match on {
                        None => holds,
                        Some(known) => self.target.binary(Binary::And, &known, &holds),
                    });
                }
                match (&**value, op, acc.dtype) {
                    (Expr::Binary(Binary::Mul, x, y), Reduce::Sum, Dtype::F32) => {
                        let (x, y) = (self.eval(x, tile, &slot, None), self.eval(y, tile, &slot, None));
                        self.target.accumulate_product(&register, &x, &y, on.as_ref());
                    }
                    _ => {
                        let value = self.eval(value, tile, &slot, None);
                        self.target.accumulate(&register, op, &value, on.as_ref());
                    }
                }
            }
        }
    }

    /// Registers are combined pairwise, so that no chain of dependent additions is longer than it must.
    fn reduce(&mut self, tile: &Tile, acc: &Accumulator, to: &Accumulator, op: Reduce, over: &[AxisId]) {
        let digits: Vec<LayoutDigit> =
            over.iter().flat_map(|axis| tile.layout.digits(*axis)).copied().collect();
        for slot in tile.layout.slots(&to.axes) {
            let mut parts: Vec<Value> = tile
                .layout
                .slots(over)
                .into_iter()
                .map(|part| {
                    let slot: Slot = slot.iter().chain(&part).copied().collect();
                    Value { text: accumulator_name(acc, &slot), lanes: true, dtype: acc.dtype }
                })
                .collect();
            while parts.len() > 1 {
                let half = parts.len().div_ceil(2);
                for i in 0..parts.len() - half {
                    parts[i] = self.combine(op, &parts[i].clone(), &parts[half + i].clone());
                }
                parts.truncate(half);
            }
            let result = self.target.across(op, &parts[0], &digits);
            self.target.define(&accumulator_name(to, &slot), &result, tile.layout.any_lanes(&to.axes));
        }
    }

    fn combine(&mut self, op: Reduce, x: &Value, y: &Value) -> Value {
        let op = match op {
            Reduce::Sum => Binary::Add,
            Reduce::Max => Binary::Max,
        };
        self.target.binary(op, x, y)
    }

    fn store(
        &mut self,
        tile: &Tile,
        (buffer, at, axes): (BufferId, &[Affine], &[AxisId]),
        value: &E,
        acc: Option<&Accumulator>,
    ) {
        let program = self.program;
        let buffer = &program.kernel.buffers[buffer];
        let mut slots = tile.layout.slots(axes);
        if buffer.space == Space::Register {
            for slot in slots {
                let value = self.eval(value, tile, &slot, acc);
                let name = register_name(buffer, at.iter(), &slot);
                self.target.assign(&name, &value, tile.layout.any_lanes(axes));
            }
            return;
        }
        let index: Vec<EvaluatedIndex<'_>> = at.iter().map(EvaluatedIndex::Affine).collect();
        let masked = tile.masks.iter().any(|mask| axes.contains(&mask.axis));
        let wide = if self.target.wide() && !masked { wide_axis(tile, axes) } else { None };
        let Some((axis, count)) = wide else {
            for slot in slots {
                let value = self.eval(value, tile, &slot, acc);
                let address = self.address(tile, buffer, &index, &slot);
                let condition = self.condition(tile, &slot, axes, &[]);
                self.target.store(buffer, &address, &value, &condition);
            }
            return;
        };
        // Registers that one wide access holds come one after the other.
        slots.retain(|slot| register(slot, axis).is_multiple_of(count));
        for slot in slots {
            let first = register(&slot, axis);
            let group: Vec<Slot> = (0..count).map(|i| moved(&slot, axis, first + i)).collect();
            let values: Vec<Value> = group.iter().map(|slot| self.eval(value, tile, slot, acc)).collect();
            let places: Vec<_> = group.iter().map(|slot| self.address(tile, buffer, &index, slot)).collect();
            let adjacent = places.iter().enumerate().all(|(i, place)| {
                let same = (&place.terms, &place.lanes) == (&places[0].terms, &places[0].lanes);
                same && place.offset - places[0].offset == i as i64 && place.computed.is_empty()
            });
            if adjacent && self.target.store_wide(buffer, &places[0], &values) {
                continue;
            }
            for (place, value) in places.iter().zip(&values) {
                self.target.store(buffer, place, value, &Condition::default());
            }
        }
    }
}
