//! Candidates as libraries: compiled side by side, and equal ones found by their bytes.

use crate::build::native::{self, Version};
use luminal_core::codegen;
use luminal_core::compile::Candidate;
use luminal_core::error::{Error, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The library of a candidate, or the earlier candidate that it is the same as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Library {
    File(PathBuf),
    SameAs(usize),
}

/// The C text of a candidate. Its kernel has the same name in all of them, so that equal code is equal text.
pub(super) fn text(candidate: &Candidate) -> String {
    codegen::c::render_module(&[&candidate.program], "")
}

/// Compiles candidates to libraries below `folder`.
///
/// # Errors
/// The compiler refuses one.
pub(super) fn compile(texts: &[String], folder: &Path, version: &Version) -> Result<Vec<Library>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<PathBuf>>> = Mutex::default();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(texts.len());
    // The compiler is found before threads start: `cc` reads the environment.
    let tool = native::tool(version)?;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(text) = texts.get(number) else { return };
                    let result = one(text, &folder.join(number.to_string()), &tool);
                    results.lock().unwrap_or_else(PoisonError::into_inner).insert(number, result);
                }
            });
        }
    });
    let mut known: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut libraries = vec![];
    for (number, result) in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let path = result?;
        let bytes = fs::read(&path).map_err(|error| failed("read", &path, &error))?;
        libraries.push(match known.get(&bytes) {
            Some(first) => Library::SameAs(*first),
            None => {
                known.insert(bytes, number);
                Library::File(path)
            }
        });
    }
    Ok(libraries)
}

fn one(text: &str, folder: &Path, tool: &cc::Tool) -> Result<PathBuf> {
    fs::create_dir_all(folder).map_err(|error| failed("make", folder, &error))?;
    // Names are part of what the compiler writes, so all candidates have the same.
    fs::write(folder.join("trial.c"), text).map_err(|error| failed("write", folder, &error))?;
    let mut command = tool.to_command();
    let output = command.current_dir(folder).args(["-shared", "-o", "trial.so", "trial.c"]).output();
    let output = output.map_err(|error| failed("compile", folder, &error))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let first = errors.lines().find(|line| line.contains("error")).unwrap_or("no message").to_string();
        return Err(Error::new(format!("the C compiler refuses {}/trial.c: {first}", folder.display())));
    }
    Ok(folder.join("trial.so"))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("cannot {what} {}: {error}", path.display()))
}
