//! Test graphs, random inputs, and direct evaluation of a graph in `f64`.
//!
//! The reference interpreter computes in the graph's own dtypes. Here `f32` is computed in `f64`, so that wrong algebra
//! shows as a large error and rounding as none.

pub mod build;
pub mod cases;
pub mod deep;
pub mod evaluate;
pub mod models;
pub mod random;
pub mod windows;

pub use build::fixed;
pub use evaluate::{buffers, difference, evaluate, random_inputs, worst_error};
pub use windows::windows;

/// A small deterministic generator.
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 16) as usize % n
    }
}
