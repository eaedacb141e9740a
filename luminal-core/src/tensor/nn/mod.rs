//! Layers with weights, named and laid out as PyTorch does, so that its weight files load unchanged.
//!
//! Layers compute in `f32`, whatever the element types of their weights and of their input, and round once to the type of
//! the input. Those that work along the last dimension take tensors of any leading dimensions.

mod attention;
mod conv1d;
mod conv2d;
mod dims;
mod embedding;
mod feed_forward;
mod format;
mod kv_cache;
mod linear;
mod norm;
mod quant;
mod recurrent;

pub use attention::MultiHeadAttention;
pub use conv1d::Conv1d;
pub use conv2d::Conv2d;
pub use dims::{Over, Times};
pub use embedding::Embedding;
pub use feed_forward::{FeedForward, SwiGlu};
pub use format::WeightFormat;
pub use kv_cache::{CacheFull, CachePositions, KvCache};
pub use linear::Linear;
pub use norm::{BatchNorm, GroupNorm, LayerNorm, RmsNorm};
pub use quant::{Packed, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0, QuantMatrix};
pub use recurrent::{
    Bidirectional, Cell, Gru, GruKind, Lstm, LstmKind, Recurrent, RecurrentKind, RecurrentState, Rnn, RnnKind,
};
