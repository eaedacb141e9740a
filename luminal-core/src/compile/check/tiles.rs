//! A tile program, interpreted, against the meaning of its kernel: for targets whose code does not run on the building
//! machine. It shows wrong loops, tiles, masks, layouts and places; what the text makes of the program does not show.

use super::Agreement;
use super::compare::compare;
use super::kernel::{FEW, INTEGERS, MOST_SPECIAL, Meaning, elements, free_sizes};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::kernel::inputs::{Fill, arguments};
use crate::kernel::interpret::{self, from_storage, to_storage};
use crate::kernel::ir::Kernel;
use crate::kernel::meaning::Values;
use crate::kernel::sample::{Sample, work};
use crate::kernel::tile::Program;

/// Up to this many evaluations of an expression all blocks are interpreted, which is slow. Of larger programs it is the
/// first and the last block, if these have no more.
const MOST_WORK: f64 = 1e5;

/// Interprets a program and compares what it writes. Free sizes are at their bounds, in the middle, at 1 and at 0. No
/// agreement to tell: the kernel is too large for that.
///
/// # Errors
/// The first difference, or an access out of bounds, or of what was never written.
pub fn check_tiles(
    kernel: &Kernel,
    program: &Program,
    graph: &Graph,
    seed: u64,
) -> Result<Option<Agreement>> {
    let mut agreement = None;
    if elements(kernel) > MOST_SPECIAL {
        return Ok(agreement);
    }
    for sizes in free_sizes(graph)? {
        for fill in [Fill::Mixed, Fill::Negative] {
            let case = Case { kernel, program, sizes: &sizes, fill, seed };
            if let Some(compared) = case.run().map_err(|error| case.failed(&error.to_string()))? {
                agreement.get_or_insert(Agreement::default()).merge(compared);
            }
        }
    }
    Ok(agreement)
}

struct Case<'a> {
    kernel: &'a Kernel,
    program: &'a Program,
    sizes: &'a [usize],
    fill: Fill,
    seed: u64,
}

impl Case<'_> {
    fn run(&self) -> Result<Option<Agreement>> {
        let Case { kernel, program, sizes, .. } = self;
        let blocks = program.blocks(sizes);
        let extents: Vec<usize> =
            kernel.axes.iter().map(|axis| axis.free.map_or(axis.max, |free| sizes[free])).collect();
        let work = work(kernel, &extents);
        let all = work <= MOST_WORK;
        if !all && 2.0 * work / blocks as f64 > MOST_WORK {
            return Ok(None);
        }
        let args = arguments(kernel, self.fill, INTEGERS, self.seed);
        let sample = Sample::within(kernel, sizes, FEW, self.seed);
        let meaning = Meaning::new(kernel, &args, sizes, &sample)?;
        let stored = program.kernel.buffers.iter().zip(&args);
        let before: Vec<Values> = stored.map(|(buffer, values)| to_storage(buffer, values)).collect();
        let mut memory = before.clone();
        let mut interpret = |blocks| interpret::run(program, &mut memory, sizes, blocks);
        if all {
            interpret(0..blocks)?;
        } else {
            interpret(0..1)?;
            interpret(blocks - 1..blocks)?;
        }
        let mut agreement = Agreement::default();
        for argument in (0..kernel.args).filter(|argument| kernel.defs().any(|def| def.dst == *argument)) {
            let buffer = &program.kernel.buffers[argument];
            let found = from_storage(buffer, &memory[argument]);
            let mut right = meaning.of(argument);
            // Of some blocks it is known only where they wrote something else than what was there.
            let unchanged = from_storage(buffer, &before[argument]);
            let written = |place: usize| all || found.get(place) != unchanged.get(place);
            let computed: Vec<bool> = right
                .computed
                .iter()
                .enumerate()
                .map(|(place, computed)| *computed && written(place))
                .collect();
            right.computed = &computed;
            let compared = compare(&found, &right, buffer.dtype, meaning.terms)
                .map_err(|e| Error::new(format!("`{}`: {e}", buffer.name)))?;
            agreement.merge(compared);
        }
        Ok(Some(agreement))
    }

    fn failed(&self, what: &str) -> Error {
        Error::new(format!(
            "the tile program of kernel {} disagrees with its meaning: {what}\ninputs: {:?}, seed {}, free sizes {:?}",
            self.program.name, self.fill, self.seed, self.sizes
        ))
    }
}
