//! Sizes that fulfil relations, for checks and tests that have to choose some.

use super::{FreeDim, Relation, Rule};
use crate::graph::Dim;

/// So many sizes are tried before it is said that there are none.
const MOST_TRIALS: usize = 20_000;
/// Relations in a circle would take away one size in each pass.
const MOST_PASSES: usize = 100;

/// Sizes near the wanted ones.
pub(super) fn near(free: &[FreeDim], relations: &[Relation], wanted: &[usize]) -> Option<Vec<usize>> {
    if let Some(sizes) = scaled(free, relations, wanted) {
        return Some(sizes);
    }
    // Without sizes of 0 if there are such.
    [1, 0].into_iter().find_map(|least| {
        let ranges = free.iter().map(|dim| (least.min(dim.max), dim.max)).collect();
        let mut trials = MOST_TRIALS;
        search(relations, ranges, wanted, &mut trials)
    })
}

/// The wanted sizes, or all of them in proportion smaller; those that follow from others are computed. So that
/// `Total = Past + New` gets a `New` of some size, also where all bounds are equal.
fn scaled(free: &[FreeDim], relations: &[Relation], wanted: &[usize]) -> Option<Vec<usize>> {
    let is_left = |free: usize| {
        relations.iter().any(|relation| {
            relation.rule == Rule::Equal && matches!(relation.left, Dim::Free { index, .. } if index == free)
        })
    };
    (1..=16).rev().find_map(|sixteenths: usize| {
        let size = |index: usize| {
            let size = wanted[index].min(free[index].max);
            (size as u128 * sixteenths as u128).div_ceil(16) as usize
        };
        let mut sizes: Vec<usize> = (0..free.len()).map(size).collect();
        let mut known: Vec<bool> = (0..free.len()).map(|index| !is_left(index)).collect();
        super::determined(relations, &mut known, |relation, free| sizes[free] = relation.solve(free, &sizes));
        let within = sizes.iter().zip(free).all(|(size, dim)| *size <= dim.max);
        let some = sizes.iter().zip(wanted).all(|(size, wanted)| *size > 0 || *wanted == 0);
        (within && some && relations.iter().all(|relation| relation.holds(&sizes))).then_some(sizes)
    })
}

type Ranges = Vec<(usize, usize)>;

/// Depth first, the nearest size of the first undecided dimension first.
fn search(
    relations: &[Relation],
    mut ranges: Ranges,
    wanted: &[usize],
    trials: &mut usize,
) -> Option<Vec<usize>> {
    narrow(relations, &mut ranges)?;
    let Some(open) = ranges.iter().position(|(low, high)| low < high) else {
        let sizes: Vec<usize> = ranges.into_iter().map(|(size, _)| size).collect();
        return relations.iter().all(|relation| relation.holds(&sizes)).then_some(sizes);
    };
    let (low, high) = ranges[open];
    let start = wanted[open].clamp(low, high);
    for size in (low..=start).rev().chain(start + 1..=high) {
        *trials = trials.checked_sub(1)?;
        let mut decided = ranges.clone();
        decided[open] = (size, size);
        if let Some(sizes) = search(relations, decided, wanted, trials) {
            return Some(sizes);
        }
    }
    None
}

/// Takes sizes away that no choice of the others fits. None if no size is left.
fn narrow(relations: &[Relation], ranges: &mut Ranges) -> Option<()> {
    for _ in 0..MOST_PASSES {
        let before = ranges.clone();
        for relation in relations {
            narrow_by(relation, ranges)?;
        }
        if *ranges == before {
            break;
        }
    }
    Some(())
}

fn narrow_by(relation: &Relation, ranges: &mut Ranges) -> Option<()> {
    // The right side grows with each of its terms.
    let (least, most) = (relation.value_of(|free| ranges[free].0), relation.value_of(|free| ranges[free].1));
    let (mut low, mut high) = match relation.left {
        Dim::Fixed(size) => (size, size),
        Dim::Free { index, .. } => ranges[index],
    };
    high = high.min(most);
    if relation.rule == Rule::Equal {
        low = low.max(least);
    }
    if low > high {
        return None;
    }
    if let Dim::Free { index, .. } = relation.left {
        ranges[index] = (low, high);
    }
    let over = relation.over.max(1) as i128;
    for term in relation.terms.iter() {
        let factor = term.factor.max(1) as i128;
        let others = |high: bool| {
            relation.sum(|free| match free == term.free {
                true => 0,
                false if high => ranges[free].1,
                false => ranges[free].0,
            })
        };
        let (mut least, mut most) = ranges[term.free];
        if low > 0 {
            let needed = (low as i128 * over - others(true)).max(0);
            least = least.max(usize::try_from((needed + factor - 1) / factor).unwrap_or(usize::MAX));
        }
        if relation.rule == Rule::Equal {
            let room = high as i128 * over + over - 1 - others(false);
            most = most.min(usize::try_from(room.max(-1) / factor).ok().filter(|_| room >= 0)?);
        }
        if least > most {
            return None;
        }
        ranges[term.free] = (least, most);
    }
    Some(())
}
