//! Tells those who wait: a line for each trial, appended to the file that `LUMINAL_PROGRESS` names. Cargo shows nothing of a
//! build script while it runs; `cargo luminal tune` reads the file and draws bars.

use luminal_core::compile::{Outcome, Trial};
use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::Instant;

pub(super) struct Progress {
    file: Option<File>,
    model: String,
    start: Instant,
    end: Instant,
    trials: usize,
}

impl Progress {
    pub fn from_environment(end: Instant) -> Progress {
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        let file = env::var_os("LUMINAL_PROGRESS").and_then(open);
        Progress { file, model: String::new(), start: Instant::now(), end, trials: 0 }
    }

    pub fn begin(&mut self, model: &str) {
        self.model = model.into();
        self.trials = 0;
        self.line("begin", "", f64::NAN, f64::NAN);
    }

    /// After a trial: its least time, and that of the schedule that the model prefers.
    pub fn tell(&mut self, trial: &Trial<'_>, outcomes: Option<&[Outcome]>) {
        self.trials += 1;
        let seconds = |outcome: &Outcome| if let Outcome::Seconds(s) = outcome { *s } else { f64::NAN };
        let all = outcomes.unwrap_or_default().iter().map(seconds);
        let first = all.clone().next().unwrap_or(f64::NAN);
        let purpose = if outcomes.is_none() { "late" } else { trial.purpose };
        self.line(purpose, &trial.fused.join(" + "), all.fold(f64::NAN, f64::min), first);
    }

    /// Package, model, what, of what, number, least seconds, seconds of the first, seconds since the start, seconds left.
    fn line(&mut self, what: &str, of: &str, least: f64, first: f64) {
        let Some(file) = &mut self.file else { return };
        let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
        let (since, left) = (self.start.elapsed(), self.end.saturating_duration_since(Instant::now()));
        let line = format!(
            "{package}\t{}\t{what}\t{of}\t{}\t{least:e}\t{first:e}\t{:.3}\t{:.3}\n",
            self.model,
            self.trials,
            since.as_secs_f64(),
            left.as_secs_f64()
        );
        // Whoever does not read it loses nothing but this.
        let _ = file.write_all(line.as_bytes());
    }
}
