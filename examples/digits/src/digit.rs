//! One small picture, as the data set has them and as the model takes them.

/// Rows, and columns, of a picture.
pub const SIDE: usize = 8;
/// The value of full ink; 0 is paper.
pub const FULL_INK: u8 = 16;

/// A handwritten digit: 8x8 pixels, row by row, each 0 (paper) to 16 (full ink).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digit([u8; SIDE * SIDE]);

impl Digit {
    /// A digit from its pixels; `None` if one of them is above [`FULL_INK`].
    pub fn new(pixels: [u8; SIDE * SIDE]) -> Option<Digit> {
        pixels.iter().all(|&pixel| pixel <= FULL_INK).then_some(Digit(pixels))
    }

    /// The pixels of each row.
    pub fn rows(&self) -> &[[u8; SIDE]] {
        self.0.as_chunks().0
    }

    /// What the model takes: ink from 0 to 1. The training script divides by the same number.
    pub fn input(&self) -> [f32; SIDE * SIDE] {
        self.0.map(|pixel| f32::from(pixel) / f32::from(FULL_INK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ink_runs_from_zero_to_one() {
        let mut pixels = [0; SIDE * SIDE];
        pixels[9] = FULL_INK;
        pixels[10] = 4;
        let digit = Digit::new(pixels).unwrap();
        assert_eq!(digit.rows()[1], [0, 16, 4, 0, 0, 0, 0, 0]);
        assert_eq!(digit.input()[8..12], [0.0, 1.0, 0.25, 0.0]);
    }

    #[test]
    fn more_than_full_ink_is_refused() {
        assert_eq!(Digit::new([FULL_INK + 1; SIDE * SIDE]), None);
    }
}
