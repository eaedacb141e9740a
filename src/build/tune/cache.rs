//! Measurements of earlier builds, below `target/luminal/cache`: one file for each kernel and machine.
//!
//! A file that is missing, damaged or cannot be written costs time and nothing else. Files are replaced as a whole, so
//! that builds side by side and builds that are killed leave whole ones.

use luminal_core::compile::Outcome;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of measurements; none if there is no place for one.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
    /// Measurements are made again.
    fresh: bool,
}

/// What a measurement depends on.
pub(super) struct Question<'a> {
    /// C of all candidates.
    pub texts: &'a [String],
    /// Processor, compiler and its options, and how it is run.
    pub conditions: &'a str,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    conditions: String,
    /// One for each candidate.
    outcomes: Vec<String>,
}

impl Question<'_> {
    fn name(&self) -> String {
        // FNV-1a of 128 bits: the same in every build.
        let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul((1 << 88) + 0x13b);
        let parts = self.texts.iter().map(String::as_str).chain([self.conditions]);
        let bytes = parts.flat_map(|part| part.as_bytes().iter().chain(&[0]));
        format!("{:032x}.toml", bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step))
    }
}

impl Cache {
    /// The cache of the target folder that `OUT_DIR` is in.
    pub fn of_build(out_dir: &Path, fresh: bool) -> Cache {
        Cache { folder: target_folder(out_dir).map(|target| target.join("luminal/cache")), fresh }
    }

    /// What was measured, if it was.
    pub fn get(&self, question: &Question<'_>) -> Option<Vec<Outcome>> {
        if self.fresh {
            return None;
        }
        let text = fs::read_to_string(self.folder.as_ref()?.join(question.name())).ok()?;
        let entry: Entry = toml::from_str(&text).ok()?;
        let outcomes: Option<Vec<Outcome>> = entry.outcomes.iter().map(|text| read(text)).collect();
        outcomes.filter(|outcomes| outcomes.len() == question.texts.len() && entry.conditions == question.conditions)
    }

    /// Keeps a measurement.
    pub fn put(&self, question: &Question<'_>, outcomes: &[Outcome]) {
        let Some(folder) = &self.folder else { return };
        let entry = Entry {
            conditions: question.conditions.into(),
            outcomes: outcomes.iter().map(write).collect(),
        };
        let (Ok(text), name) = (toml::to_string_pretty(&entry), question.name()) else { return };
        // Of builds side by side each has its own new file. Whether it works is no matter.
        let new = folder.join(format!("{name}.{}", std::process::id()));
        let _ = fs::create_dir_all(folder);
        if fs::write(&new, text).and_then(|()| fs::rename(&new, folder.join(name))).is_err() {
            let _ = fs::remove_file(new);
        }
    }
}

/// The folder `target`, of which `OUT_DIR` is `target/<profile>/build/<package>-<hash>/out`, with the target's name before
/// the profile if one was asked for.
pub(in crate::build) fn target_folder(out_dir: &Path) -> Option<PathBuf> {
    let build = out_dir.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "build"))?;
    let above = build.parent()?.parent()?;
    let target = std::env::var_os("TARGET");
    match above.file_name() {
        Some(name) if Some(name) == target.as_deref() => above.parent().map(Path::to_path_buf),
        _ => Some(above.to_path_buf()),
    }
}

fn write(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Seconds(seconds) => format!("{seconds:e}"),
        Outcome::SameAs(other) => format!("same as {other}"),
        Outcome::TooSlow => "too slow".into(),
        Outcome::NotRun => "not run".into(),
    }
}

fn read(text: &str) -> Option<Outcome> {
    Some(match text {
        "too slow" => Outcome::TooSlow,
        "not run" => Outcome::NotRun,
        _ => match text.strip_prefix("same as ") {
            Some(other) => Outcome::SameAs(other.parse().ok()?),
            None => Outcome::Seconds(text.parse().ok().filter(|seconds: &f64| *seconds > 0.0)?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("luminal-cache-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn sample() -> Vec<Outcome> {
        vec![Outcome::Seconds(1.25e-6), Outcome::SameAs(0), Outcome::TooSlow, Outcome::NotRun]
    }

    #[test]
    fn what_was_measured_is_found_again_under_the_same_conditions() {
        let folder = temporary("found");
        let cache = Cache { folder: Some(folder.clone()), fresh: false };
        let texts = ["a", "b", "c", "d"].map(String::from);
        let question = Question { texts: &texts, conditions: "here" };
        assert_eq!(cache.get(&question), None);
        cache.put(&question, &sample());
        assert_eq!(cache.get(&question), Some(sample()));
        assert_eq!(cache.get(&Question { conditions: "there", ..question }), None);
        let other = ["a", "b", "c", "e"].map(String::from);
        assert_eq!(cache.get(&Question { texts: &other, conditions: "here" }), None);
        let fresh = Cache { fresh: true, ..cache.clone() };
        assert_eq!(fresh.get(&Question { texts: &texts, conditions: "here" }), None);
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn damaged_files_are_measured_again() {
        let folder = temporary("damaged");
        let cache = Cache { folder: Some(folder.clone()), fresh: false };
        let texts = ["a", "b", "c", "d"].map(String::from);
        let question = Question { texts: &texts, conditions: "here" };
        cache.put(&question, &sample());
        let path = folder.join(question.name());
        let whole = fs::read_to_string(&path).unwrap();
        for damaged in ["", "outcomes = 3", &whole[..whole.len() / 2], &whole.replace("1.25e-6", "-1")] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.get(&question), None, "{damaged}");
        }
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn without_a_place_there_is_no_cache() {
        let texts = ["a".to_string()];
        let question = Question { texts: &texts, conditions: "" };
        for folder in [None, Some(PathBuf::from("/proc/nowhere"))] {
            let cache = Cache { folder, fresh: false };
            cache.put(&question, &[Outcome::TooSlow]);
            assert_eq!(cache.get(&question), None);
        }
    }

    #[test]
    fn the_target_folder_is_above_the_profile() {
        let found = |path: &str| target_folder(Path::new(path));
        assert_eq!(found("/p/target/debug/build/a-12/out"), Some("/p/target".into()));
        assert_eq!(found("/p/elsewhere/out"), None);
    }
}
