//! Schedules: how a kernel is cut into blocks, loops, registers and lanes.

mod candidates;
mod grid;
mod machine;
mod nests;
#[cfg(test)]
mod tests;
mod text;
mod wish;

pub use candidates::{best, candidates};

pub use machine::Machine;

use super::ir::{AxisId, BufferId, Def, Item, Kernel, Storage};

/// Loops and register tile of one definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nest {
    /// Axes that are looped, outermost first. Axes that are not reduced come before those that are. An axis that is
    /// missing here has one position in the block, or its tile covers the whole block.
    pub order: Vec<AxisId>,
    /// Positions of a tile along each axis; 1 where an axis is missing.
    pub tile: Vec<(AxisId, usize)>,
    /// The axis that is spread over lanes; its tile is a multiple of the lanes that it takes.
    pub lane: Option<AxisId>,
    /// Adjacent positions of the lane axis that one lane owns (16-byte accesses of a GPU); 1 on a CPU.
    pub wide: usize,
    /// A second axis takes this many values of the upper lane bits: rows over warps, two-dimensional copies.
    pub rows: Option<(AxisId, usize)>,
}

/// Where a [`super::ir::Space::Local`] buffer lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Named registers: the value is a scalar in each block, or does not leave its nest.
    Register,
    /// Scratch memory, row-major in this order of its dimensions (outermost first).
    Scratch(Vec<usize>),
}

/// One way to run a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// Axes of the grid with the size of a block; outermost first.
    pub grid: Vec<(AxisId, usize)>,
    /// Positions of one block of each fold, in order.
    pub folds: Vec<usize>,
    /// One for each definition, in order.
    pub nests: Vec<Nest>,
    /// Lanes of a register.
    pub lanes: usize,
    /// The storage of each argument. It differs from the kernel's only where the buffer's freedom allows.
    pub storage: Vec<Storage>,
    /// The place of each buffer that is not an argument, in order.
    pub places: Vec<Place>,
}

impl Schedule {
    /// The schedule that every kernel has: one block, no lanes, one position at a time.
    pub fn plain(kernel: &Kernel) -> Schedule {
        let nest = |def: &Def| Nest {
            order: def.axes.iter().chain(def.reduce.iter().flat_map(|r| &r.axes)).copied().collect(),
            wide: 1,
            ..Nest::default()
        };
        let fold = |item: &Item| match item {
            Item::Fold { axis, .. } => Some(kernel.axes[*axis].max.max(1)),
            Item::Def(_) => None,
        };
        Schedule {
            grid: vec![],
            folds: kernel.items.iter().filter_map(fold).collect(),
            nests: kernel.defs().map(nest).collect(),
            lanes: 1,
            storage: kernel.buffers[..kernel.args].iter().map(|b| b.storage.clone()).collect(),
            places: kernel.buffers[kernel.args..]
                .iter()
                .map(|b| Place::Scratch((0..b.dims.len()).collect()))
                .collect(),
        }
    }

    /// The order in memory of an argument.
    pub fn storage(&self, argument: BufferId) -> &Storage {
        &self.storage[argument]
    }
}
