//! Every candidate schedule of every kind of kernel: interpreted, and compiled from C, against the meaning.

#[path = "common/mod.rs"]
mod common;

use luminal_core::codegen::c::render_module;
use luminal_core::kernel::interpret;
use luminal_core::kernel::ir::Kernel;
use luminal_core::kernel::lower::lower;
use luminal_core::kernel::meaning::{self, Rounding, Values};
use luminal_core::kernel::schedule::{Machine, Schedule, candidates};
use luminal_core::kernel::testing;
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

/// Panics where a result differs by more than rounding.
fn compare(what: &str, program: &Program, got: &[Values], want: &[Values], sizes: &[usize]) {
    for (number, (got, want)) in got.iter().zip(want).enumerate() {
        // A number of 16 bits may be rounded to the other side, if its sum was in another order.
        let step = testing::step(program.kernel.buffers[number].dtype);
        for place in 0..want.len() {
            let close = match (got.get(place), want.get(place)) {
                (meaning::Scalar::Float(x), meaning::Scalar::Float(y)) => {
                    (x.is_nan() && y.is_nan())
                        || x == y
                        || (x - y).abs() <= 2e-5 * (1.0 + y.abs()) + step * y.abs()
                }
                (x, y) => x == y,
            };
            let name = &program.kernel.buffers[number].name;
            assert!(
                close,
                "{what}, sizes {sizes:?}: `{name}` has {:?} at {place}, not {:?}\n{program}",
                got.get(place),
                want.get(place)
            );
        }
    }
}

fn expected(kernel: &Kernel, args: &[Values], sizes: &[usize]) -> Vec<Values> {
    meaning::run(kernel, args, sizes, Rounding::F32).expect("arguments that fit")
}

#[test]
fn tile_programs_mean_what_kernels_mean() {
    for (name, kernel, runs) in testing::all() {
        for program in programs(&name, &kernel, &Machine::x86_64_v3()) {
            for sizes in &runs {
                for fill in testing::fills(&kernel) {
                    let args = testing::inputs(&kernel, *fill, 1);
                    let want = expected(&kernel, &args, sizes);
                    let buffers = program.kernel.buffers.iter();
                    let mut memory: Vec<Values> =
                        buffers.zip(&args).map(|(b, v)| interpret::to_storage(b, v)).collect();
                    let blocks = program.blocks(sizes);
                    let what = format!("{} interpreted, {fill:?}", program.name);
                    interpret::run(&program, &mut memory, sizes, 0..blocks)
                        .unwrap_or_else(|e| panic!("{what}, sizes {sizes:?}: {e}\n{program}"));
                    let buffers = program.kernel.buffers.iter();
                    let got: Vec<Values> =
                        buffers.zip(&memory).map(|(b, v)| interpret::from_storage(b, v)).collect();
                    compare(&what, &program, &got, &want, sizes);
                }
            }
        }
    }
}

/// Compiles all programs for one instruction set and compares them with the meaning.
fn check_compiled(label: &str, machine: &Machine, flags: &[&str]) {
    let cases: Vec<_> = testing::all()
        .into_iter()
        .map(|(name, kernel, runs)| {
            let programs = programs(&name, &kernel, machine);
            (name, kernel, runs, programs)
        })
        .collect();
    for (name, kernel, runs, programs) in &cases {
        let text = render_module(&programs.iter().collect::<Vec<_>>(), "_test");
        let module = common::compile(&format!("{label}-{name}"), &text, flags);
        for program in programs {
            for sizes in runs {
                for fill in testing::fills(kernel) {
                    let args = testing::inputs(kernel, *fill, 1);
                    let want = expected(kernel, &args, sizes);
                    let mut memory = common::Memory::new(program, &args);
                    let blocks = program.blocks(sizes);
                    // In two parts, as two threads would.
                    let symbol = format!("{}_test", program.name);
                    memory.run(&module, &symbol, sizes, 0, blocks / 2);
                    memory.run(&module, &symbol, sizes, blocks / 2, blocks);
                    let what = format!("{} compiled, {fill:?}", program.name);
                    compare(&what, program, &memory.values(program), &want, sizes);
                }
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
