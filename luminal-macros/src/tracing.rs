//! The half for the build script: a function that declares the arguments and runs the model once.

use crate::model::{Argument, Model, Role};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

pub fn expand(model: &Model) -> TokenStream {
    let Model { ident, name, visibility, arguments, result, .. } = model;
    let trace = format_ident!("__trace_{ident}", span = Span::call_site());
    let (mut declare, mut pass, mut finish) = (vec![], vec![], vec![]);
    for (number, Argument { ident, name, role, ty }) in arguments.iter().enumerate() {
        let value = format_ident!("__argument_{number}");
        let before = format_ident!("__before_{number}");
        // A type that cannot be an argument is reported at the type; what tracing finds, at the argument's name.
        let (at_type, at_name) = (ty.span(), ident.span());
        match role {
            Role::Input => {
                let argument = quote_spanned!(at_name=> ::luminal::rt::argument(#name));
                declare.push(
                    quote_spanned!(at_type=> let #value = <#ty as ::luminal::Input>::input(#argument);),
                );
                pass.push(quote!(#value));
            }
            Role::Weights => {
                let scope = quote_spanned!(at_name=> ::luminal::rt::weights_scope(#name));
                declare
                    .push(quote_spanned!(at_type=> let #value = <#ty as ::luminal::Module>::build(&#scope);));
                pass.push(quote!(&#value));
            }
            Role::State => {
                let scope = quote_spanned!(at_name=> ::luminal::rt::state_scope(#name));
                declare.push(
                    quote_spanned!(at_type=> let mut #value = <#ty as ::luminal::Module>::build(&#scope);),
                );
                declare.push(quote!(let #before = ::luminal::rt::before(&#value);));
                pass.push(quote!(&mut #value));
                finish.push(quote_spanned!(at_name=> ::luminal::rt::write_back(#name, &#value, #before);));
            }
        }
    }
    let output = quote_spanned!(result.span()=> <#result as ::luminal::Output>::output(&__result, ""));
    quote! {
        #[doc(hidden)]
        #[allow(dead_code, clippy::all)]
        fn #trace() {
            #(#declare)*
            let __result = #ident(#(#pass),*);
            #output;
            #(#finish)*
        }
        /// The model, for the build script.
        #[allow(dead_code)]
        #visibility mod #ident {
            /// What the build script compiles.
            pub const MODEL: ::luminal::Model =
                ::luminal::Model { name: #name, file: ::core::file!(), line: ::core::line!(), trace: super::#trace };
        }
    }
}
