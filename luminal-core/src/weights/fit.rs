//! Do these weights fit this model? One error tells everything that does not, and why it probably does not.

use super::blocks::{BlockFormat, PlaneName};
use super::stored::StoredDtype;
use super::{Entry, Weights, quoted};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::plan::Param;
use std::collections::BTreeSet;

/// So many lines of one kind are printed; the rest is counted. More than any model has tensors, but a file may have more.
const LISTED: usize = 1000;

/// A tensor that the model asks for. The planes of a quantised one are one tensor.
struct Wanted<'a> {
    name: &'a str,
    /// Names of fields that are tied to it: files have the tensor under either name, or both.
    aliases: Vec<&'a str>,
    stored: Stored,
    shape: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Stored {
    Plain(Dtype),
    Packed(&'static BlockFormat),
}

impl std::fmt::Display for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stored::Plain(dtype) => write!(f, "{dtype}"),
            Stored::Packed(format) => write!(f, "{}", format.dtype),
        }
    }
}

impl Weights {
    /// Checks that each weight of `model` is there with its shape and a type it can be loaded from, and that the model
    /// uses all that is there ([`Weights::allow_unused`]).
    pub fn check(&self, model: &str, params: &[Param]) -> Result<()> {
        let wanted = self.wanted(params);
        let missing: Vec<&Wanted> = wanted.iter().filter(|want| self.find(want).is_none()).collect();
        let unused = self.unused(&wanted);
        let mut complaints = vec![];
        let line =
            |want: &&Wanted| format!("missing: {} {} {:?}", quoted(want.name), want.stored, want.shape);
        complaints.extend(shortened(missing.iter().map(line)));
        complaints.extend(shortened(wanted.iter().filter_map(|want| self.misfit(want))));
        complaints.extend(shortened(wanted.iter().flat_map(|want| self.untied(want))));
        if complaints.is_empty() && (unused.is_empty() || self.allow_unused) {
            return Ok(());
        }
        // Of a file that may have more they are no complaint, but they help to see what a missing one is called there.
        let unused = unused
            .into_iter()
            .map(|(name, Entry { dtype, shape, .. })| format!("unused: {} {dtype} {shape:?}", quoted(name)));
        let mut hints = vec![];
        let any_unused = unused.len() > 0 && !self.allow_unused;
        if !missing.is_empty() {
            complaints.extend(shortened(unused));
            hints.extend(self.prefix_hint(&missing, wanted.len()));
        } else if !self.allow_unused {
            complaints.extend(shortened(unused));
        }
        if hints.is_empty() && any_unused {
            hints.push(
                "a model that does not use a tensor may have forgotten it; if it is right, say so with \
                 `weights.allow_unused()`, or leave the tensor out with `weights.retain(..)`"
                    .into(),
            );
        }
        let lines = complaints.into_iter().chain(hints).map(|line| format!("\n  {line}"));
        let lines: String = lines.collect();
        Err(Error::new(format!("weight file `{}` does not fit the model `{model}`:{lines}", self.name())))
    }

