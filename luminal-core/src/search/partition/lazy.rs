//! The lazy shortest path: measures only what the best plan needs, until no other plan can be much better.
//!
//! A kernel costs what was measured, else an estimate: its bound times the smallest ratio of time to bound that was seen
//! for kernels of its form. Solve, measure the kernels of the best path that are unknown, solve again. The path by pure
//! bounds would prove more and need hundreds of measurements; estimates are honest about what they are, so both gaps are
//! reported: the estimated one, and the one that bounds prove.

use super::form::Form;
use super::plan::{Fused, When, fused};
use super::problem::Problem;
use super::space::{Space, Step};
use crate::error::Result;
use crate::search::term::Dag;
use std::collections::{BTreeMap, BTreeSet};

/// The estimated gap at which the search stops.
pub const GAP: f64 = 0.10;

/// Tells how long kernels take.
pub trait Clock {
    /// Seconds of one launch; none if nothing more is measured.
    ///
    /// # Errors
    /// A kernel is wrong: a bug of ours.
    fn seconds(&mut self, dag: &Dag, kernel: &Fused) -> Result<Option<f64>>;
}

/// Never knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClock;

impl Clock for NoClock {
    fn seconds(&mut self, _: &Dag, _: &Fused) -> Result<Option<f64>> {
        Ok(None)
    }
}

/// What a lazy search did, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Kernels that were measured.
    pub measured: usize,
    /// Kernels that a plan could consist of.
    pub candidates: usize,
    /// Seconds of the plan, if all its kernels were measured.
    pub seconds: Option<f64>,
    /// How much better than the plan another one may be by estimates; none without measurements.
    pub estimated_gap: Option<f64>,
    /// How much better it may be by bounds.
    pub proved_gap: Option<f64>,
}

/// The steps of the best plan, and what it took to find it. None if there is no plan in the space.
pub(super) fn cheapest(
    problem: &Problem,
    space: &Space<'_>,
    clock: &mut dyn Clock,
) -> Result<Option<(Vec<usize>, Effort)>> {
    let mut search = Lazy { problem, space, known: BTreeMap::new(), ratios: BTreeMap::new(), done: false };
    let Some((_, mut best)) = space.solve(|step| step.cost) else { return Ok(None) };
    let mut effort = Effort { candidates: space.steps.len(), ..Effort::default() };
    loop {
        let (estimate, path) = search.solve();
        // A plan of which all is known, and how far the estimates say that another may be below it.
        if let Some(total) = search.total(&best) {
            let better = search.total(&path).is_some_and(|other| other < total);
            if better {
                best = path.clone();
            }
            let total = if better { search.total(&best).unwrap_or(total) } else { total };
            effort.estimated_gap = Some((1.0 - estimate / total).max(0.0));
            if estimate >= total * (1.0 - GAP) {
                break;
            }
        }
        search.measure(&path, clock, &mut effort)?;
        if search.done {
            // Time is up: a plan that is known as a whole, or the best guess.
            if search.total(&best).is_none() {
                best = search.solve().1;
            }
            break;
        }
    }
    if let Some(total) = search.total(&best) {
        let bounds = space.steps.iter().enumerate().map(|(number, step)| search.known_or(number, step.cost));
        let bound = space.shortest(&bounds.collect::<Vec<_>>()).map_or(0.0, |found| found.0);
        effort.seconds = Some(total);
        effort.proved_gap = Some((1.0 - bound / total).max(0.0));
    }
    Ok(Some((best, effort)))
}

struct Lazy<'l, 'c> {
    problem: &'l Problem<'l>,
    space: &'l Space<'c>,
    /// Measured seconds of steps.
    known: BTreeMap<usize, f64>,
    /// The smallest ratio of seconds to bound for each form.
    ratios: BTreeMap<Form, f64>,
    /// Nothing more is measured.
    done: bool,
}

