// The names that users and the macros find in this crate. A file of its own because the build script of this package
// needs the same ones: there, code that the macros generate for the package's own models says `::luminal::` as well.

pub use luminal_core::dtype::{Dtype, bf16, f16};
pub use luminal_core::error::{Error, Result};
pub use luminal_core::graph;
pub use luminal_core::include_weights;
pub use luminal_core::runtime::{Device, KernelTime};
pub use luminal_core::tensor::nn;
pub use luminal_core::tensor::nn::{Conv2d, Linear, WeightFormat};
pub use luminal_core::tensor::{
    At, Attention, Axes, Axis, Broadcast, Channels, Conv, ConvTranspose, D, Dim, DimInfo, EinsumOperand,
    Element, EndsWith, Feed, Fits, Float, Grouped, Index, Input, Insert, Join, Lead, MatMul, Module, Number,
    One, Operand, Order, Output, Parts, PerAxis, Permute, Pool, Resize, Rope, RopeScaling, SameType, Scope,
    Shape, Split, Swapped, Tensor, Total, Truth, Unit, View, Whole, With, attention, concat_all, conv,
    conv_transpose, pool, rope, stack,
};
pub use luminal_core::weights::{
    BLOCK_FORMATS, BlockFormat, MetadataArray, MetadataValue, Plane, StoredDtype, StoredTensor, Weights,
};
pub use luminal_core::{axes, einsum};
pub use luminal_macros::{Module, Output, dim, model};

/// What `run` returns for a model that returns `T`: a view where the model has a tensor.
pub type Out<'a, T> = <T as Output>::View<'a>;

/// A model as the build script sees it: the constant `MODEL` beside each `#[model]` function.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its name in the build.
    pub name: &'static str,
    /// The file of the function.
    pub file: &'static str,
    /// The line of the function.
    pub line: u32,
    /// Runs the function once and so records its graph.
    pub trace: fn(),
}

/// The reference interpreter: computes the graph of a model, [`Graph::parse`](graph::Graph::parse) of its `GRAPH`, slowly
/// and by definition.
///
/// Its tensors have another name here than in `luminal-core`: where two types are called `Tensor`, rustc prints
/// `luminal::Tensor<..>` in every message about a model.
pub mod reference {
    pub use luminal_core::reference::Tensor as DenseTensor;
    pub use luminal_core::reference::{
        Data, Evaluation, Feeds, Tolerance, compare, random_feeds, random_negative_feeds, run,
    };
}

/// What generated code names. Not for use by hand: it changes with the code generators.
pub mod rt {
    pub use luminal_core::rt::*;
    pub use luminal_core::tensor::{
        Outputs, argument, before, feed, part, state_scope, weights_scope, write_back,
    };

    const NOTHING: Text = Cow::Borrowed("");

    /// The plan of a model that was not compiled. It is never run: the build reported an error, and `load` does too.
    pub const NO_PLAN: Executable = {
        let plan = Plan {
            model: NOTHING,
            free: Cow::Borrowed(&[]),
            relations: Cow::Borrowed(&[]),
            inputs: Cow::Borrowed(&[]),
            outputs: Cow::Borrowed(&[]),
            states: Cow::Borrowed(&[]),
            params: Cow::Borrowed(&[]),
            buffers: Cow::Borrowed(&[]),
            kernels: Cow::Borrowed(&[]),
            load: Cow::Borrowed(&[]),
            run: Cow::Borrowed(&[]),
            writes: Cow::Borrowed(&[]),
            arena: 0,
            weights: 0,
            state: 0,
            ptx: NOTHING,
            sources: Cow::Borrowed(&[]),
        };
        // SAFETY: it has no kernels.
        unsafe { Executable::new(plan) }
    };
}

/// The whole build script: traces and compiles models of a file.
///
/// ```ignore
/// // build.rs
/// luminal::models!("src/model.rs": classify, nets::encoder);
/// ```
#[cfg(feature = "build")]
#[macro_export]
macro_rules! models {
    ($file:literal: $($($model:ident)::+),+ $(,)?) => {
        #[path = $file]
        #[allow(dead_code, reason = "the program uses the rest")]
        mod model;

        fn main() {
            $crate::build::Compiler::new()$(.model(model::$($model)::+::MODEL))+.run()
        }
    };
}

/// The whole build script. It needs the feature `build`, which is off here.
#[cfg(not(feature = "build"))]
#[macro_export]
macro_rules! models {
    ($($tokens:tt)*) => {
        ::core::compile_error!(
            "`luminal::models!` belongs into build.rs and needs in Cargo.toml:\n\n    [build-dependencies]\n    luminal = \
             { version = \"0.1\", features = [\"build\"] }"
        );
        fn main() {}
    };
}

#[cfg(feature = "build")]
pub mod build;
