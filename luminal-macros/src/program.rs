//! The half for the program: the compiled model, typed.

use crate::model::{Argument, Model, Role};
use crate::{messages, mistakes};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use std::path::Path;

/// What the build script left for a model.
enum Found {
    /// A plan in `<model>.rs` and the graph in `<model>.graph`.
    Compiled,
    /// The graph, but no plan.
    Traced,
    /// Nothing; the errors say why.
    Nothing,
}

pub fn expand(model: &Model) -> TokenStream {
    let Model { ident, name, visibility, arguments, result, .. } = model;
    let (found, errors) = look(model);
    let plan = match found {
        Found::Compiled => {
            quote!(::core::include!(::core::concat!(::core::env!("OUT_DIR"), "/", #name, ".rs"));)
        }
        Found::Traced | Found::Nothing => quote! {
            /// Nothing: the model was not compiled.
            pub static PLAN: ::luminal::rt::Executable = ::luminal::rt::NO_PLAN;
        },
    };
    let graph = match found {
        Found::Compiled | Found::Traced => {
            quote!(::core::include_str!(::core::concat!(::core::env!("OUT_DIR"), "/", #name, ".graph")))
        }
        Found::Nothing => quote!(""),
    };
    let not_compiled = messages::not_compiled(name);
    let load = match found {
        Found::Compiled => quote! {
            ::luminal::Result::Ok(Session(::luminal::rt::Session::new(&PLAN, device, weights)?))
        },
        Found::Traced | Found::Nothing => quote! {
            let _ = (device, weights);
            ::luminal::Result::Err(::luminal::Error::new(#not_compiled))
        },
    };
    let inputs: Vec<&Argument> = arguments.iter().filter(|argument| argument.role == Role::Input).collect();
    let idents: Vec<_> = inputs.iter().map(|input| &input.ident).collect();
    let names: Vec<_> = inputs.iter().map(|input| &input.name).collect();
    let types: Vec<_> = inputs.iter().map(|input| &input.ty).collect();
    let feed_lifetime = (!inputs.is_empty()).then(|| quote!(<'i>));
    let doc = format!("The compiled model `{name}`.");
    let run_doc = format!(
        "Runs `{name}` once. Inputs are read where they are; the result is valid until the next run."
    );
    let profile_doc =
        format!("Runs `{name}` that many times, at least once, and reports the median time of each launch.");
    quote! {
        #errors
        #[doc = #doc]
        #[allow(dead_code)]
        #visibility mod #ident {
            // Editors expand build scripts with the program's environment: the name must exist here too.
            #[doc(hidden)]
            pub const MODEL: ::luminal::Model =
                ::luminal::Model { name: #name, file: ::core::file!(), line: ::core::line!(), trace: || () };
            #plan
            /// The model as primitives, in the text form of graphs.
            pub const GRAPH: &str = #graph;
            /// The model with its weights and state, ready to run.
            pub struct Session(pub(super) ::luminal::rt::Session);
            impl Session {
                /// Buffers, kernels and launches.
                pub fn plan() -> &'static ::luminal::rt::Plan {
                    &PLAN
                }
                /// Sets all state, `&mut T`, to zero, as it is after loading.
                pub fn reset_state(&mut self) {
                    self.0.reset_state();
                }
                /// All state as the content of a safetensors file, named as the model declares it.
                pub fn save_state(&self) -> ::std::vec::Vec<u8> {
                    self.0.save_state()
                }
                /// Sets all state to what `save_state` gave. If anything does not fit, one error lists everything, and
                /// no state is changed.
                pub fn restore_state(&mut self, saved: &::luminal::Weights) -> ::luminal::Result<()> {
                    self.0.restore_state(saved)
                }
            }
            /// Loads the weights onto the device. After this nothing is allocated.
            pub fn load(device: ::luminal::Device, weights: &::luminal::Weights) -> ::luminal::Result<Session> {
                #load
            }
        }
        // Outside of the module, where the user's types have their names.
        #[allow(dead_code, clippy::all)]
        const _: () = {
            impl #ident::Session {
                #[doc = #run_doc]
                pub fn run #feed_lifetime (
                    &mut self,
                    #(#idents: impl ::luminal::Feed<'i, #types>),*
                ) -> ::luminal::Result<::luminal::Out<'_, #result>> {
                    #(let #idents = ::luminal::rt::feed::<#types>(#names, #idents)?;)*
                    self.0.run(&[#(#idents.as_input()),*])?;
                    ::luminal::Result::Ok(
                        <#result as ::luminal::Output>::view(&mut ::luminal::rt::Outputs::new(&self.0)),
                    )
                }
                #[doc = #profile_doc]
                pub fn profile #feed_lifetime (
                    &mut self,
                    __repeats: usize,
                    #(#idents: impl ::luminal::Feed<'i, #types>),*
                ) -> ::luminal::Result<::std::vec::Vec<::luminal::KernelTime>> {
                    #(let #idents = ::luminal::rt::feed::<#types>(#names, #idents)?;)*
                    self.0.profile(&[#(#idents.as_input()),*], __repeats)
                }
            }
        };
    }
}

/// Reads what the build script wrote, and turns what is wrong into errors.
fn look(model: &Model) -> (Found, TokenStream) {
    let Model { ident, name, function, .. } = model;
    let at = ident.span();
    let Ok(folder) = std::env::var("OUT_DIR") else {
        let message = messages::no_build_script(name);
        return (Found::Nothing, quote_spanned!(at=> ::core::compile_error!(#message);));
    };
    let folder = Path::new(&folder);
    let read = |extension: &str| std::fs::read_to_string(folder.join(format!("{name}.{extension}"))).ok();
    let Some(mistakes) = read("errors") else {
        let listed = std::fs::read_to_string(folder.join("luminal.models")).unwrap_or_default();
        let listed: Vec<_> = listed.lines().map(String::from).collect();
        let message = messages::not_listed(name, &listed);
        return (Found::Nothing, quote_spanned!(at=> ::core::compile_error!(#message);));
    };
    if !mistakes.is_empty() {
        return (Found::Nothing, mistakes::errors(&mistakes, &quote!(#function), ident));
    }
    let compiled = read("rs").is_some_and(|plan| !plan.trim().is_empty());
    (if compiled { Found::Compiled } else { Found::Traced }, TokenStream::new())
}
