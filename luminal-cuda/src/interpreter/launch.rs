//! Launching a kernel: blocks one after the other, the warps of a block in turns.

use super::instruction::{Op, Space};
use super::memory::Memory;
use super::module::Kernel;
use super::shared::Shared;
use super::warp::{State, Warp};
use luminal_core::error::{Error, Result};

/// In which order the warps of a block run between two barriers, and blocks one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarpOrder {
    /// First to last.
    #[default]
    Ascending,
    /// Last to first, blocks too.
    Descending,
    /// Starting one warp further after each barrier.
    Rotating,
}

impl WarpOrder {
    /// All orders: a correct kernel gives the same results in each.
    pub const ALL: [WarpOrder; 3] = [WarpOrder::Ascending, WarpOrder::Descending, WarpOrder::Rotating];

    /// The warp that runs at a turn.
    fn warp(self, turn: usize, round: usize, warps: usize) -> usize {
        match self {
            WarpOrder::Ascending => turn,
            WarpOrder::Descending => warps - 1 - turn,
            WarpOrder::Rotating => (turn + round + 1) % warps,
        }
    }
}

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    kernel: &'a Kernel,
    threads: u32,
    grid: [u32; 3],
    dynamic_shared: usize,
    order: WarpOrder,
    limit: u64,
}

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Instructions, counted once for each thread that ran them.
    pub thread_instructions: u64,
    /// Instructions, counted once for each warp.
    pub warp_instructions: u64,
}

/// The most threads of a block.
const MAX_THREADS: u32 = 1024;

impl<'a> Launch<'a> {
    /// One block of so many threads.
    pub fn new(kernel: &'a Kernel, threads: usize) -> Launch<'a> {
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        let order = WarpOrder::default();
        Launch { kernel, threads, grid: [1; 3], dynamic_shared: 0, order, limit: 1 << 34 }
    }

    /// So many blocks along x.
    pub fn blocks(self, blocks: usize) -> Self {
        self.grid([blocks, 1, 1])
    }

    /// So many blocks along x, y and z.
    pub fn grid(mut self, grid: [usize; 3]) -> Self {
        self.grid = grid.map(|blocks| u32::try_from(blocks).unwrap_or(u32::MAX));
        self
    }

    /// Bytes behind an `.extern .shared` array.
    pub fn dynamic_shared(mut self, bytes: usize) -> Self {
        self.dynamic_shared = bytes;
        self
    }

    /// The order of warps.
    pub fn order(mut self, order: WarpOrder) -> Self {
        self.order = order;
        self
    }

    /// Gives up, as for an endless loop, after so many instructions of warps.
    pub fn limit(mut self, warp_instructions: u64) -> Self {
        self.limit = warp_instructions;
        self
    }

    /// Runs the grid. `arguments` are addresses and numbers in the order of the parameters.
    pub fn run(&self, memory: &mut Memory, arguments: &[u64]) -> Result<Statistics> {
        let parameters = self.parameters(arguments)?;
        self.check()?;
        let granule = shared_granule(self.kernel);
        let mut statistics = Statistics::default();
        for number in 0..self.grid.iter().map(|blocks| u64::from(*blocks)).product() {
            let number = match self.order {
                WarpOrder::Descending => {
                    self.grid.iter().map(|blocks| u64::from(*blocks)).product::<u64>() - 1 - number
                }
                _ => number,
            };
            let (x, y) = (u64::from(self.grid[0]), u64::from(self.grid[1]));
            let position = [number % x, number / x % y, number / x / y].map(|value| value as u32);
            let mut block = Block {
                kernel: self.kernel,
                memory,
                shared: Shared::new(self.kernel.shared + self.dynamic_shared, granule),
                parameters: &parameters,
                position,
                grid: self.grid,
                threads: self.threads,
                statistics,
                limit: self.limit,
            };
            self.block(&mut block)?;
            statistics = block.statistics;
        }
        Ok(statistics)
    }

    fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::new(format!("kernel {}: {message}", self.kernel.name))
    }

