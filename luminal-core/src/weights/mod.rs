//! Weight files. A file is untrusted: it is checked once, when it is opened, and any broken rule is an [`Error`] that
//! names the file, the tensor and the rule.

mod fit;
mod header;
mod stored;

pub use stored::StoredDtype;

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use header::{Entries, Entry};
use std::borrow::Cow;
use std::path::Path;

/// Named tensors from a weight file (safetensors), checked, not yet copied.
///
/// Loading a model copies what it needs, so a `Weights` can be dropped afterwards, and one serves many models.
pub struct Weights {
    name: String,
    content: Content,
    entries: Entries,
}

enum Content {
    Bytes(Cow<'static, [u8]>),
    Mapped(memmap2::Mmap),
}

impl std::ops::Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Content::Bytes(bytes) => bytes,
            Content::Mapped(map) => map,
        }
    }
}

/// One tensor of a weight file: row-major, little-endian, not aligned to anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredTensor<'a> {
    /// Element type in the file.
    pub dtype: StoredDtype,
    /// Sizes.
    pub shape: &'a [usize],
    /// The elements.
    pub data: &'a [u8],
}

impl Weights {
    /// Opens a safetensors file. The file is mapped, not read: only what a model asks for is ever touched.
    ///
    /// The file must not be changed or cut short by others while the `Weights` exists; replace it by renaming a new
    /// file over it instead.
    pub fn open(path: impl AsRef<Path>) -> Result<Weights> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let failed = |what: &str, e: std::io::Error| {
            Error::new(format!("weight file `{name}`: cannot {what} it: {e}"))
        };
        let file = std::fs::File::open(path).map_err(|e| failed("open", e))?;
        let metadata = file.metadata().map_err(|e| failed("inspect", e))?;
        if !metadata.is_file() {
            return Err(Error::new(format!("weight file `{name}`: it is not a regular file")));
        }
        if metadata.len() == 0 {
            return Weights::from_named_bytes(name, Vec::new());
        }
        // SAFETY: the map is private to this value and only read. That nobody else changes the file meanwhile cannot
        // be checked; it is the documented condition of this function.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| failed("map", e))?;
        Weights::checked(name, Content::Mapped(map))
    }

    /// Reads the content of a safetensors file that is already in memory: `include_bytes!`, or a `Vec<u8>`.
    pub fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Weights> {
        Weights::from_named_bytes("in memory", bytes)
    }

    /// As [`Weights::from_bytes`], with the name that errors use.
    pub fn from_named_bytes(
        name: impl Into<String>,
        bytes: impl Into<Cow<'static, [u8]>>,
    ) -> Result<Weights> {
        Weights::checked(name.into(), Content::Bytes(bytes.into()))
    }

    /// Weights made in the program: name, type, sizes, row-major little-endian elements.
    pub fn from_tensors<Name: Into<String>>(
        tensors: impl IntoIterator<Item = (Name, Dtype, Vec<usize>, Vec<u8>)>,
    ) -> Result<Weights> {
        let mut content = vec![];
        let mut entries = Entries::new();
        for (name, dtype, shape, bytes) in tensors {
            let name = name.into();
            let needed = shape.iter().try_fold(dtype.bytes(), |product, size| product.checked_mul(*size));
            if needed != Some(bytes.len()) {
                let found = bytes.len();
                let tensor = quoted(&name);
                return Err(Error::new(format!(
                    "tensor {tensor}: {dtype} {shape:?} does not have {found} bytes"
                )));
            }
            let range = content.len()..content.len() + bytes.len();
            content.extend(bytes);
            if entries.insert(name.clone(), Entry { dtype: dtype.into(), shape, range }).is_some() {
                return Err(Error::new(format!("tensor {} is given twice", quoted(&name))));
            }
        }
        Ok(Weights { name: "in memory".into(), content: Content::Bytes(content.into()), entries })
    }

    fn checked(name: String, content: Content) -> Result<Weights> {
        match header::parse(&content) {
            Ok(entries) => Ok(Weights { name, content, entries }),
            Err(rule) => Err(Error::new(format!("weight file `{name}`: {rule}"))),
        }
    }

    /// The file's name, as errors print it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of all tensors, sorted.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// A tensor by its name.
    pub fn tensor(&self, name: &str) -> Option<StoredTensor<'_>> {
        let Entry { dtype, shape, range } = self.entries.get(name)?;
        Some(StoredTensor { dtype: *dtype, shape, data: &self.content[range.clone()] })
    }

    /// The same weights under other names. Two tensors must not get the same name.
    pub fn rename(mut self, mut new_name: impl FnMut(&str) -> String) -> Result<Weights> {
        let mut renamed = Entries::new();
        for (old, entry) in std::mem::take(&mut self.entries) {
            let new = new_name(&old);
            if renamed.insert(new.clone(), entry).is_some() {
                let file = &self.name;
                return Err(Error::new(format!(
                    "weight file `{file}`: two tensors are renamed to {}",
                    quoted(&new)
                )));
            }
        }
        self.entries = renamed;
        Ok(self)
    }

    /// The same weights with `prefix` put before every name.
    pub fn with_prefix(self, prefix: &str) -> Result<Weights> {
        self.rename(|name| format!("{prefix}{name}"))
    }

    /// The same weights with `prefix` taken off the names that start with it.
    pub fn without_prefix(self, prefix: &str) -> Result<Weights> {
        self.rename(|name| name.strip_prefix(prefix).unwrap_or(name).to_string())
    }
}

/// Puts a safetensors file into the binary: a `Result<Weights>`. The path is relative to the source file, as in
/// `include_bytes!`.
#[macro_export]
macro_rules! include_weights {
    ($path:literal) => {
        $crate::weights::Weights::from_named_bytes($path, include_bytes!($path))
    };
}

impl std::fmt::Debug for Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Weights").field("name", &self.name).field("tensors", &self.entries.len()).finish()
    }
}

/// A name from a file, fit for a message: control characters escaped, of bounded length.
fn quoted(name: impl AsRef<str>) -> String {
    const LONGEST: usize = 120;
    let name = name.as_ref();
    let shown: String = name.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    let cut = if name.chars().nth(LONGEST).is_some() { ".." } else { "" };
    format!("`{shown}{cut}`")
}
