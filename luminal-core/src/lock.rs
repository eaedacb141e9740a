//! `luminal.lock`: decisions of the search, beside a package's `Cargo.toml`, under version control.
//!
//! Entries are found by what was to be decided - the hash of a kernel or of a region of a model, the target, and the
//! version of the code generator - so that a build with the file makes the same code on every machine. What was measured
//! where is written beside a decision for people, and is not compared. Entries are sorted, one for each decision, so that
//! changes of two branches merge line by line. `docs/lockfile.md` describes the file.

use crate::error::{Error, Result};
use crate::kernel::schedule::Schedule;
use crate::search::Recipe;
use crate::search::partition::Cut;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The name of the file.
pub const FILE: &str = "luminal.lock";

/// The version of the file's form.
const FORM: u32 = 1;

/// The version of what decisions are about: terms, kernels, schedules and the code that is made of them. It is raised by
/// every change after which an equal decision gives other code; older decisions are then no longer found.
pub const GENERATION: u32 = 1;

/// The decisions of one package.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    regions: BTreeMap<Key, Region>,
    kernels: BTreeMap<Key, Kernel>,
}

/// What was to be decided.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The target: `x86-64-v3`.
    pub target: String,
    /// The hash of a kernel or region, in hexadecimal digits.
    pub hash: String,
}

impl Key {
    /// The key of a kernel.
    pub fn kernel(hash: u64, target: &str) -> Key {
        Key { target: target.into(), hash: format!("{hash:016x}") }
    }

    /// The key of a region.
    pub fn region(hash: u128, target: &str) -> Key {
        Key { target: target.into(), hash: format!("{hash:032x}") }
    }
}

/// A region of a model: which of the equal programs, cut into which kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The models that it is part of.
    pub of: String,
    /// The decision.
    pub recipe: Recipe,
}

/// A kernel and its schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The user's operations in it.
    pub of: String,
    /// The decision.
    pub schedule: Schedule,
    /// Where and how it was made, if it was measured.
    pub measured: Option<Measured>,
}

/// Where a schedule was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The processor.
    pub cpu: String,
    /// The C compiler.
    pub compiler: String,
    /// Microseconds of one launch.
    pub microseconds: f64,
    /// How many schedules were run.
    pub tried: usize,
}

