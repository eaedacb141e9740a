//! GGUF, versions 2 and 3: header, metadata, list of tensors, data. Every rule of the format is checked here.
//!
//! Source: the specification, `docs/gguf.md` of github.com/ggml-org/ggml. Nothing is allocated on the word of a count: a
//! count is first compared with the bytes that follow.

mod reader;
mod types;
mod value;

pub(super) use value::{Kind, decode};

use super::metadata::{Metadata, Raw};
use super::{Entries, Entry, quoted};
use crate::weights::MetadataValue;
use reader::Reader;
use std::collections::btree_map;

pub(super) const MAGIC: &[u8; 4] = b"GGUF";
const ALIGNMENT: &str = "general.alignment";
const DEFAULT_ALIGNMENT: u64 = 32;
/// As the format says.
const MAX_RANK: u32 = 4;
/// A key and a value of one byte; a name, a rank, a type and an offset.
const LEAST_ENTRY: u64 = 8 + 4 + 1;
const LEAST_TENSOR: u64 = 8 + 4 + 4 + 8;

/// Reads and checks a file that is wholly in memory. The error is the broken rule, without the file's name.
pub(super) fn parse(file: &[u8]) -> Result<(Entries, Metadata), String> {
    let mut reader = Reader::new(file);
    reader.take(MAGIC.len() as u64, "the magic number")?;
    version(reader.u32("the version")?)?;
    let tensors = reader.u64("the number of tensors")?;
    let keys = reader.u64("the number of metadata entries")?;
    let metadata = read_metadata(&mut reader, keys)?;
    let alignment = alignment(&metadata, file)?;
    let infos = read_infos(&mut reader, tensors)?;
    let data_start = (reader.position() as u64)
        .checked_next_multiple_of(alignment)
        .ok_or_else(|| format!("`{ALIGNMENT}` {alignment} puts the data out of reach"))?;
    let mut entries = Entries::new();
    for (name, info) in infos {
        let entry = locate(info, data_start, alignment, file.len())
            .map_err(|rule| format!("tensor {}: {rule}", quoted(name)))?;
        match entries.entry(name.to_string()) {
            btree_map::Entry::Vacant(place) => place.insert(entry),
            btree_map::Entry::Occupied(_) => return Err(format!("tensor {} occurs twice", quoted(name))),
        };
    }
    let data_start = usize::try_from(data_start).unwrap_or(usize::MAX).min(file.len());
    check_layout(&entries, data_start, alignment, file.len())?;
    Ok((entries, metadata))
}

fn version(version: u32) -> Result<(), String> {
    match version {
        2 | 3 => Ok(()),
        1 => Err("it is GGUF version 1, whose counts have 32 bits; versions 2 and 3 can be read".into()),
        // Nothing in a file says its byte order, but no version is as large as a small one that is read backwards.
        _ if (1..=0xffff).contains(&version.swap_bytes()) => Err(format!(
            "it is a big-endian GGUF file (version {} read backwards); only little-endian files can be read: convert it, \
             for example with `gguf-convert-endian`",
            version.swap_bytes()
        )),
        _ => Err(format!("it is GGUF version {version}; versions 2 and 3 can be read")),
    }
}

fn read_metadata(reader: &mut Reader, count: u64) -> Result<Metadata, String> {
    reader.room_for(count, LEAST_ENTRY, "metadata of", "entries")?;
    let mut metadata = Metadata::default();
    for _ in 0..count {
        let key = reader.string("a metadata key")?;
        let in_key = |rule: String| format!("metadata {}: {rule}", quoted(key));
        let kind = Kind::read(reader).map_err(in_key)?;
        let start = reader.position();
        value::check(reader, kind, 0).map_err(in_key)?;
        let raw = Raw::Encoded(kind, start..reader.position());
        if metadata.entries.insert(key.to_string(), raw).is_some() {
            return Err(format!("metadata {} occurs twice", quoted(key)));
        }
    }
    Ok(metadata)
}

