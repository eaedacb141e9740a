//! `cargo luminal`: tunes, checks and explains what the search decided for a package.

mod args;
mod cargo;
mod check;
mod explain;
mod package;
mod progress;
mod tune;

use args::{Args, Task};
use std::process::ExitCode;

/// Every error of this program is one message for the user.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    // Cargo passes the name of the subcommand on.
    let mut words: Vec<_> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == "luminal") {
        words.remove(0);
    }
    let args = match Args::parse(words) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("error: {error}\nhelp: `cargo luminal --help` lists commands and options");
            return ExitCode::from(2);
        }
    };
    let result = match &args.task {
        Task::Help => {
            print!("{}", args::HELP);
            Ok(())
        }
        Task::Tune { budget, fresh, keep } => tune::run(&args.options, *budget, *fresh, *keep),
        Task::Check => check::run(&args.options),
        Task::Explain { model } => explain::run(&args.options, model.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
