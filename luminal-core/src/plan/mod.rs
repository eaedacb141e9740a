//! What the build leaves for run time: buffers at fixed places, launches in order. Plain data without behaviour.
//!
//! The build script makes a plan and writes it as Rust source; in the program it is a `static`, checked by rustc and
//! read without parsing. Hence [`Cow`]: owned while it is built, borrowed for ever after.

#[cfg(feature = "build")]
pub mod emit;
mod executable;
#[cfg(feature = "build")]
pub mod memory;
mod text;
mod verify;

pub use executable::Executable;

use crate::dtype::Dtype;
use std::borrow::Cow;

/// Text of a plan.
pub type Text = Cow<'static, str>;
/// List of a plan.
pub type List<T> = Cow<'static, [T]>;

/// One size of a port, as in [`crate::graph::Dim`].
pub use crate::graph::Dim;
/// Rules between free sizes, as in [`crate::graph`].
pub use crate::graph::{Origin, Relation, Rule, Term};

/// A free dimension of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Free {
    /// The name of the user's type.
    pub name: Text,
    /// Greatest size.
    pub max: usize,
}

/// A named tensor at the border of the model: input, output or state.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name of the argument, field or output.
    pub name: Text,
    /// Element type.
    pub dtype: Dtype,
    /// Sizes.
    pub shape: List<Dim>,
    /// Position in [`Plan::buffers`].
    pub buffer: usize,
}

/// One digit of a dimension in memory: see `kernel::ir::Digit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Digit {
    /// Positions; `usize::MAX` for the most significant digit.
    pub size: usize,
    /// Distance in elements.
    pub stride: usize,
}

/// A copy of a weight in the order that some kernels want. Made once, at load.
#[derive(Clone, Debug, PartialEq)]
pub struct Packing {
    /// Position in [`Plan::buffers`].
    pub buffer: usize,
    /// For each dimension its digits, least significant first.
    pub storage: List<List<Digit>>,
}

/// A weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Name in the weight file.
    pub name: Text,
    /// Names of fields that are tied to it: the file may have it under one of them, or copies.
    pub aliases: List<Text>,
    /// Element type.
    pub dtype: Dtype,
    /// Sizes.
    pub shape: List<usize>,
    /// The orders in which it is kept.
    pub packings: List<Packing>,
}

/// Which memory a buffer lies in, and the offset there, in bytes (a multiple of 64).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Memory of the caller, or its copy: input number.
    Input(usize),
    /// Memory that results are returned from: output number.
    Output(usize),
    /// Packed weights and what is computed from weights alone: written at load, then only read.
    Weights(usize),
    /// State kept between runs.
    State(usize),
    /// Intermediates; offsets are reused by values that are not alive together.
    Arena(usize),
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Where.
    pub place: Place,
    /// Size in bytes.
    pub bytes: usize,
}

/// A compiled kernel: `(buffers, free sizes, begin, end)` runs the blocks `begin..end` of its grid.
///
/// # Safety
/// `buffers` has one valid pointer for each argument of the kernel, `sizes` one entry for each free dimension of the
/// plan, each within its bound and all as [`Plan::relations`] demand, and `0 <= begin <= end <= grid`.
pub type KernelFn = unsafe extern "C" fn(buffers: *const *mut u8, sizes: *const i64, begin: i64, end: i64);

/// Instruction set of one compiled version of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// What every machine of the target architecture has.
    Baseline,
    /// x86-64 with AVX2, FMA and F16C (`x86-64-v3`).
    X86V3,
}

/// One block loop of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridAxis {
    /// Extent of the axis.
    pub size: Dim,
    /// Positions in one block; the grid has `ceil(size / block)` blocks along the axis.
    pub block: usize,
}

/// What a kernel does with one of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only reads it.
    Read,
    /// Writes every element that is read later, and reads none that it did not write.
    Write,
    /// Uses it as private memory: nothing is read before it is written, and nothing is left for later.
    Scratch,
}

/// A kernel and what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Symbol, unique in the model.
    pub name: Text,
    /// Its form, such as `contraction`.
    pub form: Text,
    /// What it computes, such as `[32, 8, 8] <- sum over 9`.
    pub shape: Text,
    /// The user's operations that it holds, in order.
    pub fused: List<Text>,
    /// What it does with each argument.
    pub args: List<Access>,
    /// Versions, best first. Each must be a kernel of exactly this plan: the runtime calls it.
    pub entries: List<(Isa, KernelFn)>,
    /// Outermost first; blocks are numbered row-major.
    pub grid: List<GridAxis>,
    /// Floating-point operations of one launch, free sizes at their bound.
    pub flops: f64,
    /// Bytes that one launch must read and write, free sizes at their bound.
    pub bytes: f64,
    /// The PTX entry of the same name: threads in a block, and the grid of its own schedule.
    pub cuda: Option<CudaLaunch>,
}

/// How the PTX version of a kernel is launched.
#[derive(Clone, Debug, PartialEq)]
pub struct CudaLaunch {
    /// Threads of a block.
    pub threads: usize,
    /// As [`Kernel::grid`].
    pub grid: List<GridAxis>,
}

/// One call of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Position in [`Plan::kernels`].
    pub kernel: usize,
    /// Positions in [`Plan::buffers`], in the order of the kernel's arguments.
    pub args: List<usize>,
}

/// A generated text that is kept beside the code compiled from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// File name.
    pub name: Text,
    /// Content.
    pub text: Text,
}

/// Everything that the runtime needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name of the model.
    pub model: Text,
    /// Sizes known at run time only.
    pub free: List<Free>,
    /// What every run checks between them, and how sizes that are in no input follow from others.
    pub relations: List<Relation>,
    /// What `run` takes, in order.
    pub inputs: List<Port>,
    /// What `run` returns, in order.
    pub outputs: List<Port>,
    /// What stays between runs.
    pub states: List<Port>,
    /// What `load` takes from the weight file.
    pub params: List<Param>,
    /// All memory.
    pub buffers: List<Buffer>,
    /// All kernels.
    pub kernels: List<Kernel>,
    /// Run once, at load: what depends on weights alone.
    pub load: List<Launch>,
    /// Run each time.
    pub run: List<Launch>,
    /// `(from, to)`: buffers copied into states at the end of a run.
    pub writes: List<(usize, usize)>,
    /// Bytes behind [`Place::Arena`].
    pub arena: usize,
    /// Bytes behind [`Place::Weights`].
    pub weights: usize,
    /// Bytes behind [`Place::State`].
    pub state: usize,
    /// The PTX module with every kernel, for GPUs; empty if there is none.
    pub ptx: Text,
    /// The C texts of the kernels, for those who want to read them.
    pub sources: List<Source>,
}
