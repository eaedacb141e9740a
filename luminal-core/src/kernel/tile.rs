//! Level 2: a tile program says how a kernel runs on one block of its grid. It is the only thing that renderers see.
//!
//! A block runs nests of loops; in each nest, statements work on a *tile*: a few positions of each axis, held in
//! registers and lanes as its [`Layout`] says. On a CPU a register is a SIMD vector, on a GPU one register of every thread.

use super::ir::{Affine, AxisId, BufferId, E, Kernel, Space};
use super::layout::Layout;
use crate::dtype::Dtype;
use crate::graph::Reduce;
use std::rc::Rc;

/// Which loop over an axis a variable belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// The grid, or the blocks of a fold: the variable is the first position of the block.
    Block,
    /// A loop of one nest. Its variable counts positions of the axis, not of the block.
    Nest,
}

/// A loop variable: a position on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var {
    /// The axis.
    pub axis: AxisId,
    /// The loop.
    pub level: Level,
}

/// `sum of coefficient * variable + free size + offset`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// `(variable, coefficient)`
    pub vars: Vec<(Var, i64)>,
    /// A size known at run time: position in `Graph::free`.
    pub size: Option<usize>,
    /// The constant.
    pub offset: i64,
}

impl Term {
    /// A constant.
    pub fn constant(offset: i64) -> Term {
        Term { vars: vec![], size: None, offset }
    }
}

/// The least of some terms; at least one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bound(pub Vec<Term>);

impl Bound {
    /// A constant.
    pub fn constant(offset: i64) -> Bound {
        Bound(vec![Term::constant(offset)])
    }

    /// The constant, if the bound is one.
    pub fn as_constant(&self) -> Option<i64> {
        match &self.0[..] {
            [Term { vars, size: None, offset }] if vars.is_empty() => Some(*offset),
            _ => None,
        }
    }

    /// The value where variables and free sizes have these values.
    pub fn eval(&self, variable: impl Fn(Var) -> i64, sizes: &[usize]) -> i64 {
        let term = |t: &Term| {
            let size = t.size.map_or(0, |d| sizes[d] as i64);
            t.offset + size + t.vars.iter().map(|(v, c)| c * variable(*v)).sum::<i64>()
        };
        self.0.iter().map(term).min().expect("a bound has at least one term")
    }
}

/// The loops around a tile that move it along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AxisLoops {
    /// The axis is cut into blocks here.
    pub block: bool,
    /// The nest has a loop over the axis.
    pub nest: bool,
    /// The first position of the tile is a multiple of this.
    pub align: usize,
}

impl AxisLoops {
    /// The variable that holds the tile's first position; without one, the tile starts at 0.
    pub fn var(&self, axis: AxisId) -> Option<Var> {
        match (self.nest, self.block) {
            (true, _) => Some(Var { axis, level: Level::Nest }),
            (false, true) => Some(Var { axis, level: Level::Block }),
            _ => None,
        }
    }
}

/// Lanes whose position on `axis` is not below `end` are off.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    /// An axis that carries lanes.
    pub axis: AxisId,
    /// Exclusive end of its positions.
    pub end: Bound,
}

/// What a statement works on: some positions of each axis, from where the loops around it stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// How the positions are spread over registers and lanes.
    pub layout: Layout,
    /// One entry for each axis of the kernel.
    pub loops: Vec<AxisLoops>,
    /// All must hold for a lane to be on.
    pub masks: Vec<Mask>,
}

/// Values that stay in registers while a reduction runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Accumulator {
    /// Unique within the program.
    pub id: usize,
    /// Its axes: one value for each position of the tile along them.
    pub axes: Vec<AxisId>,
    /// Type of the values.
    pub dtype: Dtype,
}

/// One of the loops that share a variable: it goes on where the one before stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Added to the variable after each pass.
    pub step: usize,
    /// Runs while `variable + step <= end`; otherwise while `variable < end`, and the body is masked.
    pub whole: bool,
    /// The statements.
    pub body: Vec<Stmt>,
}

/// Loops over one axis: whole tiles first, then what is left in smaller ones.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The variable.
    pub var: Var,
    /// First value.
    pub from: Bound,
    /// Exclusive end.
    pub to: Bound,
    /// In order.
    pub parts: Vec<Part>,
}

/// A statement. Loops apart, each acts on all positions of its tile at once.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Loops.
    For(For),
    /// `acc := value`; declares the accumulator.
    Init {
        /// Where the value is computed.
        tile: Rc<Tile>,
        /// What is set.
        acc: Accumulator,
        /// A function of the accumulator's axes.
        value: E,
    },
    /// `acc := acc (+) value`, for each position of the tile.
    Accumulate {
        /// Where the value is computed.
        tile: Rc<Tile>,
        /// What is changed.
        acc: Accumulator,
        /// Sum or maximum.
        op: Reduce,
        /// Reduced axes. Those of them that carry lanes are axes of `acc` too: each lane keeps its part of the result.
        over: Vec<AxisId>,
        /// What is added.
        value: E,
    },
    /// `to := acc (+) over lanes`: the parts that lanes and registers hold become one value; declares `to`.
    Reduce {
        /// The layout of `acc`.
        tile: Rc<Tile>,
        /// Partial results.
        acc: Accumulator,
        /// The same without the axes `over`.
        to: Accumulator,
        /// Sum or maximum.
        op: Reduce,
        /// Axes that carry lanes and are reduced.
        over: Vec<AxisId>,
    },
    /// `buffer[at] := value`
    Store {
        /// Where the value is computed.
        tile: Rc<Tile>,
        /// What is written.
        buffer: BufferId,
        /// One index for each dimension.
        at: Vec<Affine>,
        /// The axes of `at`.
        axes: Vec<AxisId>,
        /// The value.
        value: E,
        /// The meaning of `Expr::Acc` in `value`.
        acc: Option<Accumulator>,
    },
    /// Everything written to scratch before is visible to every lane after.
    Barrier,
}

/// One axis of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The axis.
    pub axis: AxisId,
    /// Its positions in one block.
    pub size: usize,
}

/// A kernel together with how it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Name of the function that is generated.
    pub name: String,
    /// Lines for the reader of the generated code: the user's operations that the kernel holds.
    pub notes: Vec<String>,
    /// The kernel, every choice made: the storage of each buffer, and a place for each local one. Scratch buffers have
    /// the sizes that a block needs.
    pub kernel: Kernel,
    /// Blocks are independent of each other, numbered row-major; outermost axis first.
    pub grid: Vec<Block>,
    /// Lanes of a register: elements of a SIMD vector, or threads of a block.
    pub lanes: usize,
    /// What one block does.
    pub body: Vec<Stmt>,
}

impl Program {
    /// Size of an axis for given free sizes.
    pub fn size(&self, axis: AxisId, sizes: &[usize]) -> usize {
        let axis = &self.kernel.axes[axis];
        axis.free.map_or(axis.max, |d| sizes[d])
    }

    /// Number of blocks for given free sizes.
    pub fn blocks(&self, sizes: &[usize]) -> usize {
        self.grid.iter().map(|b| self.size(b.axis, sizes).div_ceil(b.size)).product()
    }

    /// Bytes of scratch that one block needs.
    pub fn scratch_bytes(&self) -> usize {
        let scratch = self.kernel.buffers.iter().filter(|b| b.space == Space::Scratch);
        scratch.map(|b| b.len() * b.dtype.bytes()).sum()
    }
}
