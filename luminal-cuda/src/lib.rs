//! PTX rendering and interpretation.

#[cfg(feature = "interpreter")]
pub mod interpreter;
#[cfg(feature = "build")]
pub mod ptx;
#[cfg(feature = "build")]
pub mod schedule;
