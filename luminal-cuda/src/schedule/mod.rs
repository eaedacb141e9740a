//! Schedules for GPUs, built from the shape of a kernel alone: which axes it has, which are reduced, and with which
//! strides memory is read along them.
//!
//! 1. For each definition an estimate ranks the ways to spread two of its axes over the threads of a block
//!    (module `spread`): threads along contiguous memory, enough of them, few passes of each.
//! 2. The definition with the most work decides how the grid is cut, and gets a register tile where that lets values
//!    be used more than once (module `tile`).
//! 3. The others are spread over the same blocks, their local values in registers or in shared memory (`build`).
//!
//! Every candidate must lower and fit into shared memory; the last ones are one thread for each block, and one thread
//! for all, which fit whenever any schedule does.

mod access;
mod build;
mod spread;
mod tile;

use crate::ptx::MAX_SHARED_BYTES;
use luminal_core::kernel::ir::Kernel;
use luminal_core::kernel::lower::lower;
use luminal_core::kernel::schedule::Schedule;
use luminal_core::kernel::tile::Program;
use luminal_core::plan::{CudaLaunch, Dim, GridAxis};
use std::fmt;

/// No schedule fits the kernel on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unschedulable(String);

impl fmt::Display for Unschedulable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no GPU schedule fits: {}", self.0)
    }
}

impl std::error::Error for Unschedulable {}

/// The most promising schedule for a GPU. The storage of arguments stays as the kernel has it.
pub fn schedule(kernel: &Kernel) -> Result<Schedule, Unschedulable> {
    let mut reason = "it has no definitions".to_string();
    for candidate in build::candidates(kernel) {
        match fits(kernel, &candidate) {
            Ok(()) => return Ok(build::with_registers(kernel, candidate)),
            Err(why) => reason = why,
        }
    }
    Err(Unschedulable(reason))
}

/// All schedules that [`schedule`] looks at and that fit, the most promising first.
pub fn schedules(kernel: &Kernel) -> Vec<Schedule> {
    let mut found: Vec<Schedule> = vec![];
    for candidate in build::candidates(kernel).into_iter().filter(|candidate| fits(kernel, candidate).is_ok())
    {
        let candidate = build::with_registers(kernel, candidate);
        if !found.contains(&candidate) {
            found.push(candidate);
        }
    }
    found
}

/// The schedule lowers, and a block has enough shared memory.
fn fits(kernel: &Kernel, schedule: &Schedule) -> Result<(), String> {
    let program = lower("candidate", kernel, schedule).map_err(|error| error.to_string())?;
    // warps may have to exchange a value of each thread
    let bytes = program.scratch_bytes() + (4 + 8) * schedule.lanes + 16 * kernel.buffers.len();
    if bytes > MAX_SHARED_BYTES {
        return Err(format!("a block needs {bytes} bytes of shared memory, there are {MAX_SHARED_BYTES}"));
    }
    Ok(())
}

/// How the entry of a program is launched. With a free size of 0 the grid may be empty: then nothing is launched.
pub fn launch(program: &Program) -> CudaLaunch {
    let axes = program.grid.iter().map(|block| {
        let axis = &program.kernel.axes[block.axis];
        let size = axis.free.map_or(Dim::Fixed(axis.max), |index| Dim::Free { index, max: axis.max });
        GridAxis { size, block: block.size }
    });
    CudaLaunch { threads: program.lanes, grid: axes.collect::<Vec<_>>().into() }
}
