//! Expressions: one value for each register, computed once in a statement.

use super::address::EvaluatedIndex;
use super::{Condition, Expansion, Literal, Target, Value};
use crate::dtype::Dtype;
use crate::kernel::expr;
use crate::kernel::ir::{Affine, AxisId, Binary, Buffer, BufferId, E, Expr, Guard, Index, Space};
use crate::kernel::layout::{LayoutDigit, Slot, register};
use crate::kernel::tile::{Accumulator, Bound, Term, Tile};
use std::rc::Rc;

/// The register of a [`Space::Register`] buffer at a slot.
pub(super) fn register_name<'a>(
    buffer: &Buffer,
    at: impl Iterator<Item = &'a Affine>,
    slot: &Slot,
) -> String {
    let mut name = format!("r_{}", buffer.name);
    for index in at {
        let number = index.as_axis().map_or(0, |axis| register(slot, axis));
        name += &format!("_{number}");
    }
    name
}

/// The register of an accumulator at a slot.
pub(super) fn accumulator_name(acc: &Accumulator, slot: &Slot) -> String {
    let mut name = format!("a{}", acc.id);
    for axis in &acc.axes {
        name += &format!("_{}", register(slot, *axis));
    }
    name
}

impl<'a, T: Target> Expansion<'a, T> {
    /// The axes that a value depends on.
    pub(super) fn axes_of(&mut self, value: &E, acc: Option<&Accumulator>) -> Rc<Vec<AxisId>> {
        if let Some(known) = self.axes.get(&Rc::as_ptr(value)) {
            return known.clone();
        }
        let found = expr::axes(value, acc.map_or(&[], |a| &a.axes));
        let found = Rc::new(found.into_iter().collect::<Vec<_>>());
        self.axes.insert(Rc::as_ptr(value), found.clone());
        found
    }

    /// The value in the register `slot` of the tile.
    pub(super) fn eval(&mut self, value: &E, tile: &Tile, slot: &Slot, acc: Option<&Accumulator>) -> Value {
        let axes = self.axes_of(value, acc);
        let key = (Rc::as_ptr(value), axes.iter().map(|axis| register(slot, *axis)).collect::<Vec<_>>());
        if let Some(known) = self.values.get(&key) {
            return known.clone();
        }
        let result = match &**value {
            Expr::Float(x) => self.target.literal(Literal::Float(*x)),
            Expr::Int(x) => self.target.literal(Literal::Int(*x)),
            Expr::Long(x) => self.target.literal(Literal::Long(*x)),
            Expr::Bool(x) => self.target.literal(Literal::Bool(*x)),
            Expr::Size(free) => self.target.literal(Literal::Size(*free)),
            Expr::Position(at) => {
                let at = self.affine(tile, at, slot, false);
                self.target.position(&at)
            }
            Expr::NotNegative(at) => {
                let at = self.affine(tile, at, slot, false);
                self.target.not_negative(&at)
            }
            Expr::Load { buffer, index, guards } => {
                return self.load(value, (*buffer, index, guards), tile, slot, acc, key);
            }
            Expr::Acc => {
                let acc = acc.expect("the reduced value occurs in epilogues only");
                Value {
                    text: accumulator_name(acc, slot),
                    lanes: tile.layout.any_lanes(&acc.axes),
                    dtype: acc.dtype,
                }
            }
            Expr::Unary(op, x) => {
                let x = self.eval(x, tile, slot, acc);
                self.target.unary(*op, &x)
            }
            Expr::Binary(Binary::Add, x, y) => self.sum(x, y, tile, slot, acc),
            Expr::Binary(op, x, y) => {
                let (x, y) = (self.eval(x, tile, slot, acc), self.eval(y, tile, slot, acc));
                self.target.binary(*op, &x, &y)
            }
            Expr::Select(c, x, y) => {
                let c = self.eval(c, tile, slot, acc);
                let (x, y) = (self.eval(x, tile, slot, acc), self.eval(y, tile, slot, acc));
                self.target.select(&c, &x, &y)
            }
            Expr::Cast(to, x) => {
                let x = self.eval(x, tile, slot, acc);
                if x.dtype == *to { x } else { self.target.cast(*to, &x) }
            }
        };
        self.values.insert(key, result.clone());
        result
    }

    /// A sum whose left side is a product is one operation where the target wants it.
    fn sum(&mut self, x: &E, y: &E, tile: &Tile, slot: &Slot, acc: Option<&Accumulator>) -> Value {
        if let Expr::Binary(Binary::Mul, u, v) = &**x {
            let (u, v) = (self.eval(u, tile, slot, acc), self.eval(v, tile, slot, acc));
            if u.dtype == Dtype::F32 {
                let z = self.eval(y, tile, slot, acc);
                if let Some(sum) = self.target.multiply_add(&u, &v, &z) {
                    return sum;
                }
            }
        }
        let (x, y) = (self.eval(x, tile, slot, acc), self.eval(y, tile, slot, acc));
        self.target.binary(Binary::Add, &x, &y)
    }

