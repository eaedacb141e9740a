//! Graph, reference interpreter, search, code generation, plan and CPU runtime of Luminal.

pub mod dtype;
pub mod error;
pub mod graph;
pub mod kernel;
pub mod plan;
#[cfg(feature = "build")]
pub mod search;
