//! Luminal: models compiled by search at `cargo build`.
