//! Mistakes of users: exit code, one message on standard error that starts with `error: `, no panic.

use crate::{digits, package, weights};
use safetensors::tensor::{SafeTensors, TensorView};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The message of a run that must fail.
fn error_of(arguments: &[&OsStr], code: i32) -> String {
    let output = digits().args(arguments).output().expect("the program starts");
    let message = String::from_utf8(output.stderr).expect("the message is UTF-8");
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert!(message.starts_with("error: "), "{message}");
    assert_eq!(message.matches("error: ").count(), 1, "{message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

/// A weight file that cannot be used: the message names it, says what is wrong and what to do.
fn assert_weights_refused(file: &Path, words: &[&str]) {
    let message = error_of(&["--weights".as_ref(), file.as_os_str()], 1);
    assert!(message.contains(&file.display().to_string()), "{message}");
    assert!(message.contains("--weights"), "{message}");
    assert!(message.contains("\nhelp: "), "{message}");
    for word in words {
        assert!(message.contains(word), "`{word}` is missing: {message}");
    }
}

/// A copy of the weights in which one tensor has been changed.
fn changed_weights(
    folder: &Path,
    change: impl Fn(&str, TensorView<'_>) -> Option<(Vec<usize>, Vec<u8>)>,
) -> PathBuf {
    let content = std::fs::read(weights()).unwrap();
    let tensors = SafeTensors::deserialize(&content).unwrap();
    let changed: Vec<_> = tensors
        .tensors()
        .into_iter()
        .filter_map(|(name, view)| {
            let dtype = view.dtype();
            change(&name, view).map(|(shape, data)| (name, dtype, shape, data))
        })
        .collect();
    let views = changed.iter().map(|(name, dtype, shape, data)| {
        (name.as_str(), TensorView::new(*dtype, shape.clone(), data).unwrap())
    });
    let path = folder.join("changed.safetensors");
    std::fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
    path
}

#[test]
fn a_missing_weight_file() {
    assert_weights_refused(&package().join("weights/none.safetensors"), &["cannot open"]);
}

#[test]
fn an_empty_weight_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.safetensors");
    std::fs::write(&file, "").unwrap();
    assert_weights_refused(&file, &[]);
}

#[test]
fn a_truncated_weight_file() {
    let folder = tempfile::tempdir().unwrap();
    let content = std::fs::read(weights()).unwrap();
    for length in [7, 100, content.len() / 2, content.len() - 1] {
        let file = folder.path().join("short.safetensors");
        std::fs::write(&file, &content[..length]).unwrap();
        assert_weights_refused(&file, &[]);
    }
}

#[test]
fn a_tensor_of_the_wrong_shape() {
    let folder = tempfile::tempdir().unwrap();
    let file = changed_weights(folder.path(), |name, view| {
        let shape = if name == "conv2.weight" { vec![16, 32, 3, 3] } else { view.shape().to_vec() };
        Some((shape, view.data().to_vec()))
    });
    assert_weights_refused(&file, &["conv2.weight", "[16, 32, 3, 3]", "[32, 16, 3, 3]"]);
}

#[test]
fn a_tensor_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = changed_weights(folder.path(), |name, view| {
        (name != "fc1.bias").then(|| (view.shape().to_vec(), view.data().to_vec()))
    });
    assert_weights_refused(&file, &["fc1.bias"]);
}

#[test]
fn weights_that_are_a_folder_without_any() {
    assert_weights_refused(&package().join("src"), &[]);
}

#[test]
fn images_that_are_none() {
    for file in ["Cargo.toml", "data/none.png", "data"] {
        let path = package().join(file);
        let message = error_of(&["--image".as_ref(), path.as_os_str()], 1);
        assert!(message.contains(&path.display().to_string()), "{message}");
    }
}

#[test]
fn unknown_options() {
    let message = error_of(&["--imgae".as_ref()], 2);
    assert!(message.contains("--imgae") && message.contains("--help"), "{message}");
}
