//! What the packages that tests make have in common.

/// The lines that users are told to put into the `Cargo.toml` of their workspace: without them the search is slow.
pub const PROFILE: &str = "
[profile.dev.package.egg]
opt-level = 3
[profile.dev.package.luminal-core]
opt-level = 1
";
