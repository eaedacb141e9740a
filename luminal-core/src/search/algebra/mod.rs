//! Algebra: equal programs by conditional rules in an e-graph, and the best of them as variants.
//!
//! The e-graph knows terms only: no loops, no layouts, no kernels.

mod analysis;
mod explain;
mod extract;
mod rules;
mod saturate;
#[cfg(test)]
mod tests;

pub use analysis::{Data, Facet, Range};
pub use explain::{Explanation, Step, explain};
pub use extract::{dag_cost, variants};
pub use rules::{Domain, Match, RULES, Rule};
pub use saturate::{Limits, Saturated, saturate};
