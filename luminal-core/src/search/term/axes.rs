//! Sets of named axes.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A named axis: position in [`super::Context::extents`].
pub type Axis = u8;

/// A set of axes, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisSet(pub u64);

impl AxisSet {
    /// No axis.
    pub const EMPTY: AxisSet = AxisSet(0);
    /// How many axes one graph may have.
    pub const CAPACITY: usize = 64;

    /// The set of one axis.
    pub fn of(axis: Axis) -> AxisSet {
        AxisSet(1 << axis)
    }

    /// True if there is no axis in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of axes.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// True if the axis is in it.
    pub fn contains(self, axis: Axis) -> bool {
        self.0 >> axis & 1 == 1
    }

    /// True if every axis of this set is in `other`.
    pub fn is_subset(self, other: AxisSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// True if some axis is in both.
    pub fn meets(self, other: AxisSet) -> bool {
        self.0 & other.0 != 0
    }

    /// The axes of this set that are not in `other`.
    pub fn without(self, other: AxisSet) -> AxisSet {
        AxisSet(self.0 & !other.0)
    }

    /// The axes, ascending.
    pub fn iter(self) -> impl Iterator<Item = Axis> {
        (0..64).filter(move |axis| self.contains(*axis))
    }
}

impl BitOr for AxisSet {
    type Output = AxisSet;
    fn bitor(self, other: AxisSet) -> AxisSet {
        AxisSet(self.0 | other.0)
    }
}

impl BitOrAssign for AxisSet {
    fn bitor_assign(&mut self, other: AxisSet) {
        self.0 |= other.0;
    }
}

impl BitAnd for AxisSet {
    type Output = AxisSet;
    fn bitand(self, other: AxisSet) -> AxisSet {
        AxisSet(self.0 & other.0)
    }
}

impl Not for AxisSet {
    type Output = AxisSet;
    fn not(self) -> AxisSet {
        AxisSet(!self.0)
    }
}

impl FromIterator<Axis> for AxisSet {
    fn from_iter<I: IntoIterator<Item = Axis>>(axes: I) -> AxisSet {
        axes.into_iter().fold(AxisSet::EMPTY, |set, axis| set | AxisSet::of(axis))
    }
}

impl fmt::Debug for AxisSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
