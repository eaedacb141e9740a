//! One compiled kernel against the meaning of its definitions.

use super::Agreement;
use super::compare::{Right, allowance, compare, compare_large};
use super::memory::Memory;
use crate::compile::Unit;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::kernel::expr;
use crate::kernel::inputs::{Fill, arguments};
use crate::kernel::ir::{Expr, Kernel, Space};
use crate::kernel::meaning::{self, Rounding, Values};
use crate::kernel::sample::Sample;
use crate::plan::KernelFn;

/// What integer inputs are: also indices outside of every table, which kernels must take for its ends.
pub(super) const INTEGERS: std::ops::RangeInclusive<i64> = -3..=40;
/// Up to this many evaluations of an expression every element is compared, for all kinds of inputs. The meaning is slow: of
/// larger kernels about so many evaluations are made, at the ends and at random positions of the axes.
const MANY: f64 = 2e6;
/// Special inputs are for the structure of a kernel, not for its size: there are fewer evaluations of each, and none where
/// the arguments have more elements than this.
pub(super) const FEW: f64 = 2.5e5;
pub(super) const MOST_SPECIAL: usize = 1 << 22;
/// So many float arguments are masked, one after the other.
const MOST_MASKED: usize = 6;

/// Runs a compiled kernel and compares all that it writes.
///
/// # Safety
/// `function` is compiled from the text of `unit.program`.
///
/// # Errors
/// The first difference, with everything needed to see it again.
pub unsafe fn check_kernel(unit: &Unit, function: KernelFn, graph: &Graph, seed: u64) -> Result<Agreement> {
    let mut agreement = Agreement::default();
    for (number, sizes) in free_sizes(graph)?.iter().enumerate() {
        let special = if number == 0 { special(&unit.kernel) } else { vec![] };
        let usual = [Fill::Mixed, Fill::Negative, Fill::WithNan].map(|fill| (fill, MANY));
        for (fill, most) in usual.into_iter().chain(special.into_iter().map(|fill| (fill, FEW))) {
            let seed = seed.wrapping_add(number as u64);
            let sample = Sample::within(&unit.kernel, sizes, most, seed);
            let case = Case { unit, fill, seed, sizes, sample };
            // SAFETY: passed on.
            agreement.merge(unsafe { case.run(function) }?);
        }
    }
    Ok(agreement)
}

/// Infinities and large numbers: bounds of free sizes are enough for these.
fn special(kernel: &Kernel) -> Vec<Fill> {
    let arguments = &kernel.buffers[..kernel.args];
    if elements(kernel) > MOST_SPECIAL {
        return vec![];
    }
    let read = |argument: &usize| kernel.defs().all(|def| def.dst != *argument);
    let float = |argument: &usize| arguments[*argument].dtype.wide() == Dtype::F32;
    let masked = (0..kernel.args).filter(read).filter(float).take(MOST_MASKED).map(Fill::Masked);
    masked.chain([Fill::Large]).collect()
}

/// Of all arguments.
pub(super) fn elements(kernel: &Kernel) -> usize {
    let elements = kernel.buffers[..kernel.args].iter().map(|buffer| buffer.dims.iter().product::<usize>());
    elements.fold(0, usize::saturating_add)
}

/// Free sizes at their bounds, in the middle, at 1 and at 0, or as near to that as relations permit: tails of every kind.
pub(super) fn free_sizes(graph: &Graph) -> Result<Vec<Vec<usize>>> {
    if graph.free.is_empty() {
        return Ok(vec![vec![]]);
    }
    let sizes: [fn(usize) -> usize; 4] =
        [|max| max, |max| (max.div_ceil(2) | 1).min(max), |max| max.min(1), |_| 0];
    let mut all: Vec<Vec<usize>> = vec![];
    for size in sizes {
        let wanted: Vec<usize> = graph.free.iter().map(|d| size(d.max)).collect();
        let sizes = graph.sizes_near(&wanted)?;
        if !all.contains(&sizes) {
            all.push(sizes);
        }
    }
    Ok(all)
}

struct Case<'a> {
    unit: &'a Unit,
    fill: Fill,
    seed: u64,
    sizes: &'a [usize],
    sample: Sample,
}

