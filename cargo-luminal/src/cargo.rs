//! Runs cargo, and finds where build scripts left their files.

use crate::Result;
use crate::args::Options;
use crate::package::Package;
use luminal_core::lock;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Cargo with a subcommand, for the manifest that the options name.
pub fn command(options: &Options, subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.arg(subcommand);
    if let Some(path) = &options.manifest_path {
        command.args(["--manifest-path", path]);
    }
    command
}

/// Runs the build script of a package, by `cargo check`, under these variables. Gives the folder of what it left. What is
/// wrong with the package cargo tells on standard error; `tell` hears of each package that was compiled.
pub fn run_build_script(
    package: &Package,
    options: &Options,
    variables: &[(&str, String)],
    mut tell: impl FnMut(&str),
) -> Result<PathBuf> {
    let mut command = command(options, "check");
    command
        .args(["--quiet", "--message-format=json-render-diagnostics", "-p", &package.id])
        .args(&options.passed);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let mut child = command.spawn().map_err(|error| format!("cannot run cargo: {error}"))?;
    let mut folder = None;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
            if message["reason"] == "compiler-artifact" && message["fresh"] == false {
                tell(message["target"]["name"].as_str().unwrap_or_default());
            }
            if message["reason"] == "build-script-executed" && message["package_id"] == package.id.as_str() {
                folder = message["out_dir"].as_str().map(PathBuf::from);
            }
        }
    }
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("`{}` does not build, as cargo says above", package.name).into());
    }
    match folder.filter(|folder| folder.join(lock::FILE).exists()) {
        Some(folder) => Ok(folder),
        None => Err(format!(
            "`{}` has no models: its build script does not call `luminal::models!` or `luminal::build::Compiler`",
            package.name
        )
        .into()),
    }
}
