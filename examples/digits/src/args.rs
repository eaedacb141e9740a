//! The command line.

use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// What `--help` prints.
pub const HELP: &str = "\
Reads handwritten digits with a small convolutional network, compiled by Luminal when this program was built.

usage: digits [options]

Without options: shows some held-out digits with what the network sees in them, then its accuracy on all of them, its
speed, the plan, and the difference from the reference interpreter.

options:
  --image FILE     classify one picture (PNG or PGM, any size, dark on light or light on dark)
  --weights FILE   use these weights (safetensors)
  --check          compare every held-out image with the reference interpreter, not only a few
  --plan           print the plan alone: the kernels and what was fused into them
  --profile        print the time of each kernel
  --help           print this
";

/// What to do.
#[derive(Debug, Default, PartialEq)]
pub enum Task {
    /// The round trip over the held-out images.
    #[default]
    Tour,
    /// One picture.
    Image(PathBuf),
    /// The plan alone.
    Plan,
    /// Time of each kernel.
    Profile,
    /// The help text.
    Help,
}

/// The command line, understood.
#[derive(Debug, Default, PartialEq)]
pub struct Args {
    /// What to do.
    pub task: Task,
    /// The weight file that the user named.
    pub weights: Option<PathBuf>,
    /// Compare all images with the reference interpreter.
    pub check_all: bool,
}

impl Args {
    /// Reads the arguments that follow the program's name.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Args, lexopt::Error> {
        let mut args = Args::default();
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("image") => args.set(Task::Image(parser.value()?.into()))?,
                Long("plan") => args.set(Task::Plan)?,
                Long("profile") => args.set(Task::Profile)?,
                Short('h') | Long("help") => return Ok(Args { task: Task::Help, ..args }),
                Long("weights") => args.weights = Some(parser.value()?.into()),
                Long("check") => args.check_all = true,
                other => return Err(other.unexpected()),
            }
        }
        if args.check_all && args.task != Task::Tour {
            return Err("`--check` compares held-out images: leave out the other options".into());
        }
        Ok(args)
    }

    fn set(&mut self, task: Task) -> Result<(), lexopt::Error> {
        if self.task != Task::Tour {
            return Err("only one of `--image`, `--plan` and `--profile` can be given".into());
        }
        self.task = task;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(line.split_whitespace().map(OsString::from)).map_err(|e| e.to_string())
    }

    #[test]
    fn without_arguments_the_tour_is_made() {
        assert_eq!(parse(""), Ok(Args::default()));
    }

    #[test]
    fn options_are_understood() {
        let expected =
            Args { task: Task::Image("a.png".into()), weights: Some("w".into()), check_all: false };
        assert_eq!(parse("--image a.png --weights w"), Ok(expected));
        assert_eq!(parse("--plan").unwrap().task, Task::Plan);
        assert_eq!(parse("--profile").unwrap().task, Task::Profile);
        assert!(parse("--check").unwrap().check_all);
        assert_eq!(parse("--plan --help").unwrap().task, Task::Help);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(parse("--imgae a.png").unwrap_err().contains("--imgae"));
        assert!(parse("--image").unwrap_err().contains("--image"));
        assert!(parse("a.png").unwrap_err().contains("a.png"));
        assert!(parse("--plan --profile").unwrap_err().contains("only one of"));
        assert!(parse("--plan --check").unwrap_err().contains("--check"));
    }

    #[test]
    fn the_help_names_every_option() {
        for option in ["--image", "--weights", "--check", "--plan", "--profile", "--help"] {
            assert!(HELP.contains(option));
        }
    }
}
