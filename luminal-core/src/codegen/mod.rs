//! Renderers of tile programs.

pub mod c;
