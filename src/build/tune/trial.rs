//! Trials: candidates are compiled, verified and timed, each in a child process.

use super::cache::{Cache, Question};
use super::candidates::{self, Library};
use super::child::{self, End};
use super::timing::{self, Conditions, Entry};
use crate::build::native::{self, Loaded, Version};
use luminal_core::compile::{Outcome, Trial, check};
use luminal_core::error::{Error, Result};
use luminal_core::runtime::Device;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A child that says nothing for so long is stopped. It says what it does before each run of a candidate.
const PATIENCE: Duration = Duration::from_secs(20);
/// Weights of more bytes do not stay in the caches from one run of the model to the next.
const CACHED: usize = 24_000_000;
/// Where the inputs of checks start from.
const SEED: u64 = 0x7121a1;

/// Runs candidates on this machine.
pub(super) struct Timer {
    folder: PathBuf,
    cache: Cache,
    end: Instant,
    version: Version,
    /// The name of the processor.
    pub cpu: String,
    /// The name and version of the compiler.
    pub compiler: String,
    cold: bool,
    measured: usize,
    cached: usize,
    late: usize,
}

impl Timer {
    /// None if the target's code does not run here, or there is no compiler.
    pub fn new(out_dir: &Path, cache: Cache, end: Instant) -> Option<Timer> {
        if !child::IS_POSSIBLE || !Loaded::is_possible() {
            return None;
        }
        let mut versions = native::versions().iter();
        let version = *versions.find(|version| version.isa <= Device::cpu().isa())?;
        let tool = native::tool(&version).ok()?;
        let output = tool.to_command().arg("--version").output().ok()?;
        let compiler = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_string();
        Some(Timer {
            folder: out_dir.join("trials"),
            cache,
            end,
            version,
            cpu: cpu(),
            compiler,
            cold: false,
            measured: 0,
            cached: 0,
            late: 0,
        })
    }

    /// The next trials are of a model with so many bytes of weights.
    pub fn begin(&mut self, weights: usize) {
        self.cold = weights > CACHED;
    }

    /// Kernels that were to be measured when the time was up.
    pub fn late(&self) -> usize {
        self.late
    }

    /// What was done, for reports.
    pub fn remark(&self) -> String {
        let mut text = format!(
            "{} kernels measured on {} with {}, {} known from earlier builds",
            self.measured, self.cpu, self.compiler, self.cached
        );
        if self.late > 0 {
            text += &format!(
                "; the time was up before {} others, which are as the model of the machine has them: LUMINAL_BUDGET gives \
                 more seconds, and the next build goes on from here",
                self.late
            );
        }
        text
    }

    /// Outcomes of all candidates; none if the time is up.
    pub fn time(&mut self, trial: &Trial<'_>) -> Result<Option<Vec<Outcome>>> {
        let texts: Vec<String> = trial.candidates.iter().map(candidates::text).collect();
        let conditions =
            format!("{}, {}{}, cold {}", self.cpu, self.compiler, self.version.suffix, u8::from(self.cold));
        let question = Question { texts: &texts, conditions: &conditions };
        if let Some(outcomes) = self.cache.get(&question) {
            self.cached += 1;
            return Ok(Some(outcomes));
        }
        if Instant::now() >= self.end {
            self.late += 1;
            return Ok(None);
        }
        let result = self.run(trial, &texts);
        // Sources and libraries of candidates are of no use any more, but where one is wrong.
        if result.is_ok() {
            let _ = fs::remove_dir_all(&self.folder);
        }
        let outcomes = result?;
        self.cache.put(&question, &outcomes);
        self.measured += 1;
        Ok(Some(outcomes))
    }

