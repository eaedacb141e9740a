//! The language of models: typed tensors, whose operations record a graph of primitives.
//!
//! Shapes are types. What can be said in types is checked by rustc: equal dimensions, matrix products, broadcasting,
//! axes, element types. What needs arithmetic - the size after a convolution, a concatenation, a reshape - is named by the
//! user in the type of the result and checked while the model is traced.
//!
//! Broadcasting: the result has the shape of the *left* operand; the right one is equal, a suffix of it, a number, or has
//! [`One`] where it stretches. So `x - x.max_keep(axis)` is legal and `x.max_keep(axis) - x` is not.
//!
//! A file holds a family of operations on two floors. Below, `impl Graph` composes them of primitives, for axes that are
//! numbers; it is what importers and conformance tests use. Above, the methods of [`Tensor`] give them types, messages and
//! names. Nothing below the composition knows the name of an operation, except for reports:
//! [`Node::origin`](crate::graph::Node::origin) holds the outermost public operation and the user's line.

mod activation;
mod adaptive_pool;
mod arithmetic;
mod attend;
mod attention;
mod axes;
mod axis;
mod border;
mod compare;
mod contract;
mod conv;
mod conv_transpose;
mod cumulative;
mod dim;
mod division;
mod einsum;
mod element;
mod gather;
mod join;
mod matmul;
mod module;
mod movement;
pub mod nn;
mod norm;
mod pad;
mod pointwise;
mod pool;
mod port;
mod power;
mod record;
mod recurrent;
mod reduce;
mod reshape;
mod resize;
mod rope;
mod rounding;
mod scatter;
mod shape;
mod slice;
mod sort;
mod statistics;
#[cfg(test)]
#[allow(clippy::type_complexity)] // tuples of tensors are what is tested
mod tests;
mod trace;
mod triangle;
mod trigonometry;
mod value;
mod view;
mod window;

pub use arithmetic::Operand;
pub use attend::{Attention, attention};
pub use attention::Scores;
pub use axes::Axes;
pub use axis::{Axis, Permute};
pub use contract::Labelled;
pub use conv::{Channels, Conv, Grouped, PerAxis, Whole, conv};
pub use conv_transpose::{ConvTranspose, conv_transpose};
pub use cumulative::Scan;
pub use dim::{D, Dim, DimInfo, Fits, One, Unit};
pub use einsum::{EinsumOperand, einsum};
pub use element::{Element, Float, Index, Number, SameType};
pub use join::{Parts, concat_all, stack};
pub use matmul::MatMul;
pub use module::{Before, Module, Scope, before, state_scope, weights_scope, write_back};
pub use movement::Swapped;
pub use pad::Padding;
pub use pool::{Pool, pool};
pub use port::{Argument, Input, Output, argument, input, output, part, weights};
pub use reduce::{AxisNumbers, Total, Truth};
pub use resize::{Nearest, Positions, Resize, Weights};
pub use rope::{Rope, RopeScaling, rope};
pub use scatter::Scatter;
pub use shape::{At, Broadcast, EndsWith, Insert, Join, Lead, Shape, Split, With};
pub use sort::Order;
pub use trace::{Mistake, Place, Traced, trace};
pub use value::Tensor;
pub use view::{Feed, Outputs, View, feed};
pub use window::Window;
