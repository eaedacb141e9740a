//! `#[model]`: one function, two expansions.

use crate::{attribute, messages, program, tracing};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Error, FnArg, ItemFn, Pat, PatType, Result, ReturnType, Type, Visibility, parse_quote, parse2};

/// What an argument is, by its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// By value.
    Input,
    /// `&T`
    Weights,
    /// `&mut T`
    State,
}

pub struct Argument {
    pub ident: Ident,
    /// Without `r#`.
    pub name: String,
    pub role: Role,
    /// Without the reference.
    pub ty: Type,
}

/// A model function, taken apart.
pub struct Model {
    /// Name of the function and of the module beside it.
    pub ident: Ident,
    /// Name in the build.
    pub name: String,
    pub visibility: Visibility,
    pub arguments: Vec<Argument>,
    pub result: Type,
    pub function: ItemFn,
}

pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = match parse2::<ItemFn>(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let is_item = parse2::<syn::Item>(item.clone()).is_ok();
            let error = if is_item { Error::new_spanned(&item, messages::MODEL_IS_FUNCTION) } else { error };
            let error = error.into_compile_error();
            return quote!(#item #error);
        }
    };
    match Model::new(attribute, function.clone()) {
        Ok(model) => {
            let half = if in_build_script() { tracing::expand(&model) } else { program::expand(&model) };
            // The function is kept in both halves and alive, so that nothing it calls is reported as unused.
            quote! {
                #[allow(dead_code, clippy::type_complexity, clippy::trivially_copy_pass_by_ref)]
                #function
                #half
            }
        }
        Err(error) => broken(&function, error),
    }
}

/// The function, and the constant that the build script names: so that only the error is reported.
fn broken(function: &ItemFn, error: Error) -> TokenStream {
    let error = error.into_compile_error();
    let (ident, visibility) = (&function.sig.ident, &function.vis);
    let name = ident.to_string();
    // In an implementation there can be no module.
    let module = function.sig.receiver().is_none().then(|| {
        quote! {
            #[doc(hidden)]
            #[allow(dead_code)]
            #visibility mod #ident {
                pub const MODEL: ::luminal::Model =
                    ::luminal::Model { name: #name, file: ::core::file!(), line: ::core::line!(), trace: || () };
            }
        }
    });
    quote!(#[allow(dead_code)] #function #module #error)
}

/// Cargo names the crate of a build script after its file: `build_script_build` for `build.rs`.
fn in_build_script() -> bool {
    match std::env::var("LUMINAL_EXPAND").as_deref() {
        // For tests of messages, which have no build script.
        Ok(half) => half == "trace",
        Err(_) => std::env::var("CARGO_CRATE_NAME").is_ok_and(|name| name.starts_with("build_script_")),
    }
}

impl Model {
    fn new(attribute: TokenStream, function: ItemFn) -> Result<Model> {
        let signature = &function.sig;
        let ident = signature.ident.clone();
        let name = attribute::model_name(attribute, &ident)?;
        if !signature.generics.params.is_empty() {
            return Err(Error::new_spanned(
                &signature.generics,
                messages::model_is_generic(&ident.to_string()),
            ));
        }
        let qualifiers = [
            signature.constness.map(|token| token.span()),
            signature.asyncness.map(|token| token.span()),
            signature.unsafety.map(|token| token.span()),
            signature.abi.as_ref().map(|abi| abi.span()),
            signature.variadic.as_ref().map(|variadic| variadic.span()),
        ];
        if let Some(span) = qualifiers.into_iter().flatten().next() {
            return Err(Error::new(span, messages::MODEL_IS_PLAIN));
        }
        let arguments = signature.inputs.iter().map(Argument::new).collect::<Result<_>>()?;
        let result = match &signature.output {
            ReturnType::Type(_, ty) => (**ty).clone(),
            ReturnType::Default => parse_quote!(()),
        };
        Ok(Model { ident, name, visibility: function.vis.clone(), arguments, result, function })
    }
}

impl Argument {
    fn new(argument: &FnArg) -> Result<Argument> {
        let FnArg::Typed(PatType { pat, ty, .. }) = argument else {
            return Err(Error::new_spanned(argument, messages::MODEL_HAS_NO_SELF));
        };
        let Pat::Ident(pattern) = &**pat else {
            return Err(Error::new_spanned(pat.to_token_stream(), messages::ARGUMENT_NEEDS_NAME));
        };
        let (role, ty) = match &**ty {
            Type::Reference(reference) if reference.mutability.is_some() => (Role::State, &*reference.elem),
            Type::Reference(reference) => (Role::Weights, &*reference.elem),
            ty => (Role::Input, ty),
        };
        let name = pattern.ident.to_string().trim_start_matches("r#").to_string();
        Ok(Argument { ident: pattern.ident.clone(), name, role, ty: ty.clone() })
    }
}
