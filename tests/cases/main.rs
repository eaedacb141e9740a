//! Cases from public bug trackers with right answers. Each numeric one is built as a graph and must come out of the
//! reference interpreter, of the compiled plan, and of the plan without fusion; each weight file must load, or be refused.
//!
//!     cargo test --release --test cases -- --nocapture
//!
//! `LUMINAL_CASES` names another file of the same form, `LUMINAL_CASE` a part of the ids of cases to run. See
//! docs/conformance.md.

#[path = "../common/compiled.rs"]
mod compiled;
mod file;
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/numpy.rs"]
mod numpy;
mod ops;
mod step;
mod table;
mod weights;

use compiled::{Job, caught};
use file::Given;
use luminal::graph::{Graph, NodeId};
use luminal::reference::{self, DenseTensor as Tensor, Feeds};
use luminal::{Error, Result};
use numpy::dims;
use serde_json::Value;
use std::collections::BTreeMap;
use step::Step;

/// A case as a graph, or the error that building it gave.
struct Case<'a> {
    id: &'a str,
    case: &'a Value,
    built: Result<(Graph, Feeds)>,
    /// What is wrong, for each way to run it.
    mistakes: [Option<String>; 3],
}

const WAYS: [&str; 3] = ["reference", "compiled", "without fusion"];

fn build(case: &Value) -> Result<(Graph, Feeds)> {
    let (mut graph, mut feeds) = (Graph::default(), Feeds::new());
    let mut values: BTreeMap<String, NodeId> = BTreeMap::new();
    for (name, input) in file::object(&case["inputs"]) {
        let given = Given::new(input).map_err(|e| Error::new(format!("input {name}: {e}")))?;
        let tensor = given.tensor().map_err(|e| Error::new(format!("input {name}: {e}")))?;
        values.insert(name.clone(), graph.input(name, &dims(&tensor.shape), tensor.dtype()));
        feeds.insert(name.clone(), tensor);
    }
    for step in file::list(case, "graph") {
        let name = step["op"].as_str().unwrap_or_default();
        let failed = |e: Error| Error::new(format!("{name}: {e}"));
        let operation = table::operation(name)?;
        let operands = file::list(step, "in").iter().map(|operand| {
            let known = operand.as_str().and_then(|operand| values.get(operand));
            known.copied().ok_or_else(|| failed(Error::new(format!("there is no value {operand}"))))
        });
        let operands = operands.collect::<Result<Vec<_>>>()?;
        let mut now = Step { graph: &mut graph, feeds: &mut feeds, operands, params: &step["params"] };
        let results = operation(&mut now).map_err(failed)?;
        // One name, or several in a list or between commas.
        let names: Vec<&str> = match &step["out"] {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            name => name.as_str().unwrap_or_default().split(',').map(str::trim).collect(),
        };
        if names.len() > results.len() {
            return Err(failed(Error::new(format!(
                "{} results are named, there are {}",
                names.len(),
                results.len()
            ))));
        }
        for (name, result) in names.iter().zip(results) {
            values.insert(name.to_string(), result);
        }
    }
    for name in file::object(&case["expected"]).keys() {
        let Some(value) = values.get(name) else {
            return Err(Error::new(format!("there is no value {name}")));
        };
        graph.outputs.push((name.clone(), *value));
    }
    graph.verify().map_err(|e| Error::new(e.to_string()))?;
    Ok((graph, feeds))
}

