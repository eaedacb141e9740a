//! The operations of the table, by family: each takes its parameters, checks them, and calls a composition.

pub mod attention;
pub mod images;
pub mod index;
pub mod linear;
pub mod movement;
pub mod normalise;
pub mod pointwise;
pub mod quantised;
pub mod reduce;
