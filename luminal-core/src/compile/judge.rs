//! Who decides between programs of equal meaning: a record of earlier decisions, a clock, or the model alone.
//!
//! The search asks a [`Judge`]. What it answers from - a lock file, a cache, a child process that runs kernels - is the
//! caller's; here is only [`ByModel`], which knows nothing, so that every decision falls to the model of the machine.

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::kernel::ir::Kernel;
use crate::kernel::schedule::Schedule;
use crate::kernel::tile::Program;
use crate::search::Recipe;
use std::fmt::{self, Display, Formatter};

/// One schedule of a kernel and the program that it gives.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// How the kernel is cut.
    pub schedule: Schedule,
    /// The program, under a name that all candidates share: equal code is equal text.
    pub program: Program,
    /// Seconds of one launch by the model.
    pub predicted: f64,
}

/// A kernel with schedules to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The model, for its free sizes.
    pub graph: &'a Graph,
    /// The kernel before scheduling.
    pub kernel: &'a Kernel,
    /// Its schedules, those that should be fastest first; at least one.
    pub candidates: &'a [Candidate],
    /// The user's operations in it.
    pub fused: &'a [String],
    /// Why it is measured, in a word or two, for those who watch.
    pub purpose: &'a str,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// It was run: seconds of one launch, the least of many, free sizes at their bounds.
    Seconds(f64),
    /// The compiler made the same code of it as of this earlier candidate.
    SameAs(usize),
    /// It took so long that it was stopped.
    TooSlow,
    /// It was not run.
    NotRun,
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Seconds(seconds) => write!(f, "{:.2} us", seconds * 1e6),
            Outcome::SameAs(other) => write!(f, "the same code as {}", other + 1),
            Outcome::TooSlow => f.write_str("stopped, too slow"),
            Outcome::NotRun => f.write_str("not run"),
        }
    }
}

/// Decides, or leaves it to the model.
pub trait Judge {
    /// The recorded schedule of a kernel.
    ///
    /// # Errors
    /// A record that must be there is missing, or cannot be read.
    fn schedule(&mut self, kernel: &Kernel, fused: &[String]) -> Result<Option<Schedule>>;

    /// The recorded partition of a region of a model.
    ///
    /// # Errors
    /// As [`Judge::schedule`].
    fn partition(&mut self, region: &Graph) -> Result<Option<Recipe>>;

    /// The error of a record that cannot be used: `what` is a kernel or region, with its hash.
    fn unusable(&self, what: &str, error: &Error) -> Error {
        Error::new(format!("the recorded decision about {what} cannot be used: {error}"))
    }

    /// True if kernels can be timed at all: then the search asks for times when it has to choose.
    fn measures(&self) -> bool;

    /// Verifies the candidates and times them. One outcome for each; none if time is up.
    ///
    /// # Errors
    /// A candidate is wrong, or the C compiler refuses it: a bug of ours.
    fn time(&mut self, trial: &Trial<'_>) -> Result<Option<Vec<Outcome>>>;
}

/// No records, no clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByModel;

impl Judge for ByModel {
    fn schedule(&mut self, _: &Kernel, _: &[String]) -> Result<Option<Schedule>> {
        Ok(None)
    }

    fn partition(&mut self, _: &Graph) -> Result<Option<Recipe>> {
        Ok(None)
    }

    fn measures(&self) -> bool {
        false
    }

    fn time(&mut self, _: &Trial<'_>) -> Result<Option<Vec<Outcome>>> {
        Ok(None)
    }
}
