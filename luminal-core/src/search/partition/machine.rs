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
}

impl Work {
    /// Seconds that a kernel takes at least: memory and arithmetic overlap, the launch does not.
    pub fn bound(&self, machine: &Machine) -> f64 {
        (self.bytes / machine.bandwidth).max(self.seconds) + machine.launch
    }
}
