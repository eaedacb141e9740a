//! How the positions of a tile are spread over registers and lanes.
//!
//! Per axis a list of digits, least significant first; each digit counts registers or lanes. `i: R6, j: L8 R2` is the
//! 6 x 16 tile of a contraction on a CPU with vectors of 8; `j: R4 L32 R2` is a row on a GPU whose 32 threads own four
//! adjacent elements each, twice. An axis that a value lacks is replicated: the CPU's broadcast, the GPU's uniform value.

use super::ir::AxisId;

/// One digit of an axis of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayoutDigit {
    /// This many registers.
    Registers(usize),
    /// Lanes: bits `shift ..` of the lane number, `size` (a power of two) of them.
    Lanes {
        /// Lowest bit of the lane number.
        shift: u32,
        /// Number of values.
        size: usize,
    },
}

impl LayoutDigit {
    /// Positions of the digit.
    pub fn size(self) -> usize {
        match self {
            LayoutDigit::Registers(n) | LayoutDigit::Lanes { size: n, .. } => n,
        }
    }
}

/// `(lane >> shift) % size * weight`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneDigit {
    /// Lowest bit of the lane number.
    pub shift: u32,
    /// Number of values, a power of two.
    pub size: usize,
    /// What each counts.
    pub weight: i64,
}

impl LaneDigit {
    /// The contribution of a lane.
    pub fn at(&self, lane: usize) -> i64 {
        ((lane >> self.shift) % self.size) as i64 * self.weight
    }
}

/// Registers of a tile: for some axes the number of the register along each.
pub type Slot = Vec<(AxisId, usize)>;

/// The register of a slot along an axis; 0 along axes that it does not name.
pub fn register(slot: &Slot, axis: AxisId) -> usize {
    slot.iter().find(|s| s.0 == axis).map_or(0, |s| s.1)
}

/// Digits of each axis that has more than one position in the tile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layout(pub Vec<(AxisId, Vec<LayoutDigit>)>);

impl Layout {
    /// The digits of an axis, least significant first.
    pub fn digits(&self, axis: AxisId) -> &[LayoutDigit] {
        self.0.iter().find(|a| a.0 == axis).map_or(&[], |a| &a.1)
    }

    /// Number of registers along an axis.
    pub fn registers(&self, axis: AxisId) -> usize {
        let registers = |d: &LayoutDigit| if let LayoutDigit::Registers(n) = d { *n } else { 1 };
        self.digits(axis).iter().map(registers).product()
    }

    /// Number of positions along an axis.
    pub fn size(&self, axis: AxisId) -> usize {
        self.digits(axis).iter().map(|d| d.size()).product()
    }

    /// True if lanes differ in their position on the axis.
    pub fn has_lanes(&self, axis: AxisId) -> bool {
        self.digits(axis).iter().any(|d| matches!(d, LayoutDigit::Lanes { .. }))
    }

    /// True if lanes differ in their position on some of the axes.
    pub fn any_lanes(&self, axes: &[AxisId]) -> bool {
        axes.iter().any(|axis| self.has_lanes(*axis))
    }

    /// Position on an axis of register number `register`: a constant, and what the lane adds.
    pub fn position(&self, axis: AxisId, register: usize) -> (i64, Vec<LaneDigit>) {
        let (mut weight, mut offset, mut left) = (1, 0, register);
        let mut lanes = vec![];
        for digit in self.digits(axis) {
            match *digit {
                LayoutDigit::Registers(n) => {
                    offset += (left % n) as i64 * weight;
                    left /= n;
                }
                LayoutDigit::Lanes { shift, size } => lanes.push(LaneDigit { shift, size, weight }),
            }
            weight *= digit.size() as i64;
        }
        (offset, lanes)
    }

    /// All registers of the tile along some axes, the last axis fastest.
    pub fn slots(&self, axes: &[AxisId]) -> Vec<Slot> {
        let mut slots: Vec<Slot> = vec![vec![]];
        for axis in axes {
            let registers = self.registers(*axis);
            let with = |slot: Slot, r| slot.into_iter().chain([(*axis, r)]).collect::<Slot>();
            slots = slots.into_iter().flat_map(|s| (0..registers).map(move |r| with(s.clone(), r))).collect();
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::LayoutDigit::{Lanes, Registers};
    use super::*;

    #[test]
    fn every_position_is_held_once() {
        let row = Layout(vec![(0, vec![Registers(4), Lanes { shift: 0, size: 8 }, Registers(2)])]);
        assert_eq!((row.size(0), row.registers(0), row.size(1)), (64, 8, 1));
        let mut held: Vec<i64> = vec![];
        for slot in row.slots(&[0]) {
            let (offset, lanes) = row.position(0, register(&slot, 0));
            held.extend((0..8).map(|lane| offset + lanes.iter().map(|l| l.at(lane)).sum::<i64>()));
        }
        held.sort();
        assert_eq!(held, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn slots_run_along_the_last_axis_first() {
        let tile = Layout(vec![(0, vec![Registers(2)]), (1, vec![Registers(2)])]);
        let slots = tile.slots(&[0, 1]);
        assert_eq!(slots[1], vec![(0, 0), (1, 1)]);
        assert_eq!(slots.len(), 4);
        assert_eq!(tile.slots(&[5]), vec![vec![(5, 0)]]);
    }
}
