//! Names: weights under the names that a model asks for.

use super::{Entries, Error, Result, Weights, quoted};
use std::collections::BTreeMap;

impl Weights {
    /// The same weights under other names. Two tensors must not get the same name.
    ///
    /// ```
    /// use luminal_core::dtype::Dtype;
    /// use luminal_core::weights::Weights;
    ///
    /// # fn main() -> luminal_core::error::Result<()> {
    /// let weights = Weights::from_tensors([("blk.0.w", Dtype::F32, vec![0], vec![])])?;
    /// let weights = weights.rename(|name| name.replace("blk.", "layers."))?;
    /// assert_eq!(weights.names().collect::<Vec<_>>(), ["layers.0.w"]);
    /// # Ok(())
    /// # }
    /// ```
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

    /// The same weights with some tensors renamed, as a table of old and new names says.
    ///
    /// ```
    /// use luminal_core::dtype::Dtype;
    /// use luminal_core::weights::Weights;
    ///
    /// # fn main() -> luminal_core::error::Result<()> {
    /// let weights = Weights::from_tensors([("wte", Dtype::F32, vec![0], vec![])])?;
    /// assert!(weights.clone().rename_table([("tok", "embed.weight")]).is_err(), "there is no `tok`");
    /// let weights = weights.rename_table([("wte", "embed.weight")])?;
    /// assert_eq!(weights.names().collect::<Vec<_>>(), ["embed.weight"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An old name that no tensor has, and two tensors of one new name.
    pub fn rename_table<'a>(self, table: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Weights> {
        let table: BTreeMap<&str, &str> = table.into_iter().collect();
        let absent: Vec<_> =
            table.keys().filter(|old| !self.entries.contains_key(**old)).map(quoted).collect();
        if !absent.is_empty() {
            return Err(Error::new(format!(
                "weight file `{}`: cannot rename {}: no tensor has that name",
                self.name,
                absent.join(", ")
            )));
        }
        self.rename(|name| table.get(name).copied().unwrap_or(name).to_string())
    }

    /// The same weights with `prefix` put before every name.
    pub fn with_prefix(self, prefix: &str) -> Result<Weights> {
        self.rename(|name| format!("{prefix}{name}"))
    }

    /// The same weights with `prefix` taken off the names that start with it.
    pub fn without_prefix(self, prefix: &str) -> Result<Weights> {
        self.rename(|name| name.strip_prefix(prefix).unwrap_or(name).to_string())
    }

    /// Only the tensors whose names start with `prefix`, without it: one part of a file that holds several models.
    ///
    /// ```
    /// use luminal_core::dtype::Dtype;
    /// use luminal_core::weights::Weights;
    ///
    /// # fn main() -> luminal_core::error::Result<()> {
    /// let tensor = |name| (name, Dtype::F32, vec![0], vec![]);
    /// let both = Weights::from_tensors([tensor("encoder.w"), tensor("decoder.w"), tensor("decoder.b")])?;
    /// assert_eq!(both.clone().part("decoder.").names().collect::<Vec<_>>(), ["b", "w"]);
    /// assert_eq!(both.part("encoder.").names().collect::<Vec<_>>(), ["w"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn part(mut self, prefix: &str) -> Weights {
        let entries = std::mem::take(&mut self.entries).into_iter();
        let inside =
            entries.filter_map(|(name, entry)| Some((name.strip_prefix(prefix)?.to_string(), entry)));
        self.entries = inside.collect();
        self
    }

    /// Only the tensors whose names pass: to leave out what a model does not use.
    ///
    /// ```
    /// use luminal_core::dtype::Dtype;
    /// use luminal_core::weights::Weights;
    ///
    /// # fn main() -> luminal_core::error::Result<()> {
    /// let tensor = |name| (name, Dtype::F32, vec![0], vec![]);
    /// let weights = Weights::from_tensors([tensor("w"), tensor("rotary_emb.inv_freq")])?;
    /// let weights = weights.retain(|name| !name.ends_with(".inv_freq"));
    /// assert_eq!(weights.names().collect::<Vec<_>>(), ["w"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn retain(mut self, mut keep: impl FnMut(&str) -> bool) -> Weights {
        self.entries.retain(|name, _| keep(name));
        self
    }

    /// Tensors that a model does not ask for are allowed. Otherwise they are an error, because a model that forgets a
    /// bias or a scale runs and is wrong.
    pub fn allow_unused(mut self) -> Weights {
        self.allow_unused = true;
        self
    }
}
