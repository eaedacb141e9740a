//! ONNX's own node tests, data that was made independently of this project: each model becomes a graph, and the expected
//! outputs must come out of the reference interpreter and of the compiled plan.
//!
//!     scripts/onnx-testdata.sh
//!     cargo test --release -p luminal --test onnx_nodes -- --nocapture
//!
//! `LUMINAL_ONNX_NODES` names another folder of tests. Without any the test is skipped, unless `LUMINAL_REQUIRE_ONNX` is
//! set. `LUMINAL_ONNX_ONLY` is a part of the names of those to run. See docs/conformance.md.

#[path = "../common/compiled.rs"]
mod compiled;
mod import;
mod index;
mod linear;
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/numpy.rs"]
mod numpy;
mod pointwise;
mod proto;
mod recurrent;
mod reduce;
mod resize;
mod shape;
mod value;

use compiled::{Job, caught};
use import::{Imported, Operator, Stop};
use luminal::reference::{self, DenseTensor as Tensor};
use luminal::{Error, Result};
use prost::Message;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use value::{Elem, Value};

/// The tolerances of ONNX's own runner. Integers and truth values are equal.
const ABSOLUTE: f64 = 1e-7;
const RELATIVE: f64 = 1e-3;

/// Operators by name.
fn operator(name: &str) -> Option<Operator> {
    let families = [
        pointwise::operator,
        shape::operator,
        index::operator,
        reduce::operator,
        linear::operator,
        resize::operator,
    ];
    families.iter().find_map(|family| family(name)).or_else(|| recurrent::operator(name))
}

fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("LUMINAL_ONNX_NODES").map(PathBuf::from);
    let fetched = "target/onnx-testdata/usr/share/libonnx-testdata/data/node";
    let known = [Path::new("/usr/share/libonnx-testdata/data/node"), Path::new(fetched)];
    named.or_else(|| known.into_iter().find(|folder| folder.is_dir()).map(Path::to_path_buf))
}

/// A model with the inputs and expected outputs of one test.
struct Test {
    name: String,
    imported: Imported,
    expected: Vec<Value>,
}

