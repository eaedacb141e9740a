//! Decides for the search: from `luminal.lock`, from measurements of earlier builds, by running candidates, or - by
//! deciding nothing - through the model of the machine.

mod cache;
mod candidates;
mod child;
mod mode;
mod progress;
mod timing;
mod trial;

pub(super) use cache::target_folder;
pub(super) use mode::Mode;

use cache::Cache;
use luminal_core::compile::{Compiled, Judge, Outcome, Trial};
use luminal_core::error::{Error, Result};
use luminal_core::graph::{Graph, Op};
use luminal_core::kernel::ir::Kernel;
use luminal_core::kernel::schedule::Schedule;
use luminal_core::kernel::text;
use luminal_core::lock::{self, Key, Lock, Measured};
use luminal_core::search::Recipe;
use progress::Progress;
use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;
use trial::Timer;

/// What a package's builds decide, model by model.
pub(super) struct Decider {
    mode: Mode,
    /// The decisions of the file; none while tuning.
    recorded: Lock,
    /// The decisions that this build used or made.
    used: Lock,
    target: String,
    /// The model at hand.
    model: String,
    timer: Option<Timer>,
    progress: Progress,
}

/// Tells cargo what decisions depend on.
pub(super) fn watch() {
    for name in mode::VARIABLES {
        println!("cargo::rerun-if-env-changed={name}");
    }
    // A file that is not there would run the script every time.
    if Path::new(lock::FILE).exists() {
        println!("cargo::rerun-if-changed={}", lock::FILE);
    }
}

impl Decider {
    /// For the build script that runs.
    ///
    /// # Errors
    /// The environment asks for what there is not, or the lock file cannot be read.
    pub fn new(out_dir: &Path) -> Result<Decider> {
        let mode = Mode::from_environment()?;
        let recorded = if mode == Mode::Tune { Lock::default() } else { read_lock(Path::new(lock::FILE))? };
        let end = Instant::now() + mode.budget()?;
        let fresh = env::var_os("LUMINAL_FRESH").is_some_and(|value| value == "1");
        let measures = matches!(mode, Mode::Measure | Mode::Tune);
        let timer = measures.then(|| Timer::new(out_dir, Cache::of_build(out_dir, fresh), end)).flatten();
        Ok(Decider {
            mode,
            recorded,
            used: Lock::default(),
            target: target(),
            model: String::new(),
            timer,
            progress: Progress::from_environment(end),
        })
    }

    /// The next decisions are about this model.
    pub fn begin(&mut self, model: &str, graph: &Graph) {
        self.model = model.into();
        self.progress.begin(model);
        if let Some(timer) = &mut self.timer {
            timer.begin(weight_bytes(graph));
        }
    }

    /// Notes what a compiled model consists of, as decisions.
    pub fn note(&mut self, compiled: &Compiled) {
        for region in &compiled.regions {
            let key = Key::region(region.hash, &self.target);
            let recipe = region.found.recipe();
            self.used.add_region(key, lock::Region { of: self.model.clone(), recipe });
        }
        for unit in &compiled.units.list {
            let key = Key::kernel(text::hash(&unit.kernel), &self.target);
            let measured = match (unit.measured, &self.timer) {
                (Some(seconds), Some(timer)) => Some(Measured {
                    cpu: timer.cpu.clone(),
                    compiler: timer.compiler.clone(),
                    // Four digits: more would be noise in the file.
                    microseconds: format!("{:.3e}", seconds * 1e6).parse().unwrap_or(seconds * 1e6),
                    tried: unit.tried.iter().filter(|tried| tried.outcome != Outcome::NotRun).count(),
                }),
                _ => self.recorded.kernel(&key).and_then(|kernel| kernel.measured.clone()),
            };
            let of = unit.notes.join(" + ");
            self.used.add_kernel(key, lock::Kernel { of, schedule: unit.schedule.clone(), measured });
        }
    }

    /// The text of a lock file with the decisions of this build.
    pub fn lock_text(&self) -> String {
        self.used.to_text()
    }

