//! The header of a safetensors file: 8 bytes of length, JSON, data. Every rule of the format is checked here, so that
//! whoever reads a tensor afterwards can index without thinking.

use super::metadata::{Metadata, Raw};
use super::stored::StoredDtype;
use super::{Entries, Entry, quoted};
use serde::Deserialize;
use serde::de::{Error as _, MapAccess, Visitor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

/// A longer header is refused, as the format says.
const MAX_HEADER: u64 = 100_000_000;
const LENGTH_BYTES: usize = 8;
const METADATA: &str = "__metadata__";

/// Reads and checks the header of a file that is wholly in memory. The error is the broken rule, without the file's name.
pub(super) fn parse(file: &[u8]) -> Result<(Entries, Metadata), String> {
    let (json, data_start) = split(file)?;
    let data_bytes = file.len() - data_start;
    let header: Header = serde_json::from_str(json).map_err(|e| format!("the header is not valid: {e}"))?;
    let mut entries = Entries::new();
    for (name, raw) in header.tensors {
        let entry = check_entry(raw, data_start, data_bytes)
            .map_err(|rule| format!("tensor {}: {rule}", quoted(&name)))?;
        entries.insert(name, entry);
    }
    check_layout(&entries, data_start, file.len())?;
    Ok((entries, header.metadata))
}

/// The JSON text, and where the data starts.
fn split(file: &[u8]) -> Result<(&str, usize), String> {
    let Some((length, rest)) = file.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(format!(
            "{} bytes are too few: a safetensors file starts with 8 bytes of header length",
            file.len()
        ));
    };
    let length = u64::from_le_bytes(*length);
    if length > rest.len() as u64 {
        return Err(format!(
            "the header is said to have {length} bytes, but only {} follow its length",
            rest.len()
        ));
    }
    if length > MAX_HEADER {
        return Err(format!("the header has {length} bytes; the format allows {MAX_HEADER}"));
    }
    let json = &rest[..length as usize];
    if json.first() != Some(&b'{') {
        return Err("it is neither a safetensors file (8 bytes of header length, then `{`) nor a GGUF file (which starts \
                    with `GGUF`)"
            .into());
    }
    let json = std::str::from_utf8(json).map_err(|e| format!("the header is not UTF-8 text: {e}"))?;
    Ok((json, LENGTH_BYTES + json.len()))
}

/// One tensor by itself: shape, type and byte range fit each other and the file.
fn check_entry(raw: RawEntry, data_start: usize, data_bytes: usize) -> Result<Entry, String> {
    let RawEntry { dtype, shape, data_offsets: [begin, end] } = raw;
    if begin > end {
        return Err(format!("its data ends ({end}) before it begins ({begin})"));
    }
    if end > data_bytes as u64 {
        return Err(format!("its data ends at byte {end}, but the file has only {data_bytes} bytes of data"));
    }
    let (bytes, shape) = dtype.layout(&shape, false)?;
    if bytes != end - begin {
        return Err(format!("{dtype} {shape:?} needs {bytes} bytes, but its data range has {}", end - begin));
    }
    let range = data_start + begin as usize..data_start + end as usize;
    Ok(Entry { dtype, shape, file: 0, range })
}

/// All tensors together: every byte of the data belongs to exactly one.
fn check_layout(entries: &Entries, data_start: usize, file_end: usize) -> Result<(), String> {
    let mut in_order: Vec<_> = entries.iter().collect();
    in_order.sort_by_key(|(_, entry)| (entry.range.start, entry.range.end));
    let mut owned_to = data_start;
    let mut previous = None;
    for (name, entry) in in_order {
        let Range { start, end } = entry.range;
        if start < owned_to {
            let previous = previous.map(quoted).unwrap_or_default();
            return Err(format!("tensors {previous} and {} overlap in the data", quoted(name)));
        }
        if start > owned_to {
            return Err(format!(
                "{} bytes before tensor {} belong to no tensor",
                start - owned_to,
                quoted(name)
            ));
        }
        owned_to = end;
        previous = Some(name);
    }
    if owned_to != file_end {
        return Err(format!("{} bytes at the end belong to no tensor", file_end - owned_to));
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    dtype: StoredDtype,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// The JSON as it stands, except that a name that occurs twice is an error: later stages could see only one of the two.
struct Header {
    tensors: Vec<(String, RawEntry)>,
    metadata: Metadata,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Header, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut names = BTreeSet::new();
        let mut tensors = vec![];
        let mut metadata = Metadata::default();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format!("{} occurs twice", quoted(&name))));
            }
            if name == METADATA {
                let texts = map
                    .next_value::<BTreeMap<String, String>>()
                    .map_err(|e| A::Error::custom(format!("`{METADATA}` must map text to text: {e}")))?;
                metadata.entries = texts.into_iter().map(|(key, text)| (key, Raw::Text(text))).collect();
                continue;
            }
            let entry = map
                .next_value::<RawEntry>()
                .map_err(|e| A::Error::custom(format!("tensor {}: {e}", quoted(&name))))?;
            tensors.push((name, entry));
        }
        Ok(Header { tensors, metadata })
    }
}
