//! Graph, reference interpreter, search, code generation, plan and CPU runtime of Luminal.
//!
//! Users depend on the crate `luminal`, which shows what they need of this one. Start with [`graph`], the primitives, and
//! [`mod@reference`], which defines what they mean; everything else has to agree with it.
//!
//! * [`tensor`]: the language of models, which records a graph. [`weights`]: their files.
//! * [`plan`]: what the build leaves for run time. [`runtime`]: runs it. [`rt`]: what generated code names.
//! * `compile` (feature `build`, as all that follows): the road from a graph to a plan. It leads through `search`, from
//!   primitives to fused kernels; `kernel`, from kernels to scheduled tile programs; `codegen`, from these to C.
//!
//! `docs/pipeline.md` follows one model through the stages.

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
pub mod lock;
#[cfg(feature = "build")]
pub mod mutant;
#[cfg(feature = "build")]
pub mod phases;
#[cfg(feature = "build")]
pub mod report;
#[cfg(feature = "build")]
pub mod search;
