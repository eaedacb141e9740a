//! The functions of one float in generated C, against `f64`.

#[path = "common/mod.rs"]
mod common;

use luminal_core::codegen::c::render_module;
use luminal_core::dtype::Dtype;
use luminal_core::graph::Unary;
use luminal_core::kernel::meaning::Values;
use luminal_core::kernel::schedule::{Machine, best};
use luminal_core::kernel::testing::{Builder, load, unary};

const COUNT: usize = 40_000;

/// Arguments across a range, and the special ones.
fn arguments(from: f64, to: f64) -> Vec<f64> {
    let special =
        [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.4e38, -3.4e38, 1e-40, 200.0];
    let step = (to - from) / (COUNT - special.len()) as f64;
    let spread = (0..COUNT - special.len()).map(|i| from + step * i as f64);
    special.into_iter().chain(spread).map(|x| f64::from(x as f32)).collect()
}

/// The distance of `got` and `want` in units of the last place of `want` as an `f32`.
fn ulps(got: f64, want: f64) -> f64 {
    if (got.is_nan() && want.is_nan()) || got == f64::from(want as f32) {
        return 0.0;
    }
    let near = (want as f32).abs().max(f32::MIN_POSITIVE);
    let unit = f64::from(f32::from_bits(near.to_bits() + 1)) - f64::from(near);
    (got - want).abs() / unit
}

fn worst(
    op: Unary,
    range: (f64, f64),
    flags: &[&str],
    machine: &Machine,
    exact: fn(f64) -> f64,
) -> (f64, f64) {
    let mut b = Builder::default();
    let i = b.axis("i", COUNT);
    let x = b.input("x", Dtype::F32, &[COUNT]);
    let y = b.output("y", Dtype::F32, &[COUNT]);
    b.map(y, &[i], unary(op, &load(x, &[i])));
    let (_, program, _) = best("function", &b.kernel, machine).expect("a schedule");
    let label = format!("math-{op:?}-{}", flags.len());
    let module = common::compile(&label, &render_module(&[&program], ""), flags);
    let given = arguments(range.0, range.1);
    let mut memory =
        common::Memory::new(&program, &[Values::Float(given.clone()), Values::zeros(Dtype::F32, COUNT)]);
    memory.run(&module, "function", &[], 0, program.blocks(&[]));
    let Values::Float(got) = memory.values(&program).swap_remove(1) else { panic!("floats go in and out") };
    let errors = given.iter().zip(&got).map(|(x, y)| (ulps(*y, exact(*x)), *x));
    errors.fold((0.0, 0.0), |worst, next| if next.0 > worst.0 || next.0.is_nan() { next } else { worst })
}

fn check(flags: &[&str], machine: &Machine) {
    // Results below the least normal number are 0, hence the range of exp2 and of what is compared.
    let exp2 = |x: f64| if x < -126.0 { 0.0 } else { x.exp2() };
    type Case = (Unary, (f64, f64), fn(f64) -> f64, f64);
    let cases: [Case; 6] = [
        (Unary::Exp2, (-130.0, 130.0), exp2, 1.2),
        (Unary::Log2, (1e-3, 4.0), f64::log2, 2.6),
        (Unary::Log2, (1e-30, 1e30), f64::log2, 1.0),
        (Unary::Sin, (-10.0, 10.0), f64::sin, 2.0),
        (Unary::Sqrt, (0.0, 1e6), f64::sqrt, 0.51),
        (Unary::Recip, (-50.0, 50.0), f64::recip, 0.51),
    ];
    for (op, range, exact, limit) in cases {
        let (error, at) = worst(op, range, flags, machine, exact);
        println!("{op:?} in {range:?}: {error:.3} ulp at {at:e}");
        assert!(error <= limit, "{op:?} of {at:e} is off by {error} units in the last place");
    }
}

#[test]
fn functions_are_close() {
    check(&["-O2"], &Machine::baseline());
}

#[test]
fn functions_are_close_with_avx2() {
    if !common::has_v3() {
        eprintln!("skipped: this processor has no AVX2");
        return;
    }
    check(&["-O2", "-march=x86-64-v3"], &Machine::x86_64_v3());
}
