//! Weight files: good ones load right, hostile ones are an error that names file, tensor and rule.

use luminal_core::dtype::Dtype;
use luminal_core::weights::{StoredDtype, Weights};

fn path(name: &str) -> String {
    format!("{}/tests/data/weights/{name}.safetensors", env!("CARGO_MANIFEST_DIR"))
}

/// A file with this header; the data is zeros.
fn file(header: &str, data_bytes: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data_bytes, 0);
    bytes
}

fn error(bytes: Vec<u8>) -> String {
    Weights::from_named_bytes("some.safetensors", bytes).unwrap_err().to_string()
}

fn floats(data: &[u8]) -> Vec<f32> {
    data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[test]
fn a_file_is_mapped_and_names_what_it_has() {
    let weights = Weights::open(path("plain")).unwrap();
    let tensor = weights.tensor("w").unwrap();
    assert_eq!((tensor.dtype, tensor.shape), (StoredDtype::F32, &[2, 2][..]));
    assert_eq!(floats(tensor.data), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(weights.names().collect::<Vec<_>>(), ["w"]);
    assert!(weights.tensor("v").is_none());
    let message = Weights::open(path("hole")).unwrap_err().to_string();
    assert!(message.contains(&path("hole")) && message.contains("8 bytes before tensor `b`"), "{message}");
}

#[test]
fn files_in_the_binary() {
    let weights = luminal_core::include_weights!("data/weights/plain.safetensors").unwrap();
    assert_eq!(floats(weights.tensor("w").unwrap().data), [1.0, 2.0, 3.0, 4.0]);
    let message = luminal_core::include_weights!("data/weights/hole.safetensors").unwrap_err().to_string();
    assert!(message.contains("`data/weights/hole.safetensors`"), "{message}");
}

#[test]
fn broken_headers_are_errors() {
    let tensor = r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#;
    let cases = [
        (format!(r#"{{"t":{tensor},"t":{tensor}}}"#), 4, "`t` occurs twice"),
        (
            r#"{"t":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#.into(),
            4,
            "duplicate field",
        ),
        (
            r#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}}"#.into(),
            4,
            "unknown field `more`",
        ),
        (r#"{"t":{"dtype":"F32","shape":[1]}}"#.into(), 4, "missing field `data_offsets`"),
        (r#"{"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#.into(), 4, "tensor `t`: invalid value"),
        (r#"{"t":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}"#.into(), 4, "tensor `t`: invalid type"),
        (r#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}"#.into(), 4, "tensor `t`"),
        (r#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,1e30]}}"#.into(), 4, "tensor `t`"),
        (format!(r#"{{"t":{tensor}"#), 4, "the header is not valid"),
        (format!(r#"{{"t":{tensor}}} x"#), 4, "trailing characters"),
        ("{not json}".into(), 0, "the header is not valid"),
        (r#"{"__metadata__":{"a":1}}"#.into(), 0, "`__metadata__` must map text to text"),
        (r#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#.into(), 4, "only 4 bytes of data"),
        (
            r#"{"t":{"dtype":"F32","shape":[0,9223372036854775808,8],"data_offsets":[0,0]}}"#.into(),
            0,
            "overflows",
        ),
        (r#"{"t":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}"#.into(), 1, "does not fill whole bytes"),
        ("[".repeat(100_000), 0, "neither a safetensors file"),
        (format!("{{\"t\":{}", "[".repeat(100_000)), 0, "the header is not valid"),
    ];
    for (header, data, rule) in cases {
        let message = error(file(&header, data));
        assert!(message.contains(rule) && message.contains("some.safetensors"), "{header:.80}: {message}");
        assert!(message.len() < 400, "{message}");
    }
    let mut not_text = file(r#"{"t":1}"#, 0);
    not_text[10] = 0xff;
    assert!(error(not_text).contains("not UTF-8"));
    assert!(error(vec![]).contains("0 bytes are too few"));
    assert!(error(vec![0; 8]).contains("neither a safetensors file"));
}

#[test]
fn names_cannot_spoil_a_message() {
    let name = "\\u001b[31m".to_string() + &"x".repeat(10_000);
    let message =
        error(file(&format!(r#"{{"{name}":{{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}}}"#), 4));
    assert!(!message.contains('\u{1b}') && message.len() < 400, "{message}");
}

#[test]
fn legal_but_rare() {
    assert_eq!(Weights::from_bytes(file("{}", 0)).unwrap().names().len(), 0);
    assert_eq!(
        Weights::from_bytes(file(r#"{"__metadata__":{"format":"pt"}}   "#, 0)).unwrap().names().len(),
        0
    );
    let header = r#"{"e":{"dtype":"F32","shape":[0,5],"data_offsets":[4,4]},"s":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}"#;
    let weights = Weights::from_bytes(file(header, 4)).unwrap();
    assert_eq!(weights.tensor("e").unwrap().data.len(), 0);
    assert_eq!(weights.tensor("s").unwrap().shape.len(), 0);
    // As `include_bytes!` gives it.
    static EMBEDDED: &[u8; 10] = b"\x02\0\0\0\0\0\0\0{}";
    assert!(Weights::from_bytes(EMBEDDED).is_ok());
}

/// Cutting a good file short, or changing any one byte of it, gives a result or an error, and nothing else.
#[test]
fn damaged_files_do_not_panic() {
    for name in ["plain", "tensors-of-three-types"] {
        let good = std::fs::read(path(name)).unwrap();
        for length in 0..good.len() {
            assert!(Weights::from_bytes(good[..length].to_vec()).is_err(), "{name} cut at {length}");
        }
        for at in 0..good.len() {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                if let Ok(weights) = Weights::from_bytes(bytes) {
                    for tensor in weights.names().filter_map(|name| weights.tensor(name)) {
                        let elements: usize = tensor.shape.iter().product();
                        assert_eq!(
                            tensor.data.len() * tensor.dtype.block().0,
                            elements * tensor.dtype.block().1
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn files_that_cannot_be_read() {
    let message = Weights::open("no/such/file.safetensors").unwrap_err().to_string();
    assert!(message.contains("no/such/file.safetensors") && message.contains("cannot open"), "{message}");
    let message = Weights::open(env!("CARGO_MANIFEST_DIR")).unwrap_err().to_string();
    assert!(message.contains("weight folder") && message.contains("it holds no"), "{message}");
}

#[test]
fn tensors_made_in_the_program() {
    let wrong = Weights::from_tensors([("w", Dtype::F32, vec![2], vec![0; 7])]).unwrap_err().to_string();
    assert!(wrong.contains("tensor `w`") && wrong.contains("7 bytes"), "{wrong}");
    let huge = Weights::from_tensors([("w", Dtype::F32, vec![usize::MAX, 2], vec![])]);
    assert!(huge.is_err());
    let twice =
        Weights::from_tensors([("w", Dtype::Bool, vec![], vec![0]), ("w", Dtype::Bool, vec![], vec![1])]);
    assert!(twice.unwrap_err().to_string().contains("given twice"));
}
