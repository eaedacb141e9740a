//! Executor, plan checks and plan as Rust source, with a model small enough to write by hand: `mix`.
//!
//! `mix` has what makes executors go wrong: a free size, outermost in one input and innermost in another and in an
//! output, a packed weight, a value computed at load, two states of which one takes the other's old value, an output
//! that is a state and one that is an input, a reused arena, a kernel in two versions.

// Generated code says `::luminal::rt`.
extern crate luminal_core as luminal;

mod allocation;
mod binding;
#[cfg(feature = "build")]
mod emit;
mod kernels;
mod mix;
mod plan;
mod run;
mod state;
mod text;
mod verify;

/// What the generator writes for `plan::plan()`.
mod model {
    include!("../data/plan/model.rs");
}
