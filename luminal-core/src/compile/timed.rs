//! A judge whose trials are timed, to tell measuring from thinking.

use super::judge::{Judge, Outcome, Trial};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::kernel::ir::Kernel;
use crate::kernel::schedule::Schedule;
use crate::phases::Phases;
use crate::search::Recipe;
use std::time::Instant;

/// Seconds of trials since they were last settled.
pub(super) struct Timed<'a> {
    pub judge: &'a mut dyn Judge,
    pub seconds: f64,
}

impl Timed<'_> {
    /// Bills trials that a phase has asked for as measuring.
    pub fn settle(&mut self, phase: &'static str, phases: &mut Phases) {
        let seconds = std::mem::take(&mut self.seconds);
        if seconds > 0.0 {
            phases.add(phase, -seconds);
            phases.add("measure", seconds);
        }
    }
}

impl Judge for Timed<'_> {
    fn schedule(&mut self, kernel: &Kernel, fused: &[String]) -> Result<Option<Schedule>> {
        self.judge.schedule(kernel, fused)
    }

    fn partition(&mut self, region: &Graph) -> Result<Option<Recipe>> {
        self.judge.partition(region)
    }

    fn unusable(&self, what: &str, error: &Error) -> Error {
        self.judge.unusable(what, error)
    }

    fn measures(&self) -> bool {
        self.judge.measures()
    }

    fn time(&mut self, trial: &Trial<'_>) -> Result<Option<Vec<Outcome>>> {
        let start = Instant::now();
        let outcomes = self.judge.time(trial);
        self.seconds += start.elapsed().as_secs_f64();
        outcomes
    }
}
