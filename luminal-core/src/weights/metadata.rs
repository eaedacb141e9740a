//! What a weight file says about itself: key and value. Values stay where they are in the file and are decoded when they
//! are asked for; that they are well formed was checked when the file was opened.

use super::gguf::{Kind, decode};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// All entries of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Metadata {
    pub entries: BTreeMap<String, Raw>,
}

/// A value as it is kept.
#[derive(Clone, Debug)]
pub(super) enum Raw {
    /// Decoded: JSON has escapes.
    Text(String),
    /// Bytes of a GGUF file.
    Encoded(Kind, Range<usize>),
}

impl Metadata {
    /// The value of a key. `file` is the content that the entries were read from.
    pub fn get<'a>(&'a self, key: &str, file: &'a [u8]) -> Option<MetadataValue<'a>> {
        match self.entries.get(key)? {
            Raw::Text(text) => Some(MetadataValue::Str(text)),
            Raw::Encoded(kind, range) => Some(decode(*kind, &mut file.get(range.clone())?)?),
        }
    }
}

/// A value of the metadata of a weight file: [`Weights::metadata`](super::Weights::metadata).
///
/// Integers of every width are one of the two integer variants, floats of either width are `Float`.
#[derive(Clone, Copy, PartialEq)]
pub enum MetadataValue<'a> {
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A number with a fraction.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// Text.
    Str(&'a str),
    /// A list of values of one type.
    Array(MetadataArray<'a>),
}

impl<'a> MetadataValue<'a> {
    /// An integer of either kind that is not negative.
    pub fn as_u64(self) -> Option<u64> {
        match self {
            MetadataValue::Unsigned(value) => Some(value),
            MetadataValue::Signed(value) => value.try_into().ok(),
            _ => None,
        }
    }

    /// An integer of either kind that `i64` holds.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            MetadataValue::Unsigned(value) => value.try_into().ok(),
            MetadataValue::Signed(value) => Some(value),
            _ => None,
        }
    }

    /// A float, exactly; an integer, to the nearest number.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            MetadataValue::Unsigned(value) => Some(value as f64),
            MetadataValue::Signed(value) => Some(value as f64),
            MetadataValue::Float(value) => Some(value),
            _ => None,
        }
    }

    /// A truth value.
    pub fn as_bool(self) -> Option<bool> {
        match self {
            MetadataValue::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Text.
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            MetadataValue::Str(value) => Some(value),
            _ => None,
        }
    }

    /// A list.
    pub fn as_array(self) -> Option<MetadataArray<'a>> {
        match self {
            MetadataValue::Array(value) => Some(value),
            _ => None,
        }
    }
}

impl fmt::Debug for MetadataValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetadataValue::Unsigned(value) => write!(f, "{value}"),
            MetadataValue::Signed(value) => write!(f, "{value}"),
            MetadataValue::Float(value) => write!(f, "{value:?}"),
            MetadataValue::Bool(value) => write!(f, "{value}"),
            MetadataValue::Str(value) => write!(f, "{value:?}"),
            MetadataValue::Array(array) => write!(f, "{array:?}"),
        }
    }
}

/// A list of values of one type, such as the tokens of a tokenizer.
#[derive(Clone, Copy, PartialEq)]
pub struct MetadataArray<'a> {
    kind: Kind,
    len: usize,
    bytes: &'a [u8],
}

impl<'a> MetadataArray<'a> {
    pub(super) fn new(kind: Kind, len: usize, bytes: &'a [u8]) -> MetadataArray<'a> {
        MetadataArray { kind, len, bytes }
    }

    /// How many values there are.
    pub fn len(self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The values in order.
    pub fn iter(self) -> impl Iterator<Item = MetadataValue<'a>> {
        let MetadataArray { kind, len, mut bytes } = self;
        (0..len).map_while(move |_| decode(kind, &mut bytes))
    }

    /// The values as texts; `None` if they are something else.
    ///
    /// ```
    /// # fn main() -> luminal_core::error::Result<()> {
    /// use luminal_core::weights::Weights;
    ///
    /// let weights = Weights::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/weights/formats.gguf"))?;
    /// let tokens = weights.metadata("tokenizer.ggml.tokens").and_then(|value| value.as_array());
    /// let tokens: Vec<&str> = tokens.and_then(|array| array.strs()).unwrap().collect();
    /// assert_eq!(tokens, ["<s>", "</s>", "▁Grüße"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn strs(self) -> Option<impl Iterator<Item = &'a str>> {
        (self.kind == Kind::String || self.is_empty()).then(|| self.iter().filter_map(MetadataValue::as_str))
    }
}

/// The first values only: a tokenizer has a hundred thousand.
impl fmt::Debug for MetadataArray<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        let more = if self.len > SHOWN { format!(" and {} more", self.len - SHOWN) } else { String::new() };
        let shown: Vec<_> = self.iter().take(SHOWN).collect();
        write!(f, "{shown:?}{more}")
    }
}
