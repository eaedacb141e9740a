//! Schedules of kernels as the search leaves them: whatever it finds can be lowered and means the same.

use super::{Machine, Schedule, candidates};
use crate::kernel::interpret::{self, from_storage, to_storage};
use crate::kernel::ir::{Axis, Kernel};
use crate::kernel::lower::lower;
use crate::kernel::meaning::{self, Rounding, Scalar, Values};
use crate::kernel::testing::{Fill, inputs};
use crate::search::lower as from_search;
use crate::search::testing::{cases, models};
use crate::search::{Options, search};
use std::collections::HashSet;

/// Candidates of one kernel that are interpreted: the first ones, and those at the end of the list, which differ most.
const TRIED: usize = 4;

/// The values that free sizes take.
fn sizes(kernel: &Kernel, of: impl Fn(&Axis) -> usize) -> Vec<usize> {
    let mut sizes = vec![];
    for axis in &kernel.axes {
        if let Some(free) = axis.free {
            sizes.resize(sizes.len().max(free + 1), 0);
            sizes[free] = of(axis);
        }
    }
    sizes
}

fn check(name: &str, kernel: &Kernel) {
    let machine = Machine::x86_64_v3();
    let list = candidates(kernel, &machine);
    assert!(!list.is_empty(), "{name}: no schedule for\n{kernel}");
    let chosen = list.iter().take(TRIED).chain(list.iter().skip(TRIED.max(list.len() - 1)));
    let args = inputs(kernel, Fill::Mixed, 7);
    for sizes in [sizes(kernel, |axis| axis.max), sizes(kernel, |axis| axis.max.min(3))] {
        let want = meaning::run(kernel, &args, &sizes, Rounding::F32).expect("arguments that fit");
        for schedule in chosen.clone().chain([&Schedule::plain(kernel)]) {
            let program =
                lower("program", kernel, schedule).unwrap_or_else(|e| panic!("{name}: {e}\n{kernel}"));
            let stored = program.kernel.buffers.iter().zip(&args);
            let mut memory: Vec<Values> = stored.map(|(buffer, values)| to_storage(buffer, values)).collect();
            interpret::run(&program, &mut memory, &sizes, 0..program.blocks(&sizes))
                .unwrap_or_else(|e| panic!("{name}: {e}\n{kernel}\n{program}"));
            for ((buffer, stored), want) in program.kernel.buffers.iter().zip(&memory).zip(&want) {
                let got = from_storage(buffer, stored);
                for place in 0..want.len() {
                    let close = match (got.get(place), want.get(place)) {
                        (Scalar::Float(x), Scalar::Float(y)) => {
                            (x.is_nan() && y.is_nan()) || x == y || (x - y).abs() <= 1e-4 * (1.0 + y.abs())
                        }
                        (x, y) => x == y,
                    };
                    let (got, want) = (got.get(place), want.get(place));
                    assert!(
                        close,
                        "{name}: `{}` at {place} is {got:?}, not {want:?}\n{kernel}\n{program}",
                        buffer.name
                    );
                }
            }
        }
    }
}

#[test]
fn kernels_of_the_search_have_schedules() {
    let small = models::small().into_iter().map(|(name, graph)| (name.to_string(), graph));
    let corpus =
        small.chain(cases::folds()).chain(cases::traps()).chain(cases::separate()).chain(cases::views());
    let mut seen = HashSet::new();
    for (name, graph) in corpus {
        for fuse in [true, false] {
            let found =
                search(&graph, &Options { fuse, ..Default::default() }).expect("a graph that is well formed");
            for stream_over in [usize::MAX, 0] {
                let options = from_search::Options { stream_over };
                let program =
                    from_search::lower(&graph, &found, &options).expect("a graph that can be lowered");
                for (number, lowered) in program.kernels.iter().enumerate() {
                    if seen.insert(crate::kernel::text::hash(&lowered.kernel)) {
                        check(&format!("{name}, kernel {number}"), &lowered.kernel);
                    }
                }
            }
        }
    }
    assert!(seen.len() > 50, "only {} kernels were tried", seen.len());
}
