//! Graph, reference interpreter, search, code generation, plan and CPU runtime of Luminal.

pub mod dtype;
pub mod error;
pub mod graph;
#[cfg(feature = "build")]
pub mod compile;
#[cfg(feature = "build")]
pub mod kernel;
#[cfg(feature = "build")]
pub mod search;
pub mod plan;
pub mod reference;
pub mod rt;
pub mod runtime;
pub mod weights;
