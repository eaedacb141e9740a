//! From a graph to kernels and a plan: search, C and PTX text, the C compiler, and the check of what it made.

use super::Traced;
use super::files::Folder;
use super::native::{self, Failure, Loaded, Version};
use super::pages;
use super::tune::Decider;
use luminal_core::codegen;
use luminal_core::compile::check::{self, Agreement};
use luminal_core::compile::{self, BUG, Compiled, Options};
use luminal_core::error::{Error, Result};
use luminal_core::kernel::tile::Program;
use luminal_core::kernel::{self, schedule::Machine};
use luminal_core::phases::Phases;
use luminal_core::plan::emit::{self, Files};
use luminal_core::plan::{Executable, Isa, Kernel, Plan, Source};
use luminal_core::report::{Facts, Report};
use luminal_core::runtime::Device;
use std::env;
use std::path::PathBuf;
use std::time::Instant;

/// Where the inputs of checks start from. Fixed: two builds check the same.
const SEED: u64 = 0x1u64 << 32 | 0xd161;

/// Compiles a model: writes `<model>.rs`, the plan as Rust source, with the texts that it includes, and tells cargo what
/// to link.
pub(super) fn compile(folder: &Folder, model: &Traced, decider: &mut Decider) -> Result<()> {
    let options = Options {
        prefix: format!("luminal_{}_{}", identifier(&variable("CARGO_PKG_NAME")), identifier(&model.name)),
        model: model.name.clone(),
        fuse: variable("LUMINAL_OPT") != "off",
        machine: Machine::x86_64_v3(),
    };
    folder.remove(&format!("{}.wrong.txt", model.name))?;
    decider.begin(&model.name, &model.graph);
    // Without fusion nothing is decided.
    let mut compiled = match options.fuse {
        true => compile::compile_with(&model.graph, &options, decider)?,
        false => compile::compile(&model.graph, &options)?,
    };
    if options.fuse {
        decider.note(&compiled);
    }
    let mut phases = model.phases.clone();
    phases.extend(&compiled.phases);
    compiled.phases = phases;
    let start = Instant::now();
    let ptx = cuda(folder, model, &mut compiled)?;
    compiled.phases.add("PTX", start.elapsed().as_secs_f64());
    folder.write(&model.name, "ptx", &ptx)?;
    let mut checks = vec![];
    let objects = native(folder, model, &mut compiled, &mut checks)?;
    let remark = decider.remark(&compiled);
    let facts = Facts {
        package: &variable("CARGO_PKG_NAME"),
        graph: &model.graph,
        compiled: &compiled,
        options: &options,
        ptx: &ptx,
        checks: &checks,
        remark: remark.as_deref(),
    };
    pages::write(folder, &Report::new(&facts))?;
    compiled.plan.ptx = ptx.into();
    let symbols: Vec<Vec<(Isa, String)>> = compiled.plan.kernels.iter().map(symbols).collect();
    let ptx_file = format!("{}.ptx", model.name);
    let text = emit::emit(&compiled.plan, &symbols, &Files { folder: "OUT_DIR", ptx: Some(&ptx_file) });
    match objects {
        Ok(objects) => native::link(&objects, &options.prefix)?,
        Err(no_compiler) => native::link_nothing(&no_compiler),
    }
    folder.write(&model.name, "rs", &text)
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// A name as part of a symbol.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn symbols(kernel: &Kernel) -> Vec<(Isa, String)> {
    native::versions()
        .iter()
        .map(|version| (version.isa, format!("{}{}", kernel.name, version.suffix)))
        .collect()
}

/// C text, objects and the check of each version. The inner error: there is no compiler.
fn native(
    folder: &Folder,
    model: &Traced,
    compiled: &mut Compiled,
    checks: &mut Vec<(String, String)>,
) -> Result<Result<Vec<PathBuf>>> {
    let mut phases = Phases::default();
    let programs: Vec<&Program> = compiled.units.list.iter().map(|unit| &unit.program).collect();
    let mut objects = Ok(vec![]);
    let mut sources = vec![];
    for version in native::versions() {
        let text = phases.time("C", || codegen::c::render_module(&programs, version.suffix));
        let name = format!("{}{}.c", model.name, version.suffix);
        folder.write(&format!("{}{}", model.name, version.suffix), "c", &text)?;
        if let Ok(all) = &mut objects {
            match phases.time("C compiler", || native::compile(&folder.path().join(&name), version)) {
                Err(Failure::Rejected(error)) => return Err(error),
                Err(Failure::NoCompiler(error)) => objects = Err(error),
                Ok(mine) => {
                    if Loaded::is_possible() && version.isa <= Device::cpu().isa() {
                        let check = || check_version(folder, model, compiled, version, &mine, &text);
                        checks.push((name.clone(), phases.time("check", check)?));
                    }
                    all.extend(mine);
                }
            }
        }
        sources.push(Source { name: name.into(), text: text.into() });
    }
    compiled.plan.sources = sources.into();
    compiled.phases.extend(&phases);
    Ok(objects)
}

