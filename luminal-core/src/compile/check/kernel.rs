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
use crate::kernel::tile::Program;
use crate::plan::KernelFn;

/// What integer inputs are: also indices outside of every table, which kernels must take for its ends.
pub(super) const INTEGERS: std::ops::RangeInclusive<i64> = -3..=40;
/// Up to this many evaluations of an expression every element is compared, for all kinds of inputs. The meaning is slow: of
/// larger kernels about so many evaluations are made, at the ends and at random positions of the axes.
const MANY: f64 = 2e6;
/// Special inputs are for the structure of a kernel, not for its size: there are fewer evaluations of each, and none where
/// the arguments have more elements than this.
pub(super) const FEW: f64 = 2.5e5;
pub(super) const MOST_SPECIAL: usize = 1 << 20;
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
    // One after the other: large arguments need not be there for all at once.
    for inputs in all_inputs(&unit.kernel, graph, seed, MANY)? {
        let case = Case::new(&unit.kernel, inputs)?;
        // SAFETY: passed on.
        agreement.merge(unsafe { case.run(&unit.program, function) }?);
    }
    Ok(agreement)
}

/// What a kernel means for inputs of all kinds. Programs of all its schedules are compared with it.
pub struct Expected {
    cases: Vec<Case>,
}

impl Expected {
    /// Evaluates the meaning, which is slow: less of it than [`check_kernel`] does, which sees every kernel that is used.
    ///
    /// # Errors
    /// No free sizes satisfy the relations between them, or the kernel reads outside of its arguments.
    pub fn new(kernel: &Kernel, graph: &Graph, seed: u64) -> Result<Expected> {
        let inputs = all_inputs(kernel, graph, seed, FEW)?.into_iter();
        let cases = inputs.map(|inputs| Case::new(kernel, inputs)).collect::<Result<_>>()?;
        Ok(Expected { cases })
    }

    /// Runs a compiled program of the kernel and compares all that it writes.
    ///
    /// # Safety
    /// `function` is compiled from the text of `program`.
    ///
    /// # Errors
    /// The first difference.
    pub unsafe fn check(&self, program: &Program, function: KernelFn) -> Result<Agreement> {
        let mut agreement = Agreement::default();
        for case in &self.cases {
            // SAFETY: passed on.
            agreement.merge(unsafe { case.run(program, function) }?);
        }
        Ok(agreement)
    }
}

/// What one run of a kernel starts from.
#[derive(Clone, Debug)]
struct Inputs {
    fill: Fill,
    seed: u64,
    sizes: Vec<usize>,
    /// Evaluations of an expression.
    most: f64,
}

/// Inputs of all kinds; of the usual ones so many evaluations are made at most.
fn all_inputs(kernel: &Kernel, graph: &Graph, seed: u64, usual: f64) -> Result<Vec<Inputs>> {
    let mut all = vec![];
    for (number, sizes) in free_sizes(graph)?.into_iter().enumerate() {
        let special = if number == 0 { special(kernel) } else { vec![] };
        let usual = [Fill::Mixed, Fill::Negative, Fill::WithNan].map(|fill| (fill, usual));
        for (fill, most) in usual.into_iter().chain(special.into_iter().map(|fill| (fill, FEW))) {
            all.push(Inputs { fill, seed: seed.wrapping_add(number as u64), sizes: sizes.clone(), most });
        }
    }
    Ok(all)
}

/// Infinities and large numbers: bounds of free sizes are enough for these.
fn special(kernel: &Kernel) -> Vec<Fill> {
    if elements(kernel) > MOST_SPECIAL {
        return vec![];
    }
    let read = |argument: &usize| kernel.defs().all(|def| def.dst != *argument);
    let float = |argument: &usize| kernel.buffers[*argument].dtype.wide() == Dtype::F32;
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

/// One run of a kernel.
struct Case {
    inputs: Inputs,
    args: Vec<Values>,
    meaning: Meaning,
}

impl Case {
    fn new(kernel: &Kernel, inputs: Inputs) -> Result<Case> {
        let sample = Sample::within(kernel, &inputs.sizes, inputs.most, inputs.seed);
        let args = arguments(kernel, inputs.fill, INTEGERS, inputs.seed);
        let meaning = Meaning::new(kernel, &args, &inputs.sizes, &sample)
            .map_err(|error| failed("a kernel", &inputs, &error.to_string()))?;
        Ok(Case { inputs, args, meaning })
    }

    /// # Safety
    /// As [`Expected::check`].
    unsafe fn run(&self, program: &Program, function: KernelFn) -> Result<Agreement> {
        let (kernel, inputs) = (&program.kernel, &self.inputs);
        let mut memory = Memory::new(kernel, &self.args);
        let pointers = memory.pointers();
        let sizes: Vec<i64> = inputs.sizes.iter().map(|n| *n as i64).collect();
        let blocks = program.blocks(&inputs.sizes) as i64;
        // As threads may run them: later blocks first, so that none can use what one before it has left.
        for (begin, end) in [(blocks / 2, blocks), (0, blocks / 2)] {
            // SAFETY: one pointer for each argument, each to memory of the size that its storage needs; the sizes are
            // within their bounds; the function is a kernel of this program by the caller's promise.
            unsafe { function(pointers.as_ptr(), sizes.as_ptr(), begin, end) };
        }
        let failed = |what: &str| failed(&format!("kernel {}", program.name), inputs, what);
        let mut agreement = Agreement::default();
        for argument in 0..kernel.args {
            let buffer = &kernel.buffers[argument];
            let written = kernel.defs().any(|def| def.dst == argument && buffer.space == Space::Global);
            let values = memory.values(argument, buffer).map_err(|e| failed(&e.to_string()))?;
            if !written {
                continue;
            }
            let (right, terms) = (self.meaning.of(argument), self.meaning.terms);
            let compared = match inputs.fill {
                Fill::Large => compare_large(&values, &right, terms),
                _ => compare(&values, &right, buffer.dtype, terms),
            };
            agreement.merge(compared.map_err(|e| failed(&format!("`{}`: {e}", buffer.name)))?);
        }
        Ok(agreement)
    }
}

fn failed(which: &str, inputs: &Inputs, what: &str) -> Error {
    let Inputs { fill, seed, sizes, .. } = inputs;
    Error::new(format!(
        "{which} disagrees with its meaning: {what}\ninputs: {fill:?}, seed {seed}, free sizes {sizes:?}"
    ))
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
pub fn reproducer(kernel: &Kernel, program: &Program, c_text: &str) -> String {
    format!("kernel:\n{kernel}\n\ntile program:\n{program}\n\nC:\n{c_text}\n")
}
