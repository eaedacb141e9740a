//! The weight files among the cases from public trackers: good ones load right; hostile ones are an error that names the
//! file, the tensor and the rule, and no number in them makes the reader allocate.

mod counting;

use counting::Counting;
use luminal_core::weights::{StoredDtype, StoredTensor, Weights};
use serde::Deserialize;
use std::collections::BTreeMap;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

#[derive(Deserialize)]
struct Cases {
    file_cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    bytes_b64: String,
    result: String,
    tensors: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct Expected {
    dtype: String,
    shape: Vec<usize>,
    data: Vec<Number>,
}

/// JSON has no infinities; they are texts there.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Other(String),
}

impl Number {
    fn value(&self) -> f64 {
        match self {
            Number::Finite(value) => *value,
            Number::Other(text) => text.parse().unwrap(),
        }
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("not base64: {byte}"),
    };
    let mut bytes = vec![];
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 6 | u32::from(digit(*byte)));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

fn values(tensor: StoredTensor) -> Vec<f64> {
    let data = tensor.data;
    match tensor.dtype {
        StoredDtype::F32 => data.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x).into()).collect(),
        StoredDtype::BF16 => {
            data.as_chunks().0.iter().map(|x| half::bf16::from_le_bytes(*x).into()).collect()
        }
        StoredDtype::U8 => data.iter().map(|x| f64::from(*x)).collect(),
        other => panic!("no case has {other}"),
    }
}

/// What each message must say, beside the name of the file.
const RULES: &[(&str, &[&str])] = &[
    ("W01a", &["the header is said to have 18446744073709551615 bytes", "only 73 follow"]),
    ("W01b", &["the header is said to have 9223372036854775808 bytes"]),
    ("W01c", &["the header is said to have 1099511627776 bytes"]),
    ("W01d", &["the header is said to have 1000000 bytes"]),
    ("W01e", &["3 bytes are too few"]),
    ("W01f", &["neither a safetensors file", "nor a GGUF file"]),
    ("W02a", &["tensors `a` and `b` overlap"]),
    ("W02b", &["8 bytes before tensor `b` belong to no tensor"]),
    ("W02c", &["8 bytes at the end belong to no tensor"]),
    ("W04a", &["tensor `t`", "F32 [1000, 1000] needs 4000000 bytes, but its data range has 4"]),
    ("W04b", &["tensor `t`", "its data ends (0) before it begins (4)"]),
    ("W04c", &["tensor `t`", "the number of elements of [4294967296, 4294967296] overflows 64 bits"]),
    ("W04d", &["tensor `t`", "unknown variant `Q9`"]),
    ("W04e", &["tensor `t`", "invalid length 1"]),
    ("W12a", &["tensor `w`", "the number of elements of [1, 1, 2, 18446744073709551615] overflows 64 bits"]),
    (
        "W12b",
        &["tensor `w`", "F32 [4398046511105, 1152] needs 20266198323171840 bytes", "a file of 112 bytes"],
    ),
    ("W12c", &["tensor `w`", "F32 [4] needs 16 bytes at offset 9223372036854775808", "a file of"]),
    ("W13a", &["a list of 1152921504606846976 tensors", "room for at most"]),
    ("W13b", &["metadata of 1152921504606846976 entries", "room for at most"]),
    ("W13c", &["metadata `a`", "an array of 2305843009213693952 values", "room for at most"]),
    ("W13d", &["a metadata key of 1125899906842624 bytes"]),
    ("W15b", &["`general.alignment` is 0", "positive multiple of 8"]),
    ("W17a", &["big-endian", "version 3"]),
    ("W17b", &["version 0", "versions 2 and 3 can be read"]),
    ("W17c", &["version 99", "versions 2 and 3 can be read"]),
    ("W17d", &["old format GGML", "safetensors and GGUF"]),
    ("W17e", &["tensor `w`", "F32 [4] needs 16 bytes at offset 0"]),
];

/// One test, because it measures what the whole process allocates.
#[test]
fn every_file_case() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/cases/cases.dev.json");
    let cases: Cases = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(cases.file_cases.len(), 33);
    let mut errors = 0;
    for Case { id, bytes_b64, result, tensors } in &cases.file_cases {
        let bytes = base64(bytes_b64);
        let size = bytes.len();
        let (loaded, peak) = ALLOCATOR.peak_of(|| Weights::from_named_bytes("some-file", bytes));
        // Names, shapes, a map, a message; never what the file claims.
        let bound = 16 * size + 4096;
        assert!(peak <= bound, "{id}: {size} bytes of file, {peak} bytes of memory");
        println!("{id}: {}", loaded.as_ref().map_or_else(ToString::to_string, |_| "loads".into()));
        if result == "ok" {
            let weights = loaded.unwrap_or_else(|e| panic!("{id}: {e}"));
            assert!(weights.names().eq(tensors.keys()), "{id}");
            for (name, expected) in tensors {
                let tensor = weights.tensor(name).unwrap();
                assert_eq!(tensor.dtype.to_string().to_lowercase(), expected.dtype, "{id} {name}");
                assert_eq!(tensor.shape, expected.shape, "{id} {name}");
                let wanted: Vec<f64> = expected.data.iter().map(Number::value).collect();
                assert_eq!(values(tensor), wanted, "{id} {name}");
            }
        } else {
            errors += 1;
            let message = loaded.expect_err(id).to_string();
            let (_, rules) = RULES.iter().find(|(known, _)| known == id).expect(id);
            assert!(message.contains("weight file `some-file`: "), "{id}: {message}");
            for rule in *rules {
                assert!(message.contains(rule), "{id}: {message}");
            }
        }
    }
    assert_eq!(errors, RULES.len());

    // A file in the binary stays there: what is allocated are names and shapes.
    let (weights, peak) =
        ALLOCATOR.peak_of(|| luminal_core::include_weights!("data/weights/formats-expected.safetensors"));
    let weights = weights.unwrap();
    let data: usize = weights.names().map(|name| weights.tensor(name).unwrap().data.len()).sum();
    assert!(data > 40_000 && peak < data / 4, "{data} bytes of data, {peak} bytes of memory");
    let (weights, peak) = ALLOCATOR.peak_of(|| luminal_core::include_weights!("data/weights/formats.gguf"));
    let weights = weights.unwrap();
    let data: usize = weights.names().map(|name| weights.tensor(name).unwrap().data.len()).sum();
    assert!(data > 8_000 && peak < data, "{data} bytes of data, {peak} bytes of memory");
}
