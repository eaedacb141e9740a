//! Seconds that each phase of a build took: for reports, never for anything that a build must repeat.

use std::time::Instant;

/// Phases with their seconds, in the order in which they were first entered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases {
    list: Vec<(&'static str, f64)>,
}

impl Phases {
    /// Adds seconds to a phase; negative ones take away.
    pub fn add(&mut self, phase: &'static str, seconds: f64) {
        match self.list.iter_mut().find(|(name, _)| *name == phase) {
            Some((_, sum)) => *sum += seconds,
            None => self.list.push((phase, seconds)),
        }
    }

    /// Does the work of a phase.
    pub fn time<T>(&mut self, phase: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(phase, start.elapsed().as_secs_f64());
        result
    }

    /// All of another list.
    pub fn extend(&mut self, other: &Phases) {
        other.iter().for_each(|(phase, seconds)| self.add(phase, seconds));
    }

    /// All phases.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.list.iter().copied()
    }

    /// Seconds of all phases.
    pub fn total(&self) -> f64 {
        self.iter().map(|(_, seconds)| seconds).sum()
    }
}
