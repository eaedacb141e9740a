//! The whole road, without a build script: graphs to C, compiled, loaded and checked as a build does.

mod compositions;
mod layers;
mod movement;
#[cfg(feature = "mutants")]
mod mutants;
mod packed;

use super::check::{check_kernel, check_model};
#[cfg(feature = "mutants")]
use super::check::{check_region, check_tiles};
use super::*;
use crate::codegen;
use crate::dtype::Dtype;
use crate::graph::{Dim, samples};
use crate::plan::{Executable, Isa, KernelFn};
use crate::runtime::Device;
use crate::search::testing::models::Sizes;
use crate::search::testing::{cases, deep, models, windows};
use std::path::PathBuf;
use std::process::Command;

fn options(fuse: bool) -> Options {
    Options { prefix: "k".into(), model: "m".into(), fuse, machine: Machine::x86_64_v3() }
}

fn c_text(compiled: &Compiled) -> String {
    let programs: Vec<_> = compiled.units.list.iter().map(|unit| &unit.program).collect();
    codegen::c::render_module(&programs, "")
}

/// True for what a model can be: inputs determine every free size, weights and states have fixed sizes.
fn is_model(graph: &Graph) -> bool {
    let is_free = |dim: &Dim| matches!(dim, Dim::Free { .. });
    let given = |kind: &str| graph.nodes.iter().filter(|node| node.op.name() == kind).collect::<Vec<_>>();
    let determined = |index| {
        given("input")
            .iter()
            .any(|node| node.shape.iter().any(|d| matches!(d, Dim::Free { index: i, .. } if *i == index)))
    };
    let fixed = |kind| given(kind).iter().all(|node| !node.shape.iter().any(is_free));
    graph.verify().is_ok() && (0..graph.free.len()).all(determined) && fixed("param") && fixed("state")
}

/// Compiles, loads and checks every kernel and the plan.
fn check(name: &str, graph: &Graph, fuse: bool) {
    with_plan(name, graph, fuse, |plan| {
        let result = check_model(graph, plan, Device::cpu(), 9);
        let compared = result.unwrap_or_else(|e| panic!("{name}, fuse = {fuse}: {e}\n{plan}\n{graph}"));
        assert!(compared.is_some(), "{name} is too large to be compared as a whole");
    });
}

