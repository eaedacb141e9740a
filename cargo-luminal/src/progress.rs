//! What the build script is doing, as it tells in a file, and bars for those who wait.

use crate::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Follows a build script.
pub struct Watch {
    folder: tempfile::TempDir,
    bar: ProgressBar,
    done: Arc<AtomicBool>,
    follower: JoinHandle<Trials>,
}

impl Watch {
    pub fn start(package: &str) -> Result<Watch> {
        let folder = tempfile::tempdir()?;
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        bar.set_style(style("{spinner} {msg} ({elapsed})"));
        bar.set_message(format!("compiling what `{package}` needs to be searched"));
        bar.enable_steady_tick(Duration::from_millis(120));
        let done = Arc::new(AtomicBool::new(false));
        let follower = {
            let (path, bar, done) = (folder.path().join("progress"), bar.clone(), done.clone());
            std::thread::spawn(move || follow(&path, &bar, &done))
        };
        Ok(Watch { folder, bar, done, follower })
    }

    /// The file that the build script appends to.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("progress")
    }

    /// A package was compiled.
    pub fn compiled(&self, name: &str) {
        if self.bar.length().is_none() {
            self.bar.set_message(format!("compiling: {name}"));
        }
    }

    /// Stops, and gives what was told.
    pub fn finish(self) -> Trials {
        self.done.store(true, Ordering::Relaxed);
        let trials = self.follower.join().unwrap_or_default();
        self.bar.finish_and_clear();
        trials
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn follow(path: &Path, bar: &ProgressBar, done: &AtomicBool) -> Trials {
    let mut trials = Trials::default();
    let mut read = 0;
    loop {
        let last = done.load(Ordering::Relaxed);
        let text = fs::read_to_string(path).unwrap_or_default();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        for line in text[read.min(whole)..whole].lines() {
            if let Some(trial) = Trial::read(line) {
                show(bar, &trial);
                trials.add(trial);
            }
        }
        read = whole;
        if last {
            return trials;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The bar is the time that may be spent; the message says what came out last.
fn show(bar: &ProgressBar, trial: &Trial) {
    bar.set_style(style("{spinner} [{bar:24}] {pos} s, at most {len} s  {msg}"));
    bar.set_length((trial.since + trial.left).round() as u64);
    bar.set_position(trial.since.round() as u64);
    let best = match trial.least.is_finite() {
        true => format!(": {}", microseconds(trial.least)),
        false => String::new(),
    };
    let of = if trial.of.is_empty() { String::new() } else { format!(", {}", trial.of) };
    bar.set_message(format!("{} kernels of `{}`{of}{best}", trial.number, trial.model));
}

fn microseconds(seconds: f64) -> String {
    format!("{:.2} us", seconds * 1e6)
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq)]
struct Trial {
    model: String,
    what: String,
    of: String,
    number: usize,
    least: f64,
    first: f64,
    since: f64,
    left: f64,
}

impl Trial {
    /// Package, model, what, of what, number, least seconds, seconds of the first, seconds since the start, seconds left.
    fn read(line: &str) -> Option<Trial> {
        let parts: Vec<&str> = line.split('\t').collect();
        let [_, model, what, of, number, least, first, since, left] = parts[..] else { return None };
        Some(Trial {
            model: model.into(),
            what: what.into(),
            of: of.into(),
            number: number.parse().ok()?,
            least: least.parse().ok()?,
            first: first.parse().ok()?,
            since: since.parse().ok()?,
            left: left.parse().ok()?,
        })
    }
}

/// All that was told.
#[derive(Debug, Default)]
pub struct Trials {
    /// For each model its kernels, with seconds of the schedule that the model of the machine prefers, and the least.
    kernels: BTreeMap<String, Vec<(String, f64, f64)>>,
    late: usize,
}

impl Trials {
    fn add(&mut self, trial: Trial) {
        match trial.what.as_str() {
            "schedule" => {
                let kernels = self.kernels.entry(trial.model).or_default();
                kernels.push((trial.of, trial.first, trial.least));
            }
            "late" => self.late += 1,
            _ => {}
        }
    }

    /// What measuring gained, kernel by kernel.
    pub fn print(&self) {
        for (model, kernels) in &self.kernels {
            println!("{model}");
            for (of, first, least) in kernels {
                let gain = if least < first {
                    format!("  {:.2} times as fast as unmeasured", first / least)
                } else {
                    String::new()
                };
                println!("  {:>12}  {of}{gain}", microseconds(*least));
            }
        }
        if self.late > 0 {
            println!(
                "the time was up before {} kernels; run `cargo luminal tune` again, it goes on from here",
                self.late
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_build_script_are_understood() {
        let line = "net\tclassify\tschedule\tlinear + relu\t3\t1.5e-6\t2e-6\t1.250\t58.750";
        let trial = Trial::read(line).unwrap();
        assert_eq!((trial.model.as_str(), trial.number, trial.least), ("classify", 3, 1.5e-6));
        assert!(Trial::read("net\tclassify\tbegin\t\t0\tNaN\tNaN\t0.0\t60.0").unwrap().least.is_nan());
        assert_eq!(Trial::read("half a line"), None);
    }
}
