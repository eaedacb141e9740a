//! The command line.

use crate::Result;
use lexopt::prelude::*;
use std::ffi::OsString;

pub const HELP: &str = "\
Tunes, checks and explains what Luminal's search decided for the models of a package.

Usage: cargo luminal <COMMAND> [OPTIONS]

Commands:
  tune             run candidates of every kernel, keep the fastest, and write luminal.lock beside Cargo.toml
  check            fail if a decision is missing in luminal.lock; name those that nothing needs any more
  explain [MODEL]  print what was decided and why, and say where the whole report is

Options:
  -p, --package <NAME>      the package, if the current folder has several
      --manifest-path <FILE>
      --release             decide for builds with the release profile (tune and check need not know the profile:
                            kernels do not depend on it)
      --profile <NAME>
      --features <LIST>     as for cargo build, as are --all-features and --no-default-features
      --target <TRIPLE>
      --offline, --locked   passed to cargo
  -h, --help

Options of tune:
      --budget <SECONDS>    how long candidates may run in all [600]
      --fresh               measure again what earlier builds measured on this machine
      --keep                keep decisions that nothing needs with these features
";

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Task {
    Help,
    Tune { budget: Option<f64>, fresh: bool, keep: bool },
    Check,
    Explain { model: Option<String> },
}

/// Which package, and how it is built.
#[derive(Debug, Default, PartialEq)]
pub struct Options {
    pub package: Option<String>,
    pub manifest_path: Option<String>,
    /// Options that cargo gets as they are.
    pub passed: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub struct Args {
    pub task: Task,
    pub options: Options,
}

impl Args {
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Args> {
        let mut parser = lexopt::Parser::from_args(words);
        let mut options = Options::default();
        let (mut command, mut model) = (None, None);
        let (mut budget, mut fresh, mut keep) = (None, false, false);
        while let Some(argument) = parser.next()? {
            match argument {
                Short('h') | Long("help") => return Ok(Args { task: Task::Help, options }),
                Short('p') | Long("package") => options.package = Some(parser.value()?.string()?),
                Long("manifest-path") => options.manifest_path = Some(parser.value()?.string()?),
                Long(name @ ("profile" | "features" | "target")) => {
                    let name = format!("--{name}");
                    options.passed.extend([name, parser.value()?.string()?]);
                }
                Long(name @ ("release" | "all-features" | "no-default-features" | "offline" | "locked")) => {
                    options.passed.push(format!("--{name}"))
                }
                Long("budget") => budget = Some(seconds(&parser.value()?.string()?)?),
                Long("fresh") => fresh = true,
                Long("keep") => keep = true,
                Value(word) if command.is_none() => command = Some(word.string()?),
                Value(word) if command.as_deref() == Some("explain") && model.is_none() => {
                    model = Some(word.string()?);
                }
                other => return Err(other.unexpected().into()),
            }
        }
        let task = match command.as_deref() {
            None => return Ok(Args { task: Task::Help, options }),
            Some("tune") => Task::Tune { budget, fresh, keep },
            Some("check") => Task::Check,
            Some("explain") => Task::Explain { model },
            Some("help") => Task::Help,
            Some(other) => return Err(format!("there is no command `{other}`").into()),
        };
        if !matches!(task, Task::Tune { .. }) && (budget.is_some() || fresh || keep) {
            return Err("--budget, --fresh and --keep are options of `tune`".into());
        }
        Ok(Args { task, options })
    }
}

fn seconds(text: &str) -> Result<f64> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.0..=1e6).contains(seconds));
    seconds.ok_or_else(|| format!("the budget `{text}` is not a number of seconds up to a million").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args> {
        Args::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_may_stand_anywhere() {
        let args = parse("-p net tune --budget 2.5 --release --features a,b --keep").unwrap();
        assert_eq!(args.task, Task::Tune { budget: Some(2.5), fresh: false, keep: true });
        assert_eq!(args.options.package.as_deref(), Some("net"));
        assert_eq!(args.options.passed, ["--release", "--features", "a,b"]);
        assert_eq!(parse("explain embed").unwrap().task, Task::Explain { model: Some("embed".into()) });
        assert_eq!(parse("").unwrap().task, Task::Help);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (line, message) in [
            ("tume", "no command `tume`"),
            ("tune --budget soon", "not a number of seconds"),
            ("check --fresh", "options of `tune`"),
            ("tune --fast", "--fast"),
            ("tune now", "now"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(message), "{line}: {error}");
        }
    }
}