/// Compiles, loads and checks every kernel, and uses the plan, which must not be run later.
fn with_plan(name: &str, graph: &Graph, fuse: bool, work: impl FnOnce(&'static Executable)) {
    let compiled = compile(graph, &options(fuse)).unwrap_or_else(|e| panic!("{name}: {e}\n{graph}"));
    let text = c_text(&compiled);
    let library = Library::of(&format!("{name}{fuse}"), &text);
    let mut plan = compiled.plan.clone();
    for (unit, kernel) in compiled.units.list.iter().zip(plan.kernels.to_mut()) {
        let function = library.kernel(&kernel.name);
        // SAFETY: it was compiled from this unit's program.
        let result = unsafe { check_kernel(unit, function, graph, 9) };
        result.unwrap_or_else(|e| {
            panic!("{name}, fuse = {fuse}: {e}\n{}\n{}\n{graph}", unit.kernel, unit.program)
        });
        kernel.entries = vec![(Isa::Baseline, function)].into();
    }
    // SAFETY: every kernel of the plan was just compiled for it.
    let plan: &'static Executable = Box::leak(Box::new(unsafe { Executable::new(plan) }));
    work(plan);
}

/// Kernels, compiled and loaded. A plan that still points into it must not be run when it is gone.
struct Library {
    loaded: Option<libloading::Library>,
    files: [PathBuf; 2],
}

impl Library {
    /// Of C text, in files named after it.
    fn of(name: &str, text: &str) -> Library {
        let folder = std::env::temp_dir().join(format!("luminal-road-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let stem: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let (source, library) = (folder.join(format!("{stem}.c")), folder.join(format!("{stem}.so")));
        std::fs::write(&source, text).unwrap();
        build(&source, &library);
        // SAFETY: just built from generated code, without initialisers.
        let loaded = unsafe { libloading::Library::new(&library) }.unwrap();
        Library { loaded: Some(loaded), files: [source, library] }
    }

    fn kernel(&self, name: &str) -> KernelFn {
        // SAFETY: the symbol is a kernel with this signature.
        unsafe { *self.loaded.as_ref().unwrap().get::<KernelFn>(name.as_bytes()).unwrap() }
    }
}

impl Drop for Library {
    /// Unloaded before its file is removed: the loader knows libraries by inode, and the next file may get the same.
    fn drop(&mut self) {
        drop(self.loaded.take());
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn build(source: &PathBuf, library: &PathBuf) {
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    let mut command = Command::new(&compiler);
    command.args(["-O1", "-fPIC", "-shared", "-fno-math-errno", "-o"]).arg(library).arg(source).arg("-lm");
    let output = command.output().unwrap_or_else(|e| panic!("`{compiler}` does not run: {e}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn test_graphs_take_the_whole_road() {
    let all = models::small().into_iter().map(|(name, graph)| (name.to_string(), graph));
    let all = all.chain(cases::folds()).chain(cases::views()).chain(windows());
    for (name, graph) in all.filter(|(_, graph)| is_model(graph)) {
        check(&name, &graph, true);
    }
}

/// Models of many layers, cut into regions of which equal ones are searched once.
#[test]
fn deep_models_take_the_whole_road() {
    let z = Sizes::SMALL;
    let mut decoder = deep::llama(Sizes { s: 1, ..z }, 5, 11, Some(7));
    // Something must tell the length.
    let length = decoder.free_dim("Length", 7);
    decoder.input("window", &[length], Dtype::Bool);
    for (name, graph) in [
        ("deep bert", deep::bert(z, 5, 11)),
        ("deep llama", deep::llama(z, 5, 11, None)),
        ("deep llama, decode", decoder),
        ("deep vision", deep::vision(8, &[2, 3, 4], 2)),
    ] {
        let compiled = compile(&graph, &options(true)).unwrap();
        assert!(compiled.regions.len() > 1, "{name} is one region");
        assert!(compiled.units.list.len() < compiled.program.kernels.len(), "{name}: no kernel is shared");
        check(name, &graph, true);
    }
}

#[test]
fn random_graphs_take_the_whole_road() {
    let mut compiled = 0;
    for seed in 1000..1300 {
        let graph = samples::random_graph(seed, 20);
        if !is_model(&graph) || compile(&graph, &options(true)).is_err() {
            continue;
        }
        compiled += 1;
        check(&format!("random {seed}"), &graph, true);
        check(&format!("random {seed}"), &graph, false);
    }
    assert!(compiled > 20, "only {compiled} of 300 random graphs compile");
}

/// Maps are iterated nowhere that matters: text and plan are the same each time.
#[test]
fn the_same_graph_gives_the_same_text_and_plan() {
    for (name, graph) in models::small().into_iter().filter(|(_, graph)| is_model(graph)) {
        let first = compile(&graph, &options(true)).unwrap();
        let again = graph.clone();
        let second = std::thread::spawn(move || {
            let second = compile(&again, &options(true)).unwrap();
            (c_text(&second), format!("{:?}", second.plan))
        });
        let second = second.join().unwrap();
        assert_eq!(c_text(&first), second.0, "{name}");
        assert_eq!(format!("{:?}", first.plan), second.1, "{name}");
    }
}

/// A wrong kernel does not pass: the check of the build sees a changed constant, a lost term and a missing tail.
#[test]
fn the_check_of_a_build_finds_wrong_kernels() {
    let (_, graph) = models::small().into_iter().find(|(name, _)| name.contains("layer norm")).unwrap();
    let compiled = compile(&graph, &options(true)).unwrap();
    let unit = &compiled.units.list[0];
    let right = c_text(&compiled);
    let folder = std::env::temp_dir().join(format!("luminal-wrong-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let changes: [(&str, &str, &str); 4] = [
        ("nothing", "", ""),
        ("another sum", "vf_sum(", "0.5f * vf_sum("),
        ("another start", "begin; block < end", "begin; block < end - 1"),
        ("a changed sign", "vf_store(p_b", "vf_store(1 + p_b"),
    ];
    for (number, (what, from, to)) in changes.iter().enumerate() {
        let body = right.find("void k_0").unwrap();
        let (head, tail) = right.split_at(body);
        let text = match from.is_empty() {
            true => right.clone(),
            false => format!("{head}{}", tail.replacen(from, to, 1)),
        };
        assert!(from.is_empty() || text != right, "{what}: the text has no `{from}`\n{tail}");
        let (source, library) = (folder.join(format!("{number}.c")), folder.join(format!("{number}.so")));
        std::fs::write(&source, text).unwrap();
        build(&source, &library);
        // SAFETY: just built from generated code, without initialisers.
        let loaded = unsafe { libloading::Library::new(&library) }.unwrap();
        // SAFETY: the symbol is a kernel with this signature.
        let function = unsafe { *loaded.get::<KernelFn>(b"k_0").unwrap() };
        // SAFETY: compiled from this unit's program, changed in ways that stay within the guards of the arguments.
        let result = unsafe { check_kernel(unit, function, &graph, 9) };
        assert_eq!(result.is_ok(), from.is_empty(), "{what}: {result:?}");
    }
    let _ = std::fs::remove_dir_all(folder);
}
