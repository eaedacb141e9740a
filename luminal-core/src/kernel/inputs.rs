//! Inputs for running kernels: typed, seeded, chosen to show mistakes. The build checks kernels with them, as do tests.

use super::ir::Kernel;
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
}

/// Arguments of a kernel: the same for the same seed, on every machine. Integers are in
/// `integers`, but bytes are all, and `i64` some beyond 32 bits.
pub fn arguments(kernel: &Kernel, fill: Fill, integers: RangeInclusive<i64>, seed: u64) -> Vec<Values> {
    let mut random = SplitMix64::new(seed);
    let (low, high) = integers.into_inner();
    kernel.buffers[..kernel.args]
        .iter()
        .map(|buffer| {
            let count: usize = buffer.dims.iter().product();
            let mut floats = |round: fn(f64) -> f64| {
                Values::Float((0..count).map(|_| round(float(&mut random, fill))).collect())
            };
            match buffer.dtype {
                // Rounded here, so that both sides start from the same numbers.
                Dtype::F32 => floats(|x| f64::from(x as f32)),
                Dtype::F16 => floats(|x| nearest_f16(x).to_f64()),
                Dtype::BF16 => floats(|x| nearest_bf16(x).to_f64()),
                Dtype::I32 => Values::Int((0..count).map(|_| random.between(low, high) as i32).collect()),
                Dtype::I64 => Values::Long((0..count).map(|_| long(&mut random, low, high)).collect()),
                Dtype::U8 => Values::Int((0..count).map(|_| random.below(256) as i32).collect()),
                Dtype::Bool => Values::Bool((0..count).map(|_| random.coin()).collect()),
            }
        })
        .collect()
}

fn float(random: &mut SplitMix64, fill: Fill) -> f64 {
    let unit = random.unit();
    let value = match fill {
        Fill::Negative => -0.5 - 3.5 * unit,
        _ => 1.75 * unit - 0.75,
    };
    if fill == Fill::WithNan && random.below(61) == 0 {
        return f64::NAN;
    }
    value
}

/// One in eight is so large that 32 bits do not hold it.
fn long(random: &mut SplitMix64, low: i64, high: i64) -> i64 {
    let far = if random.below(8) == 0 { random.between(-500, 500) } else { 0 };
    random.between(low, high) + (far << 33)
}
