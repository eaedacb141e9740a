//! Compiles the models of this package's own tests, as the build script of a user does. It does nothing for users: the
//! feature `selftest` is on only when the package itself is tested.

#![allow(dead_code, unused_imports, reason = "the package's names, of which the models need some")]

// Code that the macros generate names everything through `::luminal`, which here is this crate.
#[cfg(feature = "selftest")]
extern crate self as luminal;

#[cfg(feature = "selftest")]
include!("src/exports.rs");

#[cfg(feature = "selftest")]
#[path = "tests/models/mod.rs"]
mod models;

#[cfg(feature = "selftest")]
fn main() {
    use models::{blocks, decoder, windows};
    build::Compiler::new()
        .model(models::classify::MODEL)
        .model(blocks::attention::MODEL)
        .model(blocks::long_attention::MODEL)
        .model(blocks::cnn::MODEL)
        .model(blocks::step::MODEL)
        .model(blocks::words::MODEL)
        .model(windows::shapes::MODEL)
        .model(windows::filters::MODEL)
        .model(models::types::mixed::MODEL)
        .model(decoder::decode::MODEL)
        .model(decoder::summarise::MODEL)
        .model(decoder::compare::MODEL)
        .model(decoder::encode::MODEL)
        .run();
}

#[cfg(not(feature = "selftest"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