/// What is wrong with the outputs of a case, if anything.
fn mistake(case: &Value, outputs: &[Tensor]) -> Option<String> {
    let (absolute, relative) = (case["atol"].as_f64().unwrap_or(0.0), case["rtol"].as_f64().unwrap_or(0.0));
    for ((name, expected), computed) in file::object(&case["expected"]).iter().zip(outputs) {
        let expected = match Given::new(expected) {
            Ok(expected) => expected,
            Err(error) => return Some(format!("{name}: {error}")),
        };
        if computed.shape != expected.shape {
            return Some(format!("{name}: shape {:?} instead of {:?}", computed.shape, expected.shape));
        }
        let dtype = computed.dtype();
        let numbers = numbers::numbers(&computed.data);
        // Integers may be wider or narrower than in the file, floats may not.
        if dtype.is_float() && file::held(&expected.dtype).ok() != Some(dtype) {
            return Some(format!("{name} is {dtype} instead of {}", expected.dtype));
        }
        let difference = numbers::difference(&expected.numbers, &numbers, absolute, relative);
        // What is expected may also be rounded to the type of the output first.
        let rounded = numbers::tensor(dtype, &expected.shape, &expected.numbers);
        let rounded = rounded.map(|rounded| numbers::numbers(&rounded.data));
        let also = rounded
            .is_ok_and(|rounded| numbers::difference(&rounded, &numbers, absolute, relative).is_none());
        if let (Some(difference), false) = (difference, also) {
            return Some(format!("{name}: {difference}"));
        }
    }
    None
}

/// What an outcome means for the case: an error is right where the file accepts one.
fn judge(case: &Value, outcome: Result<Vec<Tensor>>, typed: bool) -> Option<String> {
    match outcome {
        Ok(_) if file::demands_error(case) => Some("no error".into()),
        Ok(outputs) => mistake(case, &outputs),
        Err(_) if typed && file::accepts_error(case) => None,
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn numeric_cases() {
    let file = file::read();
    let only = std::env::var("LUMINAL_CASE").unwrap_or_default();
    let mut cases = vec![];
    for case in file::list(&file, "numeric_cases") {
        let id = case["id"].as_str().unwrap_or("?");
        if id.contains(&only) {
            let mut typed = None;
            // A panic is not the error that a case may accept.
            let built = caught("building it", || Ok(typed.insert(build(case)).is_ok()));
            let built = match (built, typed) {
                (Ok(_), Some(built)) => built,
                (outcome, _) => Err(outcome.err().unwrap_or_else(|| Error::new("nothing was built"))),
            };
            cases.push(Case { id, case, built, mistakes: [None, None, None] });
        }
    }
    for case in &mut cases {
        match &case.built {
            Err(error) => {
                let panics = error.to_string().starts_with("building it panics");
                let mistake = judge(case.case, Err(Error::new(error.to_string())), !panics);
                case.mistakes = std::array::from_fn(|_| mistake.clone());
            }
            Ok((graph, feeds)) => {
                let outputs = caught("the reference", || Ok(reference::run(graph, feeds, &[])?.outputs));
                case.mistakes[0] = judge(case.case, outputs, false);
            }
        }
    }
    for (way, fuse) in [(1, true), (2, false)] {
        let built = |case: &Case<'_>| case.built.is_ok();
        let jobs: Vec<Job<'_>> = cases
            .iter()
            .filter_map(|case| case.built.as_ref().ok())
            .map(|(graph, feeds)| Job { graph, feeds, fuse })
            .collect();
        let outcomes = compiled::run_all(&jobs);
        for (case, outcome) in cases.iter_mut().filter(|case| built(case)).zip(outcomes) {
            case.mistakes[way] = judge(case.case, outcome, false);
        }
    }
    let mut passed = [0; 3];
    for case in &cases {
        let words = case.mistakes.iter().zip(WAYS).map(|(mistake, way)| match mistake {
            None => format!("{way} ok"),
            Some(mistake) => format!("{way} FAILED ({mistake})"),
        });
        let refused =
            case.built.as_ref().err().map(|error| format!(" [refused: {error}]")).unwrap_or_default();
        println!("{:6} {}{refused}", case.id, words.collect::<Vec<_>>().join(", "));
        for (count, mistake) in passed.iter_mut().zip(&case.mistakes) {
            *count += usize::from(mistake.is_none());
        }
    }
    let total = cases.len();
    let words: Vec<String> =
        passed.iter().zip(WAYS).map(|(n, way)| format!("{way} {n} of {total}")).collect();
    println!("numeric cases: {}", words.join(", "));
    assert!(passed.iter().all(|n| *n == total), "numeric cases: {}", words.join(", "));
}
