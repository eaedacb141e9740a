//! What users see when `cargo check` traces their models.
//!
//! Each file of `tests/ui/tracing` becomes `src/model.rs` of a package with a build script. All packages are one generated
//! workspace, so one `cargo check` sees them all; its messages are compared with the `.stderr` beside each file. A line
//! `//@ build: ..` names what the build script compiles, `none` means that there is no build script; without it the model
//! is `m`.
//!
//! `UPDATE_GOLDENS=1 cargo test --test fixtures` accepts the messages.

mod common;

use common::PROFILE;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A file of `tests/ui/tracing`.
struct Case {
    name: String,
    file: PathBuf,
    source: String,
}

impl Case {
    fn all(folder: &Path) -> Vec<Case> {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut cases: Vec<_> = files
            .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
            .map(|file| Case {
                name: file.file_stem().unwrap().to_str().unwrap().replace('_', "-"),
                source: fs::read_to_string(&file).unwrap(),
                file,
            })
            .collect();
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        cases
    }

    /// The models that the build script compiles; `None` if there is no build script.
    fn models(&self) -> Option<&str> {
        let directive = self.source.lines().find_map(|line| line.strip_prefix("//@ build: ")).unwrap_or("m");
        (directive != "none").then_some(directive)
    }

    fn write_package(&self, workspace: &Path, luminal: &Path) {
        let package = workspace.join(&self.name);
        let name = &self.name;
        let models = self.models();
        let build = models.map_or(String::new(), |_| {
            format!("[build-dependencies]\nluminal = {{ path = {luminal:?}, features = [\"build\"] }}\n")
        });
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\nluminal = {{ path = \
             {luminal:?} }}\n\n{build}"
        );
        write(&package.join("Cargo.toml"), &manifest);
        write(&package.join("src/main.rs"), "mod model;\n\nfn main() {}\n");
        write(&package.join("src/model.rs"), &self.source);
        match models {
            Some(models) => {
                write(&package.join("build.rs"), &format!("luminal::models!(\"src/model.rs\": {models});\n"))
            }
            None => drop(fs::remove_file(package.join("build.rs"))),
        }
    }
}

#[test]
fn messages_are_as_expected() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures");
    let cases = Case::all(&root.join("tests/ui/tracing"));
    assert!(!cases.is_empty());
    for case in &cases {
        case.write_package(&workspace, root);
    }
    let members: Vec<_> = cases.iter().map(|case| &case.name).collect();
    write(
        &workspace.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n{PROFILE}"),
    );
    // The versions that this repository is locked to are there without network.
    fs::copy(root.join("Cargo.lock"), workspace.join("Cargo.lock")).unwrap();
    let mut seen = check(&workspace, root);
    let accept = env::var_os("UPDATE_GOLDENS").is_some();
    let mut wrong = vec![];
    for case in &cases {
        let expected = case.file.with_extension("stderr");
        let messages = seen.remove(&case.name).unwrap_or_default();
        if accept {
            write(&expected, &messages);
        } else if fs::read_to_string(&expected).unwrap_or_default() != messages {
            wrong
                .push(format!("== tests/ui/tracing/{}\n{messages}", expected.file_name().unwrap().display()));
        }
    }
    assert!(wrong.is_empty(), "other messages than expected:\n\n{}", wrong.join("\n"));
}

/// The compiler's messages, by package.
fn check(workspace: &Path, root: &Path) -> BTreeMap<String, String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(workspace)
        .args(["check", "--workspace", "--keep-going", "--offline", "--message-format=json", "--quiet"])
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_MANIFEST_DIR")).join("target/packages/target"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("LUMINAL_EXPAND")
        // Of the process that runs this test; a package without build script has none.
        .env_remove("OUT_DIR")
        .output()
        .unwrap();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut finished = false;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        finished |= message["reason"] == "build-finished";
        if message["reason"] != "compiler-message" {
            continue;
        }
        let manifest = Path::new(message["manifest_path"].as_str().unwrap());
        let package = manifest.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let text = message["message"]["rendered"].as_str().unwrap();
        // The closing lines of rustc say nothing about the case.
        if !message["message"]["spans"].as_array().unwrap().is_empty() {
            seen.entry(package.into()).or_default().push_str(&normalized(text, root));
        }
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(finished, "cargo did not get as far as checking:\n{errors}");
    // A build script that fails is no message of the compiler.
    assert!(!errors.contains("failed to run custom build command"), "{errors}");
    seen
}

/// Without what depends on the machine or on lines of our own sources.
fn normalized(text: &str, root: &Path) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        let line = line.replace(root.to_str().unwrap(), "$DIR");
        match line.split_once(".rs:") {
            Some((file, _)) if line.contains("--> $DIR") => kept += &format!("{file}.rs\n"),
            _ => kept += &format!("{line}\n"),
        }
    }
    kept
}

/// Only if the content differs, so that nothing is compiled again for it.
fn write(path: &Path, content: &str) {
    if fs::read(path).is_ok_and(|old| old == content.as_bytes()) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
