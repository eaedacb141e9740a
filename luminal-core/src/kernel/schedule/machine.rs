//! What a processor can do in a cycle: the numbers behind [`super::super::cost`] and the tiles that are tried.

/// A core of a CPU and the memory behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Elements of a vector in the generated source.
    pub lanes: usize,
    /// Vectors that the register file holds.
    pub registers: usize,
    /// Cycles in a second, in thousand millions.
    pub ghz: f64,
    /// Vector multiply-adds in a cycle.
    pub fma: f64,
    /// Vector loads in a cycle.
    pub loads: f64,
    /// Vector stores in a cycle.
    pub stores: f64,
    /// Cycles until the result of a multiply-add can be used.
    pub latency: f64,
    /// Instructions in a cycle.
    pub issue: f64,
    /// Bytes of the caches: first and second level of a core, third level of all.
    pub caches: [f64; 3],
    /// Bytes in a cycle from each cache.
    pub cache_bandwidth: [f64; 3],
    /// Bytes in a cycle from memory.
    pub memory_bandwidth: f64,
    /// Cores that blocks of a grid should keep busy.
    pub threads: usize,
}

impl Machine {
    /// A desktop or server core with AVX2 and FMA: what `x86-64-v3` stands for.
    pub fn x86_64_v3() -> Machine {
        Machine {
            lanes: 8,
            registers: 16,
            ghz: 3.2,
            fma: 2.0,
            loads: 2.0,
            stores: 1.0,
            latency: 4.0,
            issue: 4.5,
            caches: [32e3, 512e3, 24e6],
            cache_bandwidth: [64.0, 28.0, 10.0],
            memory_bandwidth: 7.2,
            threads: 4,
        }
    }

    /// What every x86-64 or aarch64 core has: vectors of four, so that each vector of the source takes two registers.
    pub fn baseline() -> Machine {
        Machine { registers: 8, fma: 1.0, loads: 1.0, stores: 0.5, ..Machine::x86_64_v3() }
    }
}