impl Lazy<'_, '_> {
    /// What was measured for a step, or another number.
    fn known_or(&self, step: usize, other: f64) -> f64 {
        self.known.get(&step).copied().unwrap_or(other)
    }

    fn solve(&self) -> (f64, Vec<usize>) {
        let least = self.ratios.values().copied().fold(f64::INFINITY, f64::min);
        let general = if least.is_finite() { least } else { 1.0 };
        let estimate = |(number, step): (usize, &Step<'_>)| {
            let ratio = self.ratios.get(&step.kernel.form).copied().unwrap_or(general);
            self.known_or(number, step.cost * ratio)
        };
        let costs: Vec<f64> = self.space.steps.iter().enumerate().map(estimate).collect();
        self.space.shortest(&costs).expect("it was solved before")
    }

    /// Seconds of a plan, if all of it is known.
    fn total(&self, path: &[usize]) -> Option<f64> {
        path.iter().map(|step| self.known.get(step)).sum()
    }

    /// Measures what is unknown on a path, contractions first: they decide.
    fn measure(&mut self, path: &[usize], clock: &mut dyn Clock, effort: &mut Effort) -> Result<()> {
        let unknown: BTreeSet<usize> = path.iter().copied().filter(|s| !self.known.contains_key(s)).collect();
        let mut unknown: Vec<usize> = unknown.into_iter().collect();
        unknown.sort_by(|x, y| {
            let rank = |step: &usize| {
                let step = &self.space.steps[*step];
                (matches!(step.kernel.form, Form::Map | Form::Row), -step.cost)
            };
            rank(x).partial_cmp(&rank(y)).unwrap_or(std::cmp::Ordering::Equal)
        });
        self.done = unknown.is_empty();
        for number in unknown {
            let step = &self.space.steps[number];
            let kernel = fused(self.problem, step.kernel, &step.outputs, When::Run);
            let Some(seconds) = clock.seconds(self.problem.dag, &kernel)? else {
                self.done = true;
                return Ok(());
            };
            // A launch costs what it costs, measured in a loop or not.
            let seconds = seconds + self.problem.machine.launch;
            effort.measured += 1;
            self.known.insert(number, seconds);
            if seconds.is_finite() {
                let ratio = self.ratios.entry(step.kernel.form).or_insert(f64::INFINITY);
                *ratio = ratio.min(seconds / step.cost);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::search::partition::{Cut, Limits, Machine, partition};
    use crate::search::testing::models;
    use crate::search::{Options, Recipe, replay, search, search_with};

    /// Times made up from what a kernel computes: its bound, times 1 to 4. It stops answering after so many questions.
    struct MadeUp {
        left: usize,
        asked: Vec<Vec<usize>>,
    }

    impl MadeUp {
        fn new(left: usize) -> MadeUp {
            MadeUp { left, asked: vec![] }
        }

        fn factor(kernel: &Fused) -> f64 {
            let mixed = kernel.set.iter().fold(17u64, |sum, id| {
                sum.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(usize::from(*id) as u64).rotate_left(23)
            });
            1.0 + (mixed % 1000) as f64 * 0.003
        }
    }

    impl Clock for MadeUp {
        fn seconds(&mut self, _: &Dag, kernel: &Fused) -> Result<Option<f64>> {
            if self.left == 0 {
                return Ok(None);
            }
            self.left -= 1;
            self.asked.push(kernel.set.iter().map(|id| usize::from(*id)).collect());
            Ok(Some(kernel.cost * MadeUp::factor(kernel)))
        }
    }

    fn real() -> Vec<(&'static str, Graph)> {
        models::real()
    }

    fn partitioned(graph: &Graph, clock: &mut dyn Clock) -> crate::search::partition::Partition {
        let dag = crate::search::import::import(graph).unwrap().dag;
        partition(graph, &dag, Machine::CPU, Limits::default(), clock).unwrap()
    }

    #[test]
    fn only_what_plans_need_is_measured() {
        for (name, graph) in real() {
            let mut clock = MadeUp::new(usize::MAX);
            let found = partitioned(&graph, &mut clock);
            let Effort { measured, candidates, seconds, estimated_gap, proved_gap } = found.effort;
            assert_eq!(measured, clock.asked.len(), "{name}");
            assert!(measured <= candidates, "{name}");
            // Every kernel of the plan was measured, and the estimates see nothing much better.
            let runs = found.kernels.iter().filter(|kernel| kernel.when == When::Run);
            let total: f64 =
                runs.map(|kernel| kernel.cost * MadeUp::factor(kernel) + Machine::CPU.launch).sum();
            let seconds = seconds.unwrap_or_else(|| panic!("{name}: the plan is not measured"));
            assert!((total - seconds).abs() < 1e-12, "{name}: {total} is not {seconds}");
            assert!(estimated_gap.unwrap() <= GAP + 1e-9, "{name}: {estimated_gap:?}");
            assert!(proved_gap.unwrap() >= estimated_gap.unwrap() - 1e-9, "{name}");
        }
    }

    #[test]
    fn most_candidates_of_a_block_are_never_measured() {
        let graph = real().into_iter().find(|(name, _)| *name == "bert block").unwrap().1;
        let effort = partitioned(&graph, &mut MadeUp::new(usize::MAX)).effort;
        assert!(effort.measured * 3 < effort.candidates, "{effort:?}");
    }

    #[test]
    fn when_time_is_up_there_is_a_plan() {
        for (name, graph) in real() {
            let all = partitioned(&graph, &mut MadeUp::new(usize::MAX)).effort.measured;
            for left in [0, 1, all / 2, all.saturating_sub(1)] {
                let found = partitioned(&graph, &mut MadeUp::new(left));
                assert!(!found.kernels.is_empty() && found.effort.measured <= left, "{name}, {left}");
            }
        }
    }

    #[test]
    fn a_recorded_partition_is_the_same_again() {
        for (name, graph) in real() {
            let options = Options::default();
            for found in [
                search(&graph, &options).unwrap(),
                search_with(&graph, &options, &mut MadeUp::new(usize::MAX)).unwrap(),
            ] {
                // As a file holds it.
                let lines = found.recipe().kernels.iter().map(Cut::to_string).collect::<Vec<_>>();
                let kernels = lines.iter().map(|line| Cut::parse(line).unwrap()).collect();
                let recipe = Recipe { variant: found.variant, kernels };
                let again =
                    replay(&graph, &recipe, &options).unwrap_or_else(|e| panic!("{name}: {e}\n{found}"));
                assert_eq!(again.kernels, found.kernels, "{name}");
                assert_eq!(again.to_string(), found.to_string(), "{name}");
            }
        }
    }

    #[test]
    fn recipes_of_other_models_are_refused() {
        let all = real();
        let recipe = search(&all[0].1, &Options::default()).unwrap().recipe();
        let mut refused = 0;
        for (name, graph) in &all[1..] {
            match replay(graph, &recipe, &Options::default()) {
                Err(error) => {
                    refused += 1;
                    assert!(
                        error.to_string().contains("recorded") || error.to_string().contains("kernel"),
                        "{error}"
                    );
                }
                Ok(found) => assert!(!found.kernels.is_empty(), "{name}"),
            }
        }
        assert!(refused + 1 >= all.len() - 1, "only {refused} refused");
        for edit in [
            "run 1 for 1 stores 2",
            "run 1 2 for 1 stores 1",
            "run 9999 for 9999 stores 9999",
            "run for stores",
        ] {
            let kernels = vec![Cut::parse(edit).unwrap()];
            assert!(
                replay(&all[0].1, &Recipe { variant: 0, kernels }, &Options::default()).is_err(),
                "{edit}"
            );
        }
        let recipe = Recipe { variant: 99, kernels: vec![] };
        assert!(
            replay(&all[0].1, &recipe, &Options::default())
                .unwrap_err()
                .to_string()
                .contains("does not exist")
        );
    }
}
