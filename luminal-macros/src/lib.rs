//! `#[model]`, `#[dim]`, `#[derive(Module)]`, `#[derive(Output)]`.
//!
//! The macros are thin: types, rules and tracing are in `luminal-core`. They name everything through `::luminal`, the
//! crate that users depend on. A model function is expanded twice: in the build script to what traces it (`tracing`), in
//! the program to what loads and runs it (`program`). Start with `model`, which tells the two apart.

use proc_macro::TokenStream;

mod attribute;
mod derive;
mod messages;
mod mistakes;
mod model;
mod program;
mod tracing;

/// Makes a function a model: traced in the build script, run in the program.
///
/// Arguments by value are inputs, `&T` is weights, `&mut T` is state that stays between runs, and the return value is
/// the output. The function `classify` gets a module `classify` beside it, with `load` and `Session` for the program and
/// `MODEL` for the build script. `#[model(name = "..")]` gives it another name in the build, for when two models of one
/// build script have the same.
#[proc_macro_attribute]
pub fn model(attribute: TokenStream, item: TokenStream) -> TokenStream {
    model::expand(attribute.into(), item.into()).into()
}

/// Makes a unit struct a dimension whose size is known at run time only: `#[dim(max = 64)] pub struct Batch;`.
#[proc_macro_attribute]
pub fn dim(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let dim = derive::dim(attribute.into(), item.into());
    dim.unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct of tensors and modules usable as weights (`&T`) or state (`&mut T`) of a model. Field paths are the
/// names in the weight file.
///
/// On a field: `#[param(name = "..")]` renames it, `#[param(tied = "..")]` makes it the same tensor as the one with this
/// whole name, `#[param(value = ..)]` makes it an ordinary value and no weight, `#[param(present = ..)]` decides whether
/// an `Option` is there.
#[proc_macro_derive(Module, attributes(param))]
pub fn module(item: TokenStream) -> TokenStream {
    derive::module(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct of outputs usable as the return value of a model. For `struct Step` it makes `StepView<'_>`, with
/// views in place of tensors: what `run` returns.
#[proc_macro_derive(Output)]
pub fn output(item: TokenStream) -> TokenStream {
    derive::output(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
