//! Where a model runs.

use crate::error::Result;
use crate::plan::{Isa, Kernel, KernelFn};

/// A device that a model is loaded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The best instruction set that may be used.
    isa: Isa,
}

impl Device {
    /// This machine's processor, with the instruction sets that it has.
    pub fn cpu() -> Device {
        Device { isa: detected() }
    }

    /// The fastest device that this build can use. Today that is always the CPU.
    pub fn best() -> Result<Device> {
        Ok(Device::cpu())
    }

    /// The same processor, but using nothing beyond `isa`: to test the versions of kernels that older machines run.
    pub fn limited_to(self, isa: Isa) -> Device {
        Device { isa: self.isa.min(isa) }
    }

    /// The best instruction set that kernels may use.
    pub fn isa(self) -> Isa {
        self.isa
    }

    /// The first version of a kernel that this device can run.
    pub(crate) fn entry(self, kernel: &Kernel) -> Option<KernelFn> {
        // Declared in ascending order, each set holds those before it.
        kernel.entries.iter().find(|(isa, _)| *isa <= self.isa).map(|(_, entry)| *entry)
    }
}

#[cfg(target_arch = "x86_64")]
fn detected() -> Isa {
    // All of `x86-64-v3`: the C compiler may use any of it, not only what the kernels are after.
    let v3 = is_x86_feature_detected!("avx")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("sse4.2");
    if v3 { Isa::X86V3 } else { Isa::Baseline }
}

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> Isa {
    Isa::Baseline
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let isa = match self.isa {
            Isa::Baseline => "baseline",
            Isa::X86V3 => "x86-64-v3",
        };
        write!(f, "cpu ({isa})")
    }
}
