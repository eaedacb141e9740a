//! Times every candidate schedule of some kernels, so that the quality of the ranking can be seen.
//!
//! `cargo run --release -p luminal-core --features build --example kernels [name]`

#[path = "../tests/common/mod.rs"]
mod common;

use luminal_core::codegen::c::render_module;
use luminal_core::kernel::cost;
use luminal_core::kernel::ir::Kernel;
use luminal_core::kernel::lower::lower;
use luminal_core::kernel::meaning::Values;
use luminal_core::kernel::schedule::{Machine, Schedule, candidates};
use luminal_core::kernel::testing::{self, Fill};
use luminal_core::kernel::tile::Program;
use std::time::Instant;

/// A kernel, and the operations that it does.
type Case = (&'static str, Kernel, f64);

fn cases() -> Vec<Case> {
    let product = |m: usize, n: usize, k: usize| 2.0 * (m * n * k) as f64;
    vec![
        ("sgemm_512", testing::matmul(512, 512, 512), product(512, 512, 512)),
        ("sgemm_128_1536_384", testing::matmul(128, 1536, 384), product(128, 1536, 384)),
        ("linear_32_10_784", testing::matmul_transposed(32, 10, 784), product(32, 10, 784)),
        ("gemv_1024", testing::matmul_transposed(1, 1024, 1024), product(1, 1024, 1024)),
        ("conv_8x56x56_64", testing::conv(1, 64, 64, 56, 56), 9.0 * product(56 * 56, 64, 64)),
        ("conv_pool_28x28_32", testing::conv_pool(4, 1, 32, 28, 28), 4.0 * 9.0 * product(28 * 28, 32, 1)),
        ("conv_pool_14x14_64", testing::conv_pool(4, 32, 64, 14, 14), 4.0 * 9.0 * product(14 * 14, 64, 32)),
        ("depthwise_128x58x58", testing::depthwise(128, 58, 58), 9.0 * product(56, 56, 128)),
        ("softmax_4096_1024", testing::softmax(4096, 1024), 5.0 * 4096.0 * 1024.0),
        ("layer_norm_4096_768", testing::layer_norm(4096, 768), 8.0 * 4096.0 * 768.0),
        ("linear_softmax_64_10_784", testing::linear_softmax(64, 10, 784), product(64, 10, 784)),
        ("attention_12x128x64", testing::attention(12, 128, 128, 64), 24.0 * product(128, 128, 64)),
        (
            "attention_fold_12x512x64",
            testing::attention_fold(12, 512, 64, false),
            24.0 * product(512, 512, 64),
        ),
        ("transpose_1024", testing::transpose(1024, 1024), 1024.0 * 1024.0),
        ("embedding_512_768", testing::embedding(512, 30000, 768), 512.0 * 768.0),
    ]
}

fn main() {
    let wanted = std::env::args().nth(1);
    let machine = if common::has_v3() { Machine::x86_64_v3() } else { Machine::baseline() };
    let flags: &[&str] = if common::has_v3() { &["-O3", "-march=x86-64-v3"] } else { &["-O3"] };
    for (name, kernel, work) in cases() {
        if wanted.as_ref().is_some_and(|w| !name.contains(w.as_str())) {
            continue;
        }
        let started = Instant::now();
        let schedules = candidates(&kernel, &machine);
        let searched = started.elapsed().as_secs_f64();
        let programs: Vec<Program> = schedules
            .iter()
            .enumerate()
            .map(|(i, schedule)| {
                lower(&format!("k{i}"), &kernel, schedule).expect("candidates can be lowered")
            })
            .collect();
        let started = Instant::now();
        let module = common::compile(name, &render_module(&programs.iter().collect::<Vec<_>>(), ""), flags);
        let compiled = started.elapsed().as_secs_f64();
        let args = testing::inputs(&kernel, Fill::Mixed, 1);
        let mut results: Vec<Vec<Values>> = vec![];
        let mut times = vec![];
        for program in &programs {
            let mut memory = common::Memory::new(program, &args);
            times.push(time(program, &mut memory, &module));
            results.push(memory.values(program));
        }
        for (i, result) in results.iter().enumerate() {
            assert!(agree(result, &results[0]), "{name}: candidates 0 and {i} give different results");
        }
        let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{name}: {} candidates in {:.0} ms, compiled in {compiled:.1} s",
            times.len(),
            searched * 1e3
        );
        for (i, (program, seconds)) in programs.iter().zip(&times).enumerate() {
            println!(
                "  {i:2}  {:9.2} us  {:6.1} Gop/s  x{:<5.2} predicted {:9.2} us  {}",
                seconds * 1e6,
                work / seconds / 1e9,
                seconds / fastest,
                cost::predict(program, &machine) * 1e6,
                describe(&kernel, &schedules[i])
            );
        }
        let first_eight = times.iter().take(8).copied().fold(f64::INFINITY, f64::min);
        println!("  first x{:.2}, best of eight x{:.2}", times[0] / fastest, first_eight / fastest);
    }
}

fn describe(kernel: &Kernel, schedule: &Schedule) -> String {
    let pairs = |list: &[(usize, usize)]| {
        list.iter().map(|(axis, n)| format!("{}:{n}", kernel.axes[*axis].name)).collect::<Vec<_>>().join(" ")
    };
    let nests: Vec<String> = schedule
        .nests
        .iter()
        .map(|nest| {
            let order: Vec<&str> = nest.order.iter().map(|axis| kernel.axes[*axis].name.as_str()).collect();
            let lane = nest.lane.map_or("-", |axis| &kernel.axes[axis].name);
            format!("{}|{}|{lane}", order.join(""), pairs(&nest.tile))
        })
        .collect();
    format!("grid [{}] folds {:?} nests {}", pairs(&schedule.grid), schedule.folds, nests.join("  "))
}

/// The shortest of several runs on one thread.
fn time(program: &Program, memory: &mut common::Memory, module: &common::Module) -> f64 {
    let blocks = program.blocks(&[]);
    let mut best = f64::INFINITY;
    let started = Instant::now();
    let mut runs = 0;
    while runs < 5 || (started.elapsed().as_secs_f64() < 0.15 && runs < 1000) {
        let start = Instant::now();
        memory.run(module, &program.name, &[], 0, blocks);
        best = best.min(start.elapsed().as_secs_f64());
        runs += 1;
    }
    best
}

/// Equal but for rounding in another order.
fn agree(got: &[Values], want: &[Values]) -> bool {
    let close = |x: &f64, y: &f64| (x - y).abs() <= 1e-3 * (1.0 + y.abs());
    got.iter().zip(want).all(|pair| match pair {
        (Values::Float(x), Values::Float(y)) => x.iter().zip(y).all(|(x, y)| close(x, y)),
        (x, y) => x == y,
    })
}
