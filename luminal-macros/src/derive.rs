//! `#[dim]`, `#[derive(Module)]` and `#[derive(Output)]`.

use crate::attribute::{self, Param};
use crate::messages;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, ItemStruct, Member, Result, parse2};

pub fn dim(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let item: ItemStruct =
        parse2(item.clone()).map_err(|_| Error::new_spanned(item, messages::DIM_IS_UNIT_STRUCT))?;
    let name = &item.ident;
    if !matches!(item.fields, Fields::Unit) || !item.generics.params.is_empty() {
        return Err(Error::new(name.span(), messages::DIM_IS_UNIT_STRUCT));
    }
    let max = attribute::max(attribute, name);
    // Without a bound the struct is still a dimension, so that only the missing bound is reported.
    let (max, error) = match max {
        Ok(max) => (max.into_token_stream(), None),
        Err(error) => (quote!(1), Some(error.into_compile_error())),
    };
    let text = name.to_string();
    Ok(quote! {
        #error
        #[derive(Clone, Copy, Debug)]
        #item
        #[diagnostic::do_not_recommend]
        impl ::luminal::Dim for #name {
            const INFO: ::luminal::DimInfo =
                ::luminal::DimInfo::Free { name: #text, module: ::core::module_path!(), max: #max };
        }
        #[diagnostic::do_not_recommend]
        impl ::luminal::Fits<#name> for #name {}
        #[diagnostic::do_not_recommend]
        impl ::luminal::Fits<::luminal::One> for #name {}
    })
}

pub fn module(item: TokenStream) -> Result<TokenStream> {
    let item: DeriveInput = parse2(item)?;
    let Data::Struct(data) = &item.data else {
        return Err(Error::new(item.ident.span(), messages::MODULE_IS_STRUCT));
    };
    let (mut build, mut visit) = (vec![], vec![]);
    for (field, member) in data.fields.iter().zip(data.fields.members()) {
        let (ty, source_name) = (&field.ty, member_name(&member));
        let Param { name, tied, value, present } = attribute::param(field)?;
        if let Some(value) = value {
            build.push(quote!(#member: #value));
            continue;
        }
        let scope = match (tied, name) {
            (Some(tied), _) => quote!(scope.tied(#source_name, #tied)),
            (None, Some(name)) => quote!(scope.field(#source_name, #name)),
            (None, None) => quote!(scope.field(#source_name, #source_name)),
        };
        build.push(match present {
            Some(condition) => quote! {
                #member: if #condition {
                    ::core::option::Option::Some(::luminal::Module::build(&#scope))
                } else {
                    ::core::option::Option::None
                }
            },
            None => quote_spanned!(ty.span()=> #member: <#ty as ::luminal::Module>::build(&#scope)),
        });
        visit.push(quote_spanned!(ty.span()=> <#ty as ::luminal::Module>::visit(&self.#member, f);));
    }
    let name = &item.ident;
    let (impl_generics, type_generics, conditions) = item.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::luminal::Module for #name #type_generics #conditions {
            fn build(scope: &::luminal::Scope) -> Self {
                let _ = scope;
                #name { #(#build),* }
            }
            fn visit(&self, f: &mut dyn ::core::ops::FnMut(usize)) {
                let _ = &f;
                #(#visit)*
            }
        }
    })
}

fn member_name(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string().trim_start_matches("r#").to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

pub fn output(item: TokenStream) -> Result<TokenStream> {
    let item: DeriveInput = parse2(item)?;
    let (name, visibility) = (&item.ident, &item.vis);
    let Data::Struct(data) = &item.data else {
        return Err(Error::new(name.span(), messages::OUTPUT_IS_STRUCT));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(name.span(), messages::OUTPUT_HAS_NAMES));
    };
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(&item.generics, messages::OUTPUT_IS_CONCRETE));
    }
    let views = format_ident!("{name}View");
    let members: Vec<_> = fields.named.iter().filter_map(|field| field.ident.clone()).collect();
    let names = members.iter().map(|member| member.to_string().trim_start_matches("r#").to_string());
    let types: Vec<_> = fields.named.iter().map(|field| &field.ty).collect();
    let visibilities = fields.named.iter().map(|field| &field.vis);
    let docs = members.iter().map(|member| format!("The result `{member}`."));
    let doc = format!("What `run` returns for a model that returns [`{name}`].");
    let no_fields = members.is_empty().then(|| quote!(_none: ::core::marker::PhantomData<&'a ()>,));
    let no_value = members.is_empty().then(|| quote!(_none: ::core::marker::PhantomData,));
    Ok(quote! {
        #[doc = #doc]
        #[derive(Debug)]
        #[allow(dead_code)]
        #visibility struct #views<'a> {
            #( #[doc = #docs] #visibilities #members: <#types as ::luminal::Output>::View<'a>, )*
            #no_fields
        }
        #[automatically_derived]
        impl ::luminal::Output for #name {
            type View<'a> = #views<'a>;
            fn output(&self, name: &str) {
                let _ = name;
                #( ::luminal::Output::output(&self.#members, &::luminal::rt::part(name, #names)); )*
            }
            fn view<'a>(outputs: &mut ::luminal::rt::Outputs<'a>) -> #views<'a> {
                let _ = &outputs;
                #views {
                    #( #members: <#types as ::luminal::Output>::view(outputs), )*
                    #no_value
                }
            }
        }
    })
}
