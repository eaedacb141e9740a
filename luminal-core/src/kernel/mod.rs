//! Kernels: level 1 (index notation, [`ir`]), schedules, level 2 (tile programs, [`tile`]), layouts and their expansion.

pub mod cost;
pub mod expand;
pub mod expr;
pub mod inputs;
pub mod interpret;
pub mod ir;
pub mod layout;
pub mod lower;
pub mod math;
pub mod meaning;
pub mod sample;
pub mod schedule;
pub mod testing;
pub mod text;
pub mod tile;
mod values;
