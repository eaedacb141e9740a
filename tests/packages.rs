//! Packages of users, outside the workspace: they build, run, are rebuilt when they should be and only then, survive an
//! interrupted build, and their programs need nothing of the build afterwards.

mod common;

use common::PROFILE;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const MODEL: &str = r#"
use luminal::{D, Linear, Module, Tensor, model};

#[derive(Module)]
pub struct Net {
    layer: Linear<4, 3>,
}

#[model]
pub fn scores(x: Tensor<(D<2>, D<4>)>, net: &Net) -> Tensor<(D<2>, D<3>)> {
    net.layer.forward(x).relu() * 2.0
}
"#;

const TWO_LAYERS: &str = r#"
use luminal::{Axis, D, Linear, Module, Tensor, model};

#[derive(Module)]
pub struct Net {
    first: Linear<4, 4>,
    second: Linear<4, 3>,
}

#[model]
pub fn scores(x: Tensor<(D<20>, D<4>)>, net: &Net) -> Tensor<(D<20>, D<3>)> {
    net.second.forward(net.first.forward(x).relu()).softmax(Axis::<1>).softmax(Axis::<0>)
}
"#;

const MAIN: &str = r#"
#![forbid(unsafe_code)]
#![deny(warnings)]
mod model;

fn main() -> luminal::Result<()> {
    let number = |i: usize| (i as f32 - 5.0) * 0.25;
    let bytes = |n: usize| (0..n).flat_map(|i| number(i).to_ne_bytes()).collect::<Vec<u8>>();
    let weights = luminal::Weights::from_tensors([
        ("layer.weight", luminal::Dtype::F32, vec![3, 4], bytes(12)),
        ("layer.bias", luminal::Dtype::F32, vec![3], bytes(3)),
    ])?;
    let mut scores = model::scores::load(luminal::Device::best()?, &weights)?;
    let x = [[1.0, 2.0, 3.0, 4.0], [-1.0, 0.5, 0.0, 2.0]];
    println!("{:?}", scores.run(&x)?.rows());
    Ok(())
}
"#;

/// `relu(x W^T + b) * factor` of the program above, worked out here.
fn expected(factor: f32) -> String {
    let number = |i: usize| (i as f32 - 5.0) * 0.25;
    let x = [[1.0, 2.0, 3.0, 4.0f32], [-1.0, 0.5, 0.0, 2.0]];
    let row = |x: &[f32; 4]| -> [f32; 3] {
        std::array::from_fn(|o| {
            let sum: f32 = (0..4).map(|i| x[i] * number(o * 4 + i)).sum();
            (sum + number(o)).max(0.0) * factor
        })
    };
    format!("{:?}\n", [row(&x[0]), row(&x[1])])
}

struct Package {
    folder: PathBuf,
    target: PathBuf,
}

impl Package {
    /// A package as a user writes it, in a folder of its own.
    fn new(name: &str) -> Package {
        Package::with_features(name, &["build"])
    }

