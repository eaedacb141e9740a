//! Weight files: safetensors, alone or sharded, and GGUF. A file is untrusted: it is checked once, when it is opened, and
//! any broken rule is an [`Error`] that names the file, the tensor and the rule.

mod blocks;
mod decode;
mod fit;
mod gguf;
mod load;
mod metadata;
mod names;
mod safetensors;
mod shards;
mod source;
mod stored;

pub use blocks::{BLOCK_FORMATS, BlockFormat, Plane};
pub use metadata::{MetadataArray, MetadataValue};
pub use stored::StoredDtype;

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use metadata::{Metadata, Raw};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Named tensors from weight files, checked, not yet copied.
///
/// Loading a model copies what it needs, so a `Weights` can be dropped afterwards. A clone shares the files, so that one
/// opening serves many models.
#[derive(Clone)]
pub struct Weights {
    name: String,
    files: Arc<Vec<File>>,
    entries: Entries,
    /// Of the index, or of the first file.
    metadata: Metadata,
    allow_unused: bool,
    dequantise: bool,
}

/// One file, and the name that errors use.
struct File {
    name: String,
    content: Content,
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

/// What a file says about one tensor, checked.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    dtype: StoredDtype,
    shape: Vec<usize>,
    /// Position in [`Weights::files`].
    file: usize,
    /// Bytes of that file.
    range: Range<usize>,
}

type Entries = BTreeMap<String, Entry>;

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
    /// Weights made in the program: name, type, sizes, row-major little-endian elements.
    ///
    /// ```
    /// use luminal_core::dtype::Dtype;
    /// use luminal_core::weights::Weights;
    ///
    /// let one = 1f32.to_le_bytes().to_vec();
    /// let weights = Weights::from_tensors([("w", Dtype::F32, vec![1], one)]).unwrap();
    /// assert_eq!(weights.names().collect::<Vec<_>>(), ["w"]);
    /// ```
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
            if entries.insert(name.clone(), Entry { dtype: dtype.into(), shape, file: 0, range }).is_some() {
                return Err(Error::new(format!("tensor {} is given twice", quoted(&name))));
            }
        }
        let file = File { name: "in memory".into(), content: Content::Bytes(content.into()) };
        Ok(Weights::of_parts(file.name.clone(), vec![file], entries, Metadata::default()))
    }

    /// The file's name, as errors print it; of sharded files that of the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of all tensors, sorted.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// A tensor by its name, as it is in the file.
    pub fn tensor(&self, name: &str) -> Option<StoredTensor<'_>> {
        let Entry { dtype, shape, file, range } = self.entries.get(name)?;
        let data = &self.files[*file].content[range.clone()];
        Some(StoredTensor { dtype: *dtype, shape, data })
    }

    /// What the file says about itself under this key: of GGUF any value, of safetensors text. Of sharded files, what the
    /// index says.
    ///
    /// ```
    /// # fn main() -> luminal_core::error::Result<()> {
    /// use luminal_core::weights::Weights;
    ///
    /// let weights = Weights::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/weights/formats.gguf"))?;
    /// let architecture = weights.metadata("general.architecture").and_then(|value| value.as_str());
    /// assert_eq!(architecture, Some("formats"));
    /// let length = weights.metadata("formats.context_length").and_then(|value| value.as_u64());
    /// assert_eq!(length, Some(4096));
    /// assert!(weights.metadata("no.such.key").is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn metadata(&self, key: &str) -> Option<MetadataValue<'_>> {
        let file = self.files.first().map_or(&[][..], |file| &file.content);
        self.metadata.get(key, file)
    }

    /// The keys of [`Weights::metadata`], sorted.
    pub fn metadata_keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.metadata.entries.keys().map(String::as_str)
    }
}

/// Puts a weight file, safetensors or GGUF, into the binary: a `Result<Weights>`. Nothing is copied at start. The path is
/// relative to the source file, as in `include_bytes!`.
///
/// ```
/// let weights = luminal_core::include_weights!("../../tests/data/weights/plain.safetensors").unwrap();
/// assert_eq!(weights.names().collect::<Vec<_>>(), ["w"]);
/// ```
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
