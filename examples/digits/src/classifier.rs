//! The compiled model, with digits in and probabilities out.

use crate::digit::Digit;
use crate::{Result, model, weight_file};
use luminal::{Device, KernelTime, Weights};

/// How many digits there are.
pub const CLASSES: usize = 10;
/// For each digit the probability that the picture shows it.
pub type Probabilities = [f32; CLASSES];

/// A loaded model.
pub struct Classifier {
    session: model::classify::Session,
}

impl Classifier {
    /// Loads the model to the best device.
    pub fn new(weights: &Weights) -> Result<Classifier> {
        let session =
            model::classify::load(Device::best()?, weights).map_err(|e| e.to_string() + weight_file::HINT)?;
        Ok(Classifier { session })
    }

    /// What a picture shows.
    pub fn classify(&mut self, digit: &Digit) -> Result<Probabilities> {
        let output = self.session.run(&digit.input()[..])?;
        Ok(output.rows()[0])
    }

    /// The median time of each launch over so many runs.
    pub fn profile(&mut self, digit: &Digit, repeats: usize) -> Result<Vec<KernelTime>> {
        Ok(self.session.profile(repeats, &digit.input()[..])?)
    }
}

/// Digits with their probabilities, the most likely first; of equal ones the smaller first.
pub fn ranked(probabilities: &Probabilities) -> Vec<(usize, f32)> {
    let mut ranking: Vec<(usize, f32)> = probabilities.iter().copied().enumerate().collect();
    ranking.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    ranking
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_likely_digit_comes_first() {
        let mut probabilities = [0.0; CLASSES];
        probabilities[7] = 0.75;
        probabilities[1] = 0.25;
        assert_eq!(ranked(&probabilities)[..3], [(7, 0.75), (1, 0.25), (0, 0.0)]);
    }
}
