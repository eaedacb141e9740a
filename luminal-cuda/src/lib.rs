//! PTX rendering and interpretation.

#[cfg(feature = "interpreter")]
pub mod interpreter;
