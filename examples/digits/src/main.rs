//! Reads handwritten digits with a small convolutional network that Luminal compiled at `cargo build`.

mod args;
mod art;
mod dataset;
mod digit;
mod image;

use args::{Args, Task};
use std::process::ExitCode;

/// Every error of this program is one message for the user.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args_os().skip(1)) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("error: {error}\n\nrun `digits --help` for the options");
            return ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    match &args.task {
        Task::Help => print!("{}", args::HELP),
        Task::Image(path) => print!("{}", art::side_by_side(&[(&image::read(path)?, String::new())])),
        _ => {
            let held_out = dataset::held_out()?;
            let first: Vec<_> =
                held_out.iter().take(4).map(|(digit, label)| (digit, label.to_string())).collect();
            print!("{}", art::side_by_side(&first));
        }
    }
    Ok(())
}
