//! Runs a plan on the CPU. Nothing is compiled, and after loading nothing is allocated.

mod area;
mod bind;
mod device;
mod layout;
mod pack;
mod profile;
mod regions;
mod session;
mod state;
mod table;

pub use device::Device;
pub use profile::KernelTime;
pub use session::{InputRef, OutputRef, Session};
