//! The build script's half: traces each model and compiles it.
//!
//! For a model `classify` it leaves in `OUT_DIR`, where `#[model]` finds them:
//! - `classify.errors`: what is wrong with the model, empty if nothing is. The macro shows each mistake at the user's token;
//!   the build script itself succeeds, so that cargo gets as far as the program.
//! - `classify.graph`: the model as primitives.
//! - `classify.rs`: the plan as Rust source, empty if there is none;
//! - `classify.ptx`, `classify.c`, `classify_v3.c`: the generated texts, which the plan includes;
//! - `classify.summary.txt`, `classify.report.txt`: for reading, what was decided and why, in five lines and in full;
//!   as a page too, in `target/luminal/<package>/classify`;
//! - `classify.wrong.txt`: only if generated code disagreed with its meaning, everything needed to see it again.
//!
//! `luminal.models` lists the models, `luminal.lock` holds the decisions of the search: what `cargo luminal tune` copies. Files are replaced as a whole and only when they change.

mod files;
mod generate;
mod native;
mod pages;
mod trace;
mod tune;

use crate::Model;
use files::Folder;
use luminal_core::compile::BUG;
use luminal_core::error::{Error, Result};
use luminal_core::graph::Graph;
use luminal_core::phases::Phases;
use luminal_core::tensor::{Mistake, Place};
use std::env;
use std::path::{Path, PathBuf};
use tune::Decider;

/// Compiles models: the whole of a build script.
///
/// ```no_run
/// # const MODEL: luminal::Model = luminal::Model { name: "m", file: "", line: 0, trace: || () };
/// luminal::build::Compiler::new().model(MODEL).run();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    models: Vec<Model>,
}

/// Compiles a model; a panic on the way is a mistake too, ours.
fn compile(folder: &Folder, model: &Traced, decider: &mut Decider) -> Option<Mistake> {
    let work = std::panic::AssertUnwindSafe(|| generate::compile(folder, model, decider));
    let message = match trace::quietly(work) {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => error.to_string(),
        Err((place, message)) => {
            let place = place.map(|p| format!(" at {}:{}", p.file, p.line)).unwrap_or_default();
            format!("{BUG}: the compiler panicked{place}: {message}")
        }
    };
    // Every bug of ours leaves what is needed to see it again; most write more than the graph.
    let message = match message.starts_with(BUG) && !message.contains("wrong.txt") {
        true => generate::with_reproducer(folder, model, &model.graph.to_string(), &message),
        false => message,
    };
    Some(Mistake { place: None, message })
}

/// A model without mistakes.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Its name in the build.
    pub name: String,
    /// The model as primitives; well formed.
    pub graph: Graph,
    /// How long tracing took.
    pub phases: Phases,
}

impl Compiler {
    /// Compiles nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model: the constant `MODEL` in the module beside a `#[model]` function.
    pub fn model(mut self, model: Model) -> Self {
        self.models.push(model);
        self
    }

    /// Traces and compiles the models, and tells cargo when to do it again.
    ///
    /// What is wrong with a model is reported where the model is used, not here. If files cannot be written the build
    /// script fails.
    pub fn run(self) {
        if let Err(error) = self.try_run() {
            eprintln!("luminal: {error}");
            std::process::exit(1);
        }
    }

    fn try_run(self) -> Result<()> {
        let folder = env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| {
            Error::new("`luminal::build::Compiler` runs in a build script: cargo sets OUT_DIR only there")
        })?;
        // The model files are part of the build script itself, so cargo watches them. Naming one file keeps it from
        // watching the whole package; it must exist, or the script would run every time.
        let watched = if Path::new("build.rs").exists() { "build.rs" } else { "Cargo.toml" };
        println!("cargo::rerun-if-changed={watched}");
        println!("cargo::rerun-if-env-changed=LUMINAL_OPT");
        #[cfg(feature = "mutants")]
        {
            println!("cargo::rerun-if-env-changed=LUMINAL_MUTANT");
            luminal_core::mutant::selected()?;
        }
        native::watch();
        tune::watch();
        if !luminal_core::compile::IS_OPTIMISED {
            println!(
                "cargo::warning=luminal searches without optimisation, which is slow: put `[profile.dev.package.egg] \
                 opt-level = 3` and `[profile.dev.package.luminal-core] opt-level = 1` (and the same with \
                 profile.release) into the Cargo.toml of your workspace"
            );
        }
        let folder = Folder::new(folder);
        // What is wrong with decisions is wrong with every model: it is said at each.
        let mut decider = Decider::new(folder.path());
        folder.list(&self.models)?;
        for (index, model) in self.models.iter().enumerate() {
            if self.models[..index].iter().any(|other| other.name == model.name) {
                continue; // reported with the first
            }
            let mut phases = Phases::default();
            let (graph, mut mistakes) = phases.time("trace", || trace::trace(model));
            mistakes.extend(self.namesakes(model));
            if mistakes.is_empty() {
                folder.write(model.name, "graph", &graph.to_string())?;
                let traced = Traced { name: model.name.into(), graph, phases };
                mistakes.extend(match &mut decider {
                    Ok(decider) => compile(&folder, &traced, decider),
                    Err(error) => Some(Mistake { place: None, message: error.to_string() }),
                });
            }
            folder.write(model.name, "errors", &files::mistakes(&mistakes))?;
            if !mistakes.is_empty() {
                folder.write(model.name, "graph", "")?;
                folder.write(model.name, "rs", "")?;
            }
        }
        match decider {
            Ok(decider) => {
                if let Some(warning) = decider.warning() {
                    println!("cargo::warning={warning}");
                }
                folder.write("luminal", "lock", &decider.lock_text())
            }
            Err(_) => Ok(()),
        }
    }

    /// A mistake if another model has the same name.
    fn namesakes(&self, model: &Model) -> Option<Mistake> {
        let places: Vec<_> = (self.models.iter().filter(|other| other.name == model.name))
            .map(|other| format!("{}:{}", other.file, other.line))
            .collect();
        let message = || {
            format!(
                "several models of this build script are named `{}`, at {}: give all but one another name with \
                 `#[model(name = \"..\")]`",
                model.name,
                places.join(" and ")
            )
        };
        (places.len() > 1).then(|| Mistake { place: None::<Place>, message: message() })
    }
}
