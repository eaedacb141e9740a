//! The search: from a graph of primitives to a set of fused kernels.

pub mod term;