    /// With these features of the build dependency.
    fn with_features(name: &str, features: &[&str]) -> Package {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let all = root.join("target/packages");
        let package = Package { folder: all.join(name), target: all.join("target") };
        let dependency = format!("luminal = {{ path = {:?}", root.display().to_string());
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency} }}\n\n\
             [build-dependencies]\n{dependency}, features = {features:?} }}\n\n[workspace]\n{PROFILE}"
        );
        package.write("Cargo.toml", &manifest);
        package.write("build.rs", "luminal::models!(\"src/model.rs\": scores);\n");
        package.write("src/main.rs", MAIN);
        package.write("src/model.rs", MODEL);
        // The versions that the workspace is tested with; without network, cargo cannot ask for others.
        fs::copy(root.join("Cargo.lock"), package.folder.join("Cargo.lock")).unwrap();
        package
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.folder.join(file);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(&self.folder).args(arguments).arg("--offline");
        command
            .env("CARGO_TARGET_DIR", &self.target)
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        command
    }

    fn run(&self) -> String {
        text(self.cargo(&["run", "--quiet"]).output().unwrap())
    }

    /// The names of what a build compiles or runs anew.
    fn rebuilt(&self) -> Vec<String> {
        let output = self.cargo(&["build", "--message-format=json"]).output().unwrap();
        let mut names = vec![];
        for line in text(output).lines() {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            if message["reason"] == "compiler-artifact" && message["fresh"] == false {
                names.push(message["target"]["name"].as_str().unwrap().to_string());
            }
        }
        names
    }

    fn program(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    /// The files that the last build script of this package left. Cargo keeps the folders of earlier versions beside it.
    fn generated(&self, name: &str) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.target.join("debug/build")).into_iter().flatten();
        let mine = folders.map(|f| f.unwrap().path()).filter(|f| {
            f.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .rsplit_once('-')
                .is_some_and(|(package, _)| package == name)
        });
        let started =
            |folder: &PathBuf| fs::metadata(folder.join("invoked.timestamp")).and_then(|f| f.modified()).ok();
        let last = mine.filter(|folder| started(folder).is_some()).max_by_key(started);
        let files =
            last.into_iter().flat_map(|folder| fs::read_dir(folder.join("out")).into_iter().flatten());
        files.map(|file| file.unwrap().path()).collect()
    }
}

fn text(output: Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out.into_owned()
}

#[test]
fn builds_runs_and_is_rebuilt_only_for_a_reason() {
    let package = Package::new("outside");
    assert_eq!(package.run(), expected(2.0));
    assert_eq!(package.rebuilt(), Vec::<String>::new(), "nothing was touched");

    package.write("README.md", "not a source of the model\n");
    assert_eq!(package.rebuilt(), Vec::<String>::new(), "a file that no code depends on");

    package.write("src/model.rs", &MODEL.replace("* 2.0", "* 3.0"));
    assert_eq!(package.run(), expected(3.0), "the model was edited");
    package.write("src/model.rs", MODEL);
    assert_eq!(package.run(), expected(2.0), "and edited back");
}

#[test]
fn the_program_needs_nothing_of_the_build() {
    let package = Package::new("moved");
    assert_eq!(package.run(), expected(2.0));
    let elsewhere = package.folder.join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::copy(package.program("moved"), elsewhere.join("program")).unwrap();
    let files = package.generated("moved");
    assert!(!files.is_empty(), "the build script left its files somewhere else");
    let folder = files[0].parent().unwrap();
    let hidden = folder.with_extension("hidden");
    fs::rename(folder, &hidden).unwrap();
    let output = Command::new(elsewhere.join("program")).current_dir(&elsewhere).env_clear().output();
    fs::rename(&hidden, folder).unwrap();
    let output = output.unwrap();
    assert_eq!(text(output), expected(2.0));
}

/// Kills the build when a file of the build script appears, for several files: the next build repairs it.
#[cfg(unix)]
#[test]
fn an_interrupted_build_is_repaired_by_the_next() {
    use std::os::unix::process::CommandExt;
    let package = Package::new("interrupted");
    for (number, last) in ["graph", "c", "o", "so", "a", "rs"].into_iter().enumerate() {
        let factor = number as f32 + 4.0;
        package.write("src/model.rs", &MODEL.replace("* 2.0", &format!("* {factor:.1}")));
        for file in package.generated("interrupted") {
            fs::remove_file(file).unwrap();
        }
        let mut command = package.cargo(&["build", "--quiet"]);
        let mut build = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_last = |file: &PathBuf| file.extension().is_some_and(|e| e == last);
        while !package.generated("interrupted").iter().any(is_last) {
            if build.try_wait().unwrap().is_some() {
                break; // too fast to be interrupted here: the next build must still be right
            }
            std::thread::yield_now();
        }
        let group = format!("-{}", build.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = build.wait();
        assert_eq!(package.run(), expected(factor), "interrupted when a .{last} file appeared");
    }
}

/// The example at the top of README.md, file by file as its comments say.
#[test]
fn the_example_of_the_read_me_compiles() {
    let package = Package::new("readme");
    let text_of = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let code = text_of.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    let (build, rest) = code.split_once("// src/model.rs").unwrap();
    let (model, main) = rest.split_once("// src/main.rs").unwrap();
    package.write("build.rs", build);
    package.write("src/model.rs", &format!("//{model}"));
    package.write("src/main.rs", main);
    text(package.cargo(&["build", "--quiet"]).output().unwrap());
    let output = Command::new(package.program("readme")).current_dir(&package.folder).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("mlp.safetensors"), "{message}");
}

