//! Which elements of a large kernel are computed when its meaning is asked for.
//!
//! A result is independent of its neighbours along axes that nothing reduces and that private tensors are only read
//! along in step, so the meaning can be computed at some positions of these axes and left out at all others.

use super::ir::{AxisId, Expr, Index, Item, Kernel};
use super::{expr, ir::Space};
use crate::reference::SplitMix64;

/// Positions at each end of an axis that are always computed: tails are where mistakes are.
const ENDS: usize = 2;

/// For each axis the positions that are computed; none for all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    positions: Vec<Option<Vec<usize>>>,
}

impl Sample {
    /// Everything.
    pub fn whole(kernel: &Kernel) -> Sample {
        Sample { positions: vec![None; kernel.axes.len()] }
    }

    /// At most about so many evaluations of an expression, if the axes that may be left out allow it.
    pub fn within(kernel: &Kernel, sizes: &[usize], most: f64, seed: u64) -> Sample {
        let extents: Vec<usize> =
            kernel.axes.iter().map(|axis| axis.free.map_or(axis.max, |free| sizes[free])).collect();
        let mut counts = extents.clone();
        let independent: Vec<AxisId> =
            (0..extents.len()).filter(|axis| is_independent(kernel, *axis)).collect();
        while work(kernel, &counts) > most {
            let longest = independent.iter().copied().filter(|axis| counts[*axis] > 2 * ENDS);
            let Some(axis) = longest.max_by_key(|axis| counts[*axis]) else { break };
            counts[axis] = (counts[axis] / 2).max(2 * ENDS);
        }
        let mut random = SplitMix64::new(seed);
        let positions = (0..extents.len())
            .map(|axis| {
                (counts[axis] < extents[axis]).then(|| some(extents[axis], counts[axis], &mut random))
            })
            .collect();
        Sample { positions }
    }

    /// The positions of an axis, ascending; none for all.
    pub fn positions(&self, axis: AxisId) -> Option<&[usize]> {
        self.positions[axis].as_deref()
    }
}

/// The ends of an axis and as many positions between them as are left.
fn some(extent: usize, count: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..ENDS).chain(extent - ENDS..extent).collect();
    for _ in 2 * ENDS..count {
        positions.push((random.unit() * extent as f64) as usize % extent);
    }
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// How often an expression is evaluated for so many positions of each axis.
pub fn work(kernel: &Kernel, counts: &[usize]) -> f64 {
    let volume = |axes: &[usize]| axes.iter().map(|axis| counts[*axis] as f64).product::<f64>();
    kernel.defs().map(|def| volume(&def.axes) * def.reduce.as_ref().map_or(1.0, |r| volume(&r.axes))).sum()
}

/// True for an axis that is neither reduced nor streamed, and along which private tensors are read where they are
/// written.
fn is_independent(kernel: &Kernel, axis: AxisId) -> bool {
    let streamed = kernel.items.iter().any(
        |item| matches!(item, Item::Fold { axis: along, until, .. } if *along == axis || *until == Some(axis)),
    );
    let all = || kernel.defs().flat_map(|def| def.pre.iter().chain([def]));
    let reduced = all().filter_map(|def| def.reduce.as_ref()).any(|reduce| reduce.axes.contains(&axis));
    if streamed || reduced {
        return false;
    }
    // The place of the axis in each private tensor that has it.
    let mut places = vec![None; kernel.buffers.len()];
    for def in all().filter(|def| kernel.buffers[def.dst].space != Space::Global || def.dst >= kernel.args) {
        for (place, at) in def.at.iter().enumerate() {
            if at.as_axis() == Some(axis) {
                places[def.dst] = Some(place);
            } else if at.terms.iter().any(|term| term.0 == axis) {
                return false;
            }
        }
    }
    let mut in_step = true;
    for def in all() {
        for value in [Some(&def.expr), def.epilogue.as_ref(), def.init.as_ref()].into_iter().flatten() {
            expr::for_each(value, &mut |node| {
                if let Expr::Load { buffer, index, .. } = &**node
                    && let Some(place) = places[*buffer]
                {
                    in_step &= matches!(&index[place], Index::Affine(at) if at.as_axis() == Some(axis));
                }
            });
        }
    }
    in_step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::meaning::{self, Rounding};
    use crate::kernel::testing;

    #[test]
    fn a_sample_is_a_part_of_the_whole() {
        let mut smaller = 0;
        for (name, kernel, all_sizes) in testing::all() {
            let sizes = &all_sizes[0];
            let args = testing::inputs(&kernel, testing::Fill::Mixed, 5);
            let whole = meaning::run(&kernel, &args, sizes, Rounding::F32).unwrap();
            let sample = Sample::within(&kernel, sizes, 200.0, 7);
            let (part, written) = meaning::run_sample(&kernel, &args, sizes, Rounding::F32, &sample).unwrap();
            for argument in 0..kernel.args {
                let is_written = kernel.defs().any(|def| def.dst == argument);
                let count = written[argument].iter().filter(|written| **written).count();
                assert_eq!(
                    is_written && !whole[argument].is_empty(),
                    count > 0,
                    "{name}, argument {argument}"
                );
                smaller += usize::from(is_written && count < whole[argument].len());
                for place in (0..whole[argument].len()).filter(|place| written[argument][*place]) {
                    let (part, whole) = (part[argument].get(place), whole[argument].get(place));
                    assert!(format!("{part:?}") == format!("{whole:?}"), "{name}: {part:?} is not {whole:?}");
                }
            }
        }
        assert!(smaller > 5, "only {smaller} tensors are computed in part");
    }
}
