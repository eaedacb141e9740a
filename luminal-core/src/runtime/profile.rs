//! How long each launch takes. Apart from `run`, which reads no clock.

use super::session::{InputRef, Session};
use crate::error::Result;
use crate::plan::Kernel;
use std::time::{Duration, Instant};

/// Time of one launch.
#[derive(Clone, Debug)]
pub struct KernelTime {
    /// Position in `Plan::run`.
    pub launch: usize,
    /// What was launched.
    pub kernel: &'static Kernel,
    /// Median over the repetitions.
    pub median: Duration,
}

impl Session {
    /// Runs the model `repeats` times (at least once) and reports the median time of each launch, in order of launch.
    ///
    /// Every repetition starts from the same states, and the states are left as they were. Outputs are those of the
    /// last repetition.
    pub fn profile(&mut self, inputs: &[InputRef<'_>], repeats: usize) -> Result<Vec<KernelTime>> {
        let repeats = repeats.max(1);
        let states = self.regions.state().to_vec();
        let mut times = vec![Vec::with_capacity(repeats); self.table.len()];
        for _ in 0..repeats {
            self.begin(inputs)?;
            for (launch, times) in times.iter_mut().enumerate() {
                let start = Instant::now();
                // SAFETY: as in `Session::run`.
                unsafe { self.table.call(launch, self.binding.sizes(), self.binding.kernel_sizes()) };
                times.push(start.elapsed());
            }
            self.finish(inputs);
            self.regions.set_state(&states);
        }
        let plan = self.plan;
        let report = times.into_iter().enumerate().map(|(launch, mut times)| {
            times.sort();
            let kernel = &plan.kernels[plan.run[launch].kernel];
            KernelTime { launch, kernel, median: times[times.len() / 2] }
        });
        Ok(report.collect())
    }
}
