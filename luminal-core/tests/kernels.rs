//! Every candidate schedule of every kind of kernel: interpreted, and compiled from C, against the meaning.

#[path = "common/mod.rs"]
mod common;

use luminal_core::codegen::c::render_module;
use luminal_core::kernel::interpret;
use luminal_core::kernel::ir::Kernel;
use luminal_core::kernel::lower::lower;
use luminal_core::kernel::meaning::{self, Rounding, Values};
use luminal_core::kernel::schedule::{Machine, Schedule, candidates};
use luminal_core::kernel::testing::{self, Fill};
use luminal_core::kernel::tile::Program;

/// All programs of a kernel that the schedules give, the plain one first.
fn programs(name: &str, kernel: &Kernel, machine: &Machine) -> Vec<Program> {
    let mut schedules = vec![Schedule::plain(kernel)];
    schedules.extend(candidates(kernel, machine));
    assert!(schedules.len() > 1, "{name}: there is always a candidate");
    let lowered = |(i, schedule): (usize, &Schedule)| {
        lower(&format!("{name}_{i}"), kernel, schedule)
            .unwrap_or_else(|e| panic!("{name}: candidate {i}: {e}"))
    };
    schedules.iter().enumerate().map(lowered).collect()
}

/// One run of a kernel: arguments and what the kernel means by them.
struct Run {
    fill: Fill,
    sizes: Vec<usize>,
    args: Vec<Values>,
    want: Vec<Values>,
    /// For each buffer, what rounding does to its elements on average. The terms of a sum can cancel, and by luck rounding
    /// can do nothing to it: what it does to the other sums of the buffer, it may do to this one.
    doubt: Vec<f64>,
}

/// All runs of a kernel: every list of sizes with every filling.
fn runs(kernel: &Kernel, sizes: &[Vec<usize>]) -> Vec<Run> {
    let run = |sizes: &Vec<usize>, fill: Fill| {
        let args = testing::inputs(kernel, fill, 1);
        let meaning = |rounding| meaning::run(kernel, &args, sizes, rounding).expect("arguments that fit");
        let (want, exact) = (meaning(Rounding::F32), meaning(Rounding::Exact));
        let doubt = want.iter().zip(&exact).map(|(want, exact)| doubt(want, exact)).collect();
        Run { fill, sizes: sizes.clone(), args, want, doubt }
    };
    sizes.iter().flat_map(|sizes| testing::fills(kernel).iter().map(move |fill| run(sizes, *fill))).collect()
}

/// The root of the mean square of what rounding changes.
fn doubt(want: &Values, exact: &Values) -> f64 {
    let (Values::Float(want), Values::Float(exact)) = (want, exact) else { return 0.0 };
    let squares = want.iter().zip(exact).map(|(x, y)| (x - y).powi(2)).filter(|square| square.is_finite());
    let (count, sum) = squares.fold((0.0, 0.0), |(count, sum), square| (count + 1.0, sum + square));
    if count > 0.0 { f64::sqrt(sum / count) } else { 0.0 }
}

/// Panics where a result differs by more than rounding.
fn compare(what: &str, program: &Program, got: &[Values], run: &Run) {
    for (number, (got, want)) in got.iter().zip(&run.want).enumerate() {
        // A number of 16 bits may be rounded to the other side, if its sum was in another order.
        let step = testing::step(program.kernel.buffers[number].dtype);
        for place in 0..want.len() {
            let close = match (got.get(place), want.get(place)) {
                (meaning::Scalar::Float(x), meaning::Scalar::Float(y)) => {
                    let allowed = 2e-5 * (1.0 + y.abs()) + step * y.abs() + 8.0 * run.doubt[number];
                    (x.is_nan() && y.is_nan()) || x == y || (x - y).abs() <= allowed
                }
                (x, y) => x == y,
            };
            let name = &program.kernel.buffers[number].name;
            assert!(
                close,
                "{what}, {:?}, sizes {:?}: `{name}` has {:?} at {place}, not {:?}\n{program}",
                run.fill,
                run.sizes,
                got.get(place),
                want.get(place)
            );
        }
    }
}

#[test]
fn tile_programs_mean_what_kernels_mean() {
    for (name, kernel, sizes) in testing::all() {
        let runs = runs(&kernel, &sizes);
        for program in programs(&name, &kernel, &Machine::x86_64_v3()) {
            let buffers = &program.kernel.buffers;
            for run in &runs {
                let mut memory: Vec<Values> =
                    buffers.iter().zip(&run.args).map(|(b, v)| interpret::to_storage(b, v)).collect();
                let what = format!("{} interpreted", program.name);
                interpret::run(&program, &mut memory, &run.sizes, 0..program.blocks(&run.sizes))
                    .unwrap_or_else(|e| panic!("{what}, {:?}, {:?}: {e}\n{program}", run.fill, run.sizes));
                let got: Vec<Values> =
                    buffers.iter().zip(&memory).map(|(b, v)| interpret::from_storage(b, v)).collect();
                compare(&what, &program, &got, run);
            }
        }
    }
}

/// Compiles all programs for one instruction set and compares them with the meaning.
fn check_compiled(label: &str, machine: &Machine, flags: &[&str]) {
    let cases: Vec<_> = testing::all()
        .into_iter()
        .map(|(name, kernel, sizes)| {
            let programs = programs(&name, &kernel, machine);
            (name, kernel, sizes, programs)
        })
        .collect();
    for (name, kernel, sizes, programs) in &cases {
        let text = render_module(&programs.iter().collect::<Vec<_>>(), "_test");
        let module = common::compile(&format!("{label}-{name}"), &text, flags);
        let runs = runs(kernel, sizes);
        for program in programs {
            for run in &runs {
                let mut memory = common::Memory::new(program, &run.args);
                let blocks = program.blocks(&run.sizes);
                // In two parts, as two threads would.
                let symbol = format!("{}_test", program.name);
                memory.run(&module, &symbol, &run.sizes, 0, blocks / 2);
                memory.run(&module, &symbol, &run.sizes, blocks / 2, blocks);
                compare(&format!("{} compiled", program.name), program, &memory.values(program), run);
            }
        }
    }
}

#[test]
fn compiled_code_means_what_kernels_mean() {
    check_compiled("baseline", &Machine::baseline(), &["-O0"]);
}

#[test]
fn compiled_code_for_avx2_means_what_kernels_mean() {
    if !common::has_v3() {
        eprintln!("skipped: this processor has no AVX2");
        return;
    }
    check_compiled("v3", &Machine::x86_64_v3(), &["-O1", "-march=x86-64-v3"]);
}
