//! Graph, reference interpreter, search, code generation, plan and CPU runtime of Luminal.

pub mod dtype;
pub mod error;
pub mod graph;
pub mod plan;
pub mod reference;
pub mod rt;
pub mod runtime;
pub mod tensor;
pub mod weights;

// The build script's half.
#[cfg(feature = "build")]
pub mod codegen;
#[cfg(feature = "build")]
pub mod compile;
#[cfg(feature = "build")]
pub mod kernel;
#[cfg(feature = "build")]
pub mod search;
