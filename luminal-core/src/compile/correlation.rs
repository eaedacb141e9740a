//! How well the model of the machine ranks schedules, judged by the clock.

use super::judge::Outcome;
use super::units::{Tried, Units};

impl Units {
    /// Spearman's rank correlation between predicted and measured seconds, over the schedules of each kernel of which at
    /// least three were run; the mean over these kernels, and their number. 1 is the same order, 0 none, -1 the reverse.
    pub fn rank_correlation(&self) -> Option<(f64, usize)> {
        let all: Vec<f64> = self.list.iter().filter_map(|unit| correlation(&unit.tried)).collect();
        (!all.is_empty()).then(|| (all.iter().sum::<f64>() / all.len() as f64, all.len()))
    }
}

fn correlation(tried: &[Tried]) -> Option<f64> {
    let pairs = tried.iter().filter_map(|tried| match tried.outcome {
        Outcome::Seconds(seconds) => Some((tried.predicted, seconds)),
        _ => None,
    });
    let (predicted, measured): (Vec<f64>, Vec<f64>) = pairs.unzip();
    if predicted.len() < 3 {
        return None;
    }
    let (x, y) = (ranks(&predicted), ranks(&measured));
    let mean = (x.len() - 1) as f64 / 2.0;
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    (scale > 0.0).then(|| product(&x, &y) / scale)
}

/// The rank of each value; equal ones share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let count =
        |value: &f64, test: fn(&f64, &f64) -> bool| values.iter().filter(|x| test(x, value)).count() as f64;
    values.iter().map(|v| count(v, |x, v| x < v) + (count(v, |x, v| x == v) - 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::schedule::Schedule;
    use crate::kernel::testing;

    fn tried(times: &[(f64, Option<f64>)]) -> Vec<Tried> {
        let schedule = Schedule::plain(&testing::all()[0].1);
        let one = |(predicted, seconds): &(f64, Option<f64>)| Tried {
            schedule: schedule.clone(),
            predicted: *predicted,
            outcome: seconds.map_or(Outcome::NotRun, Outcome::Seconds),
        };
        times.iter().map(one).collect()
    }

    #[test]
    fn orders_are_compared() {
        let of = |times: &[(f64, f64)]| {
            correlation(&tried(&times.iter().map(|(p, s)| (*p, Some(*s))).collect::<Vec<_>>()))
        };
        assert_eq!(of(&[(1.0, 10.0), (2.0, 11.0), (3.0, 500.0)]), Some(1.0));
        assert_eq!(of(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), Some(-1.0));
        // By hand: ranks 0 1 2 3 and 1 0 2 3, so 1 - 6 * 2 / (4 * 15) = 0.8.
        let some = of(&[(1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (4.0, 4.0)]).unwrap();
        assert!((some - 0.8).abs() < 1e-12, "{some}");
        assert_eq!(of(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None, "the model sees no difference");
    }

    #[test]
    fn what_was_not_run_does_not_count() {
        assert_eq!(correlation(&tried(&[(1.0, Some(1.0)), (2.0, None), (3.0, Some(2.0))])), None);
    }
}
