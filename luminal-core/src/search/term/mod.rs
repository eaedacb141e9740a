//! Terms in index notation over named axes.
//!
//! Views are gone: they have become index expressions inside the loads. A term says which value each element has, not
//! in which order elements are computed nor where they live.

mod axes;
mod dag;
mod evaluate;
mod index;
mod language;
mod print;

pub use axes::{Axis, AxisSet};
pub use dag::{Access, Context, Dag, Facts, Inside, Root};
pub use egg::Id;
pub use evaluate::{Buffers, Dense, Evaluator, Fixed, Precision, apply, convert, positions};
pub(crate) use evaluate::{apply_long, combine_with, identity, set_position};
pub use index::{Atom, IndexExpr};
pub use language::{AccessId, Constant, F32, I32, IndexId, InsideId, Number, ReducedAxes, Term};