    fn run(&self, trial: &Trial<'_>, texts: &[String]) -> Result<Vec<Outcome>> {
        let libraries = candidates::compile(texts, &self.folder, &self.version)?;
        let mut outcomes: Vec<Outcome> = libraries
            .iter()
            .map(|library| match library {
                Library::File(_) => Outcome::NotRun,
                Library::SameAs(first) => Outcome::SameAs(*first),
            })
            .collect();
        let bounds: Vec<usize> = trial.graph.free.iter().map(|dim| dim.max).collect();
        let conditions = Conditions { sizes: trial.graph.sizes_near(&bounds)?, cold: self.cold };
        let expected = check::Expected::new(trial.kernel, trial.graph, SEED)
            .map_err(|error| self.wrong(trial, texts, 0, &error.to_string()))?;
        // Whoever never returns is left out, and the others begin anew.
        for _ in 0..outcomes.len() {
            let open = |number: &usize| outcomes[*number] == Outcome::NotRun;
            let open: Vec<usize> = (0..outcomes.len()).filter(open).collect();
            let child = Child { trial, libraries: &libraries, expected: &expected, conditions: &conditions };
            let mut heard = Heard::default();
            let end = child::run(PATIENCE, |say| child.work(&open, say), |line| heard.line(line));
            let end = end.map_err(|error| Error::new(format!("cannot start a process to measure in: {error}")))?;
            for (number, seconds) in &heard.seconds {
                outcomes[*number] = Outcome::Seconds(*seconds);
            }
            let at = heard.at;
            if let Some(message) = heard.wrong {
                return Err(self.wrong(trial, texts, at, &message));
            }
            match end {
                End::Finished => break,
                End::Silent => outcomes[at] = Outcome::TooSlow,
                End::Crashed(code) => {
                    let message = format!("it crashed the process that ran it (code {code})");
                    return Err(self.wrong(trial, texts, at, &message));
                }
            }
        }
        Ok(outcomes)
    }

    /// A wrong candidate is a bug of the compiler: say so, and leave what is needed to find it.
    fn wrong(&self, trial: &Trial<'_>, texts: &[String], number: usize, message: &str) -> Error {
        let error = Error::new(format!("candidate {} of {}: {message}", number + 1, trial.fused.join(" + ")));
        let candidate = &trial.candidates[number];
        let mut text = format!("{error}\n\n");
        text += &check::reproducer(trial.kernel, &candidate.program, &texts[number]);
        text += &format!("\nschedule:\n{}\n", candidate.schedule);
        let place = self.folder.join("wrong.txt");
        let place = fs::write(&place, text).map_or_else(|e| e.to_string(), |()| place.display().to_string());
        Error::new(format!(
            "this is a bug in luminal, not in your model: a kernel that was tried is wrong, and was not used\n{error}\n\
             please report it with the file {place}; `LUMINAL_SEARCH=model` builds without trying"
        ))
    }
}

/// The work of a child process.
struct Child<'a> {
    trial: &'a Trial<'a>,
    libraries: &'a [Library],
    expected: &'a check::Expected,
    conditions: &'a Conditions,
}

impl Child<'_> {
    /// Says `at N` before it runs a candidate, `wrong MESSAGE` if the last one is, `took N SECONDS` in the end.
    fn work(&self, open: &[usize], say: &mut dyn FnMut(&str)) {
        let mut entries = vec![];
        for number in open {
            let Library::File(path) = &self.libraries[*number] else { continue };
            say(&format!("at {number}"));
            let program = &self.trial.candidates[*number].program;
            let verified = Loaded::open(path).and_then(|loaded| {
                let function = loaded.kernel(&program.name)?;
                // SAFETY: the library was compiled from the text of this program.
                unsafe { self.expected.check(program, function) }?;
                loaded.keep();
                Ok(function)
            });
            match verified {
                Ok(function) => entries.push(Entry { number: *number, program, function }),
                Err(error) => return say(&format!("wrong {}", error.to_string().replace('\n', "; "))),
            }
        }
        let seconds = timing::time(&entries, self.conditions, |number| say(&format!("at {number}")));
        for (entry, seconds) in entries.iter().zip(seconds) {
            say(&format!("took {} {seconds:e}", entry.number));
        }
    }
}

/// What the parent has heard.
#[derive(Default)]
struct Heard {
    at: usize,
    wrong: Option<String>,
    seconds: Vec<(usize, f64)>,
}

impl Heard {
    fn line(&mut self, line: &str) {
        match line.split_once(' ') {
            Some(("at", number)) => self.at = number.parse().unwrap_or(self.at),
            Some(("wrong", message)) => self.wrong = Some(message.into()),
            Some(("took", rest)) => {
                let parts = rest.split_once(' ').and_then(|(n, s)| Some((n.parse().ok()?, s.parse().ok()?)));
                self.seconds.extend(parts);
            }
            _ => {}
        }
    }
}

/// The name of the processor, where the system tells it.
fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string())
}
