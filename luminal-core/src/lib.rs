//! Graph, reference interpreter, search, code generation, plan and CPU runtime of Luminal.

#[cfg(feature = "build")]
pub mod codegen;
pub mod dtype;
pub mod error;
pub mod graph;
#[cfg(feature = "build")]
pub mod kernel;
pub mod plan;
