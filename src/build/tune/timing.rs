//! Times candidates against each other: successive halving, finalists in turns, so that a slow moment of the machine hits
//! all of them. Runs in the child.

use luminal_core::dtype::Dtype;
use luminal_core::kernel::ir::{Buffer, Freedom};
use luminal_core::kernel::tile::Program;
use luminal_core::plan::KernelFn;
use luminal_core::reference::SplitMix64;
use std::time::{Duration, Instant};

/// What one sample should take at least, so that the clock's own cost does not count.
const SAMPLE: Duration = Duration::from_micros(100);
/// Bytes of copies of the weights that runs go through in turns, if they are cold.
const COLD: usize = 96 << 20;
/// More samples are not taken of a candidate once it has run for so long in a round.
const PATIENCE: Duration = Duration::from_millis(300);

/// A candidate that was loaded and verified.
pub(super) struct Entry<'a> {
    pub number: usize,
    pub program: &'a Program,
    pub function: KernelFn,
}

/// How to run them.
pub(super) struct Conditions {
    /// Free sizes.
    pub sizes: Vec<usize>,
    /// True if the weights of the model do not fit into the caches: then each launch finds its own in memory.
    pub cold: bool,
}

/// Times all entries; `tell` hears of each before it runs, so that one which never returns is known. Gives the least
/// seconds of one launch of each.
pub(super) fn time(entries: &[Entry<'_>], conditions: &Conditions, mut tell: impl FnMut(usize)) -> Vec<f64> {
    let arena = Arena::new(entries, conditions.cold);
    let sizes: Vec<i64> = conditions.sizes.iter().map(|n| *n as i64).collect();
    let mut runs: Vec<Run<'_>> = entries
        .iter()
        .map(|entry| {
            tell(entry.number);
            Run::new(entry, &arena, &sizes)
        })
        .collect();
    let mut left: Vec<usize> = (0..runs.len()).collect();
    let mut samples = 3;
    loop {
        // In turns, not one after the other.
        let mut spent = vec![Duration::ZERO; runs.len()];
        for _ in 0..samples {
            for number in &left {
                if spent[*number] < PATIENCE {
                    tell(entries[*number].number);
                    spent[*number] += runs[*number].sample();
                }
            }
        }
        if left.len() <= 2 && samples > 8 {
            break;
        }
        left.sort_by(|x, y| runs[*x].least.total_cmp(&runs[*y].least));
        left.truncate(left.len().div_ceil(2).max(2));
        samples *= 2;
    }
    runs.into_iter().map(|run| run.least).collect()
}

/// Memory that all candidates use in turns: each buffer as large as the largest storage of it.
struct Arena {
    /// For each argument its copies, one behind the other.
    blocks: Vec<Vec<Line>>,
    /// Bytes from one copy to the next.
    stride: Vec<usize>,
    copies: Vec<usize>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Arena {
    fn new(entries: &[Entry<'_>], cold: bool) -> Arena {
        let mut arena = Arena { blocks: vec![], stride: vec![], copies: vec![] };
        let Some(first) = entries.first() else { return arena };
        let mut random = SplitMix64::new(7);
        for argument in 0..first.program.kernel.args {
            let bytes = |entry: &Entry<'_>| {
                let buffer = &entry.program.kernel.buffers[argument];
                buffer.len() * buffer.dtype.bytes()
            };
            let bytes = entries.iter().map(bytes).max().unwrap_or(0).next_multiple_of(64).max(64);
            let buffer = &first.program.kernel.buffers[argument];
            let weight = buffer.freedom == Freedom::Pack;
            let copies = if weight && cold { (COLD / bytes).clamp(1, 64) } else { 1 };
            let mut block = vec![Line([0; 64]); bytes / 64 * copies];
            fill(&mut block, buffer, &mut random);
            arena.blocks.push(block);
            arena.stride.push(bytes);
            arena.copies.push(copies);
        }
        arena
    }

    /// Pointers to the arguments for the launch of this number.
    fn pointers(&self, launch: usize, pointers: &mut [*mut u8]) {
        for (argument, pointer) in pointers.iter_mut().enumerate() {
            let lines = launch % self.copies[argument] * self.stride[argument] / 64;
            *pointer = self.blocks[argument][lines..].as_ptr().cast_mut().cast();
        }
    }
}

/// Ordinary numbers: no NaN, no infinities, nothing so small that it is slow.
fn fill(block: &mut [Line], buffer: &Buffer, random: &mut SplitMix64) {
    let mut pattern = [0u8; 4096];
    let size = buffer.dtype.bytes();
    for bytes in pattern.chunks_exact_mut(size) {
        let unit = random.unit() * 1.75 - 0.75;
        match buffer.dtype {
            Dtype::F32 => bytes.copy_from_slice(&(unit as f32).to_ne_bytes()),
            Dtype::F16 => bytes.copy_from_slice(&luminal_core::dtype::nearest_f16(unit).to_ne_bytes()),
            Dtype::BF16 => bytes.copy_from_slice(&luminal_core::dtype::nearest_bf16(unit).to_ne_bytes()),
            Dtype::I32 => bytes.copy_from_slice(&(random.below(40) as i32).to_ne_bytes()),
            Dtype::I64 => bytes.copy_from_slice(&(random.below(40) as i64).to_ne_bytes()),
            Dtype::U8 => bytes[0] = random.below(256) as u8,
            Dtype::Bool => bytes[0] = u8::from(random.coin()),
        }
    }
    for (number, line) in block.iter_mut().enumerate() {
        let start = number * 64 % pattern.len();
        line.0.copy_from_slice(&pattern[start..start + 64]);
    }
}

struct Run<'a> {
    function: KernelFn,
    arena: &'a Arena,
    sizes: &'a [i64],
    blocks: i64,
    pointers: Vec<*mut u8>,
    launches: usize,
    /// Launches of one sample.
    repeats: usize,
    least: f64,
}

impl<'a> Run<'a> {
    fn new(entry: &Entry<'_>, arena: &'a Arena, sizes: &'a [i64]) -> Run<'a> {
        let free: Vec<usize> = sizes.iter().map(|n| *n as usize).collect();
        let mut run = Run {
            function: entry.function,
            arena,
            sizes,
            blocks: entry.program.blocks(&free) as i64,
            pointers: vec![std::ptr::null_mut(); entry.program.kernel.args],
            launches: 0,
            repeats: 1,
            least: f64::INFINITY,
        };
        run.sample();
        let once = run.sample();
        run.repeats = (SAMPLE.as_nanos() / once.as_nanos().max(1) + 1).min(10_000) as usize;
        run.least = f64::INFINITY;
        run
    }

    fn sample(&mut self) -> Duration {
        let start = Instant::now();
        for _ in 0..self.repeats {
            self.arena.pointers(self.launches, &mut self.pointers);
            self.launches += 1;
            // SAFETY: the function is a kernel of the entry's program, which was verified; each pointer is to memory of at
            // least the size of its storage, which nobody else uses; sizes are at most their bounds.
            unsafe { (self.function)(self.pointers.as_ptr(), self.sizes.as_ptr(), 0, self.blocks) };
        }
        let spent = start.elapsed();
        self.least = self.least.min(spent.as_secs_f64() / self.repeats as f64);
        spent
    }
}