/// One kernel for each operation must give the same values, from more kernels.
#[test]
fn without_fusion_the_values_are_the_same() {
    let package = Package::new("unfused");
    let kernels = || {
        let plans: Vec<PathBuf> =
            package.generated("unfused").into_iter().filter(|f| f.ends_with("scores.ptx")).collect();
        assert_eq!(plans.len(), 1, "{plans:?}");
        fs::read_to_string(&plans[0]).unwrap().matches(".visible .entry").count()
    };
    assert_eq!(package.run(), expected(2.0));
    let fused = kernels();
    let output = package.cargo(&["run", "--quiet"]).env("LUMINAL_OPT", "off").output().unwrap();
    assert_eq!(text(output), expected(2.0));
    assert!(fused < kernels(), "{fused} kernels with and {} without fusion", kernels());
}

#[test]
fn checking_needs_no_c_compiler() {
    let package = Package::new("uncompiled");
    let without = |command: &str| package.cargo(&[command]).env("CC", "no-such-compiler").output().unwrap();
    let check = without("check");
    let message = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(check.status.success(), "{message}");
    assert!(message.contains("there is no C compiler for"), "{message}");
    let build = without("build");
    let message = String::from_utf8_lossy(&build.stderr).into_owned();
    assert!(!build.status.success(), "a program without kernels was linked");
    assert!(message.contains("luminal_needs_a_C_compiler"), "{message}");
    // With a compiler all is well again.
    assert_eq!(package.run(), expected(2.0));
}

/// A build with a planted bug says so, leaves what is needed to see it again, and uses nothing of what it made. The bugs are
/// in a kernel, between kernels, and in what the kernels are made from; `luminal-core` tests each of them for itself.
#[test]
fn a_bug_of_the_compiler_is_reported_with_a_reproducer() {
    let package = Package::with_features("planted", &["build", "mutants"]);
    package.write("src/model.rs", TWO_LAYERS);
    package.write(
        "src/main.rs",
        "mod model;\n\nfn main() {\n    println!(\"{}\", model::scores::PLAN.kernels.len());\n}\n",
    );
    let wrong = || package.generated("planted").into_iter().find(|file| file.ends_with("scores.wrong.txt"));
    let build = |mutant: &str| {
        let output = package.cargo(&["build", "--quiet"]).env("LUMINAL_MUTANT", mutant).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let cases = [
        ("max-loses-nan", "kernel luminal_planted_scores_0 disagrees with its meaning", "tile program:"),
        ("order-reversed", "the plan of `scores` is broken", "= input \"x\""),
        ("transposed-load", "`scores`, output", "= input \"x\""),
    ];
    for (mutant, says, holds) in cases {
        let (success, message) = build(mutant);
        assert!(!success, "{mutant} was not noticed: {message}");
        for part in ["this is a bug in luminal, not in your model", says, "was not used", "scores.wrong.txt"]
        {
            assert!(message.contains(part), "{mutant}: no `{part}` in {message}");
        }
        let reproducer = fs::read_to_string(wrong().expect("a file for the report")).unwrap();
        assert!(reproducer.contains(says) && reproducer.contains(holds), "{mutant}: {reproducer}");
        let plan = package.generated("planted").into_iter().find(|file| file.ends_with("scores.rs"));
        assert_eq!(fs::read_to_string(plan.unwrap()).unwrap(), "", "{mutant}: there is a plan");
    }
    let (success, message) = build("no-such-bug");
    assert!(!success && message.contains("there is no planted bug of that name"), "{message}");
    let (success, message) = build("");
    assert!(success, "{message}");
    assert_eq!(wrong(), None, "the file for the report is from an earlier build");
}
