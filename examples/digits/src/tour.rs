//! What the program shows without options.

use crate::Result;
use crate::art;
use crate::classifier::{Classifier, ranked};
use crate::dataset::Dataset;
use crate::model;
use crate::oracle::Oracle;
use luminal::Weights;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Digits drawn as text.
const SHOWN: usize = 8;
/// Digits in one line of drawings.
const SHOWN_IN_A_ROW: usize = 4;
/// Passes over all held-out images that are timed.
const TIMED_PASSES: usize = 10;
/// Images compared with the reference interpreter, unless all are.
const COMPARED: usize = 16;
/// The greatest difference between a compiled model and the reference that is right: rounding alone.
const BOUND: f32 = 1e-5;

/// Digits, accuracy, speed, plan and the comparison with the reference.
pub fn run(weights: &Weights, held_out: &Dataset, check_all: bool) -> Result<()> {
    let mut classifier = Classifier::new(weights)?;
    show_digits(&mut classifier, held_out)?;
    show_accuracy(&mut classifier, held_out)?;
    show_latency(&mut classifier, held_out)?;
    println!("\n{}", model::classify::PLAN);
    let compared = if check_all { held_out.digits.len() } else { COMPARED };
    show_difference(&mut classifier, weights, held_out, compared)
}

fn show_digits(classifier: &mut Classifier, held_out: &Dataset) -> Result<()> {
    let mut cells = vec![];
    for (digit, label) in held_out.iter().take(SHOWN) {
        let (guess, probability) = ranked(&classifier.classify(digit)?)[0];
        let verdict = if guess == usize::from(label) { String::new() } else { format!(", is {label}") };
        cells.push((digit, format!("{guess} ({}){verdict}", percent(probability))));
    }
    for row in cells.chunks(SHOWN_IN_A_ROW) {
        println!("{}", art::side_by_side(row));
    }
    Ok(())
}

fn show_accuracy(classifier: &mut Classifier, held_out: &Dataset) -> Result<()> {
    let mut right = 0;
    for (digit, label) in held_out.iter() {
        let (guess, _) = ranked(&classifier.classify(digit)?)[0];
        right += usize::from(guess == usize::from(label));
    }
    let total = held_out.digits.len();
    println!(
        "accuracy:  {right} of {total} held-out images right ({})",
        percent(right as f32 / total as f32)
    );
    Ok(())
}

fn show_latency(classifier: &mut Classifier, held_out: &Dataset) -> Result<()> {
    let mut times = Vec::with_capacity(TIMED_PASSES * held_out.digits.len());
    for _ in 0..TIMED_PASSES {
        for digit in &held_out.digits {
            let start = Instant::now();
            black_box(classifier.classify(black_box(digit))?);
            times.push(start.elapsed());
        }
    }
    times.sort();
    let median = times[times.len() / 2];
    let mean = times.iter().sum::<Duration>() / times.len() as u32;
    println!(
        "latency:   median {:.1} us, mean {:.1} us for one image, {} runs",
        microseconds(median),
        microseconds(mean),
        times.len()
    );
    Ok(())
}

fn show_difference(
    classifier: &mut Classifier,
    weights: &Weights,
    held_out: &Dataset,
    compared: usize,
) -> Result<()> {
    let mut oracle = Oracle::new(weights)?;
    let mut largest = 0.0f32;
    for digit in held_out.digits.iter().take(compared) {
        let computed = classifier.classify(digit)?;
        let expected = oracle.classify(digit)?;
        for (computed, expected) in computed.iter().zip(expected) {
            let difference = (computed - expected).abs();
            // `max` would drop a NaN, which is as wrong as can be.
            if difference.is_nan() || difference > largest {
                largest = if difference.is_nan() { f32::INFINITY } else { difference };
            }
        }
    }
    println!("reference: largest difference {largest:.1e} over {compared} images (allowed {BOUND:.0e})");
    if largest > BOUND {
        return Err("the compiled model differs from the reference interpreter: this is a bug in Luminal; \
                    please report it with the plan above"
            .into());
    }
    Ok(())
}

/// A probability for people.
pub fn percent(part: f32) -> String {
    format!("{:.1} %", 100.0 * part)
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
