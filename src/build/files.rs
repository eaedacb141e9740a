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
            let checks = [".summary.txt", ".report.txt", ".check.txt", "_v3.check.txt", ".wrong.txt"];
            for rest in [".errors", ".graph", ".rs", ".ptx", ".c", "_v3.c"].into_iter().chain(checks) {
                self.remove(&format!("{gone}{rest}"))?;
            }
        }
        let list: String = names.iter().map(|name| format!("{name}\n")).collect();
        self.replace("luminal.models", &list)
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) -> Result<()> {
        let path = self.0.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &path, error)),
            _ => Ok(()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use luminal_core::tensor::Place;
    use std::env;

    /// A folder that is removed in the end.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Temporary {
            let path = env::temp_dir().join(format!("luminal-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Temporary(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn model(name: &'static str) -> Model {
        Model { name, file: "model.rs", line: 1, trace: || () }
    }

    #[test]
    fn models_that_are_gone_leave_no_files() {
        let temporary = Temporary::new("gone");
        let folder = Folder::new(temporary.0.clone());
        folder.list(&[model("old"), model("kept")]).unwrap();
        for extension in ["rs", "graph", "errors"] {
            folder.write("kept", extension, "k").unwrap();
            folder.write("old", extension, "o").unwrap();
        }
        folder.list(&[model("kept"), model("new")]).unwrap();
        assert_eq!(temporary.names(), ["kept.errors", "kept.graph", "kept.rs", "luminal.models"]);
        assert_eq!(fs::read_to_string(temporary.0.join("luminal.models")).unwrap(), "kept\nnew\n");
    }

    #[test]
    fn equal_content_is_not_written_again() {
        let temporary = Temporary::new("equal");
        let folder = Folder::new(temporary.0.clone());
        folder.write("m", "rs", "one").unwrap();
        let path = temporary.0.join("m.rs");
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        folder.write("m", "rs", "one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
        folder.write("m", "rs", "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(temporary.names(), ["m.rs"]);
    }

    #[test]
    fn failures_name_the_file() {
        let folder = Folder::new(PathBuf::from("/nowhere/at/all"));
        let error = folder.write("m", "rs", "").unwrap_err().to_string();
        assert!(error.starts_with("cannot write /nowhere/at/all/m.rs.new: "), "{error}");
    }

    #[test]
    fn mistakes_end_with_nul() {
        let place = Place { file: "src/model.rs".into(), line: 3, column: 7 };
        let text = mistakes(&[
            Mistake { place: Some(place), message: "first\nsecond \0 line".into() },
            Mistake { place: None, message: "whole".into() },
        ]);
        assert_eq!(text, "src/model.rs\n3\n7\nfirst\nsecond   line\0\n\n\nwhole\0");
    }
}