/// Runs every kernel of a version, and the whole plan with them.
fn check_version(
    folder: &Folder,
    model: &Traced,
    compiled: &Compiled,
    version: &Version,
    objects: &[PathBuf],
    text: &str,
) -> Result<String> {
    let library = folder.path().join(format!("{}{}.check.so", model.name, version.suffix));
    let loaded = Loaded::new(objects, &library, version)?;
    let mut plan: Plan = compiled.plan.clone();
    let mut kernels = Agreement::default();
    for (unit, kernel) in compiled.units.list.iter().zip(plan.kernels.to_mut()) {
        let function = loaded.kernel(&format!("{}{}", kernel.name, version.suffix))?;
        // SAFETY: the function was compiled from the text of this unit's program.
        let result = unsafe { check::check_kernel(unit, function, &model.graph, SEED) };
        match result {
            Ok(agreement) => kernels.merge(agreement),
            Err(error) => {
                let reproducer = check::reproducer(&unit.kernel, &unit.program, text);
                return Err(wrong(folder, model, &reproducer, &error));
            }
        }
        kernel.entries = vec![(version.isa, function)].into();
    }
    // The session of the check wants a plan for ever; there is one for each version.
    // SAFETY: every kernel of the plan was compiled for it, and has just been checked.
    let plan: &'static Executable = Box::leak(Box::new(unsafe { Executable::new(plan) }));
    let result = check::check_model(&model.graph, plan, Device::cpu().limited_to(version.isa), SEED);
    loaded.keep();
    let whole = match result {
        Ok(Some(agreement)) => agreement.to_string(),
        Ok(None) => {
            let regions = check_regions(folder, model, compiled)?;
            format!("not compared, as the reference would take too long at any size\n{regions}")
        }
        Err(error) => {
            let reproducer = format!("{}\n\n{plan}", model.graph);
            return Err(wrong(folder, model, &reproducer, &error));
        }
    };
    let checked = format!("kernels: {kernels}\nthe whole plan: {whole}\n");
    folder.write(&format!("{}{}", model.name, version.suffix), "check.txt", &checked)?;
    Ok(checked)
}

/// Of a model too large to be compared as a whole, the meaning of the kernels of each region that is not.
fn check_regions(folder: &Folder, model: &Traced, compiled: &Compiled) -> Result<String> {
    let (mut compared, mut agreement) = (0, Agreement::default());
    for region in &compiled.regions {
        match check::check_region(&region.graph, &region.program, SEED) {
            Ok(Some(agrees)) => {
                compared += 1;
                agreement.merge(agrees);
            }
            Ok(None) => {}
            Err(error) => return Err(wrong(folder, model, &region.graph.to_string(), &error)),
        }
    }
    let all = compiled.regions.len();
    Ok(format!("{compared} of {all} distinct regions, before they are code: {agreement}"))
}

/// A wrong kernel is a bug of the compiler: say so, and leave all that is needed to find it.
fn wrong(folder: &Folder, model: &Traced, reproducer: &str, error: &Error) -> Error {
    let message = format!("{BUG}: generated code is wrong and was not used\n{error}");
    Error::new(with_reproducer(folder, model, reproducer, &message))
}

/// Writes what is needed to see a bug of ours again, and names the file in the message.
pub(super) fn with_reproducer(folder: &Folder, model: &Traced, reproducer: &str, message: &str) -> String {
    let place = folder.path().join(format!("{}.wrong.txt", model.name));
    let reproducer = format!("{message}\n\n{reproducer}");
    let written = folder.write(&model.name, "wrong.txt", &reproducer).map(|()| place.display().to_string());
    format!("{message}\nplease report it with the file {}", written.unwrap_or_else(|error| error.to_string()))
}

/// PTX for every kernel, from schedules of its own: on a GPU every tensor is row-major, whatever order the CPU's kernels
/// chose. The plan learns how each is launched.
fn cuda(folder: &Folder, model: &Traced, compiled: &mut Compiled) -> Result<String> {
    let mut programs = vec![];
    for (number, unit) in compiled.units.list.iter().enumerate() {
        let first = compiled.units.of.iter().position(|of| *of == number).expect("a unit has a kernel");
        let kernel = &compiled.program.kernels[first].kernel;
        let of = || unit.notes.join(", ");
        let schedule = luminal_cuda::schedule::schedule(kernel)
            .map_err(|error| Error::new(format!("no PTX for a kernel of {}: {error}", of())))?;
        let mut program = kernel::lower::lower(&unit.program.name, kernel, &schedule)?;
        // Nothing here runs PTX, so what it is made of is interpreted.
        check::check_tiles(kernel, &program, &model.graph, SEED).map_err(|error| {
            wrong(folder, model, &format!("kernel:\n{kernel}\n\ntile program:\n{program}\n"), &error)
        })?;
        program.notes = unit.notes.clone();
        compiled.plan.kernels.to_mut()[number].cuda = Some(luminal_cuda::schedule::launch(&program));
        programs.push(program);
    }
    luminal_cuda::ptx::render_module(&programs.iter().collect::<Vec<_>>())
}
