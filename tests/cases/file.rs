//! The file of cases: what it says, and its tensors.

use super::numbers::{self, Numbers};
use luminal::reference::DenseTensor as Tensor;
use luminal::rt::Dtype;
use luminal::{Error, Result};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The file that `LUMINAL_CASES` names, or the project's own.
pub fn path() -> PathBuf {
    let own = || PathBuf::from("tests/data/cases/cases.dev.json");
    std::env::var_os("LUMINAL_CASES").map_or_else(own, PathBuf::from)
}

pub fn read() -> Value {
    let path = path();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let schema = file["schema"].as_str().unwrap_or("cases/1");
    assert!(schema == "cases/1", "{}: schema {schema:?} instead of \"cases/1\"", path.display());
    file
}

/// The cases in this list of the file.
pub fn list<'a>(file: &'a Value, name: &str) -> &'a [Value] {
    file[name].as_array().map_or(&[], |cases| cases)
}

pub fn object(value: &Value) -> &Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    value.as_object().unwrap_or(&NONE)
}

/// Whether the case allows, or demands, an error instead of a result.
pub fn accepts_error(case: &Value) -> bool {
    let accepted = &case["accept"];
    let mut listed = accepted.as_array().into_iter().flatten();
    accepted == "error" || listed.any(|outcome| outcome == "error") || demands_error(case)
}

pub fn demands_error(case: &Value) -> bool {
    let expected = &case["expected"];
    let accepted = &case["accept"];
    let nothing = object(expected).is_empty() && accepted.as_array().is_some_and(|list| !list.is_empty());
    case["result"] == "error"
        || nothing
        || expected == "error"
        || expected.get("error").is_some()
        || object(expected).values().any(|value| value == "error")
}

/// A number, or the name of one that JSON does not have.
fn number(value: &Value) -> Result<f64> {
    match value {
        Value::Number(x) => x.as_f64().ok_or_else(|| Error::new(format!("number {x}"))),
        Value::Bool(x) => Ok(f64::from(u8::from(*x))),
        Value::String(name) => match &name[..] {
            "nan" => Ok(f64::NAN),
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            other => Err(Error::new(format!("{other:?} is not a number"))),
        },
        other => Err(Error::new(format!("{other} is not a number"))),
    }
}

/// A tensor of the file: its type there, its shape, its elements.
pub struct Given {
    pub dtype: String,
    pub shape: Vec<usize>,
    pub numbers: Numbers,
}

impl Given {
    pub fn new(value: &Value) -> Result<Given> {
        let dtype = value["dtype"].as_str().unwrap_or("f32").to_string();
        let failed = || Error::new(format!("not a tensor: {value}"));
        let sizes = value["shape"].as_array().ok_or_else(failed)?;
        let size = |n: &Value| n.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(failed);
        let shape = sizes.iter().map(size).collect::<Result<Vec<_>>>()?;
        let count: usize = shape.iter().product();
        let is_float = dtype.starts_with('f') || dtype.starts_with("bf");
        let numbers = match (value.get("fill"), value["data"].as_array()) {
            (Some(fill), _) if is_float => Numbers::Floats(vec![number(fill)?; count]),
            (Some(fill), _) => Numbers::Integers(vec![integer(fill)?; count]),
            (None, Some(data)) if is_float => {
                Numbers::Floats(data.iter().map(number).collect::<Result<_>>()?)
            }
            (None, Some(data)) => Numbers::Integers(data.iter().map(integer).collect::<Result<_>>()?),
            (None, None) => return Err(failed()),
        };
        if numbers.len() != count {
            return Err(Error::new(format!("{} elements for shape {shape:?}", numbers.len())));
        }
        Ok(Given { dtype, shape, numbers })
    }

    /// As the graph is given it. A type that the language does not have is held by a wider one: `i8`, `i16` and `u16` by
    /// `i32`, `u32` by `i64`.
    pub fn tensor(&self) -> Result<Tensor> {
        numbers::tensor(held(&self.dtype)?, &self.shape, &self.numbers)
    }
}

fn integer(value: &Value) -> Result<i128> {
    match value {
        Value::Number(x) if x.is_i64() => Ok(x.as_i64().unwrap_or_default().into()),
        Value::Number(x) if x.is_u64() => Ok(x.as_u64().unwrap_or_default().into()),
        other => match number(other)? {
            x if x.fract() == 0.0 => Ok(x as i128),
            x => Err(Error::new(format!("{x} is not an integer"))),
        },
    }
}

/// The type of the language that holds a type of the file.
pub fn held(dtype: &str) -> Result<Dtype> {
    let wider = match dtype {
        "i8" | "i16" | "u16" => "i32",
        "u32" => "i64",
        same => same,
    };
    Dtype::from_name(wider).ok_or_else(|| Error::new(format!("element type {dtype:?}")))
}
