//! Luminal: models compiled by search at `cargo build`.
//!
//! Annotate a function with [`#[model]`](model). The build script runs it once, which records a static graph of
//! primitives; from this graph kernels are searched, generated and embedded in the program. Nothing is left to run time.
//!
//! A model file is compiled twice: into the build script, where it is traced, and into the program.
//!
//! ```ignore
//! // build.rs
//! luminal::models!("src/model.rs": classify);
//!
//! // src/model.rs
//! use luminal::{Axis, D, Linear, Module, Tensor, dim, model};
//!
//! #[dim(max = 64)]
//! pub struct Batch;
//!
//! #[derive(Module)]
//! pub struct Mlp {
//!     hidden: Linear<784, 256>,
//!     out: Linear<256, 10>,
//! }
//!
//! #[model]
//! pub fn classify(x: Tensor<(Batch, D<784>)>, net: &Mlp) -> Tensor<(Batch, D<10>)> {
//!     net.out.forward(net.hidden.forward(x).relu()).softmax(Axis::<1>)
//! }
//!
//! // src/main.rs
//! mod model;
//!
//! fn main() -> luminal::Result<()> {
//!     let weights = luminal::Weights::open("mlp.safetensors")?;
//!     let mut classify = model::classify::load(luminal::Device::best()?, &weights)?;
//!     let images = [[0.0; 784]; 3];
//!     println!("{:?}", classify.run(&images)?.rows());
//!     Ok(())
//! }
//! ```
//!
//! Take names one by one, as above, and not by `use luminal::*`: rustc then prints shapes as you wrote them,
//! `(Batch, D<784>)`.
//!
//! Start with [`Tensor`], which has the operations, [`nn`] for layers, and [`Weights`] and [`Device`] for `load`. The
//! module that `#[model]` makes has `load`, `Session` with `run` and `profile`, `PLAN` and `GRAPH`. [`mod@reference`] computes a
//! graph by definition, to compare with.

include!("exports.rs");
