//! Layers with weights, named and laid out as PyTorch does, so that its weight files load unchanged.

mod conv2d;
mod embedding;
mod format;
mod linear;
mod norm;

pub use conv2d::Conv2d;
pub use embedding::Embedding;
pub use format::WeightFormat;
pub use linear::Linear;
pub use norm::LayerNorm;
