//! What the build script found while tracing, as errors at the user's tokens.
//!
//! The build script always succeeds, so that cargo goes on to the program; it leaves the mistakes in
//! `OUT_DIR/<model>.errors`. Each ends with a NUL and holds, on lines of their own, file, line and column, and then the
//! message. The three are empty when the mistake belongs to the model as a whole.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use std::path::Path;

/// One `compile_error!` for each mistake.
pub fn errors(text: &str, function: &TokenStream, name: &Ident) -> TokenStream {
    let mut errors = TokenStream::new();
    for mistake in text.split_terminator('\0') {
        let mut parts = mistake.splitn(4, '\n');
        let [file, line, column, message] = std::array::from_fn(|_| parts.next().unwrap_or_default());
        let (span, message) = match find_in(function, name, file, line, column) {
            Some(span) => (span, message.to_string()),
            None => (name.span(), quote_place(file, line, column, message)),
        };
        errors.extend(quote_spanned!(span=> ::core::compile_error!(#message);));
    }
    errors
}

/// The user's token at a place, if it is in the model function.
fn find_in(function: &TokenStream, name: &Ident, file: &str, line: &str, column: &str) -> Option<Span> {
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    // One file has two names when the build script is in another folder: `src/model.rs`, `build/../src/model.rs`.
    let canonical = |path: &Path| std::fs::canonicalize(path).ok();
    let local = name.span().unwrap().local_file()?;
    if canonical(&local)? != canonical(Path::new(file))? {
        return None;
    }
    find(function.clone(), line, column)
}

fn find(tokens: TokenStream, line: usize, column: usize) -> Option<Span> {
    tokens.into_iter().find_map(|token| {
        let start = token.span().unwrap();
        if start.line() == line && start.column() == column {
            return Some(token.span());
        }
        match token {
            TokenTree::Group(group) => find(group.stream(), line, column),
            _ => None,
        }
    })
}

/// The message with the line that it is about, for places whose tokens no macro sees: helper functions.
fn quote_place(file: &str, line: &str, column: &str, message: &str) -> String {
    if file.is_empty() {
        return message.into();
    }
    let source = std::fs::read_to_string(file).unwrap_or_default();
    let number = line.parse::<usize>().unwrap_or(1).saturating_sub(1);
    let place = format!("{message}\n  --> {file}:{line}:{column}");
    let Some(text) = source.lines().nth(number) else { return place };
    let margin = " ".repeat(line.len());
    let indent = " ".repeat(column.parse::<usize>().unwrap_or(1).saturating_sub(1));
    format!("{place}\n {margin} |\n {line} | {text}\n {margin} | {indent}^")
}
