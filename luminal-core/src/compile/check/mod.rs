//! Translation validation: compiled code runs on seeded inputs and must agree with the meaning before it may be used.

mod kernel;
mod memory;
mod model;

pub use kernel::{check_kernel, reproducer};
pub use model::check_model;

/// How far a compiled kernel or model was from its meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Greatest difference, relative to `1 + |expected|`.
    pub worst: f64,
    /// Elements compared.
    pub elements: usize,
}

impl Agreement {
    fn merge(&mut self, other: Agreement) {
        self.worst = self.worst.max(other.worst);
        self.elements += other.elements;
    }
}
