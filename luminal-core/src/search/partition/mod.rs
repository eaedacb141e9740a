//! Partition: which values one kernel computes.
//!
//! What every kernel computes together is one atom. Candidates are cones of atoms that some [`Form`] accepts; the best
//! set of them is a shortest path over the values still needed, found exactly unless there are too many ways. Costs are
//! lower bounds on a [`Machine`].

mod atoms;
mod cones;
mod form;
mod lazy;
mod machine;
mod phases;
mod plan;
mod problem;
mod replay;
mod set;
mod space;
#[cfg(test)]
mod tests;

pub use form::Form;
pub use lazy::{Clock, Effort, GAP, NoClock};
pub use machine::{Machine, Work};
pub use plan::{Fused, Limits, Partition, When, partition, separate};
pub use replay::{Cut, replay};
