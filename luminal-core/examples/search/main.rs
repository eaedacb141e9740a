//! How much work the search is: from the trace of whole models to their plans.
//!
//! `cargo run --release -p luminal-core --features build --example search [name [--show]]`; `--show` prints regions and kernels.

mod models;

use luminal_core::compile::{Options, compile};
use luminal_core::graph::Graph;
use luminal_core::kernel::schedule::Machine;
use luminal_core::search::{self, Explored, lower, regions};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

/// A name, and the model as a graph.
type Model = (&'static str, fn() -> Graph);

const MODELS: [Model; 7] = [
    ("bert", models::bert),
    ("llama prefill", models::llama::<128, 1024>),
    ("llama decode", models::llama::<1, 1024>),
    ("resnet", models::resnet),
    ("divisions", models::divisions),
    ("activations", models::activations),
    ("quantisations", models::quantisations),
];

fn main() {
    let wanted = std::env::args().nth(1);
    // Each model in a process of its own, so that the peak of memory is its own.
    if let Some((name, model)) = MODELS.iter().find(|(name, _)| Some(*name) == wanted.as_deref()) {
        return println!("{}", row(name, *model));
    }
    println!(
        "| model | nodes | regions | e-nodes | rounds | states | candidates | kernels | trace | search | lower \
         | schedule | in all | memory |\n|{}",
        "---|".repeat(14)
    );
    let program = std::env::current_exe().expect("this program has a path");
    for (name, _) in MODELS.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|w| name.contains(w))) {
        let status = Command::new(&program).arg(name).status().expect("this program runs");
        assert!(status.success(), "{name} failed");
    }
}

/// Traces and compiles a model, first stage by stage, then as builds do.
fn row(name: &str, model: fn() -> Graph) -> String {
    let clock = Clock::start();
    let graph = model();
    let traced = clock.seconds();

    let (mut searched, mut lowered) = (0.0, 0.0);
    let mut explored = Explored::default();
    let show = std::env::args().any(|argument| argument == "--show");
    let mut distinct = BTreeMap::new();
    let regions = regions::cut(&graph);
    for region in &regions {
        if distinct.insert(region.graph.stable_hash(), ()).is_some() {
            continue;
        }
        if show {
            eprintln!("region of {} nodes\n{}", region.graph.nodes.len(), region.graph);
        }
        let clock = Clock::start();
        let found = search::search(&region.graph, &search::Options::default())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        searched += clock.seconds();
        let clock = Clock::start();
        lower::lower(&region.graph, &found, &lower::Options::default())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        lowered += clock.seconds();
        explored = explored.and(found.explored);
        if show {
            eprintln!("{}\n{found}", found.log.join("\n"));
        }
    }

    let clock = Clock::start();
    let options =
        Options { prefix: "k".into(), model: "m".into(), fuse: true, machine: Machine::x86_64_v3() };
    let compiled = compile(&graph, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    let compiling = clock.seconds();

    let rounds =
        format!("{}{}", explored.iterations, if explored.saturated { ", saturated" } else { ", limit" });
    let exact = if explored.exact { "" } else { ", beam" };
    format!(
        "| {name} | {} | {}/{} | {} | {rounds} | {}{exact} | {} | {}/{} | {traced:.2} s | {searched:.2} s | {lowered:.2} s \
         | {:.2} s | **{:.2} s** | {:.0} MiB |",
        graph.nodes.len(),
        distinct.len(),
        regions.len(),
        explored.e_nodes,
        explored.states,
        explored.candidates,
        compiled.units.list.len(),
        compiled.program.kernels.len(),
        compiling - searched - lowered,
        traced + compiling,
        peak_memory() / 1024.0 / 1024.0
    )
}

/// Seconds of the processor, so that a busy machine does not count; of the clock where the system does not tell.
struct Clock {
    started: Instant,
    used: Option<u64>,
}

impl Clock {
    fn start() -> Clock {
        Clock { started: Instant::now(), used: Clock::used() }
    }

    /// Nanoseconds that this thread has run.
    fn used() -> Option<u64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok()
    }

    fn seconds(&self) -> f64 {
        match (self.used, Clock::used()) {
            (Some(before), Some(now)) => (now - before) as f64 * 1e-9,
            _ => self.started.elapsed().as_secs_f64(),
        }
    }
}

/// Bytes that this process had in memory at once; 0 where the system does not tell.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    number.unwrap_or(0.0) * 1024.0
}
