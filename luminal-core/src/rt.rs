//! What generated code names. Not for use by hand: it changes with the code generator.

pub use crate::dtype::Dtype;
pub use crate::embed_plan;
pub use crate::plan::*;
pub use crate::runtime::{Device, InputRef, OutputRef, Session};
pub use crate::weights::Weights;
pub use std::borrow::Cow;

/// Declares the compiled kernels and the plan that names them, as the item `pub static PLAN`.
///
/// It is a macro of this crate, and not text in the generated file, because the declaration of foreign functions is
/// `unsafe`: lints such as `unsafe_code` and `missing_docs` leave the expansion of another crate's macro alone, so a
/// crate with `#![forbid(unsafe_code)]` can hold a model. What makes the declaration right is the generator, which
/// writes both the kernels and their signature.
///
/// ```no_run
/// #![forbid(unsafe_code, missing_docs, unreachable_pub)]
/// #![deny(warnings)]
/// //! A crate with strict lints.
/// extern crate luminal_core as luminal;
/// mod model {
///     // Names of the user's do not get in the way.
///     pub(crate) struct Plan;
///     pub(crate) struct Kernel(pub(crate) Plan);
///     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plan/model.rs"));
/// }
/// let _ = model::Kernel(model::Plan);
/// println!("{}", model::PLAN);
/// ```
#[macro_export]
macro_rules! embed_plan {
    (kernels: [$($kernel:ident),* $(,)?], kept: [$($text:expr),* $(,)?], plan: $plan:expr $(,)?) => {
        #[doc = "The compiled model: buffers, kernels and launches."]
        pub static PLAN: $crate::rt::Executable = {
            // Under these names the generated expression finds its types, whatever the user's crate calls its own.
            use $crate::rt::*;
            unsafe extern "C" {
                $(
                    fn $kernel(buffers: *const *mut u8, sizes: *const i64, begin: i64, end: i64);
                )*
            }
            // Kept in the binary even where the optimiser sees that nobody reads them.
            #[used]
            static KEPT: &[&str] = &[$($text),*];
            let plan: Plan = $plan;
            // SAFETY: the generator wrote the plan and the kernels that it names, one for the other.
            unsafe { Executable::new(plan) }
        };
    };
}
