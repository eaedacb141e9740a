//! Where weights come from: one file, the files of an index, bytes in memory. What a file is, its content says and not
//! its name.

use super::metadata::Metadata;
use super::{Content, Entries, Error, File, Result, Weights, gguf, safetensors, shards};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Weights {
    /// Opens weights: a safetensors file, a GGUF file, the index of a sharded file (`model.safetensors.index.json`), the
    /// first part of a split GGUF file, or a folder that holds one of these. The content decides which it is.
    ///
    /// Files are mapped, not read: only what a model asks for is ever touched. They must not be changed or cut short by
    /// others while the `Weights` exists; replace a file by renaming a new one over it instead.
    ///
    /// ```
    /// # fn main() -> luminal_core::error::Result<()> {
    /// use luminal_core::weights::Weights;
    ///
    /// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/weights/plain.safetensors");
    /// let weights = Weights::open(path)?;
    /// assert_eq!(weights.tensor("w").unwrap().shape, [2, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What is broken, naming the file, the tensor and the rule of the format.
    pub fn open(path: impl AsRef<Path>) -> Result<Weights> {
        let path = path.as_ref();
        if path.is_dir() {
            return Weights::open(file_in_folder(path)?);
        }
        let file = map(path)?;
        if shards::is_index(&file.content) {
            return shards::open_index(path, &file);
        }
        let weights = Weights::of_file(file)?;
        match shards::split_count(&weights)? {
            Some(count) => shards::open_split(path, weights, count),
            None => Ok(weights),
        }
    }

    /// Reads the content of a weight file that is already in memory: `include_bytes!`, or a `Vec<u8>`. Bytes that are
    /// `'static` are not copied.
    ///
    /// ```
    /// use luminal_core::weights::Weights;
    ///
    /// let weights = Weights::from_bytes(b"\x02\0\0\0\0\0\0\0{}").unwrap();
    /// assert_eq!(weights.names().len(), 0);
    /// ```
    pub fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Weights> {
        Weights::from_named_bytes("in memory", bytes)
    }

    /// As [`Weights::from_bytes`], with the name that errors use.
    pub fn from_named_bytes(
        name: impl Into<String>,
        bytes: impl Into<Cow<'static, [u8]>>,
    ) -> Result<Weights> {
        Weights::of_file(File { name: name.into(), content: Content::Bytes(bytes.into()) })
    }

    /// The tensors of one file.
    pub(super) fn of_file(file: File) -> Result<Weights> {
        let (entries, metadata) = parse(&file.content).map_err(|rule| in_file(&file.name, &rule))?;
        Ok(Weights::of_parts(file.name.clone(), vec![file], entries, metadata))
    }

    pub(super) fn of_parts(name: String, files: Vec<File>, entries: Entries, metadata: Metadata) -> Weights {
        Weights { name, files: Arc::new(files), entries, metadata, allow_unused: false, dequantise: false }
    }
}

/// An error about a file.
pub(super) fn in_file(name: &str, rule: &str) -> Error {
    Error::new(format!("weight file `{name}`: {rule}"))
}

fn parse(file: &[u8]) -> Result<(Entries, Metadata), String> {
    if file.starts_with(gguf::MAGIC) {
        return gguf::parse(file);
    }
    if let Some(other) = known_as(file) {
        return Err(format!("it is {other}; safetensors and GGUF files can be read"));
    }
    if shards::is_index(file) {
        return Err(
            "it is JSON text; the index of a sharded file is opened by its path, with `Weights::open`".into(),
        );
    }
    safetensors::parse(file)
}

/// Files that are often taken for weights that can be loaded.
fn known_as(file: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 8] = [
        (b"GGML", "a file in the old format GGML"),
        (b"lmgg", "a file in the old format GGML"),
        (b"tjgg", "a file in the old format GGJT"),
        (b"fmgg", "a file in the old format GGMF"),
        (b"PK\x03\x04", "a zip archive, as PyTorch writes: convert it to safetensors"),
        (b"\x80\x02", "a Python pickle: convert it to safetensors"),
        (b"\x89HDF", "an HDF5 file: convert it to safetensors"),
        (b"version https://git-lfs", "a pointer of Git LFS and not the file itself: run `git lfs pull`"),
    ];
    // A safetensors header may have any length, so its first bytes may be any of these; but then a `{` follows.
    let found = known.into_iter().find(|(magic, _)| file.starts_with(magic) && file.get(8) != Some(&b'{'));
    found.map(|(_, name)| name)
}

/// Maps a file into memory.
pub(super) fn map(path: &Path) -> Result<File> {
    let name = path.display().to_string();
    let failed = |what: &str, e: std::io::Error| in_file(&name, &format!("cannot {what} it: {e}"));
    let file = std::fs::File::open(path).map_err(|e| failed("open", e))?;
    let metadata = file.metadata().map_err(|e| failed("inspect", e))?;
    if !metadata.is_file() {
        return Err(in_file(&name, "it is not a regular file"));
    }
    if metadata.len() == 0 {
        return Ok(File { name, content: Content::Bytes(Cow::Borrowed(&[])) });
    }
    // SAFETY: the map is private to this value and only read. That nobody else changes the file meanwhile cannot be
    // checked; it is the documented condition of `Weights::open`.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| failed("map", e))?;
    Ok(File { name, content: Content::Mapped(map) })
}

/// The file that a folder is opened by.
fn file_in_folder(folder: &Path) -> Result<PathBuf> {
    let failed = |rule: String| Error::new(format!("weight folder `{}`: {rule}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(|e| failed(format!("cannot read it: {e}")))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let with = |ending: &str| names.iter().filter(|name| name.ends_with(ending)).cloned().collect::<Vec<_>>();
    let first_parts = |mut all: Vec<String>| {
        all.retain(|name| shards::split_name(name).is_none_or(|part| part.number == 1));
        all
    };
    // An index comes first: the files beside it are its shards. `model` comes first where there are several.
    let candidates =
        [with(".safetensors.index.json"), with(".safetensors"), first_parts(with(".gguf"))].into_iter();
    for found in candidates.filter(|found| !found.is_empty()) {
        let usual = found.iter().find(|name| name.starts_with("model.safetensors"));
        return match (usual, &found[..]) {
            (Some(name), _) | (None, [name]) => Ok(folder.join(name)),
            _ => Err(failed(format!(
                "it holds {} weight files, open one of them: {}",
                found.len(),
                list(&found)
            ))),
        };
    }
    Err(failed("it holds no `*.safetensors.index.json`, `*.safetensors` or `*.gguf`".into()))
}

fn list(names: &[String]) -> String {
    names.iter().map(super::quoted).collect::<Vec<_>>().join(", ")
}
