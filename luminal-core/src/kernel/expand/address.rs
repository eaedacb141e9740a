//! Where an element lies: positions on axes become a sum of loop variables, lane digits and a constant.

use super::{Expansion, Literal, Target, Value};
use crate::kernel::ir::{Affine, AxisId, Binary, Buffer, Digit, Space};
use crate::kernel::layout::{LaneDigit, Slot, register};
use crate::kernel::tile::{Level, Tile, Var};

/// `(var / divisor % modulus) * stride`; no modulo if `modulus` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressTerm {
    /// The loop variable.
    pub var: Var,
    /// Divides it.
    pub divisor: i64,
    /// Limits the quotient.
    pub modulus: i64,
    /// Elements for each step.
    pub stride: i64,
}

/// A sum, in elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Address {
    /// What loops contribute.
    pub terms: Vec<AddressTerm>,
    /// What values contribute: a computed index (an `i32`) and its stride.
    pub computed: Vec<(Value, i64)>,
    /// A constant.
    pub offset: i64,
    /// What the lane contributes, by lowest bit.
    pub lanes: Vec<LaneDigit>,
}

impl Address {
    /// True if lanes differ in their address.
    pub fn has_lanes(&self) -> bool {
        !self.lanes.is_empty() || self.computed.iter().any(|c| c.0.lanes)
    }

    /// What one lane adds to the address, computed indices apart.
    pub fn lane_offset(&self, lane: usize) -> i64 {
        self.lanes.iter().map(|digit| digit.at(lane)).sum()
    }

    /// The distance of neighbouring lanes, if it is the same for all `count` lanes and no computed index has lanes.
    pub fn lane_stride(&self, count: usize) -> Option<i64> {
        if self.computed.iter().any(|c| c.0.lanes) || count < 2 {
            return None;
        }
        let stride = self.lane_offset(1);
        (0..count).all(|lane| self.lane_offset(lane) == lane as i64 * stride).then_some(stride)
    }

    fn add_term(&mut self, term: AddressTerm) {
        let same =
            |t: &&mut AddressTerm| (t.var, t.divisor, t.modulus) == (term.var, term.divisor, term.modulus);
        match self.terms.iter_mut().find(same) {
            Some(known) => known.stride += term.stride,
            None => self.terms.push(term),
        }
    }

    fn add_lane(&mut self, digit: LaneDigit) {
        match self.lanes.iter_mut().find(|d| (d.shift, d.size) == (digit.shift, digit.size)) {
            Some(known) => known.weight += digit.weight,
            None => self.lanes.push(digit),
        }
    }

    /// Drops what contributes nothing.
    fn tidy(mut self) -> Address {
        self.terms.retain(|t| t.stride != 0);
        self.lanes.retain(|l| l.weight != 0);
        self.lanes.sort_by_key(|l| l.shift);
        self
    }

    /// Adds `index * stride`; `relative`: positions count from the start of the block.
    fn add_affine(&mut self, tile: &Tile, index: &Affine, slot: &Slot, stride: i64, relative: bool) {
        self.offset += index.offset * stride;
        for (axis, coefficient) in &index.terms {
            let weight = coefficient * stride;
            for (var, sign) in base(tile, *axis, relative) {
                self.add_term(AddressTerm { var, divisor: 1, modulus: 0, stride: sign * weight });
            }
            let (offset, lanes) = tile.layout.position(*axis, register(slot, *axis));
            self.offset += offset * weight;
            for digit in lanes {
                self.add_lane(LaneDigit { weight: digit.weight * weight, ..digit });
            }
        }
    }