    /// What to tell about measuring, for reports: nothing if nothing was to be measured.
    pub fn remark(&self, compiled: &Compiled) -> Option<String> {
        match (&self.timer, self.mode) {
            (Some(timer), _) => {
                let mut text = timer.remark();
                if let Some((mean, kernels)) = compiled.units.rank_correlation() {
                    text += &format!(
                        "; the model of the machine ranks schedules like the clock by {mean:.2} (Spearman, mean of \
                         {kernels} kernels)"
                    );
                }
                Some(text)
            }
            (None, Mode::Measure | Mode::Tune) => {
                Some("nothing was measured: the target's code does not run on this machine".into())
            }
            _ => None,
        }
    }

    /// What to do about measuring, if something is to be done.
    pub fn warning(&self) -> Option<String> {
        let late = self.timer.as_ref().map(Timer::late).filter(|late| *late > 0)?;
        Some(format!(
            "the time to measure in was up before {late} kernels of {}: they are as the model of the machine has them. \
             `cargo luminal tune` measures all and records it; LUMINAL_BUDGET gives a build more seconds; the next build \
             that runs the search goes on from here",
            env::var("CARGO_PKG_NAME").unwrap_or_default()
        ))
    }

    fn missing(&self, what: &str, hash: &str) -> Error {
        Error::new(format!(
            "{} has no decision about {what} ({hash} for {}), and LUMINAL_SEARCH=locked allows no search: run `cargo \
             luminal tune` and commit the file",
            lock::FILE,
            self.target
        ))
    }
}

impl Judge for Decider {
    fn schedule(&mut self, kernel: &Kernel, fused: &[String]) -> Result<Option<Schedule>> {
        let key = Key::kernel(text::hash(kernel), &self.target);
        let Some(entry) = self.recorded.kernel(&key) else {
            return match self.mode {
                Mode::Locked => Err(self.missing(&format!("a kernel of {}", fused.join(" + ")), &key.hash)),
                _ => Ok(None),
            };
        };
        Ok(Some(entry.schedule.clone()))
    }

    fn partition(&mut self, region: &Graph) -> Result<Option<Recipe>> {
        let key = Key::region(region.stable_hash(), &self.target);
        match self.recorded.region(&key) {
            Some(region) => Ok(Some(region.recipe.clone())),
            None if self.mode == Mode::Locked => {
                Err(self.missing(&format!("how to cut a part of `{}` into kernels", self.model), &key.hash))
            }
            None => Ok(None),
        }
    }

    fn unusable(&self, what: &str, error: &Error) -> Error {
        Error::new(format!(
            "{}: the decision about {what} cannot be used: {error}; run `cargo luminal tune`, or delete the entry",
            lock::FILE
        ))
    }

    fn measures(&self) -> bool {
        self.timer.is_some()
    }

    fn time(&mut self, trial: &Trial<'_>) -> Result<Option<Vec<Outcome>>> {
        let Some(timer) = &mut self.timer else { return Ok(None) };
        let outcomes = timer.time(trial)?;
        self.progress.tell(trial, outcomes.as_deref());
        Ok(outcomes)
    }
}

fn read_lock(path: &Path) -> Result<Lock> {
    let failed = |error: String| {
        Error::new(format!(
            "cannot read {}: {error}; restore it from version control, or delete it and run `cargo luminal tune`",
            path.display()
        ))
    };
    match fs::read_to_string(path) {
        Ok(text) => Lock::parse(&text).map_err(|error| failed(error.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lock::default()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The name of the target in the lock file: that of the best version.
fn target() -> String {
    match env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default().as_str() {
        "x86_64" => "x86-64-v3".into(),
        other => other.into(),
    }
}

/// Bytes of all weights of a model.
fn weight_bytes(graph: &Graph) -> usize {
    let weights = graph.nodes.iter().filter(|node| matches!(node.op, Op::Param(_)));
    weights.map(|node| node.shape.iter().map(|&dim| dim.max()).product::<usize>() * node.dtype.bytes()).sum()
}
