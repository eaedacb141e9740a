//! What a build decided for a model, and why: collected once, then rendered as five lines, as text and as a page.
//!
//! Nothing here reads or writes files. Times of phases appear in reports only, so that everything else that a build
//! makes is the same every time.

mod after;
mod before;
mod collect;
mod escape;
mod html;
mod layout;
mod number;
mod picture;
mod repeats;
mod summary;
mod svg;
#[cfg(test)]
mod tests;
mod text;

pub use picture::{Edge, Kind, Picture, Shape};

use crate::compile::{Chosen, Compiled, Options};
use crate::graph::Graph;
use crate::phases::Phases;
use crate::search::Explored;
use crate::search::algebra::Explanation;

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The package that the model is in.
    pub package: &'a str,
    /// The model as it was traced.
    pub graph: &'a Graph,
    /// What became of it. Its plan has the C text of each version.
    pub compiled: &'a Compiled,
    /// What it was compiled with.
    pub options: &'a Options,
    /// The module of PTX; may be empty.
    pub ptx: &'a str,
    /// What was compared, for each version of the code.
    pub checks: &'a [(String, String)],
    /// About measuring, if there is something to say.
    pub remark: Option<&'a str>,
}

/// Everything that a report says about a model.
#[derive(Clone, Debug)]
pub struct Report {
    /// The package that the model is in.
    pub package: String,
    /// The model.
    pub model: String,
    /// The machine that times are for.
    pub machine: String,
    /// About measuring.
    pub remark: Option<String>,
    /// Primitives of the traced graph.
    pub primitives: usize,
    /// Sizes known at run time only, with their bounds.
    pub free: Vec<(String, usize)>,
    /// Bytes of weights, of intermediates and of state.
    pub memory: [usize; 3],
    /// The distinct parts of the model that were searched.
    pub regions: Vec<Region>,
    /// The distinct kernels.
    pub kernels: Vec<Kernel>,
    /// The kernels and the tensors between them.
    pub after: Picture,
    /// What was compared, for each version of the code.
    pub checks: Vec<(String, String)>,
    /// How long each phase of the build took.
    pub phases: Phases,
}

/// A distinct part of the model.
#[derive(Clone, Debug)]
pub struct Region {
    /// How many parts of the model are like it.
    pub times: usize,
    /// Primitives in it.
    pub primitives: usize,
    /// Kernels that it became.
    pub kernels: usize,
    /// The chosen variant, from 1.
    pub variant: usize,
    /// How much was looked at.
    pub explored: Explored,
    /// How that came about, one sentence each.
    pub log: Vec<String>,
    /// The chosen program and its kernels in index notation.
    pub program: String,
    /// The rules that led there; a reason if they cannot be told.
    pub rules: Result<Explanation, String>,
    /// The part as the user wrote it.
    pub before: Picture,
}

/// A distinct kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its symbol.
    pub name: String,
    /// What kind of kernel it is.
    pub form: String,
    /// What it writes, and the largest sum for each element.
    pub shape: String,
    /// The user's operations in it.
    pub operations: Vec<String>,
    /// Launches in each run.
    pub runs: usize,
    /// Launches when the model is loaded.
    pub loads: usize,
    /// Arithmetic of a launch.
    pub flops: f64,
    /// Bytes that a launch reads and writes at least.
    pub bytes: f64,
    /// Seconds that a launch takes at least: the roofline of the machine.
    pub bound: f64,
    /// Seconds by the model of the machine.
    pub predicted: f64,
    /// Seconds by the clock.
    pub measured: Option<f64>,
    /// Who chose the schedule.
    pub chosen: Chosen,
    /// The tensors of its first launch.
    pub tensors: Vec<Tensor>,
    /// The schedules that were looked at, those that should be fastest first.
    pub tried: Vec<Attempt>,
    /// Which of these was chosen.
    pub winner: Option<usize>,
    /// In index notation.
    pub notation: String,
    /// How it is cut.
    pub schedule: String,
    /// As a tile program.
    pub program: String,
    /// Generated code: what it is, and the text.
    pub code: Vec<(String, String)>,
}