    /// Adds the digits of a packed dimension, where the tile lies so that base and position in the tile never carry
    /// into each other; otherwise changes nothing and returns false.
    fn add_packed(&mut self, tile: &Tile, axis: AxisId, slot: &Slot, digits: &[Digit]) -> bool {
        let size = tile.layout.size(axis) as i64;
        let align = tile.loops[axis].align as i64;
        let var = tile.loops[axis].var(axis);
        let (offset, lanes) = tile.layout.position(axis, register(slot, axis));
        let mut sum = Address::default();
        let mut divisor = 1;
        for digit in digits {
            let last = digit.size == Digit::REST;
            let modulus = if last { 0 } else { digit.size as i64 };
            let stride = digit.stride as i64;
            // Here the tile starts at a boundary of this digit, or lies within one step of it.
            let starts = align % divisor == 0;
            let within = divisor % size == 0 && align % size == 0;
            if var.is_some() && !starts && !within {
                return false;
            }
            if let Some(var) = var {
                // A multiple of the next boundary leaves no remainder in this digit.
                if last || align % (divisor * modulus) != 0 {
                    sum.add_term(AddressTerm { var, divisor, modulus, stride });
                }
            }
            sum.offset += if last { offset / divisor } else { offset / divisor % modulus } * stride;
            for lane in &lanes {
                let end = lane.weight * lane.size as i64;
                let from = lane.weight.max(divisor);
                let to = if last { end } else { end.min(divisor * modulus) };
                if from >= to {
                    continue;
                }
                let split = from / lane.weight;
                let exact = from % lane.weight == 0 && to % from == 0 && from % divisor == 0;
                if !exact || !(split as u64).is_power_of_two() || !((to / from) as u64).is_power_of_two() {
                    return false;
                }
                sum.add_lane(LaneDigit {
                    shift: lane.shift + split.trailing_zeros(),
                    size: (to / from) as usize,
                    weight: from / divisor * stride,
                });
            }
            if !last {
                divisor *= modulus;
            }
        }
        sum.terms.into_iter().for_each(|t| self.add_term(t));
        sum.lanes.into_iter().for_each(|l| self.add_lane(l));
        self.offset += sum.offset;
        true
    }
}

/// The variables that give the first position of the tile, with their signs.
fn base(tile: &Tile, axis: AxisId, relative: bool) -> Vec<(Var, i64)> {
    let loops = tile.loops[axis];
    let block = Var { axis, level: Level::Block };
    match (loops.var(axis), relative) {
        (None, _) => vec![],
        (Some(var), false) => vec![(var, 1)],
        (Some(var), true) if var == block => vec![],
        (Some(var), true) if loops.block => vec![(var, 1), (block, -1)],
        (Some(var), true) => vec![(var, 1)],
    }
}

/// One index of an access, computed indices already evaluated.
pub(super) enum EvaluatedIndex<'e> {
    Affine(&'e Affine),
    Value(Value),
}

impl<T: Target> Expansion<'_, T> {
    /// The value of an affine index as an address with stride 1.
    pub(super) fn affine(&self, tile: &Tile, index: &Affine, slot: &Slot, relative: bool) -> Address {
        let mut address = Address::default();
        address.add_affine(tile, index, slot, 1, relative);
        address.tidy()
    }

    /// Where an element of a buffer lies. Scratch is indexed from the start of the block.
    pub(super) fn address(
        &mut self,
        tile: &Tile,
        buffer: &Buffer,
        index: &[EvaluatedIndex<'_>],
        slot: &Slot,
    ) -> Address {
        let relative = buffer.space == Space::Scratch;
        let mut address = Address::default();
        for (index, digits) in index.iter().zip(&buffer.storage) {
            match index {
                EvaluatedIndex::Affine(at) => {
                    if let [digit] = digits[..] {
                        address.add_affine(tile, at, slot, digit.stride as i64, relative);
                        continue;
                    }
                    let plain = at.as_axis().filter(|_| !relative);
                    if plain.is_some_and(|axis| address.add_packed(tile, axis, slot, digits)) {
                        continue;
                    }
                    let position = self.affine(tile, at, slot, relative);
                    let position = self.target.position(&position);
                    self.computed_digits(&mut address, position, digits);
                }
                EvaluatedIndex::Value(position) => {
                    self.computed_digits(&mut address, position.clone(), digits)
                }
            }
        }
        address.tidy()
    }

    /// The general case of a packed dimension: its digits by division.
    fn computed_digits(&mut self, address: &mut Address, mut position: Value, digits: &[Digit]) {
        for digit in digits {
            if digit.size == Digit::REST {
                address.computed.push((position.clone(), digit.stride as i64));
                return;
            }
            let size = self.target.literal(Literal::Int(digit.size as i32));
            let here = self.target.binary(Binary::Mod, &position, &size);
            address.computed.push((here, digit.stride as i64));
            position = self.target.binary(Binary::FloorDiv, &position, &size);
        }
    }
}
