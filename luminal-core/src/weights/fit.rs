//! Do these weights fit this model? One error tells everything that does not, and why it probably does not.

use super::stored::StoredDtype;
use super::{Weights, quoted};
use crate::error::{Error, Result};
use crate::plan::Param;
use std::collections::BTreeSet;

/// So many names of one kind are listed; the rest is counted.
const LISTED: usize = 50;

impl Weights {
    /// Checks that each weight of `model` is there with its shape and a type it can be loaded from.
    ///
    /// Tensors that the model does not use are allowed: files of larger models and of training runs have them.
    pub fn check(&self, model: &str, params: &[Param]) -> Result<()> {
        let missing: Vec<&Param> = params.iter().filter(|p| self.tensor(&p.name).is_none()).collect();
        let mut complaints: Vec<String> = missing
            .iter()
            .map(|param| format!("missing: {} {} {:?}", quoted(&param.name), param.dtype, param.shape))
            .collect();
        complaints.extend(params.iter().filter_map(|param| self.misfit(param)));
        if complaints.is_empty() {
            return Ok(());
        }
        let mut message = format!("weight file `{}` does not fit the model `{model}`:", self.name());
        for line in shortened(complaints) {
            message.push_str("\n  ");
            message.push_str(&line);
        }
        if !missing.is_empty() {
            self.explain_missing(&missing, params, &mut message);
        }
        Err(Error::new(message))
    }

    fn misfit(&self, param: &Param) -> Option<String> {
        let stored = self.tensor(&param.name)?;
        let mut wrong = vec![];
        if stored.shape != &param.shape[..] {
            wrong
                .push(format!("the model asks for shape {:?}, the file has {:?}", param.shape, stored.shape));
        }
        let accepted = StoredDtype::sources(param.dtype);
        if !accepted.contains(&stored.dtype) {
            let accepted: Vec<_> = accepted.iter().map(|d| d.to_string()).collect();
            wrong.push(format!(
                "the model asks for type {}, the file has {}",
                accepted.join(" or "),
                stored.dtype
            ));
        }
        if wrong.is_empty() { None } else { Some(format!("{}: {}", quoted(&param.name), wrong.join("; "))) }
    }

    /// What may help when names are not found: a common prefix, and the names that the file has instead.
    fn explain_missing(&self, missing: &[&Param], params: &[Param], message: &mut String) {
        if let Some(prefix) = self.prefix_in_file(missing) {
            let wanted = &missing[0].name;
            let (found, wanted) = (quoted(format!("{prefix}{wanted}")), quoted(wanted));
            message.push_str(&format!(
                "\n  every missing name is there with the prefix {}: the file has {found}, the model asks for {wanted}; \
                 use `weights.without_prefix({prefix:?})`",
                quoted(&prefix)
            ));
        } else if let Some(prefix) = self.prefix_in_model(missing)
            && missing.len() == params.len()
        {
            let wanted = &missing[0].name;
            let (found, wanted) = (quoted(&wanted[prefix.len()..]), quoted(wanted));
            message.push_str(&format!(
                "\n  every name is there without the prefix {}: the file has {found}, the model asks for \
                 {wanted}; use `weights.with_prefix({prefix:?})`",
                quoted(&prefix)
            ));
        }
        let used: BTreeSet<&str> = params.iter().map(|p| &*p.name).collect();
        let unused: Vec<String> = self.names().filter(|name| !used.contains(name)).map(quoted).collect();
        if !unused.is_empty() {
            message.push_str("\n  in the file, but not asked for: ");
            message.push_str(&shortened(unused).join(", "));
        }
    }

    /// The prefix that all missing names have in the file, if there is one.
    fn prefix_in_file(&self, missing: &[&Param]) -> Option<String> {
        let first: &str = &missing[0].name;
        self.names()
            .filter_map(|name| name.strip_suffix(first))
            .filter(|prefix| prefix.ends_with('.'))
            .find(|prefix| missing.iter().all(|p| self.tensor(&format!("{prefix}{}", p.name)).is_some()))
            .map(str::to_string)
    }

    /// The prefix that all missing names have in the model but not in the file, if there is one.
    fn prefix_in_model(&self, missing: &[&Param]) -> Option<String> {
        let first: &str = &missing[0].name;
        let parts = first.match_indices('.').map(|(dot, _)| &first[..=dot]);
        parts
            .into_iter()
            .find(|prefix| {
                missing
                    .iter()
                    .all(|p| p.name.strip_prefix(prefix).is_some_and(|name| self.tensor(name).is_some()))
            })
            .map(str::to_string)
    }
}

fn shortened(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > LISTED {
        let more = lines.len() - LISTED;
        lines.truncate(LISTED);
        lines.push(format!("and {more} more"));
    }
    lines
}
