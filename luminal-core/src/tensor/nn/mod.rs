//! Layers with weights, named and laid out as PyTorch does, so that its weight files load unchanged.

mod conv2d;
mod embedding;
mod format;
mod linear;
mod norm;
mod quant;

pub use conv2d::Conv2d;
pub use embedding::Embedding;
pub use format::WeightFormat;
pub use linear::Linear;
pub use norm::LayerNorm;
pub use quant::{Packed, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0, QuantMatrix};
