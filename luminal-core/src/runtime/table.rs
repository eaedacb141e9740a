//! Launches, prepared: functions chosen, pointers in place. The only module that calls kernels.

use super::device::Device;
use crate::error::{Error, Result};
use crate::plan::{GridAxis, KernelFn, Launch, Place, Plan};

/// A list of launches that can be run again and again.
///
/// The pointers are those of buffers in the session's areas, except that arguments which are inputs are set for each
/// run; between runs those may dangle, and are not used.
pub(crate) struct Table {
    calls: Vec<Call>,
    /// Arguments of all calls, one after another.
    pointers: Vec<*mut u8>,
    /// For each input the positions in `pointers` that are this input.
    input_positions: Vec<Vec<usize>>,
}

struct Call {
    entry: KernelFn,
    first_pointer: usize,
    grid: &'static [GridAxis],
}

// SAFETY: the pointers go to memory that the session owns (an `Area` is `Send` and `Sync`), or to inputs, which are set
// and used within one call of `Session::run`.
unsafe impl Send for Table {}
// SAFETY: nothing behind `&self` reads or writes through the pointers except `Table::call`, whose caller has exclusive
// access to the memory.
unsafe impl Sync for Table {}

impl Table {
    /// `pointers` has one entry for each buffer of the plan, which was checked.
    pub(crate) fn new(
        plan: &'static Plan,
        launches: &'static [Launch],
        device: Device,
        pointers: &[*mut u8],
    ) -> Result<Table> {
        let mut table =
            Table { calls: vec![], pointers: vec![], input_positions: vec![vec![]; plan.inputs.len()] };
        for launch in launches {
            let kernel = &plan.kernels[launch.kernel];
            let entry = device.entry(kernel).ok_or_else(|| {
                let (model, name) = (&plan.model, &kernel.name);
                Error::new(format!(
                    "`{model}` has no version of its kernel `{name}` for this device, {device}; build it for this \
                     target, or for the baseline"
                ))
            })?;
            table.calls.push(Call { entry, first_pointer: table.pointers.len(), grid: &kernel.grid });
            for &buffer in launch.args.iter() {
                if let Place::Input(number) = plan.buffers[buffer].place {
                    table.input_positions[number].push(table.pointers.len());
                }
                table.pointers.push(pointers[buffer]);
            }
        }
        Ok(table)
    }

    /// Number of launches.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Where an input lies in the next run.
    pub(crate) fn set_input(&mut self, number: usize, pointer: *mut u8) {
        for &position in &self.input_positions[number] {
            self.pointers[position] = pointer;
        }
    }

    /// Runs all launches in order.
    ///
    /// # Safety
    /// As [`Table::call`].
    pub(crate) unsafe fn run(&self, sizes: &[usize], kernel_sizes: &[i64]) {
        for launch in 0..self.calls.len() {
            // SAFETY: the condition of this function.
            unsafe { self.call(launch, sizes, kernel_sizes) }
        }
    }

    /// Runs one launch.
    ///
    /// # Safety
    /// The plan is right about its kernels, the areas that the pointers go to are alive and not borrowed, each input
    /// was set to memory with the sizes given here that is valid to read during the call, and both lists of sizes hold
    /// one entry for each free dimension, within its bound.
    pub(crate) unsafe fn call(&self, launch: usize, sizes: &[usize], kernel_sizes: &[i64]) {
        let Call { entry, first_pointer, grid } = &self.calls[launch];
        let blocks = blocks(grid, sizes);
        if blocks == 0 {
            return;
        }
        let arguments = &self.pointers[*first_pointer..];
        // SAFETY: one valid pointer for each argument; the block range is the whole grid; the rest is the condition
        // of this function.
        unsafe { entry(arguments.as_ptr(), kernel_sizes.as_ptr(), 0, blocks as i64) }
    }
}

/// Number of blocks of a grid. Does not overflow: at the bounds the product was checked with the plan.
fn blocks(grid: &[GridAxis], sizes: &[usize]) -> usize {
    grid.iter().map(|axis| axis.size.size(sizes).div_ceil(axis.block)).product()
}
