//! `cargo luminal check`: is every decision recorded, and is every record needed?

use crate::Result;
use crate::args::Options;
use crate::{cargo, package, tune};
use luminal_core::lock::{self, Lock};

/// Builds with `LUMINAL_SEARCH=locked`, where a missing decision is an error at the model, and names stale records.
pub fn run(options: &Options) -> Result<()> {
    let package = package::find(options)?;
    let path = package.folder.join(lock::FILE);
    if !path.exists() {
        return Err(format!("`{}` has no {}: run `cargo luminal tune`", package.name, lock::FILE).into());
    }
    let variables = [("LUMINAL_SEARCH", "locked".to_string())];
    let folder = cargo::run_build_script(&package, options, &variables, |_| ())?;
    let used = tune::read(&folder.join(lock::FILE))?;
    let recorded = tune::read(&path)?;
    let stale = stale(&recorded, &used);
    for entry in &stale {
        eprintln!("warning: nothing needs {entry}");
    }
    if !stale.is_empty() {
        eprintln!("help: `cargo luminal tune` removes them; other features or targets may need them");
    }
    println!("{} has all {} decisions that `{}` needs", lock::FILE, used.len(), package.name);
    Ok(())
}

/// Records of the targets that were built for which no build asked.
fn stale(recorded: &Lock, used: &Lock) -> Vec<String> {
    recorded.for_targets(|target| used.targets().contains(target)).missing_in(used)
}