    fn check(&self) -> Result<()> {
        let bound = self.kernel.max_threads.map_or(MAX_THREADS, |bound| bound as u32);
        if self.threads == 0 || self.threads > bound {
            return Err(self.error(format_args!("{} threads in a block, the bound is {bound}", self.threads)));
        }
        let [_, y, z] = self.grid;
        if self.grid.contains(&0) || y > 65_535 || z > 65_535 || self.grid[0] > i32::MAX as u32 {
            return Err(self.error(format_args!("a grid of {:?} blocks cannot be launched", self.grid)));
        }
        if self.dynamic_shared > 0 && !self.kernel.dynamic_shared {
            return Err(
                self.error("shared memory is given at launch but no `.extern .shared` array is declared")
            );
        }
        Ok(())
    }

    /// The parameter bytes.
    fn parameters(&self, arguments: &[u64]) -> Result<Vec<u8>> {
        let declared = &self.kernel.parameters;
        if declared.len() != arguments.len() {
            return Err(self.error(format_args!(
                "{} arguments for {} parameters",
                arguments.len(),
                declared.len()
            )));
        }
        let mut bytes = vec![0; declared.last().map_or(0, |last| last.offset + last.bytes)];
        for (parameter, argument) in declared.iter().zip(arguments) {
            if parameter.bytes == 4 && u32::try_from(*argument).is_err() {
                return Err(
                    self.error(format_args!("argument {argument:#x} does not fit `{}`", parameter.name))
                );
            }
            bytes[parameter.offset..parameter.offset + parameter.bytes]
                .copy_from_slice(&argument.to_le_bytes()[..parameter.bytes]);
        }
        Ok(bytes)
    }

    fn block(&self, block: &mut Block) -> Result<()> {
        let mut warps: Vec<Warp> = (0..self.threads)
            .step_by(32)
            .map(|first| Warp::new(self.kernel, first, (self.threads - first).min(32)))
            .collect();
        let count = warps.len();
        for round in 0.. {
            for turn in 0..count {
                let warp = &mut warps[self.order.warp(turn, round, count)];
                if warp.state == State::Ready {
                    warp.run(block).map_err(|message| self.failure(block, warp, message))?;
                }
            }
            let done = warps.iter().filter(|warp| warp.state == State::Done).count();
            if done == count {
                break;
            }
            if done > 0 {
                return Err(self.error("some warps have returned while others wait at a barrier"));
            }
            for warp in &mut warps {
                warp.state = State::Ready;
            }
            block.shared.barrier();
        }
        Ok(())
    }

    fn failure(&self, block: &Block, warp: &Warp, message: String) -> Error {
        let instruction = &self.kernel.instructions[warp.position()];
        self.error(format_args!(
            "line {}, `{}`: block {:?}, {message}",
            instruction.line, instruction.text, block.position
        ))
    }
}

/// What neighbouring threads access one by one does not race with each other, down to single bytes.
fn shared_granule(kernel: &Kernel) -> usize {
    let widths = kernel.instructions.iter().filter_map(|instruction| match instruction.op {
        Op::Load { space: Space::Shared, ty, .. } | Op::Store { space: Space::Shared, ty, .. } => {
            Some(ty.bytes())
        }
        _ => None,
    });
    widths.min().unwrap_or(4).clamp(1, 4)
}

/// The block that runs, and what its warps share.
pub(super) struct Block<'a> {
    pub kernel: &'a Kernel,
    pub memory: &'a mut Memory,
    pub shared: Shared,
    pub parameters: &'a [u8],
    pub position: [u32; 3],
    pub grid: [u32; 3],
    pub threads: u32,
    statistics: Statistics,
    limit: u64,
}

impl Block<'_> {
    /// Counts one instruction.
    #[inline(always)]
    pub fn count(&mut self, mask: u32) -> Result<(), String> {
        self.statistics.thread_instructions += u64::from(mask.count_ones());
        self.statistics.warp_instructions += 1;
        if self.statistics.warp_instructions > self.limit {
            return Err(format!("more than {} instructions of warps: an endless loop?", self.limit));
        }
        Ok(())
    }
}
