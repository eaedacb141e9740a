//! One compiled kernel against the meaning of its definitions.

use super::Agreement;
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
const INTEGERS: std::ops::RangeInclusive<i64> = -3..=40;
/// Up to this many evaluations of an expression every element is compared, for all kinds of inputs. The meaning is slow: of
/// larger kernels about so many evaluations are made, at the ends and at random positions of the axes.
const MANY: f64 = 2e6;

/// Runs a compiled kernel and compares all that it writes.
///
/// # Safety
/// `function` is compiled from the text of `unit.program`.
///
/// # Errors
/// The first difference, with everything needed to see it again.
pub unsafe fn check_kernel(unit: &Unit, function: KernelFn, graph: &Graph, seed: u64) -> Result<Agreement> {
    let expected = Expected::new(&unit.kernel, graph, seed)?;
    // SAFETY: passed on.
    unsafe { expected.check(&unit.program, function) }
}

/// What a kernel means for inputs of all kinds. Programs of all its schedules are compared with it.
pub struct Expected<'a> {
    kernel: &'a Kernel,
    cases: Vec<Case>,
}

impl<'a> Expected<'a> {
    /// Evaluates the meaning, which is slow.
    ///
    /// # Errors
    /// No free sizes satisfy the relations between them.
    pub fn new(kernel: &'a Kernel, graph: &Graph, seed: u64) -> Result<Expected<'a>> {
        let mut cases = vec![];
        for (number, sizes) in free_sizes(graph)?.into_iter().enumerate() {
            for fill in [Fill::Mixed, Fill::Negative, Fill::WithNan] {
                cases.push(Case::new(kernel, fill, seed.wrapping_add(number as u64), sizes.clone())?);
            }
        }
        Ok(Expected { kernel, cases })
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
            agreement.merge(unsafe { case.run(self.kernel, program, function) }?);
        }
        Ok(agreement)
    }
}

/// Free sizes at their bounds, in the middle, and at 1, or as near to that as relations permit: tails of every kind.
fn free_sizes(graph: &Graph) -> Result<Vec<Vec<usize>>> {
    if graph.free.is_empty() {
        return Ok(vec![vec![]]);
    }
    let sizes: [fn(usize) -> usize; 3] = [|max| max, |max| (max.div_ceil(2) | 1).min(max), |max| max.min(1)];
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
    fill: Fill,
    seed: u64,
    sizes: Vec<usize>,
    args: Vec<Values>,
    rounded: Vec<Values>,
    exact: Vec<Values>,
    /// As `exact`, but decisions of casts that are in doubt fall the other way; none where nothing is decided by a cast.
    other: Option<Vec<Values>>,
    computed: Vec<Vec<bool>>,
}

impl Case {
    fn new(kernel: &Kernel, fill: Fill, seed: u64, sizes: Vec<usize>) -> Result<Case> {
        let sample = Sample::within(kernel, &sizes, MANY, seed);
        let args = arguments(kernel, fill, INTEGERS, seed);
        let run = |rounding| meaning::run_sample(kernel, &args, &sizes, rounding, &sample);
        let (rounded, computed) = run(Rounding::F32)?;
        let (exact, _) = run(Rounding::Exact)?;
        let other = match decides(kernel) {
            true => Some(run(Rounding::Other(allowance(reduced(kernel))))?.0),
            false => None,
        };
        Ok(Case { fill, seed, sizes, args, rounded, exact, other, computed })
    }

    /// # Safety
    /// As [`Expected::check`].
    unsafe fn run(&self, meant: &Kernel, program: &Program, function: KernelFn) -> Result<Agreement> {
        let kernel = &program.kernel;
        let mut memory = Memory::new(kernel, &self.args);
        let pointers = memory.pointers();
        let sizes: Vec<i64> = self.sizes.iter().map(|n| *n as i64).collect();
        let blocks = program.blocks(&self.sizes) as i64;
        // SAFETY: one pointer for each argument, each to memory of the size that its storage needs; the sizes are
        // within their bounds; the function is a kernel of this program by the caller's promise.
        unsafe { function(pointers.as_ptr(), sizes.as_ptr(), 0, blocks) };
        let failed = |what: &str| self.failed(&program.name, what);
        let mut agreement = Agreement::default();
        for argument in 0..kernel.args {
            let buffer = &kernel.buffers[argument];
            let written = kernel.defs().any(|def| def.dst == argument && buffer.space == Space::Global);
            let values = memory.values(argument, buffer).map_err(|e| failed(&e.to_string()))?;
            if !written {
                continue;
            }
            let right = Right {
                rounded: &self.rounded[argument],
                exact: &self.exact[argument],
                other: &self.other.as_ref().unwrap_or(&self.exact)[argument],
                computed: &self.computed[argument],
            };
            let same = compare(&values, &right, buffer.dtype, reduced(meant));
            agreement.merge(same.map_err(|e| failed(&format!("`{}`: {e}", buffer.name)))?);
        }
        Ok(agreement)
    }

