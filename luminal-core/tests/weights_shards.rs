//! Weights in several files, and folders.

use luminal_core::weights::Weights;
use std::path::{Path, PathBuf};

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("luminal-weights-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Folder {
        std::fs::write(self.0.join(name), bytes).unwrap();
        self
    }

    fn error(&self, name: &str) -> String {
        Weights::open(self.0.join(name)).unwrap_err().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A safetensors file of tensors with one float.
fn shard(tensors: &[(&str, f32)]) -> Vec<u8> {
    let entries = tensors.iter().enumerate().map(|(i, (name, _))| {
        format!(r#""{name}":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}}"#, 4 * i, 4 * i + 4)
    });
    let header = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    let data = tensors.iter().flat_map(|(_, value)| value.to_le_bytes());
    let length = (header.len() as u64).to_le_bytes();
    length.into_iter().chain(header.bytes()).chain(data).collect()
}

fn index(map: &[(&str, &str)]) -> String {
    let map = map.iter().map(|(tensor, file)| format!(r#""{tensor}": "{file}""#)).collect::<Vec<_>>();
    format!(
        r#"{{ "metadata": {{"total_size": 12, "format": "pt"}}, "weight_map": {{ {} }} }}"#,
        map.join(", ")
    )
}

const INDEX: &str = "model.safetensors.index.json";
const FIRST: &str = "model-00001-of-00002.safetensors";
const SECOND: &str = "model-00002-of-00002.safetensors";

fn two_shards(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder
        .write(FIRST, shard(&[("a", 1.0), ("c", 3.0)]))
        .write(SECOND, shard(&[("b", 2.0)]))
        .write(INDEX, index(&[("a", FIRST), ("b", SECOND), ("c", FIRST)]));
    folder
}

#[test]
fn an_index_opens_its_shards() {
    let folder = two_shards("index");
    for path in [folder.0.join(INDEX), folder.0.clone()] {
        let weights = Weights::open(path).unwrap();
        assert_eq!(weights.names().collect::<Vec<_>>(), ["a", "b", "c"]);
        let values: Vec<_> = ["a", "b", "c"].iter().map(|name| weights.values(name).unwrap()[0]).collect();
        assert_eq!(values, [1.0, 2.0, 3.0]);
        assert_eq!(weights.metadata("format").and_then(|value| value.as_str()), Some("pt"));
        assert!(weights.name().ends_with(INDEX));
    }
    // Mapped files stay when they are removed, and with a clone when the first is dropped.
    let weights = Weights::open(&folder.0).unwrap().clone().with_prefix("m.").unwrap();
    drop(folder);
    assert_eq!(weights.values("m.b").unwrap(), [2.0]);
}

#[test]
fn an_index_that_is_wrong() {
    let folder = two_shards("wrong");
    let cases = [
        (
            index(&[("a", FIRST), ("b", FIRST), ("c", FIRST)]),
            "tensor `b` is in `model-00001-of-00002.safetensors`, but",
        ),
        (index(&[("a", FIRST), ("b", SECOND)]), "has tensor `c`, which it does not list"),
        (
            index(&[("a", "../x.safetensors")]),
            "the shard `../x.safetensors`, but a shard must lie in the folder",
        ),
        (index(&[("a", "/etc/passwd")]), "must lie in the folder of the index"),
        (index(&[("a", "sub/../../x")]), "must lie in the folder of the index"),
        (index(&[("a", "C:x")]), "must lie in the folder of the index"),
        (index(&[("a", "..\\\\x")]), "must lie in the folder of the index"),
        (index(&[("a", "")]), "must lie in the folder of the index"),
        (index(&[("a", "model-9.safetensors")]), "its shard `model-9.safetensors` cannot be used"),
        (index(&[("a", FIRST), ("a", FIRST)]), "tensor `a` is listed twice"),
        (index(&[("a", INDEX)]), "it is JSON text; the index of a sharded file is opened by its path"),
        ("{\"weight_map\": []}".into(), "the index is not valid: invalid type"),
        ("{\"metadata\": {}}".into(), "missing field `weight_map`"),
        ("{\"weight_map\": {\"a\": 1}}".into(), "the index is not valid"),
        ("{\"weight_map\": {}} x".into(), "trailing characters"),
        (format!("{{\"a\": {}", "[".repeat(100_000)), "the index is not valid"),
    ];
    for (text, rule) in cases {
        folder.write(INDEX, &text);
        let message = folder.error(INDEX);
        assert!(message.contains(rule) && message.contains(INDEX), "{text:.100}: {message}");
    }
}

#[test]
fn shards_that_are_wrong() {
    let folder = two_shards("shards");
    // A tensor in two shards: which one is meant?
    folder.write(SECOND, shard(&[("a", 5.0), ("b", 2.0)]));
    let message = folder.error(INDEX);
    assert!(message.contains("tensor `a` is in `") && message.contains(SECOND), "{message}");
    // A broken shard names itself.
    folder.write(SECOND, &shard(&[("b", 2.0)])[..20]);
    let message = folder.error(INDEX);
    assert!(message.contains(SECOND) && message.contains("the header is said to have"), "{message}");
    std::fs::remove_file(folder.0.join(SECOND)).unwrap();
    let message = folder.error(INDEX);
    assert!(message.contains(&format!("its shard `{SECOND}` cannot be used")), "{message}");
}

#[test]
fn folders() {
    let folder = Folder::new("folders");
    assert!(folder.error("").contains("it holds no `*.safetensors.index.json`"), "{}", folder.error(""));
    folder.write("b.safetensors", shard(&[("b", 2.0)]));
    assert_eq!(Weights::open(&folder.0).unwrap().names().collect::<Vec<_>>(), ["b"]);
    folder.write("a.safetensors", shard(&[("a", 1.0)]));
    let message = folder.error("");
    assert!(
        message.contains("2 weight files, open one of them: `a.safetensors`, `b.safetensors`"),
        "{message}"
    );
    folder.write("model.safetensors", shard(&[("m", 0.0)]));
    assert_eq!(Weights::open(&folder.0).unwrap().names().collect::<Vec<_>>(), ["m"]);
}

#[test]
fn the_content_decides_and_not_the_name() {
    let folder = Folder::new("content");
    let gguf =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/weights/formats.gguf")).unwrap();
    folder.write("really-gguf.safetensors", gguf).write("really.gguf", shard(&[("a", 1.0)]));
    assert!(Weights::open(folder.0.join("really-gguf.safetensors")).unwrap().tensor("Q4_K").is_some());
    assert!(Weights::open(folder.0.join("really.gguf")).unwrap().tensor("a").is_some());
    for (content, name) in [
        (&b"PK\x03\x04........"[..], "a zip archive, as PyTorch writes"),
        (b"\x80\x02}q\x00(X\x05", "a Python pickle"),
        (b"version https://git-lfs.github.com/spec/v1", "a pointer of Git LFS"),
        (b"tjgg\x03\0\0\0\0\0\0\0", "the old format GGJT"),
        (b"hello, this is text", "the header is said to have"),
        (
            b"\x02\0\0\0\0\0\0\0[]",
            "neither a safetensors file (8 bytes of header length, then `{`) nor a GGUF file",
        ),
    ] {
        let message = folder.write("other", content).error("other");
        assert!(message.contains(name), "{message}");
    }
    // A header of 123 bytes starts with `{` as well.
    let padded = r#"{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#;
    let header = format!("{padded:123}");
    folder.write("brace", [&123u64.to_le_bytes(), header.as_bytes()].concat());
    assert!(Weights::open(folder.0.join("brace")).unwrap().tensor("a").is_some());
}

/// One part of a split file: its number of parts in the metadata, one tensor.
fn part(count: u16, tensor: &str, value: f32) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(text("split.count"));
    bytes.extend(2u32.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(text(tensor));
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend([0; 12]);
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.extend(value.to_le_bytes());
    bytes
}

#[test]
fn a_split_gguf_file() {
    let folder = Folder::new("split");
    folder
        .write("m-00001-of-00002.gguf", part(2, "a", 1.0))
        .write("m-00002-of-00002.gguf", part(2, "b", 2.0));
    for path in [folder.0.join("m-00001-of-00002.gguf"), folder.0.clone()] {
        let weights = Weights::open(path).unwrap();
        assert_eq!((weights.values("a").unwrap(), weights.values("b").unwrap()), (vec![1.0], vec![2.0]));
        assert_eq!(weights.metadata("split.count").and_then(|count| count.as_u64()), Some(2));
    }
    let message = folder.error("m-00002-of-00002.gguf");
    assert!(message.contains("open the first one, whose name ends with `-00001-of-00002.gguf`"), "{message}");
    folder.write("m-00002-of-00002.gguf", part(2, "a", 2.0));
    assert!(folder.error("m-00001-of-00002.gguf").contains("tensor `a` is in"));
    std::fs::remove_file(folder.0.join("m-00002-of-00002.gguf")).unwrap();
    let message = folder.error("m-00001-of-00002.gguf");
    assert!(message.contains("its part `m-00002-of-00002.gguf` cannot be used"), "{message}");
}
