//! Dependent reductions over one set of axes as one fold over a tuple monoid `{init, lift, combine, finish}`.
//!
//! Lanes, unrolling, threads, tiles and split reductions are all the same law: a fold may be cut anywhere and its parts
//! merged in any order. No operator is known by name. Four laws, tried in this order for each reduction with body
//! `B(x, d)`, where `d` are earlier reductions of the fold:
//! - *defer*: factors without a streamed axis leave the sum and are applied by `finish` (scales, `1 / l` of softmax);
//! - *exp*: `B = G(x) * exp2(g(x) + h(d))`; accumulators are repaired by `exp2(h(d') - h(d))`;
//! - *attain*: `B` is the identity but where `y` is `max(y)`; accumulators start again when the maximum changes (argmax);
//! - *moment*: `B = (a(x) + h(d))^2`; the state is (count, mean, squared deviations) of `a`, merged by Chan's formula.

mod derive;
mod execute;
#[cfg(test)]
mod tests;

pub use derive::{Component, Fold, Law, Product, Refused, derive};
pub use execute::FoldRun;
