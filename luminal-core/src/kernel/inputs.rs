//! Inputs for running kernels: typed, seeded, chosen to show mistakes. The build checks kernels with them, as do tests.

use super::ir::{Buffer, Kernel};
use super::meaning::Values;
use crate::dtype::{Dtype, nearest_bf16, nearest_f16};
use crate::reference::SplitMix64;
use std::ops::RangeInclusive;

/// What fills the inputs of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Floats in [-0.75, 1): not symmetric, so that a wrong sign cannot cancel out.
    Mixed,
    /// Floats in (-4, -0.5]: a maximum that starts from 0, or takes in padding, shows.
    Negative,
    /// As mixed, with a NaN in a few places.
    WithNan,
    /// Positive floats, so that infinities do not meet their opposite; but in the argument with this number, if it holds
    /// floats, runs of -inf, as masks have them. Truth values come in runs everywhere. A running maximum that no element
    /// has reached yet shows here: whole blocks of a stream, and whole rows, are masked.
    Masked(usize),
    /// Powers of two from 128 to 2^33 (2^15 in `f16`), negative in one half of a buffer and positive in the other. What
    /// overflows, such as 2 to the power of a score that was not reduced by the maximum, becomes infinite, and casts
    /// saturate.
    Large,
}

/// Arguments of a kernel: the same for the same seed, on every machine. Integers are in
/// `integers`, but bytes are all, and `i64` some beyond 32 bits.
pub fn arguments(kernel: &Kernel, fill: Fill, integers: RangeInclusive<i64>, seed: u64) -> Vec<Values> {
    let mut random = SplitMix64::new(seed);
    let (low, high) = integers.into_inner();
    let buffers = kernel.buffers[..kernel.args].iter().enumerate();
    let fill_one = |(number, buffer): (usize, &Buffer)| {
        let count: usize = buffer.dims.iter().product();
        let mut floats = |greatest: i64, round: fn(f64) -> f64| {
            let mut source = Floats { fill, number, count, greatest, left: 0, masked: false, started: false };
            Values::Float((0..count).map(|place| round(source.next(place, &mut random))).collect())
        };
        match buffer.dtype {
            // Rounded here, so that both sides start from the same numbers.
            Dtype::F32 => floats(33, |x| f64::from(x as f32)),
            Dtype::F16 => floats(15, |x| nearest_f16(x).to_f64()),
            Dtype::BF16 => floats(33, |x| nearest_bf16(x).to_f64()),
            Dtype::I32 => Values::Int((0..count).map(|_| random.between(low, high) as i32).collect()),
            Dtype::I64 => Values::Long((0..count).map(|_| long(&mut random, low, high)).collect()),
            Dtype::U8 => Values::Int((0..count).map(|_| random.below(256) as i32).collect()),
            Dtype::Bool if matches!(fill, Fill::Masked(_)) => {
                let mut runs =
                    Floats { fill, number, count, greatest: 0, left: 0, masked: false, started: false };
                Values::Bool((0..count).map(|_| runs.in_run(&mut random)).collect())
            }
            Dtype::Bool => Values::Bool((0..count).map(|_| random.coin()).collect()),
        }
    };
    buffers.map(fill_one).collect()
}

/// The floats of one argument, one after the other.
struct Floats {
    fill: Fill,
    /// Of the argument.
    number: usize,
    /// How many there are.
    count: usize,
    /// Exponent of the greatest large number.
    greatest: i64,
    /// What is left of the present run, and its kind.
    left: u64,
    masked: bool,
    started: bool,
}

impl Floats {
    fn next(&mut self, place: usize, random: &mut SplitMix64) -> f64 {
        let (unit, fill) = (random.unit(), self.fill);
        match fill {
            Fill::Mixed => 1.75 * unit - 0.75,
            Fill::Negative => -0.5 - 3.5 * unit,
            // One at least, but not in what may be a factor of everything.
            Fill::WithNan if random.below(61) == 0 || self.count >= 8 && place == self.count / 3 => f64::NAN,
            Fill::WithNan => 1.75 * unit - 0.75,
            Fill::Masked(masked) if masked == self.number && self.in_run(random) => f64::NEG_INFINITY,
            Fill::Masked(_) => 0.25 + 0.75 * unit,
            Fill::Large => {
                let second = 2 * place >= self.count;
                // Two arguments that are multiplied differ in their sign: a row of such scores is negative.
                let sign = if second == self.number.is_multiple_of(2) { 1.0 } else { -1.0 };
                sign * f64::powi(2.0, random.between(7, self.greatest) as i32)
            }
        }
    }

    /// A long run at the start, so that a stream begins with masked blocks; then runs that end somewhere within rows, and
    /// some that are longer than the block of a fold.
    fn in_run(&mut self, random: &mut SplitMix64) -> bool {
        if self.left == 0 && !self.started {
            (self.left, self.masked, self.started) = (1 + self.count as u64 / 3, true, true);
        } else if self.left == 0 {
            let longest = [2, 12, 700, 1500][random.below(4) as usize];
            (self.left, self.masked) = (1 + random.below(longest), !self.masked);
        }
        self.left -= 1;
        self.masked
    }
}

/// One in eight is so large that 32 bits do not hold it.
fn long(random: &mut SplitMix64, low: i64, high: i64) -> i64 {
    let far = if random.below(8) == 0 { random.between(-500, 500) } else { 0 };
    random.between(low, high) + (far << 33)
}
