//! Graph, reference interpreter, search, code generation, plan and CPU runtime of Luminal.

pub mod dtype;
pub mod error;
pub mod graph;
pub mod kernel;
pub mod plan;
pub mod reference;
pub mod rt;
pub mod runtime;
pub mod tensor;
pub mod weights;
