//! Arguments of attributes.

use crate::messages;
use proc_macro2::TokenStream;
use syn::{Error, Expr, Field, LitStr, MetaNameValue, Result, parse2};

/// The bound of `#[dim(max = 64)]`.
pub fn max(attribute: TokenStream, at: &syn::Ident) -> Result<Expr> {
    let error = || Error::new(at.span(), messages::DIM_NEEDS_MAX);
    let pair: MetaNameValue = parse2(attribute).map_err(|_| error())?;
    if pair.path.is_ident("max") { Ok(pair.value) } else { Err(error()) }
}

/// The name in `#[model(name = "..")]`, or that of the function.
pub fn model_name(attribute: TokenStream, function: &syn::Ident) -> Result<String> {
    let own = function.to_string().trim_start_matches("r#").to_string();
    if attribute.is_empty() {
        return Ok(own);
    }
    let error = |tokens: &dyn quote::ToTokens| Error::new_spanned(tokens, messages::MODEL_KEYS);
    let pair: MetaNameValue = parse2(attribute.clone()).map_err(|_| error(&attribute))?;
    let value = &pair.value;
    let name: LitStr = parse2(quote::quote!(#value)).map_err(|_| error(&attribute))?;
    if !pair.path.is_ident("name") {
        return Err(error(&pair.path));
    }
    let text = name.value();
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if text.is_empty() || !plain || text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(Error::new(name.span(), messages::MODEL_NAME));
    }
    Ok(text)
}

/// `#[param(..)]` on a field.
#[derive(Default)]
pub struct Param {
    pub name: Option<String>,
    pub tied: Option<String>,
    pub value: Option<Expr>,
    pub present: Option<Expr>,
}

pub fn param(field: &Field) -> Result<Param> {
    let mut param = Param::default();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("param")) {
        attribute.parse_nested_meta(|meta| {
            let text = || -> Result<String> {
                let text: LitStr = meta.value()?.parse()?;
                if text.value().is_empty() {
                    return Err(Error::new(text.span(), messages::PARAM_NAME_EMPTY));
                }
                Ok(text.value())
            };
            if meta.path.is_ident("name") {
                param.name = Some(text()?);
            } else if meta.path.is_ident("tied") {
                param.tied = Some(text()?);
            } else if meta.path.is_ident("value") {
                param.value = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("present") {
                param.present = Some(meta.value()?.parse()?);
            } else {
                return Err(meta.error(messages::PARAM_KEYS));
            }
            Ok(())
        })?;
        let others = param.name.is_some() || param.tied.is_some() || param.present.is_some();
        if param.value.is_some() && others {
            return Err(Error::new_spanned(attribute, messages::PARAM_VALUE_ALONE));
        }
        if param.name.is_some() && param.tied.is_some() {
            return Err(Error::new_spanned(attribute, messages::PARAM_NAME_AND_TIED));
        }
    }
    Ok(param)
}
