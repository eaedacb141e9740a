//! Translation validation: compiled code runs on seeded inputs and must agree with the meaning before it may be used.

mod compare;
mod kernel;
mod memory;
mod model;
mod orders;
mod region;
mod tiles;

pub use kernel::{Expected, check_kernel, reproducer};
pub use model::check_model;
pub use orders::check_orders;
pub use region::check_region;
pub use tiles::check_tiles;

/// How far a compiled kernel or model was from its meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Greatest difference, relative to `1 + |expected|`.
    pub worst: f64,
    /// Elements compared.
    pub elements: usize,
}

impl std::fmt::Display for Agreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} elements compared, worst difference {:.1e} of 1 + |expected|",
            self.elements, self.worst
        )
    }
}

impl Agreement {
    /// Both together.
    pub fn merge(&mut self, other: Agreement) {
        self.worst = self.worst.max(other.worst);
        self.elements += other.elements;
    }
}
