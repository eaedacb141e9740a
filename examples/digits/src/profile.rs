//! Where the time goes.

use crate::Result;
use crate::classifier::Classifier;
use crate::dataset::Dataset;
use luminal::Weights;

/// Runs of which the median is taken.
const REPEATS: usize = 1000;

/// Prints the time of each kernel.
pub fn run(weights: &Weights, held_out: &Dataset) -> Result<()> {
    let mut classifier = Classifier::new(weights)?;
    let digit = held_out.digits.first().ok_or("there are no held-out images")?;
    let times = classifier.profile(digit, REPEATS)?;
    let total: f64 = times.iter().map(|time| time.median.as_secs_f64()).sum();
    println!("median time of each launch over {REPEATS} runs");
    for time in &times {
        let seconds = time.median.as_secs_f64();
        println!(
            "{:>5}  {:>5.1} %  {:>8.2} us  {}: {}",
            time.launch,
            100.0 * seconds / total,
            1e6 * seconds,
            time.kernel.form,
            time.kernel.fused.join(" + ")
        );
    }
    println!("  all  100.0 %  {:>8.2} us", 1e6 * total);
    Ok(())
}