fn read<T: Message + Default>(path: &Path) -> Result<T> {
    let failed = |what: String| Error::new(format!("{}: {what}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| failed(e.to_string()))?;
    T::decode(&bytes[..]).map_err(|e| failed(e.to_string()))
}

fn load(folder: &Path) -> import::Outcome<Test> {
    let model: proto::Model = read(&folder.join("model.onnx"))?;
    let Some(graph) = &model.graph else { return import::outside("no graph") };
    if graph
        .input
        .iter()
        .chain(&graph.output)
        .any(|info| info.ty.as_ref().is_none_or(|ty| ty.tensor.is_none()))
    {
        return import::outside("sequences and optional values");
    }
    let set = folder.join("test_data_set_0");
    let tensors = |kind: &str, infos: &[proto::ValueInfo]| -> import::Outcome<Vec<Value>> {
        let one = |(number, info): (usize, &proto::ValueInfo)| {
            let mut tensor: proto::Tensor = read(&set.join(format!("{kind}_{number}.pb")))?;
            let declared = info.ty.as_ref().and_then(|ty| ty.tensor.as_ref()).map(|tensor| tensor.elem_type);
            // NumPy has no bfloat16: such tensors are stored as their bits.
            if declared == Some(Elem::Bfloat16 as i32) && tensor.data_type == Elem::Uint16 as i32 {
                tensor.data_type = Elem::Bfloat16 as i32;
            }
            Ok(Value::try_from(&tensor)?)
        };
        infos.iter().enumerate().map(one).collect()
    };
    let mut inputs = vec![];
    for initializer in &graph.initializer {
        inputs.push((initializer.name.clone(), Value::try_from(initializer)?));
    }
    let given = graph.input.iter().map(|input| input.name.clone());
    inputs.extend(given.zip(tensors("input", &graph.input)?));
    let imported = import::import(&model, &inputs, operator)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Test { name, imported, expected: tensors("output", &graph.output)? })
}

/// What is wrong with the outputs, if anything.
fn mistake(test: &Test, outputs: &[Tensor]) -> Option<String> {
    let names = test.imported.graph.outputs.iter().map(|(name, _)| name);
    for ((expected, computed), name) in test.expected.iter().zip(outputs).zip(names) {
        let dtype = expected.elem.dtype().ok()?;
        if computed.shape != expected.shape || computed.dtype() != dtype {
            let (shape, ours) = (&expected.shape, computed.dtype());
            return Some(format!("{name} is {ours}{:?} instead of {dtype}{shape:?}", computed.shape));
        }
        let computed = numbers::numbers(&computed.data);
        if let Some(difference) = numbers::difference(&expected.numbers, &computed, ABSOLUTE, RELATIVE) {
            return Some(format!("{name}: {difference}"));
        }
    }
    (test.expected.len() != outputs.len()).then(|| format!("{} outputs", outputs.len()))
}

#[test]
fn onnx_nodes() {
    let Some(root) = folder() else {
        let message =
            "ONNX's node tests are missing: run scripts/onnx-testdata.sh, or install libonnx-testdata";
        assert!(std::env::var_os("LUMINAL_REQUIRE_ONNX").is_none(), "{message}");
        println!("SKIPPED: {message}");
        return;
    };
    let only = std::env::var("LUMINAL_ONNX_ONLY").unwrap_or_default();
    let entries = std::fs::read_dir(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    folders.retain(|folder| folder.join("model.onnx").is_file());
    folders.sort();
    let total = folders.len();
    folders.retain(|folder| folder.to_string_lossy().contains(&only));

    let mut tests = vec![];
    let mut failures: BTreeMap<String, String> = BTreeMap::new();
    let mut left_out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut covered = 0;
    for folder in &folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut stop = None;
        let test = caught("importing it", || {
            load(folder).map_err(|reason| {
                let text = format!("{reason:?}");
                stop = Some(reason);
                Error::new(text)
            })
        });
        match (test, stop) {
            (Ok(test), _) => tests.push(test),
            (_, Some(Stop::Outside(reason))) => {
                left_out.entry(reason).or_default().push(name);
                continue;
            }
            (_, Some(Stop::Wrong(error))) => drop(failures.insert(name, error)),
            (Err(panic), None) => drop(failures.insert(name, panic.to_string())),
        }
        covered += 1;
    }
    for test in &tests {
        let outputs = caught("the reference", || {
            Ok(reference::run(&test.imported.graph, &test.imported.feeds, &[])?.outputs)
        });
        let mistake = outputs.map_or_else(|e| Some(e.to_string()), |outputs| mistake(test, &outputs));
        if let Some(mistake) = mistake {
            failures.insert(test.name.clone(), format!("reference: {mistake}"));
        }
    }
    let jobs: Vec<Job<'_>> = tests
        .iter()
        .map(|test| Job { graph: &test.imported.graph, feeds: &test.imported.feeds, fuse: true })
        .collect();
    for (test, outputs) in tests.iter().zip(compiled::run_all(&jobs)) {
        let mistake = outputs.map_or_else(|e| Some(e.to_string()), |outputs| mistake(test, &outputs));
        if let Some(mistake) = mistake {
            failures.entry(test.name.clone()).or_insert_with(|| format!("compiled: {mistake}"));
        }
    }
    println!("left out:");
    for (reason, names) in &left_out {
        println!("{:5} {reason}", names.len());
    }
    for (name, failure) in &failures {
        println!("FAILED {name}: {failure}");
    }
    println!("covered {covered} of {total}, passed {}", covered - failures.len());
    assert!(failures.is_empty(), "{} of {covered} failed", failures.len());
    assert!(covered >= 450 || !only.is_empty(), "only {covered} are covered");
}
