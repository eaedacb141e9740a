//! The machine as the bound sees it: a few rates that no kernel exceeds.

/// Rates and sizes of a machine. Times are lower bounds: they rank plans before anything is scheduled or measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Bytes a second from and to memory.
    pub bandwidth: f64,
    /// Floating-point operations a second where products are summed over tiles.
    pub contraction: f64,
    /// Pointwise operations a second.
    pub pointwise: f64,
    /// Exponentials, logarithms and sines a second.
    pub transcendental: f64,
    /// Seconds that a launch costs in any case.
    pub launch: f64,
    /// Bytes of fast memory that one tile may use.
    pub on_chip: f64,
    /// Elements of a row that a kernel keeps on chip to pass over it more than once.
    pub row: f64,
}

impl Machine {
    /// Two cores with 256-bit vectors.
    pub const CPU: Machine = Machine {
        bandwidth: 20e9,
        contraction: 180e9,
        pointwise: 30e9,
        transcendental: 4e9,
        launch: 5e-7,
        on_chip: 256.0 * 1024.0,
        row: 16384.0,
    };

    /// A large accelerator.
    pub const GPU: Machine = Machine {
        bandwidth: 3e12,
        contraction: 300e12,
        pointwise: 30e12,
        transcendental: 4e12,
        launch: 2e-6,
        on_chip: 128.0 * 1024.0,
        row: 16384.0,
    };
}

/// What a kernel must do at least.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Bytes read and written, each buffer once.
    pub bytes: f64,
    /// Arithmetic operations.
    pub flops: f64,
    /// Seconds of arithmetic.
    pub seconds: f64,
    /// Of these, seconds of pointwise arithmetic on loaded operands of contractions: the kernel that made them could
    /// have done it once, this one may have to repeat it for every tile.
    pub repeatable: f64,
}

/// How much of [`Work::repeatable`] is charged on top of the bound: a little more than doing it once behind the
/// contraction that makes the value, so that a bias or an activation goes there and not before the contraction that
/// reads it, where it only seems to be free.
const REPEATED: f64 = 1.1;

impl Work {
    /// Seconds that a kernel takes at least: memory and arithmetic overlap, the launch does not.
    pub fn bound(&self, machine: &Machine) -> f64 {
        (self.bytes / machine.bandwidth).max(self.seconds) + machine.launch
    }

    /// What plans are compared by: the bound, and what may be repeated.
    pub fn cost(&self, machine: &Machine) -> f64 {
        self.bound(machine) + REPEATED * self.repeatable
    }
}
