//! Runs the built program as a user does.

mod errors;
mod results;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program, to be run in the package's folder.
fn digits() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_digits"));
    command.current_dir(package());
    command
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn weights() -> PathBuf {
    package().join("weights/digits.safetensors")
}

/// What it prints when all is well.
fn stdout_of(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?} failed: {stderr}");
    assert_eq!(stderr, "", "{command:?}");
    String::from_utf8(stdout).expect("the program prints UTF-8")
}

/// The number that stands before `unit` in the line that starts with `start`.
fn number(text: &str, start: &str, before: &str, after: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(start));
    let line = line.unwrap_or_else(|| panic!("no line starts with `{start}`:\n{text}"));
    let number = line.split_once(before).and_then(|(_, rest)| rest.split_once(after));
    let (number, _) = number.unwrap_or_else(|| panic!("nothing between `{before}` and `{after}`: {line}"));
    number.trim().parse().unwrap_or_else(|_| panic!("`{number}` is not a number: {line}"))
}
