//! `cargo luminal tune`: measures, and writes `luminal.lock`.

use crate::Result;
use crate::args::Options;
use crate::progress::Watch;
use crate::{cargo, package};
use luminal_core::lock::{self, Lock};
use std::fs;
use std::path::Path;

/// Measures all kernels of a package and records the decisions. With `keep`, records that nothing needs stay.
pub fn run(options: &Options, budget: Option<f64>, fresh: bool, keep: bool) -> Result<()> {
    let package = package::find(options)?;
    let watch = Watch::start(&package.name)?;
    let mut variables = vec![
        ("LUMINAL_SEARCH", "tune".to_string()),
        ("LUMINAL_PROGRESS", watch.path().display().to_string()),
    ];
    variables.extend(budget.map(|seconds| ("LUMINAL_BUDGET", seconds.to_string())));
    variables.extend(fresh.then(|| ("LUMINAL_FRESH", "1".to_string())));
    let built = cargo::run_build_script(&package, options, &variables, |name| watch.compiled(name));
    let trials = watch.finish();
    let folder = built?;
    trials.print();
    let path = package.folder.join(lock::FILE);
    let new = read(&folder.join(lock::FILE))?;
    // A file that cannot be read decides nothing any more; it is what tuning repairs.
    let old = match read(&path) {
        Ok(old) => old,
        Err(error) => {
            eprintln!("warning: {error}; it is replaced");
            Lock::default()
        }
    };
    let mut all = new.clone();
    all.merge(old.for_targets(|target| keep || !new.targets().contains(target)));
    write(&path, &all.to_text())?;
    println!(
        "{}: {} decisions, {} of them new, {} removed",
        path.display(),
        all.len(),
        all.missing_in(&old).len(),
        old.missing_in(&all).len()
    );
    Ok(())
}

/// Reads a lock file; none is one without decisions.
pub fn read(path: &Path) -> Result<Lock> {
    match fs::read_to_string(path) {
        Ok(text) => Lock::parse(&text).map_err(|error| format!("{}: {error}", path.display()).into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Lock::default()),
        Err(error) => Err(format!("cannot read {}: {error}", path.display()).into()),
    }
}

/// As a whole or not at all, and only if it changes.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let new = path.with_extension("lock.new");
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&new);
        format!("cannot write {}: {error}", path.display()).into()
    })
}
