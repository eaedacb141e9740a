//! The search: from a graph of primitives to a set of fused kernels.

pub mod algebra;
pub mod cascade;
pub mod import;
pub mod term;
#[cfg(test)]
mod testing;
