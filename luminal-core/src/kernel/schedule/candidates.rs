//! placeholder
use super::{Machine, Schedule};
use crate::kernel::ir::Kernel;

/// x
pub fn candidates(kernel: &Kernel, _machine: &Machine) -> Vec<Schedule> {
    vec![Schedule::plain(kernel)]
}
