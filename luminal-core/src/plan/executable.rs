//! A plan that may be run.

use super::Plan;
use std::fmt;
use std::ops::Deref;

/// A plan together with the promise that its kernels do what it says. It cannot be changed: only what generated code and
/// the build's own checks made can be given to a session.
#[derive(Debug)]
pub struct Executable(Plan);

impl Executable {
    /// Makes the promise.
    ///
    /// # Safety
    /// Every entry of every kernel was compiled for this plan: called as [`super::KernelFn`] demands, with the buffers of
    /// any of its launches, it accesses these only as the kernel's `args` say and within their sizes.
    pub const unsafe fn new(plan: Plan) -> Executable {
        Executable(plan)
    }
}

impl Deref for Executable {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.0
    }
}

impl fmt::Display for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