    fn load(
        &mut self,
        value: &E,
        (buffer, index, guards): (BufferId, &[Index], &[Guard]),
        tile: &Tile,
        slot: &Slot,
        acc: Option<&Accumulator>,
        key: (*const Expr, Vec<usize>),
    ) -> Value {
        let program = self.program;
        let buffer = &program.kernel.buffers[buffer];
        let axes = self.axes_of(value, acc);
        if buffer.space == Space::Register {
            let at: Vec<Affine> = index
                .iter()
                .map(|i| if let Index::Affine(at) = i { at.clone() } else { Affine::default() })
                .collect();
            return Value {
                text: register_name(buffer, at.iter(), slot),
                lanes: tile.layout.any_lanes(&axes),
                dtype: buffer.dtype.wide(),
            };
        }
        let condition = self.condition(tile, slot, &axes, guards);
        let wide = condition.is_always() && self.target.wide();
        let wide = if wide { wide_axis(tile, &axes) } else { None };
        if let Some((axis, count)) = wide
            && let Some(loaded) = self.load_wide(buffer, index, tile, slot, acc, (axis, count))
        {
            let first = register(slot, axis) / count * count;
            let place = axes.iter().position(|a| *a == axis).expect("the wide axis is one of the value's");
            for (i, loaded) in loaded.iter().enumerate() {
                let mut key = key.clone();
                key.1[place] = first + i;
                self.values.insert(key, loaded.clone());
            }
            return loaded[register(slot, axis) - first].clone();
        }
        let at = self.load_address(buffer, index, tile, slot, acc);
        let result = self.target.load(buffer, &at, &condition);
        self.values.insert(key, result.clone());
        result
    }

    fn load_address(
        &mut self,
        buffer: &Buffer,
        index: &[Index],
        tile: &Tile,
        slot: &Slot,
        acc: Option<&Accumulator>,
    ) -> super::Address {
        let mut evaluated = vec![];
        for i in index {
            evaluated.push(match i {
                Index::Affine(at) => EvaluatedIndex::Affine(at),
                Index::Value(e) => EvaluatedIndex::Value(self.eval(e, tile, slot, acc)),
            });
        }
        self.address(tile, buffer, &evaluated, slot)
    }

    /// The registers of the lowest digit of an axis in one access, if they are adjacent in memory.
    fn load_wide(
        &mut self,
        buffer: &Buffer,
        index: &[Index],
        tile: &Tile,
        slot: &Slot,
        acc: Option<&Accumulator>,
        (axis, count): (AxisId, usize),
    ) -> Option<Vec<Value>> {
        if index.iter().any(|i| matches!(i, Index::Value(_))) {
            return None;
        }
        let first = register(slot, axis) / count * count;
        let at = self.load_address(buffer, index, tile, &moved(slot, axis, first), acc);
        for i in 1..count {
            let next = self.load_address(buffer, index, tile, &moved(slot, axis, first + i), acc);
            if next.offset - at.offset != i as i64 || next.terms != at.terms || next.lanes != at.lanes {
                return None;
            }
        }
        self.target.load_wide(buffer, &at, count)
    }

    /// When an access by a value with these axes happens: within all masks of the tile, and where all guards hold.
    pub(super) fn condition(
        &mut self,
        tile: &Tile,
        slot: &Slot,
        axes: &[AxisId],
        guards: &[Guard],
    ) -> Condition {
        let mut condition = Condition::default();
        for mask in tile.masks.iter().filter(|mask| axes.contains(&mask.axis)) {
            let holds = self.mask(tile, slot, mask.axis, &mask.end);
            self.also(&mut condition, holds);
        }
        for guard in guards {
            let at = self.affine(tile, &guard.at, slot, false);
            let key = format!("inside {at:?} {}", guard.extent);
            let known = self.conditions.get(&key).cloned();
            let holds = known.unwrap_or_else(|| self.target.inside(&at, guard.extent));
            self.conditions.insert(key, holds.clone());
            self.also(&mut condition, holds);
            if let Some(free) = guard.free {
                let end = Bound(vec![Term { vars: vec![], size: Some(free), offset: 0 }]);
                let holds = self.below(&at, &end);
                self.also(&mut condition, holds);
            }
        }
        condition
    }

    /// Which lanes are on.
    pub(super) fn mask(&mut self, tile: &Tile, slot: &Slot, axis: AxisId, end: &Bound) -> Value {
        let at = self.affine(tile, &Affine::axis(axis), slot, false);
        self.below(&at, end)
    }

    fn below(&mut self, at: &super::Address, end: &Bound) -> Value {
        let key = format!("below {at:?} {end:?}");
        let known = self.conditions.get(&key).cloned();
        let holds = known.unwrap_or_else(|| self.target.below(at, end));
        self.conditions.insert(key, holds.clone());
        holds
    }

    fn also(&mut self, condition: &mut Condition, holds: Value) {
        let part = if holds.lanes { &mut condition.lanes } else { &mut condition.uniform };
        *part = Some(match part.take() {
            None => holds,
            Some(known) => {
                let key = format!("and {} {}", known.text, holds.text);
                let both = self.conditions.get(&key).cloned();
                let both = both.unwrap_or_else(|| self.target.binary(Binary::And, &known, &holds));
                self.conditions.insert(key, both.clone());
                both
            }
        });
    }
}

/// The slot with another register along one axis.
pub(super) fn moved(slot: &Slot, axis: AxisId, to: usize) -> Slot {
    slot.iter().map(|(a, r)| (*a, if *a == axis { to } else { *r })).collect()
}

/// An axis whose lowest digit is several registers below its lanes: a thread owns adjacent elements.
pub(super) fn wide_axis(tile: &Tile, axes: &[AxisId]) -> Option<(AxisId, usize)> {
    let candidates = tile.layout.0.iter().filter(|a| axes.contains(&a.0) && a.1.len() > 1);
    candidates
        .filter_map(|(axis, digits)| match digits[0] {
            LayoutDigit::Registers(n) => Some((*axis, n)),
            LayoutDigit::Lanes { .. } => None,
        })
        .next()
}
