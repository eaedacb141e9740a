//! What the search may do, as the environment says.

use luminal_core::error::{Error, Result};
use std::env;
use std::time::Duration;

/// How decisions are made that `luminal.lock` does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::build) enum Mode {
    /// By the model of the machine: at once, and the same everywhere.
    Model,
    /// By the clock, within a budget of time.
    Measure,
    /// Not at all: each is an error.
    Locked,
    /// By the clock, and decisions that are recorded are made again.
    Tune,
}

/// Names of the variables that are read here.
pub(super) const VARIABLES: [&str; 4] = ["LUMINAL_SEARCH", "LUMINAL_BUDGET", "LUMINAL_FRESH", "LUMINAL_PROGRESS"];

impl Mode {
    /// `LUMINAL_SEARCH`; without it builds with the release profile measure, and others do not.
    pub fn from_environment() -> Result<Mode> {
        let profile = env::var("PROFILE").unwrap_or_default();
        Mode::parse(env::var("LUMINAL_SEARCH").ok().as_deref(), &profile)
    }

    fn parse(search: Option<&str>, profile: &str) -> Result<Mode> {
        match search {
            None | Some("") if profile == "release" => Ok(Mode::Measure),
            None | Some("" | "model") => Ok(Mode::Model),
            Some("measure") => Ok(Mode::Measure),
            Some("locked") => Ok(Mode::Locked),
            Some("tune") => Ok(Mode::Tune),
            Some(other) => Err(Error::new(format!(
                "LUMINAL_SEARCH is `{other}`: it can be `model`, `measure`, `locked` or `tune`"
            ))),
        }
    }

    /// The time that a build may measure: `LUMINAL_BUDGET` in seconds, or what is usual for the mode.
    pub fn budget(self) -> Result<Duration> {
        let usual = if self == Mode::Tune { 600 } else { 60 };
        let Ok(text) = env::var("LUMINAL_BUDGET") else { return Ok(Duration::from_secs(usual)) };
        seconds(&text)
    }
}

fn seconds(text: &str) -> Result<Duration> {
    let seconds = text.trim().parse::<f64>().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
    let fail = || Error::new(format!("LUMINAL_BUDGET is `{text}`: it is a number of seconds, up to a million"));
    seconds.map(Duration::from_secs_f64).ok_or_else(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_decides_where_nothing_is_said() {
        assert_eq!(Mode::parse(None, "debug").unwrap(), Mode::Model);
        assert_eq!(Mode::parse(Some(""), "release").unwrap(), Mode::Measure);
        assert_eq!(Mode::parse(Some("model"), "release").unwrap(), Mode::Model);
        assert_eq!(Mode::parse(Some("tune"), "debug").unwrap(), Mode::Tune);
        let error = Mode::parse(Some("fast"), "debug").unwrap_err().to_string();
        assert!(error.contains("`fast`") && error.contains("`locked`"), "{error}");
    }

    #[test]
    fn budgets_are_seconds() {
        assert_eq!(seconds("2.5").unwrap(), Duration::from_millis(2500));
        for wrong in ["soon", "-1", "NaN", "1e9", ""] {
            assert!(seconds(wrong).unwrap_err().to_string().contains("number of seconds"), "{wrong}");
        }
    }
}
