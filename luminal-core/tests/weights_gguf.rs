//! GGUF: files written by the authors' package, and hand-made ones with one rule broken.

use luminal_core::weights::{BLOCK_FORMATS, StoredDtype, Weights};

fn data(name: &str) -> String {
    format!("{}/tests/data/weights/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn formats() -> Weights {
    Weights::open(data("formats.gguf")).unwrap()
}

#[test]
fn metadata_has_types() {
    let weights = formats();
    let get = |key: &str| weights.metadata(key).unwrap();
    assert_eq!(get("general.architecture").as_str(), Some("formats"));
    assert_eq!(get("formats.context_length").as_u64(), Some(4096));
    assert_eq!(get("formats.rope.freq_base").as_f64(), Some(10000.0));
    assert_eq!((get("formats.minus").as_i64(), get("formats.minus").as_u64()), (Some(-3), None));
    assert_eq!((get("formats.large").as_u64(), get("formats.large").as_i64()), (Some((1 << 63) + 1), None));
    assert_eq!(get("formats.pi").as_f64(), Some(std::f64::consts::PI));
    assert_eq!(get("formats.yes").as_bool(), Some(true));
    assert_eq!(get("formats.yes").as_u64(), None);
    let scores = get("tokenizer.ggml.scores").as_array().unwrap();
    assert_eq!(scores.iter().map(|score| score.as_f64().unwrap()).collect::<Vec<_>>(), [0.0, -1.5, -2.25]);
    assert!(scores.strs().is_none());
    let tokens = get("tokenizer.ggml.tokens").as_array().unwrap();
    assert_eq!(tokens.len(), 3);
    assert_eq!(format!("{tokens:?}"), r#"["<s>", "</s>", "▁Grüße"]"#);
    assert_eq!(weights.metadata_keys().filter(|key| key.starts_with("tokenizer.")).count(), 3);
}

#[test]
fn tensors_of_every_plain_type() {
    let weights = formats();
    let bytes = |name: &str| weights.tensor(name).unwrap().data;
    let tensor = weights.tensor("f32").unwrap();
    assert_eq!((tensor.dtype, tensor.shape), (StoredDtype::F32, &[2, 3][..]));
    assert_eq!(weights.values("f32").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(weights.values("f16").unwrap(), [1.5, -2.0]);
    assert_eq!(weights.values("bf16").unwrap(), [1.0, -2.5]);
    assert_eq!(bytes("i8"), [0xff, 7]);
    assert_eq!(bytes("i16"), (-300i16).to_le_bytes());
    assert_eq!(bytes("i32"), 70000i32.to_le_bytes());
    assert_eq!(bytes("i64"), (-5_000_000_000i64).to_le_bytes());
    assert_eq!(bytes("f64"), 0.1f64.to_le_bytes());
    assert!(weights.values("i8").unwrap_err().to_string().contains("tensor `i8`: its type I8"));
    assert!(weights.values("none").unwrap_err().to_string().contains("tensor `none`"));
}

/// Bit by bit what the authors' package gives.
#[test]
fn quantised_tensors_have_the_right_numbers() {
    let (weights, expected) = (formats(), Weights::open(data("formats-expected.safetensors")).unwrap());
    for format in &BLOCK_FORMATS {
        let name = format.dtype.to_string();
        assert_eq!(weights.tensor(&name).unwrap().dtype, format.dtype);
        let (found, expected) = (weights.values(&name).unwrap(), expected.values(&name).unwrap());
        assert_eq!(found.len(), 3 * 512);
        let differs = found.iter().zip(&expected).position(|(x, y)| x.to_bits() != y.to_bits());
        assert_eq!(differs, None, "{name}: {:?}", differs.map(|i| (found[i], expected[i])));
    }
}

/// A file: header, metadata and list as given, then data at the alignment.
#[derive(Clone)]
struct File {
    version: u32,
    counts: Option<(u64, u64)>,
    metadata: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
    data: Vec<u8>,
    alignment: usize,
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

fn entry(key: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [text(key), kind.to_le_bytes().to_vec(), value.to_vec()].concat()
}

fn tensor(name: &str, sizes: &[u64], dtype: u32, offset: u64) -> Vec<u8> {
    let mut bytes = text(name);
    bytes.extend((sizes.len() as u32).to_le_bytes());
    sizes.iter().for_each(|size| bytes.extend(size.to_le_bytes()));
    bytes.extend(dtype.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes
}

impl File {
    fn new(tensors: &[Vec<u8>], data: usize) -> File {
        let tensors = tensors.to_vec();
        File { version: 3, counts: None, metadata: vec![], tensors, data: vec![0; data], alignment: 32 }
    }

    fn with(mut self, entry: Vec<u8>) -> File {
        self.metadata.push(entry);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        let (tensors, keys) = self.counts.unwrap_or((self.tensors.len() as u64, self.metadata.len() as u64));
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(keys.to_le_bytes());
        bytes.extend(self.metadata.concat());
        bytes.extend(self.tensors.concat());
        bytes.resize(bytes.len().next_multiple_of(self.alignment), 0);
        bytes.extend(&self.data);
        bytes
    }

    fn load(&self) -> Result<Weights, String> {
        Weights::from_named_bytes("a.gguf", self.bytes()).map_err(|e| e.to_string())
    }

    #[track_caller]
    fn fails(&self, rule: &str) {
        let message = self.load().unwrap_err();
        assert!(message.starts_with("weight file `a.gguf`: ") && message.contains(rule), "{message}");
        assert!(message.len() < 500, "{message}");
    }
}

const F32: u32 = 0;
const Q8_0: u32 = 8;
const Q4_K: u32 = 12;

#[test]
fn legal_files() {
    assert_eq!(File::new(&[], 0).load().unwrap().names().len(), 0);
    // Version 2 differs in nothing that is read; sizes are listed from the row on.
    let mut file = File::new(&[tensor("w", &[3, 2], F32, 0)], 24);
    file.version = 2;
    assert_eq!(file.load().unwrap().tensor("w").unwrap().shape, [2, 3]);
    // Scalars, and tensors without elements, which may lie behind the end.
    let file = File::new(&[tensor("s", &[], F32, 0), tensor("e", &[0, 5], F32, 1 << 20)], 4);
    let weights = file.load().unwrap();
    assert_eq!((weights.tensor("s").unwrap().data.len(), weights.tensor("s").unwrap().shape.len()), (4, 0));
    assert_eq!(
        (weights.tensor("e").unwrap().data.len(), weights.tensor("e").unwrap().shape),
        (0, &[5, 0][..])
    );
    // Data in another order than the list.
    let mut file = File::new(&[tensor("b", &[1], F32, 32), tensor("a", &[1], F32, 0)], 36);
    file.data[32] = 1;
    assert_eq!(file.load().unwrap().tensor("b").unwrap().data, [1, 0, 0, 0]);
}

/// W15 of the cases: in whatever integer type it is written.
#[test]
fn alignment_of_every_integer_type() {
    for (kind, value) in [
        (0, vec![16]),
        (1, vec![16]),
        (2, vec![16, 0]),
        (4, vec![16, 0, 0, 0]),
        (5, vec![16, 0, 0, 0]),
        (10, vec![16, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let mut file = File::new(&[tensor("a", &[4], F32, 0), tensor("b", &[4], F32, 16)], 32).with(entry(
            "general.alignment",
            kind,
            &value,
        ));
        file.alignment = 16;
        file.data[16..20].copy_from_slice(&5f32.to_le_bytes());
        // The data starts where 16 divides and 32 does not.
        let file = if file.bytes().len() % 32 == 0 { file.with(entry("pad", 10, &[0; 8])) } else { file };
        assert_eq!(file.load().unwrap().values("b").unwrap()[0], 5.0, "kind {kind}");
    }
    let file = |kind, value: &[u8]| File::new(&[], 0).with(entry("general.alignment", kind, value));
    file(4, &[0; 4]).fails("`general.alignment` is 0, but it must be a positive multiple of 8");
    file(4, &[12, 0, 0, 0]).fails("is 12, but it must be a positive multiple of 8");
    file(1, &[0xf8]).fails("is -8, but it must be a positive multiple of 8");
    file(6, &32f32.to_le_bytes()).fails("is 32.0, but it must be an integer");
    file(8, &text("32")).fails("is \"32\", but it must be an integer");
    let far = File::new(&[tensor("w", &[1], F32, 0)], 4).with(entry("general.alignment", 10, &[0xf8; 8]));
    far.fails(
        "tensor `w`: F32 [1] needs 4 bytes at offset 0, but the data starts at byte 17940362863843014904",
    );
}

#[test]
fn headers_that_are_broken() {
    let good = File::new(&[tensor("w", &[4], F32, 0)], 16);
    for (version, rule) in [
        (0, "it is GGUF version 0; versions 2 and 3 can be read"),
        (1, "it is GGUF version 1, whose counts have 32 bits"),
        (4, "it is GGUF version 4"),
        (3 << 24, "big-endian GGUF file (version 3 read backwards)"),
        (2 << 24, "big-endian GGUF file (version 2 read backwards)"),
    ] {
        File { version, ..good.clone() }.fails(rule);
    }
    File { counts: Some((u64::MAX, 0)), ..good.clone() }.fails("a list of 18446744073709551615 tensors");
    File { counts: Some((0, u64::MAX)), ..good.clone() }.fails("metadata of 18446744073709551615 entries");
    File { counts: Some((3, 0)), ..good.clone() }.fails("a list of 3 tensors");
    let keys = |entry: &[u8]| File { metadata: vec![entry.to_vec()], ..good.clone() };
    keys(&entry("k", 13, &[])).fails("metadata `k`: 13 is no type of a value");
    keys(&entry("k", 7, &[2])).fails("metadata `k`: a truth value is 0 or 1, but one is 2");
    keys(&entry("k", 8, &[1, 0, 0, 0, 0, 0, 0, 0, 0xff])).fails("metadata `k`: a text at byte");
    keys(&[&1u64.to_le_bytes()[..], &[0xfe]].concat()).fails("a metadata key at byte 32 is not UTF-8");
    let array = |kind: u32, len: u64| [&kind.to_le_bytes()[..], &len.to_le_bytes()].concat();
    keys(&entry("k", 9, &array(8, 1 << 60))).fails("metadata `k`: an array of 1152921504606846976 values");
    keys(&entry("k", 9, &array(4, u64::MAX))).fails("metadata `k`: an array of 18446744073709551615 values");
    keys(&entry("k", 9, &[array(7, 1), vec![9]].concat())).fails("but one is 9");
    let deep = (0..6).flat_map(|_| array(9, 1)).chain(array(0, 0)).collect::<Vec<_>>();
    keys(&entry("k", 9, &deep)).fails("metadata `k`: arrays are nested more than 4 deep");
    File { metadata: vec![entry("k", 0, &[1]), entry("k", 0, &[1])], ..good }
        .fails("metadata `k` occurs twice");
}

#[test]
fn tensors_that_are_broken() {
    let one = |info: Vec<u8>, data| File::new(&[info], data);
    one(tensor("w", &[1, 1, 1, 1, 1], F32, 0), 4)
        .fails("tensor `w`: it has 5 dimensions; the format allows 4");
    one(tensor("w", &[4], 42, 0), 16).fails("tensor `w`: its element type 42 is not known");
    one(tensor("w", &[32], 4, 0), 16).fails("tensor `w`: its element type 4 was removed from GGUF");
    one(tensor("w", &[4], F32, 8), 32)
        .fails("tensor `w`: its offset 8 is not a multiple of the alignment 32");
    one(tensor("w", &[4], F32, u64::MAX - 31), 16).fails("tensor `w`: F32 [4] needs 16 bytes at offset");
    one(tensor("w", &[u64::MAX], F32, 0), 16)
        .fails("tensor `w`: the number of bytes of F32 [18446744073709551615]");
    one(tensor("w", &[1 << 32, 1 << 32], F32, 0), 0).fails("tensor `w`: the number of elements of");
    one(tensor("w", &[0, 1 << 32, 1 << 32], F32, 0), 0).fails("tensor `w`: the number of elements of");
    one(tensor("w", &[4], F32, 0), 15).fails("tensor `w`: F32 [4] needs 16 bytes");
    one(tensor("w", &[4], F32, 0), 16 + 32).fails("32 bytes at the end belong to no tensor");
    one(tensor("w", &[4], F32, 64), 64 + 16).fails("64 bytes before tensor `w` belong to no tensor");
    let two = |first: Vec<u8>, second: Vec<u8>, data| File::new(&[first, second], data);
    two(tensor("w", &[1], F32, 0), tensor("w", &[1], F32, 32), 36).fails("tensor `w` occurs twice");
    two(tensor("a", &[9], F32, 0), tensor("b", &[1], F32, 32), 36).fails("tensors `a` and `b` overlap");
}

/// Q06 of the cases: the size of a block is that of the tensor's type.
#[test]
fn rows_are_whole_blocks() {
    let blocks =
        |columns: u64, dtype, bytes: usize| File::new(&[tensor("w", &[columns, 2], dtype, 0)], bytes);
    blocks(320, Q4_K, 2 * 144).fails(
        "tensor `w`: its rows have 320 elements, but Q4_K stores blocks of 256: a row must be whole blocks",
    );
    blocks(80, Q8_0, 5 * 34).fails("tensor `w`: its rows have 80 elements, but Q8_0 stores blocks of 32");
    assert_eq!(blocks(320, Q8_0, 20 * 34).load().unwrap().values("w").unwrap().len(), 640);
}

/// Cutting a good file short, or changing any one byte of it, gives a result or an error, and nothing else.
#[test]
fn damaged_files_do_not_panic() {
    let good = std::fs::read(data("formats.gguf")).unwrap();
    let whole = Weights::from_bytes(good.clone()).unwrap();
    let header = good.len() - whole.names().map(|name| whole.tensor(name).unwrap().data.len()).sum::<usize>();
    for length in (0..header).chain((header..good.len()).step_by(97)) {
        assert!(Weights::from_bytes(good[..length].to_vec()).is_err(), "cut at {length}");
    }
    for at in 0..header {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[at] ^= flip;
            if let Ok(weights) = Weights::from_bytes(bytes) {
                for name in weights.names() {
                    let tensor = weights.tensor(name).unwrap();
                    let (elements, block) = (tensor.shape.iter().product::<usize>(), tensor.dtype.block());
                    assert_eq!(tensor.data.len(), elements / block.0 * block.1);
                }
                for key in weights.metadata_keys() {
                    assert!(weights.metadata(key).is_some());
                }
            }
        }
    }
}