/// Files have it in every integer type.
fn alignment(metadata: &Metadata, file: &[u8]) -> Result<u64, String> {
    let Some(value) = metadata.get(ALIGNMENT, file) else { return Ok(DEFAULT_ALIGNMENT) };
    match value {
        MetadataValue::Unsigned(_) | MetadataValue::Signed(_) => {}
        _ => return Err(format!("metadata `{ALIGNMENT}` is {value:?}, but it must be an integer")),
    }
    value.as_u64().filter(|alignment| *alignment > 0 && alignment.is_multiple_of(8)).ok_or_else(|| {
        format!("metadata `{ALIGNMENT}` is {value:?}, but it must be a positive multiple of 8")
    })
}

/// What the list says about a tensor.
struct Info {
    /// Sizes as the rest of the world orders them: the row last.
    shape: Vec<u64>,
    type_id: u32,
    offset: u64,
}

fn read_infos<'a>(reader: &mut Reader<'a>, count: u64) -> Result<Vec<(&'a str, Info)>, String> {
    reader.room_for(count, LEAST_TENSOR, "a list of", "tensors")?;
    let mut infos = vec![];
    for _ in 0..count {
        let name = reader.string("a tensor's name")?;
        let info = read_info(reader).map_err(|rule| format!("tensor {}: {rule}", quoted(name)))?;
        infos.push((name, info));
    }
    Ok(infos)
}

fn read_info(reader: &mut Reader) -> Result<Info, String> {
    let rank = reader.u32("the number of dimensions")?;
    if rank > MAX_RANK {
        return Err(format!("it has {rank} dimensions; the format allows {MAX_RANK}"));
    }
    let mut shape = (0..rank).map(|_| reader.u64("a size")).collect::<Result<Vec<_>, _>>()?;
    shape.reverse();
    let type_id = reader.u32("the element type")?;
    let offset = reader.u64("the offset")?;
    Ok(Info { shape, type_id, offset })
}

/// One tensor by itself: shape, type and place fit each other and the file.
fn locate(info: Info, data_start: u64, alignment: u64, file_bytes: usize) -> Result<Entry, String> {
    let Info { shape, type_id, offset } = info;
    let dtype = types::dtype(type_id)?;
    let (bytes, shape) = dtype.layout(&shape, true)?;
    if !offset.is_multiple_of(alignment) {
        return Err(format!("its offset {offset} is not a multiple of the alignment {alignment}"));
    }
    let end = data_start.checked_add(offset).and_then(|start| Some((start, start.checked_add(bytes)?)));
    match end {
        // It has no place, and may lie where a file without padding has ended.
        _ if bytes == 0 => Ok(Entry { dtype, shape, file: 0, range: 0..0 }),
        Some((start, end)) if end <= file_bytes as u64 => {
            Ok(Entry { dtype, shape, file: 0, range: start as usize..end as usize })
        }
        _ => Err(format!(
            "{dtype} {shape:?} needs {bytes} bytes at offset {offset}, but the data starts at byte {data_start} of a file \
             of {file_bytes} bytes"
        )),
    }
}

/// All tensors together: no byte of the data belongs to two, and none but padding belongs to none.
fn check_layout(
    entries: &Entries,
    data_start: usize,
    alignment: u64,
    file_bytes: usize,
) -> Result<(), String> {
    let mut in_order: Vec<_> = entries.iter().filter(|(_, entry)| !entry.range.is_empty()).collect();
    in_order.sort_by_key(|(_, entry)| entry.range.start);
    let mut owned_to = data_start;
    let mut previous = None;
    for (name, entry) in in_order {
        if entry.range.start < owned_to {
            let previous = previous.map(quoted).unwrap_or_default();
            return Err(format!("tensors {previous} and {} overlap in the data", quoted(name)));
        }
        let gap = entry.range.start - owned_to;
        if gap as u64 >= alignment {
            return Err(format!(
                "{gap} bytes before tensor {} belong to no tensor; padding to the alignment of {alignment} would be fewer",
                quoted(name)
            ));
        }
        owned_to = entry.range.end;
        previous = Some(name);
    }
    let rest = file_bytes - owned_to;
    if rest as u64 >= alignment {
        return Err(format!(
            "{rest} bytes at the end belong to no tensor; padding to the alignment of {alignment} would be fewer"
        ));
    }
    Ok(())
}
