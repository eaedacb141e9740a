//! Partition: which values one kernel computes, exactly.
//!
//! Candidates are cones that some [`Form`] accepts; the best set of them is a shortest path over the values still
//! needed. Costs are lower bounds on a [`Machine`].

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