    fn failed(&self, name: &str, what: &str) -> Error {
        Error::new(format!(
            "kernel {name} disagrees with its meaning: {what}\ninputs: {:?}, seed {}, free sizes {:?}",
            self.fill, self.seed, self.sizes
        ))
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

/// What rounding may do to a result of so many terms, relative to `1 + |result|`.
fn allowance(terms: f64) -> f64 {
    1e-5 + 6e-8 * terms
}

/// What a kernel means, with every rounding in doubt.
struct Right<'a> {
    /// Rounded after each operation.
    rounded: &'a Values,
    /// Not rounded.
    exact: &'a Values,
    /// Not rounded, and casts decide the other way where that is in doubt.
    other: &'a Values,
    /// Whether each element was computed: others say nothing.
    computed: &'a [bool],
}

/// Compares computed values with the meaning. The order of a sum is free, so an element may differ by what rounding
/// `terms` terms can do, and by some times what rounding each operation changes, or another decision of a cast. Numbers
/// of 16 bits may also be neighbours.
fn compare(computed: &Values, right: &Right<'_>, dtype: Dtype, terms: f64) -> Result<Agreement> {
    let (Values::Float(computed), Values::Float(rounded), Values::Float(exact), Values::Float(other)) =
        (computed, right.rounded, right.exact, right.other)
    else {
        for place in (0..computed.len()).filter(|place| right.computed[*place]) {
            let found = computed.get(place);
            if ![right.rounded, right.exact, right.other].iter().any(|values| values.get(place) == found) {
                let expected = right.rounded.get(place);
                return Err(Error::new(format!("element {place} is {found:?}, expected {expected:?}")));
            }
        }
        return Ok(Agreement {
            worst: 0.0,
            elements: right.computed.iter().filter(|computed| **computed).count(),
        });
    };
    let step = match dtype {
        Dtype::F16 => 2f64.powi(-10),
        Dtype::BF16 => 2f64.powi(-7),
        _ => 0.0,
    };
    // The terms of a sum can cancel, and by luck rounding can do nothing to it: what it does to the other sums of the buffer,
    // which are of like terms, it may do to this one.
    let doubts = (0..computed.len()).filter(|place| right.computed[*place]);
    let doubts =
        doubts.map(|place| (exact[place] - rounded[place]).powi(2)).filter(|doubt| doubt.is_finite());
    let (count, squares) = doubts.fold((0.0, 0.0), |(count, sum), doubt| (count + 1.0, sum + doubt));
    let usual = if count > 0.0 && terms > 1.0 { f64::sqrt(squares / count) } else { 0.0 };
    let mut worst = 0.0f64;
    for (place, found) in computed.iter().enumerate().filter(|(place, _)| right.computed[*place]) {
        let (rounded, exact, other) = (rounded[place], exact[place], other[place]);
        let scale = 1.0 + exact.abs();
        let doubt = (exact - rounded).abs() + (exact - other).abs();
        let allowed = allowance(terms) * scale + 4.0 * doubt + 8.0 * usual + step * exact.abs();
        let error = (found - exact).abs();
        let same = [rounded, exact, other].contains(found) || (found.is_nan() && rounded.is_nan());
        // With an infinity or NaN on either side a difference says nothing: only equal values agree.
        let near = found.is_finite() && rounded.is_finite() && exact.is_finite() && error <= allowed;
        if !same && !near {
            return Err(Error::new(format!(
                "element {place} is {found:e}, expected {exact:e} (+- {allowed:.1e})"
            )));
        }
        if error.is_finite() {
            worst = worst.max(error / scale);
        }
    }
    Ok(Agreement { worst, elements: right.computed.iter().filter(|computed| **computed).count() })
}

/// Everything about a kernel that disagrees, for a report to the developers.
pub fn reproducer(kernel: &Kernel, program: &Program, error: &Error, c_text: &str) -> String {
    format!("{error}\n\nkernel:\n{kernel}\n\ntile program:\n{program}\n\nC:\n{c_text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(computed: f64, rounded: f64, exact: f64) -> bool {
        let [computed, rounded, exact] = [computed, rounded, exact].map(|x| Values::Float(vec![x]));
        let right = Right { rounded: &rounded, exact: &exact, other: &exact, computed: &[true] };
        compare(&computed, &right, Dtype::F32, 1.0).is_ok()
    }

    #[test]
    fn only_equal_infinities_and_nan_agree() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert!(agrees(inf, inf, inf) && agrees(-inf, -inf, -inf) && agrees(nan, nan, nan));
        assert!(agrees(inf, inf, 1e39), "an overflow of f32");
        for wrong in [5.0, -inf, nan] {
            assert!(!agrees(wrong, inf, inf), "{wrong}");
        }
        for wrong in [inf, -inf, nan] {
            assert!(!agrees(wrong, 5.0, 5.0), "{wrong}");
        }
        assert!(!agrees(5.0, nan, nan));
    }

    #[test]
    fn rounding_is_allowed_and_mistakes_are_not() {
        assert!(agrees(1.000_001, 1.0, 1.0));
        assert!(!agrees(1.001, 1.0, 1.0));
        // Where each rounded operation loses much already, the computed value may lose as much.
        assert!(agrees(1.002, 1.001, 1.0));
    }

    #[test]
    fn a_decision_in_doubt_may_be_either() {
        let one = |x| Values::Float(vec![x]);
        let agrees = |computed: f64, other: f64, dtype| {
            let right = Right { rounded: &one(1.0), exact: &one(1.0), other: &one(other), computed: &[true] };
            compare(&one(computed), &right, dtype, 1.0).is_ok()
        };
        assert!(agrees(2.0, 2.0, Dtype::F32) && !agrees(2.0, 1.0, Dtype::F32));
        assert!(
            agrees(1.0 + 2f64.powi(-10), 1.0, Dtype::F16) && !agrees(1.0 + 2f64.powi(-9), 1.0, Dtype::F16)
        );
        let bytes = |x| Values::Int(vec![x]);
        let right = Right { rounded: &bytes(7), exact: &bytes(7), other: &bytes(8), computed: &[true] };
        assert!(compare(&bytes(8), &right, Dtype::U8, 1.0).is_ok());
        assert!(compare(&bytes(6), &right, Dtype::U8, 1.0).is_err());
    }
}
