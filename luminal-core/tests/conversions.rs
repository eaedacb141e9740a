//! Conversions between all element types in generated C, bit for bit against the definition.

#[path = "common/mod.rs"]
mod common;

use luminal_core::codegen::c::render_module;
use luminal_core::dtype::Dtype;
use luminal_core::kernel::meaning::{self, Rounding, Values};
use luminal_core::kernel::schedule::{Machine, best};
use luminal_core::kernel::testing::{conversion, values_to_convert};

/// NaN is one value.
fn same(x: &Values, y: &Values, place: usize) -> bool {
    match (x.get(place), y.get(place)) {
        (meaning::Scalar::Float(x), meaning::Scalar::Float(y)) => {
            x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
        }
        (x, y) => x == y,
    }
}

fn check(label: &str, flags: &[&str], machine: &Machine) {
    let mut programs = vec![];
    for from in Dtype::ALL {
        let given = values_to_convert(from);
        for to in Dtype::ALL {
            let kernel = conversion(from, to, given.len());
            let (_, program, _) = best(&format!("{from}_to_{to}"), &kernel, machine).expect("a schedule");
            programs.push((kernel, program, given.clone(), to));
        }
    }
    let text = render_module(&programs.iter().map(|p| &p.1).collect::<Vec<_>>(), "");
    let module = common::compile(&format!("conversions-{label}"), &text, flags);
    for (kernel, program, given, to) in &programs {
        let args = [given.clone(), Values::zeros(*to, given.len())];
        let expected = meaning::run(kernel, &args, &[], Rounding::F32).unwrap().remove(1);
        let mut memory = common::Memory::new(program, &args);
        memory.run(&module, &program.name, &[], 0, program.blocks(&[]));
        let found = memory.values(program).remove(1);
        for place in 0..given.len() {
            let (x, y, right) = (given.get(place), found.get(place), expected.get(place));
            assert!(
                same(&found, &expected, place),
                "{}, {label}: {x:?} becomes {y:?}, not {right:?}",
                program.name
            );
        }
    }
}

#[test]
fn conversions_are_exact() {
    check("baseline", &["-O2"], &Machine::baseline());
}

#[test]
fn conversions_are_exact_with_avx2() {
    if !common::has_v3() {
        eprintln!("skipped: this processor has no AVX2");
        return;
    }
    check("v3", &["-O2", "-march=x86-64-v3"], &Machine::x86_64_v3());
    // AVX2 without the conversions of F16C.
    check("no-f16c", &["-O2", "-march=x86-64-v3", "-mno-f16c"], &Machine::x86_64_v3());
}
