//! Every public operation has an example in its documentation. That the examples run is what `cargo test --doc` shows.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of a folder and of those in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of a crate").map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let inner = folders.iter().filter(|path| !path.ends_with("tests")).flat_map(|path| sources(path));
    files.into_iter().chain(inner).filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
}

/// What follows one of these words in a line.
fn item<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    let name = words.iter().find_map(|word| line.strip_prefix(word))?;
    name.split(|c: char| !c.is_alphanumeric() && !"_$".contains(c)).next()
}

/// Public methods of tensors, also those that a macro makes, and layers of `nn` that have a `forward`, each with whether
/// its documentation has an example.
fn operations(path: &Path) -> Vec<(String, bool)> {
    let text = fs::read_to_string(path).expect("a source file");
    let layers = path.components().any(|part| part.as_os_str() == "nn") && text.contains("pub fn forward");
    let (mut found, mut example, mut tensors) = (vec![], false, false);
    let mut header: Option<String> = None;
    for line in text.lines() {
        let code = line.trim_start();
        if code.starts_with("impl") {
            header = Some(String::new());
        }
        if let Some(mut parts) = header.take() {
            parts.push_str(code);
            tensors = parts.contains("> Tensor<") && !parts.contains(" for ");
            // A header of several lines goes on to its brace.
            header = (!parts.contains('{')).then_some(parts);
            continue;
        }
        // Comments and attributes; one of several lines begins with the text of documentation, or ends.
        if ["///", "#[", "$(#[", "\"", ")]"].iter().any(|start| code.starts_with(start)) {
            example |= code.contains("```");
            continue;
        }
        let method = item(code, &["pub fn ", "pub const fn "]).filter(|_| tensors);
        let layer = item(code, &["pub struct "]).filter(|_| layers);
        if let Some(name) = method.or(layer) {
            found.push((format!("{}: {name}", path.display()), example));
        }
        example = false;
    }
    found
}

#[test]
fn every_public_operation_has_an_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tensor");
    let all: Vec<_> = sources(&folder).iter().flat_map(|path| operations(path)).collect();
    assert!(
        all.len() > 100,
        "{} operations were found; there are more: has the form of the code changed?",
        all.len()
    );
    // Shown by the example of another: methods that keep the axes of a reduction, cells and states of recurrent layers.
    let parts = ["$keep", "LstmKind", "GruKind", "RnnKind", "Cell", "RecurrentState"];
    let without: Vec<_> = all
        .iter()
        .filter(|(name, example)| !example && !parts.iter().any(|part| name.ends_with(&format!(": {part}"))))
        .map(|(name, _)| name.as_str())
        .collect();
    assert!(without.is_empty(), "without an example:\n{}", without.join("\n"));
}