/// A tensor that a kernel reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// What it is to the model.
    pub role: &'static str,
    /// True if the kernel writes it.
    pub written: bool,
    /// Element type and sizes.
    pub shape: String,
    /// Bytes at the bounds of free sizes.
    pub bytes: usize,
}

/// A schedule that was looked at.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// How the kernel is cut.
    pub schedule: String,
    /// Seconds by the model.
    pub predicted: f64,
    /// Seconds by the clock.
    pub measured: Option<f64>,
    /// What became of it.
    pub outcome: String,
}

impl Region {
    /// How much was looked at, in a sentence.
    pub fn effort(&self) -> String {
        let Explored { e_nodes, iterations, saturated, states, candidates, exact } = self.explored;
        let full = if saturated { "until no rule had anything to add" } else { "up to the limit" };
        let exactly = if exact { "solved exactly" } else { "with a beam, as there were too many states" };
        format!(
            "{e_nodes} nodes in the e-graph after {iterations} rounds, {full}; {candidates} candidate kernels and {states} \
             states of the partition, {exactly}"
        )
    }
}

impl Kernel {
    /// Seconds of a launch: by the clock, else by the model.
    pub fn seconds(&self) -> f64 {
        self.measured.unwrap_or(self.predicted)
    }

    /// Share of the roofline that it reaches, at most 1 if the roofline is right.
    pub fn share(&self) -> f64 {
        if self.seconds() > 0.0 { self.bound / self.seconds() } else { 0.0 }
    }

    /// Who chose the schedule, and from what.
    pub fn choice(&self) -> String {
        match self.chosen {
            Chosen::Recorded => "recorded in luminal.lock".into(),
            Chosen::ByTime => {
                let run = self.tried.iter().filter(|attempt| attempt.outcome != "not run").count();
                format!("fastest of {run} that were run, of {} schedules", self.tried.len())
            }
            Chosen::ByModel => format!("best of {} schedules by the model of the machine", self.tried.len()),
        }
    }

    /// The end of its symbol, which tells it from the model's other kernels.
    pub fn short(&self) -> String {
        format!("k{}", self.name.rsplit('_').next().unwrap_or(&self.name))
    }

    /// The user's operations, each once.
    pub fn title(&self) -> String {
        let mut names: Vec<(&str, usize)> = vec![];
        for operation in &self.operations {
            match names.iter_mut().find(|(name, _)| name == operation) {
                Some((_, times)) => *times += 1,
                None => names.push((operation, 1)),
            }
        }
        let names = names.iter().map(|(name, times)| match times {
            1 => name.to_string(),
            _ => format!("{times} {name}"),
        });
        names.collect::<Vec<_>>().join(" + ")
    }
}

impl Report {
    /// Seconds of the kernels of a run, of one kind of time.
    pub fn of_run(&self, seconds: impl Fn(&Kernel) -> f64) -> f64 {
        self.kernels.iter().map(|kernel| kernel.runs as f64 * seconds(kernel)).sum()
    }

    /// Kernels of a run by their share of its time, longest first.
    pub fn by_time(&self) -> Vec<&Kernel> {
        let mut kernels: Vec<&Kernel> = self.kernels.iter().filter(|kernel| kernel.runs > 0).collect();
        let total = |kernel: &Kernel| kernel.runs as f64 * kernel.seconds();
        kernels.sort_by(|x, y| total(y).total_cmp(&total(x)));
        kernels
    }

    /// All rules of all regions with the number of places where each was used.
    pub fn rules(&self) -> Vec<(String, usize)> {
        let mut all = std::collections::BTreeMap::<String, usize>::new();
        for explanation in self.regions.iter().filter_map(|region| region.rules.as_ref().ok()) {
            explanation.rules.iter().for_each(|(rule, count)| *all.entry(rule.clone()).or_default() += count);
        }
        all.into_iter().collect()
    }
}
