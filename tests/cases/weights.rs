//! Weight files of the cases: good ones hold what they should, hostile ones are refused by an error.

use super::compiled::caught;
use super::file::{self, Given};
use super::numbers::{self, Numbers};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use luminal::reference::Data;
use luminal::{Error, Result, Weights};
use serde_json::Value;

/// Elements of a stored tensor, little-endian.
fn elements(dtype: &str, data: &[u8]) -> Result<Numbers> {
    fn integers<const N: usize>(data: &[u8], integer: fn([u8; N]) -> i128) -> Result<Numbers> {
        Ok(Numbers::Integers(data.as_chunks().0.iter().map(|bytes| integer(*bytes)).collect()))
    }
    match dtype {
        "f64" => Ok(Numbers::Floats(data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect())),
        "i8" => integers(data, |b| i8::from_le_bytes(b).into()),
        "i16" => integers(data, |b| i16::from_le_bytes(b).into()),
        "u16" => integers(data, |b| u16::from_le_bytes(b).into()),
        "u32" => integers(data, |b| u32::from_le_bytes(b).into()),
        "u64" => integers(data, |b| u64::from_le_bytes(b).into()),
        same if cfg!(target_endian = "little") => {
            Ok(numbers::numbers(&Data::from_bytes(file::held(same)?, data)))
        }
        _ => Err(Error::new("elements on a big-endian machine")),
    }
}

fn check(case: &Value) -> Result<()> {
    let text = case["bytes_b64"].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(text).map_err(|e| Error::new(format!("bytes_b64: {e}")))?;
    let name = case["id"].as_str().unwrap_or("?");
    let loaded = caught("reading it", || Ok(Weights::from_named_bytes(name, bytes)))?;
    let weights = match (loaded, file::accepts_error(case)) {
        (Ok(_), true) if case["result"] == "error" => return Err(Error::new("it loads")),
        (Ok(weights), _) => weights,
        (Err(error), true) if error.to_string().contains(name) => return Ok(()),
        (Err(error), true) => return Err(Error::new(format!("the error does not name the file: {error}"))),
        (Err(error), false) => return Err(error),
    };
    let expected = file::object(&case["tensors"]);
    if !weights.names().eq(expected.keys().map(String::as_str)) {
        return Err(Error::new(format!("it holds {:?}", weights.names().collect::<Vec<_>>())));
    }
    for (name, expected) in expected {
        let expected = Given::new(expected)?;
        let Some(tensor) = weights.tensor(name) else { return Err(Error::new(format!("{name} is missing"))) };
        let dtype = tensor.dtype.to_string().to_lowercase();
        if (&dtype, tensor.shape) != (&expected.dtype, &expected.shape[..]) {
            return Err(Error::new(format!("{name} is {dtype}{:?}", tensor.shape)));
        }
        let stored = elements(&dtype, tensor.data)?;
        if let Some(difference) = numbers::difference(&expected.numbers, &stored, 0.0, 0.0) {
            return Err(Error::new(format!("{name}: {difference}")));
        }
    }
    Ok(())
}

#[test]
fn file_cases() {
    let file = file::read();
    let only = std::env::var("LUMINAL_CASE").unwrap_or_default();
    let id = |case: &Value| case["id"].as_str().unwrap_or("?").to_string();
    let cases: Vec<&Value> =
        file::list(&file, "file_cases").iter().filter(|case| id(case).contains(&only)).collect();
    let mut passed = 0;
    for case in &cases {
        let outcome = check(case);
        passed += usize::from(outcome.is_ok());
        let words = outcome.map_or_else(|e| format!("FAILED ({e})"), |()| "ok".into());
        println!("{:6} weight file {words}", id(case));
    }
    println!("weight files: {passed} of {}", cases.len());
    assert_eq!(passed, cases.len(), "weight files that are read wrongly");
}
