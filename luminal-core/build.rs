//! Tells the crate how it is optimised: a search without optimisation is slow, and only the user's workspace can change
//! that.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-env=LUMINAL_CORE_OPT_LEVEL={level}");
}
