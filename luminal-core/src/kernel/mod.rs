//! Kernels: level 1 (index notation, [`ir`]), schedules, level 2 (tile programs, [`tile`]), layouts and their expansion.

#[cfg(feature = "build")]
pub mod expand;
#[cfg(feature = "build")]
pub mod expr;
pub mod ir;
#[cfg(feature = "build")]
pub mod layout;
#[cfg(feature = "build")]
pub mod schedule;
#[cfg(feature = "build")]
pub mod tile;
