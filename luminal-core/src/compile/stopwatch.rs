//! Times of single kernels for the partition: a cone of terms is lowered alone, and its best schedules are run.

use super::judge::{Judge, Outcome, Trial};
use super::units;
use crate::error::Result;
use crate::graph::{Graph, Op};
use crate::kernel::ir::Freedom;
use crate::kernel::schedule::Machine;
use crate::kernel::text;
use crate::search::lower::{self, Source, Values};
use crate::search::partition::{Clock, Fused};
use crate::search::term::Dag;
use std::collections::BTreeMap;

/// So many schedules of a kernel are run to learn what it costs: the best of these is near enough to rank plans. More are
/// run of the kernels that the plan consists of in the end.
const PROBED: usize = 3;

/// Seconds of each kernel that was asked for, by its hash. A kernel that cannot be lowered or scheduled takes for ever.
pub(super) type Times = BTreeMap<u64, f64>;

/// The clock of one region.
pub(super) struct Stopwatch<'a> {
    pub graph: &'a Graph,
    pub machine: &'a Machine,
    pub judge: &'a mut dyn Judge,
    pub times: &'a mut Times,
}

impl Clock for Stopwatch<'_> {
    fn seconds(&mut self, dag: &Dag, kernel: &Fused) -> Result<Option<f64>> {
        let mut values = Values::default();
        let lowered = lower::cone(self.graph, dag, &mut values, kernel, &lower::Options::default());
        let Ok(lowered) = lowered else { return Ok(Some(f64::INFINITY)) };
        let mut kernel = lowered.kernel;
        // As in a plan, but that other kernels' orders in memory are not known yet.
        for ((buffer, value), writes) in kernel.buffers.iter_mut().zip(&lowered.args).zip(&lowered.writes) {
            let weight = |node: usize| matches!(self.graph.nodes[node].op, Op::Param(_));
            buffer.freedom = match values.list[*value].source {
                Source::Given(node) if weight(node) => Freedom::Pack,
                _ if *writes => Freedom::Choose,
                _ => Freedom::Fixed,
            };
        }
        let hash = text::hash(&kernel);
        if let Some(seconds) = self.times.get(&hash) {
            return Ok(Some(*seconds));
        }
        let candidates = units::candidates(&kernel, self.machine, PROBED);
        if candidates.is_empty() {
            self.times.insert(hash, f64::INFINITY);
            return Ok(Some(f64::INFINITY));
        }
        let (graph, fused) = (self.graph, &lowered.fused[..]);
        let trial = Trial { graph, kernel: &kernel, candidates: &candidates, fused, purpose: "partition" };
        let Some(outcomes) = self.judge.time(&trial)? else { return Ok(None) };
        let seconds =
            outcomes.iter().filter_map(|o| if let Outcome::Seconds(s) = o { Some(*s) } else { None });
        let least = seconds.fold(f64::INFINITY, f64::min);
        self.times.insert(hash, least);
        Ok(Some(least))
    }
}
