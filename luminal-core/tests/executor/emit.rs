//! The plan as Rust source: the file that this test includes is what the generator writes.

use luminal::plan::Isa;
use luminal::plan::emit::{Files, emit};

fn symbols() -> Vec<Vec<(Isa, String)>> {
    vec![
        vec![(Isa::Baseline, "mix_squares".into())],
        vec![(Isa::X86V3, "mix_product_v3".into()), (Isa::Baseline, "mix_product".into())],
        vec![(Isa::Baseline, "mix_finish".into())],
    ]
}

/// Set `UPDATE_GOLDENS` to write the file anew.
#[test]
fn the_included_file_is_what_is_emitted() {
    let path = format!("{}/tests/data/plan/model.rs", env!("CARGO_MANIFEST_DIR"));
    let files = Files { folder: "MIX_DATA", ptx: Some("mix.ptx") };
    let emitted = emit(&super::plan::plan(), &symbols(), &files);
    // Here the texts lie in the sources, not in a folder of the build.
    let emitted =
        emitted.replace("env!(\"MIX_DATA\"), \"", "env!(\"CARGO_MANIFEST_DIR\"), \"/tests/data/plan");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&path, &emitted).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), emitted, "{path} is not up to date");
}

#[test]
fn the_program_sees_the_plan_that_was_made() {
    let mut made = super::plan::plan();
    made.ptx = include_str!("../data/plan/mix.ptx").into();
    let mut seen = super::model::PLAN.clone();
    let entries: Vec<Vec<Isa>> =
        seen.kernels.iter().map(|kernel| kernel.entries.iter().map(|(isa, _)| *isa).collect()).collect();
    assert_eq!(entries, [vec![Isa::Baseline], vec![Isa::X86V3, Isa::Baseline], vec![Isa::Baseline]]);
    seen.kernels.to_mut().iter_mut().for_each(|kernel| kernel.entries = vec![].into());
    assert_eq!(seen, made);
}

#[test]
fn texts_are_included_from_the_folder_of_the_build() {
    let files = Files { folder: "OUT_DIR", ptx: Some("mix.ptx") };
    let emitted = emit(&super::plan::plan(), &symbols(), &files);
    assert!(emitted.contains(r#"include_str!(concat!(env!("OUT_DIR"), "/mix.ptx"))"#), "{emitted}");
    assert!(emitted.contains(r#"include_str!(concat!(env!("OUT_DIR"), "/mix.c"))"#), "{emitted}");
    let none = emit(&super::plan::plan(), &symbols(), &Files { folder: "OUT_DIR", ptx: None });
    assert!(none.contains("ptx: Cow::Borrowed(\"\")") && !none.contains("mix.ptx"), "{none}");
}

#[test]
fn a_shared_version_is_declared_once() {
    let shared = vec![vec![(Isa::Baseline, "one".into())]; 3];
    let emitted = emit(&super::plan::plan(), &shared, &Files { folder: "OUT_DIR", ptx: None });
    assert!(emitted.contains("kernels: [one],"), "{emitted}");
    assert_eq!(emitted.matches("(Isa::Baseline, one)").count(), 3, "{emitted}");
}

#[test]
fn odd_names_are_escaped() {
    let mut plan = super::plan::plan();
    plan.model = "a\n\"b\"".into();
    plan.inputs.to_mut()[0].name = "\\x\"".into();
    let emitted = emit(&plan, &symbols(), &Files { folder: "OUT_DIR", ptx: None });
    assert!(
        emitted.starts_with("// Written by the build of the model `a\\n\\\"b\\\"`. Do not edit.\n"),
        "{emitted}"
    );
    assert!(emitted.contains(r#"name: Cow::Borrowed("\\x\"")"#), "{emitted}");
}
