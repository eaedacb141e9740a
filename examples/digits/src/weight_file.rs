//! Where the weights are.

use crate::Result;
use luminal::Weights;
use std::path::{Path, PathBuf};

/// Opens the file that the user named, or else the one that comes with the example.
pub fn open(chosen: Option<&Path>) -> Result<Weights> {
    let path = match chosen {
        Some(path) => path.to_path_buf(),
        None => first_existing(&usual_places())?,
    };
    Weights::open(&path).map_err(|e| (e.to_string() + HINT).into())
}

/// What to do about a weight file that cannot be used.
pub const HINT: &str =
    "\nhelp: name another file with `--weights FILE`, or make it again with examples/digits/train/train.py";

/// Beside the sources, so that `cargo run` works in any folder, and below the working directory.
fn usual_places() -> [PathBuf; 2] {
    let file = Path::new("weights").join("digits.safetensors");
    [Path::new(env!("CARGO_MANIFEST_DIR")).join(&file), file]
}

fn first_existing(places: &[PathBuf]) -> Result<PathBuf> {
    if let Some(place) = places.iter().find(|place| place.exists()) {
        return Ok(place.clone());
    }
    let tried: Vec<String> = places.iter().map(|place| format!("`{}`", place.display())).collect();
    Err(format!("no weight file: tried {}{HINT}", tried.join(" and ")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_has_its_weights() {
        assert!(first_existing(&usual_places()).is_ok());
    }

    #[test]
    fn the_error_names_what_was_tried() {
        let error = first_existing(&["nowhere/a".into(), "nowhere/b".into()]).unwrap_err().to_string();
        assert!(error.starts_with("no weight file: tried `nowhere/a` and `nowhere/b`\n"), "{error}");
        assert!(error.contains("--weights FILE"), "{error}");
    }
}