    fn wanted<'a>(&self, params: &'a [Param]) -> Vec<Wanted<'a>> {
        let mut wanted: Vec<Wanted> = vec![];
        for param in params {
            let plane = PlaneName::parse(&param.name).filter(|_| !self.entries.contains_key(&*param.name));
            let aliases = param.aliases.iter();
            let Some(plane) = plane else {
                wanted.push(Wanted {
                    name: &param.name,
                    aliases: aliases.map(|alias| &**alias).collect(),
                    stored: Stored::Plain(param.dtype),
                    shape: param.shape.to_vec(),
                });
                continue;
            };
            let stored = Stored::Packed(plane.format);
            if !wanted.iter().any(|want| want.name == plane.tensor && want.stored == stored) {
                let tensor_of =
                    |alias: &'a std::borrow::Cow<'static, str>| Some(PlaneName::parse(alias)?.tensor);
                let aliases = aliases.filter_map(tensor_of).collect();
                let shape = plane.tensor_shape(&param.shape);
                wanted.push(Wanted { name: plane.tensor, aliases, stored, shape });
            }
        }
        wanted
    }

    /// The tensor of the file, under its own name or that of a field that is tied to it.
    fn find(&self, want: &Wanted) -> Option<(&str, &Entry)> {
        let names = std::iter::once(&want.name).chain(&want.aliases);
        names
            .filter_map(|name| self.entries.get_key_value(*name))
            .map(|(name, entry)| (name.as_str(), entry))
            .next()
    }

    fn unused(&self, wanted: &[Wanted]) -> Vec<(&str, &Entry)> {
        let used: BTreeSet<&str> = wanted
            .iter()
            .flat_map(|want| std::iter::once(want.name).chain(want.aliases.iter().copied()))
            .collect();
        let entries = self.entries.iter().map(|(name, entry)| (name.as_str(), entry));
        entries.filter(|(name, _)| !used.contains(name)).collect()
    }

    fn misfit(&self, want: &Wanted) -> Option<String> {
        let (name, entry) = self.find(want)?;
        let mut wrong = vec![];
        if entry.shape != want.shape {
            wrong.push(format!("the model asks for shape {:?}, the file has {:?}", want.shape, entry.shape));
        }
        let found = entry.dtype;
        let packed = BlockFormat::of(found).is_some();
        match want.stored {
            Stored::Packed(format) if format.dtype == found => {}
            Stored::Packed(format) => {
                let cure = match found {
                    StoredDtype::F32 | StoredDtype::F16 | StoredDtype::BF16 => {
                        format!(
                            ": write `{}` in place of `{}` in the type",
                            found.to_string().to_lowercase(),
                            format.dtype
                        )
                    }
                    _ if packed => format!(": write `{found}` in place of `{}` in the type", format.dtype),
                    _ => String::new(),
                };
                wrong.push(format!("the model asks for type {}, the file has {found}{cure}", format.dtype));
            }
            Stored::Plain(dtype) if self.is_dequantised(entry, dtype) => {}
            Stored::Plain(dtype) => {
                let accepted = StoredDtype::sources(dtype);
                if !accepted.contains(&found) {
                    let accepted: Vec<_> = accepted.iter().map(|d| d.to_string()).collect();
                    let accepted = accepted.join(" or ");
                    let cure = match found.is_quantised() {
                        true if packed => format!(
                            ": write `{found}` in the type, as in `Linear<I, O, {found}>`, or load it as f32 with \
                             `weights.dequantise()`"
                        ),
                        true => ", a format that no model can use".into(),
                        false => String::new(),
                    };
                    wrong.push(format!("the model asks for type {accepted}, the file has {found}{cure}"));
                }
            }
        }
        if wrong.is_empty() { None } else { Some(format!("{}: {}", quoted(name), wrong.join("; "))) }
    }

    /// Copies of a tied tensor that are not copies.
    fn untied(&self, want: &Wanted) -> Vec<String> {
        let Some((name, _)) = self.find(want) else { return vec![] };
        let others = want.aliases.iter().filter(|alias| **alias != name);
        let differing =
            others.filter(|alias| self.tensor(alias).is_some_and(|copy| Some(copy) != self.tensor(name)));
        differing
            .map(|alias| {
                format!(
                    "{}: the model ties it to {}, but the file has two different tensors: declare it without `tied`",
                    quoted(alias),
                    quoted(name)
                )
            })
            .collect()
    }

    /// A common prefix that would help.
    fn prefix_hint(&self, missing: &[&Wanted], wanted: usize) -> Option<String> {
        let name = missing[0].name;
        if let Some(prefix) = self.prefix_in_file(missing) {
            return Some(format!(
                "every missing name is there with the prefix {}: the file has {}, the model asks for {}; use \
                 `weights.without_prefix({prefix:?})`",
                quoted(&prefix),
                quoted(format!("{prefix}{name}")),
                quoted(name)
            ));
        }
        let prefix = self.prefix_in_model(missing).filter(|_| missing.len() == wanted)?;
        Some(format!(
            "every name is there without the prefix {}: the file has {}, the model asks for {}; use \
             `weights.with_prefix({prefix:?})`",
            quoted(&prefix),
            quoted(&name[prefix.len()..]),
            quoted(name)
        ))
    }

    /// The prefix that all missing names have in the file, if there is one.
    fn prefix_in_file(&self, missing: &[&Wanted]) -> Option<String> {
        let first = missing[0].name;
        self.names()
            .filter_map(|name| name.strip_suffix(first))
            .filter(|prefix| prefix.ends_with('.'))
            .find(|prefix| {
                missing.iter().all(|want| self.entries.contains_key(&format!("{prefix}{}", want.name)))
            })
            .map(str::to_string)
    }

    /// The prefix that all missing names have in the model but not in the file, if there is one.
    fn prefix_in_model(&self, missing: &[&Wanted]) -> Option<String> {
        let first = missing[0].name;
        let has = |want: &&Wanted, prefix: &str| {
            want.name.strip_prefix(prefix).is_some_and(|name| self.entries.contains_key(name))
        };
        let mut parts = first.match_indices('.').map(|(dot, _)| &first[..=dot]);
        parts.find(|prefix| missing.iter().all(|want| has(want, prefix))).map(str::to_string)
    }
}

fn shortened(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.collect();
    if lines.len() > LISTED {
        let more = lines.len() - LISTED;
        lines.truncate(LISTED);
        lines.push(format!("and {more} more"));
    }
    lines
}