impl Case<'_> {
    /// # Safety
    /// As [`check_kernel`].
    unsafe fn run(&self, function: KernelFn) -> Result<Agreement> {
        let program = &self.unit.program;
        let kernel = &program.kernel;
        let args = arguments(&self.unit.kernel, self.fill, INTEGERS, self.seed);
        let meaning = Meaning::new(&self.unit.kernel, &args, self.sizes, &self.sample)
            .map_err(|e| self.failed(&e.to_string()))?;
        let mut memory = Memory::new(kernel, &args);
        let pointers = memory.pointers();
        let sizes: Vec<i64> = self.sizes.iter().map(|n| *n as i64).collect();
        let blocks = program.blocks(self.sizes) as i64;
        // As threads may run them: later blocks first, so that none can use what one before it has left.
        for (begin, end) in [(blocks / 2, blocks), (0, blocks / 2)] {
            // SAFETY: one pointer for each argument, each to memory of the size that its storage needs; the sizes are
            // within their bounds; the function is a kernel of this program by the caller's promise.
            unsafe { function(pointers.as_ptr(), sizes.as_ptr(), begin, end) };
        }
        let mut agreement = Agreement::default();
        for argument in 0..kernel.args {
            let buffer = &kernel.buffers[argument];
            let written = kernel.defs().any(|def| def.dst == argument && buffer.space == Space::Global);
            let values = memory.values(argument, buffer).map_err(|e| self.failed(&e.to_string()))?;
            if !written {
                continue;
            }
            let compared = match self.fill {
                Fill::Large => compare_large(&values, &meaning.of(argument), meaning.terms),
                _ => compare(&values, &meaning.of(argument), buffer.dtype, meaning.terms),
            };
            agreement.merge(compared.map_err(|e| self.failed(&format!("`{}`: {e}", buffer.name)))?);
        }
        Ok(agreement)
    }

    fn failed(&self, what: &str) -> Error {
        Error::new(format!(
            "kernel {} disagrees with its meaning: {what}\ninputs: {:?}, seed {}, free sizes {:?}",
            self.unit.program.name, self.fill, self.seed, self.sizes
        ))
    }
}

/// What a kernel means for some arguments, with every rounding in doubt.
pub(super) struct Meaning {
    rounded: Vec<Values>,
    exact: Vec<Values>,
    other: Vec<Values>,
    computed: Vec<Vec<bool>>,
    /// Terms of the largest reduction.
    pub terms: f64,
}

impl Meaning {
    pub fn new(kernel: &Kernel, args: &[Values], sizes: &[usize], sample: &Sample) -> Result<Meaning> {
        let run = |rounding| meaning::run_sample(kernel, args, sizes, rounding, sample);
        let (rounded, computed) = run(Rounding::F32)?;
        let (exact, _) = run(Rounding::Exact)?;
        let terms = reduced(kernel);
        // Where nothing is decided by a cast, this is `exact`.
        let other = match decides(kernel) {
            true => run(Rounding::Other(allowance(terms)))?.0,
            false => exact.clone(),
        };
        Ok(Meaning { rounded, exact, other, computed, terms })
    }

    /// What one argument must hold afterwards.
    pub fn of(&self, argument: usize) -> Right<'_> {
        Right {
            rounded: &self.rounded[argument],
            exact: &self.exact[argument],
            other: &self.other[argument],
            computed: &self.computed[argument],
        }
    }
}

/// Terms of the largest reduction.
fn reduced(kernel: &Kernel) -> f64 {
    let volume = |axes: &[usize]| axes.iter().map(|axis| kernel.axes[*axis].max as f64).product::<f64>();
    kernel.defs().filter_map(|def| def.reduce.as_ref()).map(|r| volume(&r.axes)).fold(1.0, f64::max)
}

/// True if a float is cast to what has fewer values.
fn decides(kernel: &Kernel) -> bool {
    let mut found = false;
    for def in kernel.defs().flat_map(|def| def.pre.iter().chain([def])) {
        for value in [Some(&def.expr), def.epilogue.as_ref(), def.init.as_ref()].into_iter().flatten() {
            expr::for_each(value, &mut |node| {
                found |= matches!(&**node, Expr::Cast(to, _) if !matches!(to, Dtype::F32 | Dtype::Bool));
            });
        }
    }
    found
}

/// Everything about a kernel that disagrees, for a report to the developers.
pub fn reproducer(unit: &Unit, c_text: &str) -> String {
    format!("kernel:\n{}\n\ntile program:\n{}\n\nC:\n{c_text}\n", unit.kernel, unit.program)
}
