//! The files that the build script leaves in `OUT_DIR`.

use crate::Model;
use luminal_core::error::{Error, Result};
use luminal_core::tensor::Mistake;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// `OUT_DIR`.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub fn new(path: PathBuf) -> Folder {
        Folder(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Replaces the file `<model>.<extension>`, unless it has this content already.
    pub fn write(&self, model: &str, extension: &str, content: &str) -> Result<()> {
        self.replace(&format!("{model}.{extension}"), content)
    }

    /// Records which models there are, and removes the files of those that are gone: the macro must not find them.
    pub fn list(&self, models: &[Model]) -> Result<()> {
        let names: BTreeSet<&str> = models.iter().map(|model| model.name).collect();
        let before = fs::read_to_string(self.0.join("luminal.models")).unwrap_or_default();
        for gone in before.lines().filter(|name| !names.contains(name)) {
            for extension in ["errors", "graph", "rs"] {
                let path = self.0.join(format!("{gone}.{extension}"));
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("remove", &path, error)),
                    _ => {}
                }
            }
        }
        let list: String = names.iter().map(|name| format!("{name}\n")).collect();
        self.replace("luminal.models", &list)
    }

    /// By rename, so that an interrupted build leaves the old file or the new one; and only if the content differs, so
    /// that nothing is compiled again for it.
    fn replace(&self, name: &str, content: &str) -> Result<()> {
        let path = self.0.join(name);
        if fs::read(&path).is_ok_and(|old| old == content.as_bytes()) {
            return Ok(());
        }
        let new = self.0.join(format!("{name}.new"));
        fs::write(&new, content).map_err(|error| failed("write", &new, error))?;
        fs::rename(&new, &path).map_err(|error| failed("replace", &path, error))
    }
}

fn failed(what: &str, path: &Path, error: io::Error) -> Error {
    Error::new(format!("cannot {what} {}: {error}", path.display()))
}

/// Mistakes in the form that `#[model]` reads: file, line and column on lines of their own, the message, a NUL.
pub(super) fn mistakes(mistakes: &[Mistake]) -> String {
    let mut text = String::new();
    for Mistake { place, message } in mistakes {
        let message = message.replace('\0', " ");
        match place {
            Some(place) => text += &format!("{}\n{}\n{}\n{message}\0", place.file, place.line, place.column),
            None => text += &format!("\n\n\n{message}\0"),
        }
    }
    text
}
