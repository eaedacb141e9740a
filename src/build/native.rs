//! The C compiler: kernels as objects, linked into the program and, to check them, into a library that the build script
//! loads.

use luminal_core::error::{Error, Result};
use luminal_core::plan::{Isa, KernelFn};
use std::env;
use std::path::{Path, PathBuf};

/// One version of all kernels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    /// The instruction set that it needs.
    pub isa: Isa,
    /// Appended to the name of each kernel.
    pub suffix: &'static str,
    flags: &'static [&'static str],
}

const BASELINE: Version = Version { isa: Isa::Baseline, suffix: "", flags: &[] };
/// The parts of `x86-64-v3` one by one: compilers older than the name know them.
const X86_V3: Version = Version {
    isa: Isa::X86V3,
    suffix: "_v3",
    flags: &["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt", "-mmovbe"],
};

/// The versions that are compiled for the target, best first.
pub(super) fn versions() -> &'static [Version] {
    match variable("CARGO_CFG_TARGET_ARCH").as_str() {
        "x86_64" => &[X86_V3, BASELINE],
        _ => &[BASELINE],
    }
}

/// Tells cargo to run the build script again when another compiler or other flags are chosen: the names that `cc` reads.
pub(super) fn watch() {
    let target = variable("TARGET");
    for name in ["CC", "CFLAGS"] {
        let specific = [format!("{name}_{target}"), format!("{name}_{}", target.replace('-', "_"))];
        let general = [name.to_string(), format!("TARGET_{name}"), format!("HOST_{name}")];
        for name in specific.iter().chain(&general) {
            println!("cargo::rerun-if-env-changed={name}");
        }
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// The options that are the same for compiling and linking. Independent of the profile: kernels are always optimised.
fn compiler(version: &Version) -> cc::Build {
    let mut build = cc::Build::new();
    build.opt_level(3).debug(false).pic(true).warnings(false).cargo_metadata(false).cargo_warnings(false);
    build.flags(version.flags);
    // Nobody reads errno; with it, square roots are calls.
    build.flag("-fno-math-errno");
    build
}

/// Why there are no objects.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no C compiler. `cargo check` does not need one, and what it is for cannot be told in a build script.
    NoCompiler(Error),
    /// It did not accept the text.
    Rejected(Error),
}

/// The C compiler with the options of a version.
pub(super) fn tool(version: &Version) -> Result<cc::Tool> {
    compiler(version).try_get_compiler().map_err(|error| Error::new(error.to_string()))
}

/// Compiles one file.
pub(super) fn compile(source: &Path, version: &Version) -> std::result::Result<Vec<PathBuf>, Failure> {
    compiler(version)
        .file(source)
        .try_compile_intermediates()
        .map_err(|error| explain(&error.to_string(), source))
}

fn explain(error: &str, source: &Path) -> Failure {
    let target = variable("TARGET");
    let what = error.lines().next().unwrap_or_default().trim_start_matches("ToolNotFound: ");
    if !error.contains("failed to find tool") && !error.contains("ToolNotFound") {
        return Failure::Rejected(Error::new(format!(
            "the C compiler for {target} failed on {}: {what}; gcc 11, clang 14 or newer is needed",
            source.display()
        )));
    }
    let install = match target == variable("HOST") {
        true => "gcc or clang; on Debian and Ubuntu the packages `gcc` and `libc6-dev`",
        false => {
            "one for that target, or name it in CC; on Debian and Ubuntu `gcc-aarch64-linux-gnu` and the like"
        }
    };
    Failure::NoCompiler(Error::new(format!(
        "there is no C compiler for {target} ({what}): install {install}"
    )))
}

/// Tells cargo that the program cannot be linked, and to try again next time. The name of the library is the message
/// that the linker prints.
pub(super) fn link_nothing(error: &Error) {
    println!("cargo::warning=luminal: {error}");
    println!("cargo::rustc-link-lib=static=luminal_needs_a_C_compiler_see_the_warning_above");
    println!("cargo::rerun-if-changed=luminal-needs-a-c-compiler");
}

/// Tells cargo to link the objects into the program.
pub(super) fn link(objects: &[PathBuf], library: &str) -> Result<()> {
    let mut build = cc::Build::new();
    build.cargo_warnings(false).objects(objects);
    build.try_compile(library).map_err(|error| Error::new(format!("cannot put {library} together: {error}")))
}

/// Kernels of this machine, loaded into the build script.
pub(super) struct Loaded {
    library: libloading::Library,
}

impl Loaded {
    /// True if what is compiled for the target runs here.
    pub fn is_possible() -> bool {
        variable("HOST") == variable("TARGET")
    }

    /// Links objects into a library and loads it.
    pub fn new(objects: &[PathBuf], library: &Path, version: &Version) -> Result<Loaded> {
        let failed =
            |what: &str| Error::new(format!("cannot link {} to check it: {what}", library.display()));
        let tool = tool(version).map_err(|error| failed(&error.to_string()))?;
        // A library that is loaded must not be overwritten.
        let _ = std::fs::remove_file(library);
        let mut command = tool.to_command();
        command.arg("-shared").arg("-o").arg(library).args(objects);
        let output = command.output().map_err(|error| failed(&error.to_string()))?;
        if !output.status.success() {
            return Err(failed(&String::from_utf8_lossy(&output.stderr)));
        }
        Loaded::open(library)
    }

    /// Loads a library of kernels.
    pub fn open(library: &Path) -> Result<Loaded> {
        // SAFETY: the library holds kernels and nothing that runs when it is loaded.
        let opened = unsafe { libloading::Library::new(library) };
        let failed = |error| Error::new(format!("cannot load {}: {error}", library.display()));
        Ok(Loaded { library: opened.map_err(failed)? })
    }

    /// A kernel. It may be called while `self` is alive.
    pub fn kernel(&self, symbol: &str) -> Result<KernelFn> {
        // SAFETY: the symbol is a kernel that we generated, with this signature.
        let function = unsafe { self.library.get::<KernelFn>(symbol.as_bytes()) };
        function.map(|f| *f).map_err(|error| Error::new(format!("kernel {symbol} was not compiled: {error}")))
    }

    /// Keeps the kernels for the rest of the build script: a static plan points to them.
    pub fn keep(self) {
        std::mem::forget(self.library);
    }
}
