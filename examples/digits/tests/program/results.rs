//! What the program finds out.

use crate::{digits, number, package, stdout_of, weights};

/// The floor for a run with the weights of the example.
const LEAST_ACCURACY: f64 = 97.0;
/// What rounding may change.
const BOUND: f64 = 1e-5;

#[test]
fn the_tour_shows_accuracy_speed_plan_and_reference() {
    let text = stdout_of(&mut digits());
    assert!(number(&text, "accuracy:", "(", "%") >= LEAST_ACCURACY, "{text}");
    let right = number(&text, "accuracy:", ":", "of");
    let total = number(&text, "accuracy:", "of", "held-out");
    assert!(right <= total && right / total >= LEAST_ACCURACY / 100.0, "{text}");
    assert!(number(&text, "latency:", "median", "us") > 0.0, "{text}");
    assert!(number(&text, "latency:", "mean", "us") > 0.0, "{text}");
    assert!(number(&text, "reference:", "difference", "over") <= BOUND, "{text}");
    assert!(text.contains("plan of `classify`"), "{text}");
    assert!(text.contains('█'), "{text}");
}

#[test]
fn every_held_out_image_agrees_with_the_reference() {
    let text = stdout_of(digits().arg("--check"));
    assert!(number(&text, "reference:", "difference", "over") <= BOUND, "{text}");
    let compared = number(&text, "reference:", "over", "images");
    assert_eq!(compared, number(&text, "accuracy:", "of", "held-out"), "{text}");
}

#[test]
fn pictures_are_read() {
    for (file, digit) in [("three.pgm", "3"), ("seven.png", "7")] {
        let text = stdout_of(digits().arg("--image").arg(package().join("data").join(file)));
        assert!(text.contains('█'), "{text}");
        let ranking: Vec<&str> = text.lines().filter(|line| line.ends_with('%')).collect();
        assert_eq!(ranking.len(), 3, "{text}");
        assert!(ranking[0].starts_with(digit), "{text}");
    }
}

#[test]
fn the_program_runs_in_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let text = stdout_of(digits().current_dir(&folder).arg("--weights").arg(weights()));
    assert!(number(&text, "accuracy:", "(", "%") >= LEAST_ACCURACY, "{text}");
}

#[test]
fn the_plan_names_what_was_fused() {
    let text = stdout_of(digits().arg("--plan"));
    for word in ["plan of `classify`", "conv2d", "relu", "max_pool2d", "softmax", "memory:"] {
        assert!(text.contains(word), "`{word}` is missing:\n{text}");
    }
}

#[test]
fn the_profile_has_a_time_for_each_launch() {
    let text = stdout_of(digits().arg("--profile"));
    let times = text.lines().filter(|line| line.contains(" us")).count();
    assert!(times > 1, "{text}");
}

#[test]
fn help_goes_to_standard_output() {
    assert!(stdout_of(digits().arg("--help")).contains("usage: digits"));
}
