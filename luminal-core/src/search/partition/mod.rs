//! Partition: which values one kernel computes, exactly.
//!
//! Candidates are cones that some [`Form`] accepts; the best set of them is a shortest path over the values still
//! needed. Costs are lower bounds on a [`Machine`].

mod cones;
mod form;
mod machine;
mod phases;
mod plan;
mod problem;
mod set;
mod space;
#[cfg(test)]
mod tests;

pub use form::Form;
pub use machine::{Machine, Work};
pub use plan::{Fused, Limits, Partition, When, partition, separate};