/// The file as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    #[serde(default, rename = "region")]
    regions: Vec<RegionEntry>,
    #[serde(default, rename = "kernel")]
    kernels: Vec<KernelEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegionEntry {
    hash: String,
    target: String,
    generation: u32,
    of: String,
    variant: usize,
    kernels: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelEntry {
    hash: String,
    target: String,
    generation: u32,
    of: String,
    schedule: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

impl Lock {
    /// Reads a file's text. Entries of another generation are left out: they decide nothing.
    ///
    /// # Errors
    /// The text is no lock file: where, and what is wrong.
    pub fn parse(text: &str) -> Result<Lock> {
        let markers = ["<<<<<<<", "=======", ">>>>>>>"];
        if let Some(line) =
            text.lines().position(|line| markers.iter().any(|marker| line.starts_with(marker)))
        {
            return Err(Error::new(format!("line {}: a merge conflict is not resolved", line + 1)));
        }
        let document: Document = toml::from_str(text).map_err(|error| {
            let place =
                error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
            Error::new(format!("line {place}: {}", error.message()))
        })?;
        if document.version != FORM {
            return Err(Error::new(format!(
                "its form is {}, and this version of luminal reads form {FORM}",
                document.version
            )));
        }
        let mut lock = Lock::default();
        for entry in document.regions.into_iter().filter(|entry| entry.generation == GENERATION) {
            let failed =
                |error: Error| Error::new(format!("region {} for {}: {error}", entry.hash, entry.target));
            let kernels: Result<Vec<Cut>> = entry.kernels.iter().map(|text| Cut::parse(text)).collect();
            let recipe = Recipe { variant: entry.variant, kernels: kernels.map_err(failed)? };
            let key = Key { target: entry.target.clone(), hash: entry.hash.clone() };
            if lock.regions.insert(key, Region { of: entry.of, recipe }).is_some() {
                return Err(Error::new(format!("region {} for {} is there twice", entry.hash, entry.target)));
            }
        }
        for entry in document.kernels.into_iter().filter(|entry| entry.generation == GENERATION) {
            let failed =
                |error: Error| Error::new(format!("kernel {} for {}: {error}", entry.hash, entry.target));
            let schedule = Schedule::parse(entry.schedule.iter().map(String::as_str)).map_err(failed)?;
            let key = Key { target: entry.target.clone(), hash: entry.hash.clone() };
            if lock.kernels.insert(key, Kernel { of: entry.of, schedule, measured: entry.measured }).is_some()
            {
                return Err(Error::new(format!("kernel {} for {} is there twice", entry.hash, entry.target)));
            }
        }
        Ok(lock)
    }

    /// The decision about a kernel.
    pub fn kernel(&self, key: &Key) -> Option<&Kernel> {
        self.kernels.get(key)
    }

    /// The decision about a region.
    pub fn region(&self, key: &Key) -> Option<&Region> {
        self.regions.get(key)
    }

    /// Records a decision about a kernel.
    pub fn add_kernel(&mut self, key: Key, kernel: Kernel) {
        self.kernels.insert(key, kernel);
    }

    /// Records a decision about a region; of several models, all are named.
    pub fn add_region(&mut self, key: Key, mut region: Region) {
        if let Some(known) = self.regions.get(&key)
            && !known.of.split(", ").any(|name| name == region.of)
        {
            region.of = format!("{}, {}", known.of, region.of);
        }
        self.regions.insert(key, region);
    }

    /// Number of decisions.
    pub fn len(&self) -> usize {
        self.regions.len() + self.kernels.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the decisions of another lock, but not over those that are here.
    pub fn merge(&mut self, other: Lock) {
        for (key, region) in other.regions {
            self.regions.entry(key).or_insert(region);
        }
        for (key, kernel) in other.kernels {
            self.kernels.entry(key).or_insert(kernel);
        }
    }

    /// The targets that decisions are for.
    pub fn targets(&self) -> BTreeSet<&str> {
        self.regions.keys().chain(self.kernels.keys()).map(|key| key.target.as_str()).collect()
    }

    /// The decisions for targets that `keep` accepts.
    pub fn for_targets(&self, keep: impl Fn(&str) -> bool) -> Lock {
        let mut lock = self.clone();
        lock.regions.retain(|key, _| keep(&key.target));
        lock.kernels.retain(|key, _| keep(&key.target));
        lock
    }

    /// What is here and not in the other lock, in words, one a line.
    pub fn missing_in(&self, other: &Lock) -> Vec<String> {
        let regions = self.regions.iter().filter(|(key, _)| other.region(key).is_none());
        let kernels = self.kernels.iter().filter(|(key, _)| other.kernel(key).is_none());
        let regions = regions.map(|(key, region)| format!("region {} of {}", key.hash, region.of));
        regions.chain(kernels.map(|(key, kernel)| format!("kernel {} of {}", key.hash, kernel.of))).collect()
    }

    /// The text of the file: the same decisions give the same text.
    pub fn to_text(&self) -> String {
        let mut text = String::from(
            "# Decisions of luminal's search, found by `cargo luminal tune`. Not meant to be edited; safe to delete: the\n\
             # search decides anew. What was measured is for people and is not compared.\n",
        );
        let _ = writeln!(text, "version = {FORM}");
        for (key, region) in &self.regions {
            let entry = RegionEntry {
                hash: key.hash.clone(),
                target: key.target.clone(),
                generation: GENERATION,
                of: region.of.clone(),
                variant: region.recipe.variant,
                kernels: region.recipe.kernels.iter().map(Cut::to_string).collect(),
            };
            section(&mut text, "region", &entry);
        }
        for (key, kernel) in &self.kernels {
            let entry = KernelEntry {
                hash: key.hash.clone(),
                target: key.target.clone(),
                generation: GENERATION,
                of: kernel.of.clone(),
                schedule: kernel.schedule.to_string().lines().map(String::from).collect(),
                measured: kernel.measured.clone(),
            };
            section(&mut text, "kernel", &entry);
        }
        text
    }
}

fn section<T: Serialize>(text: &mut String, name: &str, entry: &T) {
    let body = toml::to_string_pretty(entry).expect("strings and numbers are TOML");
    // A table within an entry belongs to it by its full name.
    let body = body.replace("\n[measured]", &format!("\n[{name}.measured]"));
    let _ = write!(text, "\n[[{name}]]\n{body}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::schedule::{Machine, candidates};
    use crate::kernel::{testing, text};

    fn sample() -> Lock {
        let mut lock = Lock::default();
        for (name, kernel, _) in testing::all().into_iter().take(6) {
            let schedule = candidates(&kernel, &Machine::x86_64_v3()).swap_remove(0);
            let measured = Measured {
                cpu: "a \"fast\" one".into(),
                compiler: "cc 1".into(),
                microseconds: 1.25,
                tried: 8,
            };
            let measured = (name.len() % 2 == 0).then_some(measured);
            let key = Key::kernel(text::hash(&kernel), "x86-64-v3");
            lock.add_kernel(key, Kernel { of: name, schedule, measured });
        }
        let cuts =
            ["run 3 4 7 for 7 stores 4 7", "load 1 for 1 stores 1", "run 8 9 for 8 9 stores 8 9 folds 2"];
        let kernels = cuts.iter().map(|text| Cut::parse(text).unwrap()).collect();
        let region = Region { of: "classify".into(), recipe: Recipe { variant: 2, kernels } };
        lock.add_region(Key::region(77, "x86-64-v3"), region);
        lock
    }

    #[test]
    fn a_lock_is_read_as_written() {
        let lock = sample();
        let text = lock.to_text();
        assert_eq!(Lock::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")), lock);
        assert_eq!(Lock::parse(&text).unwrap().to_text(), text);
        assert!(text.contains("\n[kernel.measured]\n"), "{text}");
    }

    #[test]
    fn regions_of_several_models_name_them_all_once() {
        let mut lock = sample();
        let region = lock.region(&Key::region(77, "x86-64-v3")).unwrap().clone();
        for of in ["embed", "classify", "embed"] {
            lock.add_region(Key::region(77, "x86-64-v3"), Region { of: of.into(), ..region.clone() });
        }
        assert_eq!(lock.region(&Key::region(77, "x86-64-v3")).unwrap().of, "classify, embed");
    }

    #[test]
    fn damaged_files_say_where() {
        let text = sample().to_text();
        let edits: [(&str, &str, &str); 8] = [
            ("version = 1", "version = 9", "its form is 9"),
            ("variant = 2", "variant = two", "line"),
            ("lanes 8", "lanes eight", "`eight` is no number"),
            ("load 1 for", "lode 1 for", "neither `load` nor `run`"),
            ("target = ", "tarjet = ", "unknown field `tarjet`"),
            ("\n[[region]]", "\n<<<<<<< HEAD\n[[region]]", "line 5: a merge conflict"),
            ("hash = \"", "hash = ", "line"),
            ("[[kernel]]", "[[kernel]", "line"),
        ];
        for (from, to, message) in edits {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text, "{from}");
            let error = Lock::parse(&edited).unwrap_err().to_string();
            assert!(error.contains(message), "{from} -> {to}: {error}");
        }
        let first = text.find("[[kernel]]").unwrap();
        let second = first + text[first + 1..].find("[[kernel]]").unwrap() + 1;
        let twice = format!("{text}\n{}", &text[first..second]);
        assert!(Lock::parse(&twice).unwrap_err().to_string().contains("is there twice"));
        // Cut off anywhere, it is an error or fewer decisions, and never a panic.
        for end in (0..text.len()).step_by(7).filter(|end| text.is_char_boundary(*end)) {
            if let Ok(lock) = Lock::parse(&text[..end]) {
                assert!(lock.len() <= sample().len());
            }
        }
    }

    #[test]
    fn decisions_of_another_generation_are_not_found() {
        let text = sample().to_text().replace(&format!("generation = {GENERATION}"), "generation = 0");
        assert!(Lock::parse(&text).unwrap().is_empty());
    }
}
