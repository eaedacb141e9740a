//! The command on a package of a user, outside the workspace: tuned, checked, built from its lock file elsewhere, and with
//! lock files that are wrong in every way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MODEL: &str = r#"
use luminal::{Axis, D, Linear, Module, Tensor, model};

#[derive(Module)]
pub struct Net {
    layer: Linear<24, 20>,
    out: Linear<20, 6>,
}

#[model]
pub fn scores(x: Tensor<(D<8>, D<24>)>, net: &Net) -> Tensor<(D<8>, D<6>)> {
    net.out.forward(net.layer.forward(x).relu()).softmax(Axis::<1>)
}
"#;

/// The lines that users are told to put into the `Cargo.toml` of their workspace.
const PROFILE: &str = "
[profile.dev.package.egg]
opt-level = 3
[profile.dev.package.luminal-core]
opt-level = 1
";

struct Package {
    folder: PathBuf,
    target: PathBuf,
}

impl Package {
    fn new(folder: &str) -> Package {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let all = root.join("target/packages");
        let package = Package { folder: all.join(folder), target: all.join("target") };
        let _ = fs::remove_dir_all(&package.folder);
        fs::create_dir_all(package.folder.join("src")).unwrap();
        let dependency = format!("luminal = {{ path = {:?}", root.display().to_string());
        let manifest = format!(
            "[package]\nname = \"{folder}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency} }}\n\n\
             [build-dependencies]\n{dependency}, features = [\"build\"] }}\n\n[workspace]\n{PROFILE}"
        );
        package.write("Cargo.toml", &manifest);
        package.write("build.rs", "luminal::models!(\"src/model.rs\": scores);\n");
        package.write("src/lib.rs", "pub mod model;\n");
        package.write("src/model.rs", MODEL);
        fs::copy(root.join("Cargo.lock"), package.folder.join("Cargo.lock")).unwrap();
        package
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.join(file), text).unwrap();
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.folder.join("luminal.lock")).unwrap()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.target);
        for name in
            ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "LUMINAL_SEARCH", "LUMINAL_BUDGET", "LUMINAL_FRESH"]
        {
            command.env_remove(name);
        }
        command
    }

    /// `cargo luminal`, as cargo starts it.
    fn luminal(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_cargo-luminal"));
        command.arg("luminal").args(arguments).arg("--offline").output().unwrap()
    }

    fn cargo(&self, search: &str) -> Command {
        let mut command = self.command(env!("CARGO"));
        command.args(["check", "--quiet", "--offline"]).env("LUMINAL_SEARCH", search);
        command
    }

    /// The generated text of the last build: C and plan.
    fn code(&self) -> [String; 3] {
        let name = self.folder.file_name().unwrap().to_str().unwrap().to_string();
        let folders =
            fs::read_dir(self.target.join("debug/build")).unwrap().map(|entry| entry.unwrap().path());
        let mine = folders.filter(|folder| {
            let file = folder.file_name().unwrap().to_str().unwrap();
            file.rsplit_once('-').is_some_and(|(package, _)| package == name) && folder.join("out").exists()
        });
        let last = mine
            .max_by_key(|folder| fs::metadata(folder.join("invoked.timestamp")).unwrap().modified().unwrap());
        let out = last.expect("the build script has run").join("out");
        ["scores_v3.c", "scores.ptx", "scores.rs"].map(|file| {
            // Symbols have the package's name in them.
            let text = fs::read_to_string(out.join(file)).unwrap_or_default();
            text.replace(&format!("luminal_{name}"), "luminal_package")
        })
    }
}

fn good(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out.into_owned()
}

fn bad(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success(), "it should fail:\n{out}\n{err}");
    err.into_owned()
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

