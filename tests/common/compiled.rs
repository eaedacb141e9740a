//! Graphs compiled at test time, as a build script compiles them: search, schedules, C, the C compiler, and a session of
//! the real executor. Nothing is compared here.

use luminal::graph::{Graph, Op};
use luminal::reference::{Data, DenseTensor as Tensor, Feeds};
use luminal::rt::{Executable, InputRef, Isa, Session};
use luminal::{Device, Error, Result, Weights};
use luminal_core::codegen;
use luminal_core::compile::{self, Compiled, Options};
use luminal_core::kernel::schedule::Machine;
use luminal_core::plan::KernelFn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A graph without free sizes, and what it is run with.
pub struct Job<'a> {
    pub graph: &'a Graph,
    pub feeds: &'a Feeds,
    /// False: one kernel for each operation, as `LUMINAL_OPT=off` builds.
    pub fuse: bool,
}

/// Kernels of this many graphs share a C file and a library: starting the compiler costs more than most kernels.
const GRAPHS_A_FILE: usize = 24;

/// Compiles and runs every job: its outputs, or why there are none. What panics is reported like an error: it must not
/// hide the other jobs.
pub fn run_all(jobs: &[Job<'_>]) -> Vec<Result<Vec<Tensor>>> {
    // The loader knows libraries by their path: no two may have the same.
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("luminal-conformance-{}-{call}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let files: Vec<&[Job<'_>]> = jobs.chunks(GRAPHS_A_FILE).collect();
    let results = in_parallel(files.len(), |number| run_file(&folder, &format!("f{number}"), files[number]));
    let _ = std::fs::remove_dir_all(folder);
    results.into_iter().flatten().collect()
}

/// Jobs that share a C file. If the C compiler refuses it, each gets a file of its own: the others are not to blame.
fn run_file(folder: &Path, name: &str, jobs: &[Job<'_>]) -> Vec<Result<Vec<Tensor>>> {
    let compiled: Vec<Result<Compiled>> = jobs.iter().enumerate().map(|(i, job)| search(job, i)).collect();
    let graphs: Vec<&Compiled> = compiled.iter().filter_map(|compiled| compiled.as_ref().ok()).collect();
    let library = library(folder, name, &graphs);
    if library.is_err() && jobs.len() > 1 {
        let alone = jobs.chunks(1).enumerate();
        return alone.flat_map(|(i, job)| run_file(folder, &format!("{name}_{i}"), job)).collect();
    }
    let outcome = |(job, compiled): (&Job<'_>, Result<Compiled>)| {
        let library = library.as_ref().map_err(|error| Error::new(error.to_string()))?;
        let compiled = compiled?;
        caught("running it", || run(job, &compiled, library))
    };
    let outcomes = jobs.iter().zip(compiled).map(outcome).collect();
    // It stays loaded: plans that live for ever point into it.
    library.into_iter().for_each(std::mem::forget);
    outcomes
}

fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(result) = results.get(number) else { break };
                    let value = work(number);
                    *result.lock().expect("no thread panics here") = Some(value);
                }
            });
        }
    });
    let taken = results.into_iter().map(|result| result.into_inner().ok().flatten());
    taken.map(|result| result.expect("every number was worked on")).collect()
}

/// Turns a panic into an error.
pub fn caught<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(Error::new(format!("{what} panics: {}", text.unwrap_or_default())))
    })
}

fn search(job: &Job<'_>, number: usize) -> Result<Compiled> {
    let options = Options {
        prefix: format!("k{number}"),
        model: format!("graph {number}"),
        fuse: job.fuse,
        machine: Machine::x86_64_v3(),
    };
    caught("compiling it", || compile::compile(job.graph, &options))
}

/// One C file with all kernels of these graphs, compiled and loaded.
fn library(folder: &Path, name: &str, graphs: &[&Compiled]) -> Result<libloading::Library> {
    let units = graphs.iter().flat_map(|compiled| &compiled.units.list);
    let programs: Vec<_> = units.map(|unit| &unit.program).collect();
    let source = folder.join(format!("{name}.c"));
    let library = folder.join(format!("{name}.so"));
    let text = codegen::c::render_module(&programs, "");
    std::fs::write(&source, text)
        .map_err(|e| Error::new(format!("cannot write {}: {e}", source.display())))?;
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    let mut command = Command::new(&compiler);
    // The instruction set that a program would choose on this machine.
    if Device::cpu().isa() == Isa::X86V3 {
        command.args(["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt", "-mmovbe"]);
    }
    command.args(["-O1", "-fPIC", "-shared", "-fno-math-errno", "-o"]).arg(&library).arg(&source).arg("-lm");
    let output = command.output().map_err(|e| Error::new(format!("`{compiler}` does not run: {e}")))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let first: Vec<&str> = errors.lines().filter(|line| line.contains("error")).take(3).collect();
        return Err(Error::new(format!("`{compiler}` does not accept the kernels: {}", first.join("; "))));
    }
    // SAFETY: just built from generated kernels, which have no initialisers.
    unsafe { libloading::Library::new(&library) }
        .map_err(|e| Error::new(format!("cannot load {}: {e}", library.display())))
}

/// The outputs of one run.
fn run(job: &Job<'_>, compiled: &Compiled, library: &libloading::Library) -> Result<Vec<Tensor>> {
    let mut plan = compiled.plan.clone();
    for kernel in plan.kernels.to_mut() {
        // SAFETY: the symbol is a kernel, and all of them have this signature.
        let function = unsafe { library.get::<KernelFn>(kernel.name.as_bytes()) };
        let function = *function.map_err(|e| Error::new(format!("kernel {}: {e}", kernel.name)))?;
        kernel.entries = vec![(Isa::Baseline, function)].into();
    }
    // SAFETY: every kernel of the plan was compiled for it. Sessions want a plan for ever.
    let plan: &'static Executable = Box::leak(Box::new(unsafe { Executable::new(plan) }));
    let params = named(job.graph, |op| if let Op::Param(name) = op { Some(name) } else { None });
    let weights = params.map(|name| {
        let tensor = &job.feeds[name];
        (name.clone(), tensor.dtype(), tensor.shape.clone(), tensor.data.to_bytes())
    });
    let mut session = Session::new(plan, Device::cpu(), &Weights::from_tensors(weights)?)?;
    let inputs = named(job.graph, |op| if let Op::Input(name) = op { Some(name) } else { None });
    let inputs: Vec<(Vec<u8>, &[usize])> = inputs
        .map(|name| {
            let tensor = &job.feeds[name];
            (tensor.data.to_bytes(), &tensor.shape[..])
        })
        .collect();
    let inputs: Vec<InputRef<'_>> = inputs.iter().map(|(data, sizes)| InputRef { data, sizes }).collect();
    session.run(&inputs)?;
    let outputs = job.graph.outputs.iter().enumerate().map(|(position, (_, node))| {
        let output = session.output(position);
        let data = Data::from_bytes(job.graph.nodes[*node].dtype, output.data);
        Tensor { shape: output.sizes.to_vec(), data }
    });
    Ok(outputs.collect())
}

fn named<'g>(
    graph: &'g Graph,
    name: impl Fn(&Op) -> Option<&String> + 'g,
) -> impl Iterator<Item = &'g String> {
    graph.nodes.iter().filter_map(move |node| name(&node.op))
}
