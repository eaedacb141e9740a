//! Five lines: what was made, how fast it is, where the time goes, how it was found, whether it was checked.

use super::number::{bytes, percent, plural, time};
use super::{Kernel, Report};

impl Report {
    /// Five lines of text.
    pub fn summary(&self) -> String {
        let lines = [self.made(), self.fast(), self.largest(), self.found(), self.checked()];
        lines.map(|line| line.replace(['\n', '\r'], " ") + "\n").concat()
    }

    fn made(&self) -> String {
        let runs: usize = self.kernels.iter().map(|kernel| kernel.runs).sum();
        let loads: usize = self.kernels.iter().map(|kernel| kernel.loads).sum();
        let at_load = if loads > 0 { format!(", {loads} at load") } else { String::new() };
        let [weights, arena, state] = self.memory.map(|count| bytes(count as f64));
        let state = if self.memory[2] > 0 { format!(", {state} of state") } else { String::new() };
        format!(
            "{}::{}: {} became {} a run{at_load}, {} of them different; {weights} of weights, {arena} of intermediates{state}",
            self.package,
            self.model,
            plural(self.primitives, "primitive"),
            plural(runs, "launch").replace("launchs", "launches"),
            self.kernels.len()
        )
    }

    fn fast(&self) -> String {
        let (predicted, taken) = (self.of_run(|kernel| kernel.predicted), self.of_run(Kernel::seconds));
        let bound = self.of_run(|kernel| kernel.bound);
        let in_runs = || self.kernels.iter().filter(|kernel| kernel.runs > 0);
        let measured = in_runs().filter(|kernel| kernel.measured.is_some()).count();
        let time_taken = match measured {
            0 => format!("{} predicted, nothing measured", time(predicted)),
            n if n == in_runs().count() => format!("{} measured, {} predicted", time(taken), time(predicted)),
            n => format!(
                "{}, {n} of {} kernels measured, {} predicted",
                time(taken),
                in_runs().count(),
                time(predicted)
            ),
        };
        let share = if taken > 0.0 { bound / taken } else { 0.0 };
        format!(
            "  time of a run on one core: {time_taken}; {} of the roofline, {}",
            percent(share),
            time(bound)
        )
    }

    fn largest(&self) -> String {
        let all = self.of_run(Kernel::seconds).max(f64::MIN_POSITIVE);
        let kernels = self.by_time().into_iter().take(3).map(|kernel| {
            let share = kernel.runs as f64 * kernel.seconds() / all;
            format!("{} {} ({})", kernel.short(), percent(share), kernel.title())
        });
        let kernels: Vec<String> = kernels.collect();
        match kernels.is_empty() {
            true => "  no kernel runs: every result is an input or is made at load".into(),
            false => format!("  most of it: {}", kernels.join(", ")),
        }
    }

    fn found(&self) -> String {
        let schedules: usize = self.kernels.iter().map(|kernel| kernel.tried.len()).sum();
        let attempts = || self.kernels.iter().flat_map(|kernel| &kernel.tried);
        let run = attempts().filter(|attempt| attempt.outcome != "not run").count();
        let rules: usize = self.rules().iter().map(|(_, count)| count).sum();
        let regions = plural(self.regions.len(), "region");
        let times: usize = self.regions.iter().map(|region| region.times).sum();
        let equal = if times > self.regions.len() {
            format!(" for {times} parts of the model")
        } else {
            String::new()
        };
        let rewrites = match rules {
            0 => "program as written".into(),
            n => format!("{} of the program", plural(n, "rewrite")),
        };
        let recorded = self.kernels.iter().filter(|k| k.chosen == crate::compile::Chosen::Recorded).count();
        let recorded =
            if recorded > 0 { format!(", {} recorded", plural(recorded, "kernel")) } else { String::new() };
        format!(
            "  search: {regions}{equal}, {rewrites}, {} looked at, {run} run{recorded}",
            plural(schedules, "schedule")
        )
    }

    fn checked(&self) -> String {
        let checked = match self.checks.len() {
            0 => "checked: nothing, as the code does not run on this machine".to_string(),
            n => {
                let kernels = plural(self.kernels.len(), "kernel");
                format!("checked: {kernels} in {} against the reference", plural(n, "version"))
            }
        };
        match self.phases.total() {
            0.0 => format!("  {checked}"),
            total => {
                let mut phases: Vec<(&str, f64)> = self.phases.iter().collect();
                phases.sort_by(|x, y| y.1.total_cmp(&x.1));
                let most = phases.iter().take(3).map(|(name, seconds)| format!("{name} {}", time(*seconds)));
                format!("  {checked}; build {}: {}", time(total), most.collect::<Vec<_>>().join(", "))
            }
        }
    }
}
