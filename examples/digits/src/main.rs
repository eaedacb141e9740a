//! Reads handwritten digits with a small convolutional network that Luminal compiled at `cargo build`.

mod args;
mod art;
mod classifier;
mod dataset;
mod digit;
mod image;
mod model;
mod oracle;
mod profile;
mod tour;
mod weight_file;

use args::{Args, Task};
use classifier::{Classifier, ranked};
use digit::Digit;
use std::process::ExitCode;

/// Every error of this program is one message for the user.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Guesses that are printed for a picture.
const GUESSES: usize = 3;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args_os().skip(1)) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("error: {error}\nhelp: `digits --help` lists the options");
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
    let open_weights = || weight_file::open(args.weights.as_deref());
    match &args.task {
        Task::Help => print!("{}", args::HELP),
        Task::Plan => print!("{}", model::classify::PLAN),
        Task::Image(path) => {
            let digit = image::read(path)?;
            show_guesses(&digit, &mut Classifier::new(&open_weights()?)?)?;
        }
        Task::Profile => profile::run(&open_weights()?, &dataset::held_out()?)?,
        Task::Tour => tour::run(&open_weights()?, &dataset::held_out()?, args.check_all)?,
    }
    Ok(())
}

fn show_guesses(digit: &Digit, classifier: &mut Classifier) -> Result<()> {
    let guesses = ranked(&classifier.classify(digit)?);
    let (best, _) = guesses[0];
    println!("{}", art::side_by_side(&[(digit, best.to_string())]));
    for (guess, probability) in &guesses[..GUESSES] {
        println!("{guess}  {:>7}", tour::percent(*probability));
    }
    Ok(())
}