#[test]
fn a_package_is_tuned_checked_and_built_from_its_lock() {
    let package = Package::new("tuned");
    has(&bad(&package.luminal(&["check"])), &["`tuned` has no luminal.lock: run `cargo luminal tune`"]);
    // A build never writes one.
    good(&package.cargo("model").output().unwrap());
    assert!(!package.folder.join("luminal.lock").exists());
    has(
        &bad(&package.cargo("locked").output().unwrap()),
        &["luminal.lock has no decision about", "cargo luminal tune", "src/model.rs"],
    );

    let tuned = good(&package.luminal(&["tune"]));
    has(&tuned, &["scores", "linear + relu", " us", "decisions", "0 removed"]);
    let lock = package.lock();
    has(
        &lock,
        &["[[region]]", "of = \"scores\"", "[[kernel]]", "of = \"linear + relu\"", "[kernel.measured]"],
    );
    let code = package.code();
    has(&good(&package.luminal(&["check"])), &["luminal.lock has all", "that `tuned` needs"]);
    assert_eq!(package.code(), code, "the lock gives the code that was tuned");

    // What was measured is known: the same file again.
    good(&package.luminal(&["tune"]));
    assert_eq!(package.lock(), lock);
    has(&good(&package.luminal(&["explain"])), &["scores", "index.html"]);
    has(&bad(&package.luminal(&["explain", "score"])), &["no model `score`", "it has scores"]);

    // Elsewhere, measured by another processor and compiler: the same code, byte for byte.
    let elsewhere = Package::new("borrowed");
    let foreign: String = lock
        .lines()
        .map(|line| match line.split_once(" = ") {
            Some(("cpu", _)) => "cpu = \"Another\"\n".to_string(),
            Some(("compiler", _)) => "compiler = \"another\"\n".to_string(),
            _ => format!("{line}\n"),
        })
        .collect();
    assert_ne!(foreign, lock);
    elsewhere.write("luminal.lock", &foreign);
    for noise in ["", "trace"] {
        let mut build = elsewhere.cargo("locked");
        good(&build.env("RUST_LOG", noise).env("RAYON_NUM_THREADS", "7").output().unwrap());
        assert_eq!(elsewhere.code(), code);
    }

    // An edit needs decisions that are not there; one that is gone is stale.
    package.write("src/model.rs", &MODEL.replace(".relu()", ".tanh()"));
    has(&bad(&package.luminal(&["check"])), &["luminal.lock has no decision about", "cargo luminal tune"]);
    good(&package.cargo("model").output().unwrap());
    has(&good(&package.luminal(&["tune"])), &["of them new", "removed"]);
    assert!(!package.lock().contains("linear + relu"));
    package.write("src/model.rs", MODEL);
    package.write("luminal.lock", &merged(&lock, &package.lock()));
    let checked = package.luminal(&["check"]);
    good(&checked);
    has(&String::from_utf8_lossy(&checked.stderr), &["warning: nothing needs kernel", "linear + tanh"]);

    wrong_files(&package, &lock);
}

/// The entries of two files.
fn merged(first: &str, second: &str) -> String {
    let known: Vec<&str> = first.lines().filter(|line| line.starts_with("hash = ")).collect();
    let mut text = first.to_string();
    for entry in second.split("\n[[").skip(1) {
        if !known.iter().any(|hash| entry.contains(hash)) {
            text += &format!("\n[[{entry}");
        }
    }
    text
}

/// Whatever is wrong with the file is one clear error, and tuning repairs it.
fn wrong_files(package: &Package, lock: &str) {
    let edited = |from: &str, to: &str| {
        assert!(lock.contains(from), "{from}");
        lock.replacen(from, to, 1)
    };
    let cases = [
        (lock[..lock.len() * 2 / 3].to_string(), "cannot read luminal.lock: line"),
        (edited("version = 1", "version = 2"), "its form is 2"),
        (format!("<<<<<<< HEAD\n{lock}"), "line 1: a merge conflict is not resolved"),
        (edited("\"lanes 8\"", "\"lanes 7\""), "lanes are a power of two"),
        (edited("\"nest ", "\"nest 77 "), "names an axis that the kernel does not have"),
        (
            edited("kernels = [", "kernels = [\"run 999 for 999 stores 999\", "),
            "names terms that the model does not have",
        ),
        (edited("\nvariant = ", "\nvariant = 50"), "of the program does not exist"),
    ];
    for (text, message) in &cases {
        package.write("luminal.lock", text);
        has(&bad(&package.cargo("model").output().unwrap()), &[message, "cargo luminal tune"]);
    }
    // Another legal schedule is used, and what is made of it is checked: here kernels are not cut into blocks.
    let plain: Vec<&str> = lock.lines().filter(|line| !line.contains("grid ")).collect();
    package.write("luminal.lock", &plain.join("\n"));
    good(&package.cargo("locked").output().unwrap());
    // Tuning replaces what cannot be read.
    package.write("luminal.lock", &cases[0].0);
    let tuned = package.luminal(&["tune"]);
    good(&tuned);
    has(&String::from_utf8_lossy(&tuned.stderr), &["luminal.lock", "it is replaced"]);
    assert_eq!(package.lock(), lock);
    // A file that cannot be written.
    fs::remove_file(package.folder.join("luminal.lock")).unwrap();
    fs::create_dir(package.folder.join("luminal.lock")).unwrap();
    has(&bad(&package.luminal(&["tune"])), &["luminal.lock"]);
    fs::remove_dir(package.folder.join("luminal.lock")).unwrap();
}
