//! Weights in several files: safetensors with an index, and GGUF files that were split.
//!
//! An index is as little trusted as a file: it may name files of its own folder only, and what it says must agree with
//! what they hold.

use super::source::{in_file, map};
use super::{Entries, File, Metadata, Raw, Result, Weights, quoted};
use serde::Deserialize;
use serde::de::{Error as _, MapAccess, Visitor};
use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::fmt;
use std::path::{Component, Path};

/// Is this JSON text, as an index is? A safetensors file may start with the same byte, as the lowest of the header's
/// length; the highest are zeros then.
pub(super) fn is_index(file: &[u8]) -> bool {
    let text = file.trim_ascii_start();
    text.first() == Some(&b'{') && !file.iter().take(8).any(|byte| *byte == 0)
}

/// Opens an index and all shards that it names.
pub(super) fn open_index(path: &Path, index: &File) -> Result<Weights> {
    let failed = |rule: String| in_file(&index.name, &rule);
    let json = std::str::from_utf8(&index.content);
    let json = json.map_err(|e| failed(format!("the index is not UTF-8 text: {e}")))?;
    let Index { weight_map, metadata } =
        serde_json::from_str(json).map_err(|e| failed(format!("the index is not valid: {e}")))?;
    let shards: BTreeSet<&str> = weight_map.0.values().map(String::as_str).collect();
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut parts = vec![];
    for shard in shards {
        if !is_inside(shard) {
            return Err(failed(format!(
                "it names the shard {}, but a shard must lie in the folder of the index",
                quoted(shard)
            )));
        }
        let file = map(&folder.join(shard))
            .map_err(|e| failed(format!("its shard {} cannot be used: {e}", quoted(shard))))?;
        parts.push((shard, Weights::of_file(file)?));
    }
    for (tensor, shard) in &weight_map.0 {
        let part = parts.iter().find(|(name, _)| name == shard);
        if part.is_none_or(|(_, part)| part.tensor(tensor).is_none()) {
            return Err(failed(format!(
                "it says that tensor {} is in {}, but it is not there",
                quoted(tensor),
                quoted(shard)
            )));
        }
    }
    for (shard, part) in &parts {
        if let Some(tensor) = part.names().find(|tensor| !weight_map.0.contains_key(*tensor)) {
            return Err(failed(format!(
                "its shard {} has tensor {}, which it does not list",
                quoted(shard),
                quoted(tensor)
            )));
        }
    }
    let mut known = Metadata::default();
    known.entries.extend(metadata.into_iter().filter_map(|(key, value)| match value {
        serde_json::Value::String(text) => Some((key, Raw::Text(text))),
        serde_json::Value::Number(number) => Some((key, Raw::Text(number.to_string()))),
        _ => None,
    }));
    join(index.name.clone(), parts.into_iter().map(|(_, part)| part).collect(), known)
}

/// One `Weights` of several, under the name that stands for all.
fn join(name: String, parts: Vec<Weights>, metadata: Metadata) -> Result<Weights> {
    let mut files: Vec<File> = vec![];
    let mut entries = Entries::new();
    for part in parts {
        let first = files.len();
        for (tensor, mut entry) in part.entries {
            entry.file += first;
            match entries.entry(tensor) {
                btree_map::Entry::Vacant(place) => {
                    place.insert(entry);
                }
                btree_map::Entry::Occupied(known) => {
                    let (tensor, other) = (quoted(known.key()), &files[known.get().file].name);
                    let rule = format!("tensor {tensor} is in `{other}` and in `{}`", part.name);
                    return Err(in_file(&name, &rule));
                }
            }
        }
        // The part was made a moment ago and nobody else has it.
        files.extend(std::sync::Arc::into_inner(part.files).into_iter().flatten());
    }
    Ok(Weights::of_parts(name, files, entries, metadata))
}

/// A path that leads nowhere but down.
fn is_inside(shard: &str) -> bool {
    // On every platform, so that an index means the same everywhere.
    let foreign = shard.contains(['\\', ':']);
    let mut components = Path::new(shard).components();
    !shard.is_empty() && !foreign && components.all(|part| matches!(part, Component::Normal(_)))
}

#[derive(Deserialize)]
struct Index {
    weight_map: WeightMap,
    #[serde(default)]
    metadata: BTreeMap<String, serde_json::Value>,
}

/// File of each tensor. A tensor that is listed twice is an error.
struct WeightMap(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<WeightMap, D::Error> {
        struct Map;

        impl<'de> Visitor<'de> for Map {
            type Value = WeightMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of file names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WeightMap, A::Error> {
                let mut files = BTreeMap::new();
                while let Some((tensor, file)) = map.next_entry::<String, String>()? {
                    if files.contains_key(&tensor) {
                        return Err(A::Error::custom(format!("tensor {} is listed twice", quoted(&tensor))));
                    }
                    files.insert(tensor, file);
                }
                Ok(WeightMap(files))
            }
        }
        deserializer.deserialize_map(Map)
    }
}

const SPLIT_COUNT: &str = "split.count";

/// Of how many files this one says it is a part: `None` for a whole file.
pub(super) fn split_count(weights: &Weights) -> Result<Option<u64>> {
    let Some(value) = weights.metadata(SPLIT_COUNT) else { return Ok(None) };
    match value.as_u64() {
        Some(0 | 1) => Ok(None),
        Some(count) => Ok(Some(count)),
        // Only GGUF files are split like this; in others the key may mean anything.
        None if value.as_str().is_some() => Ok(None),
        None => Err(in_file(
            weights.name(),
            &format!("metadata `{SPLIT_COUNT}` is {value:?}, not a number of files"),
        )),
    }
}

/// The place of a file among the parts of a split one, by its name: `model-00001-of-00003.gguf`.
pub(super) struct SplitName<'a> {
    stem: &'a str,
    pub number: u64,
    count: u64,
}

/// Takes the name of a part to pieces.
pub(super) fn split_name(file: &str) -> Option<SplitName<'_>> {
    let (rest, count) = file.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let number_of = |digits: &str| (digits.len() == 5).then(|| digits.parse().ok()).flatten();
    Some(SplitName { stem, number: number_of(number)?, count: number_of(count)? })
}

/// Opens the other parts of a split GGUF file.
pub(super) fn open_split(path: &Path, first: Weights, count: u64) -> Result<Weights> {
    let name = first.name().to_string();
    let failed = |rule: String| in_file(&name, &rule);
    let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
    let part = split_name(file).filter(|part| part.count == count && part.number == 1);
    let Some(SplitName { stem, .. }) = part else {
        return Err(failed(format!(
            "it is one of {count} parts: open the first one, whose name ends with `-00001-of-{count:05}.gguf`"
        )));
    };
    let metadata = first.metadata.clone();
    let mut parts = vec![first];
    for number in 2..=count {
        let shard = format!("{stem}-{number:05}-of-{count:05}.gguf");
        let file = map(&path.with_file_name(&shard))
            .map_err(|e| failed(format!("its part {} cannot be used: {e}", quoted(&shard))))?;
        parts.push(Weights::of_file(file)?);
    }
    join(name, parts, metadata)
}
