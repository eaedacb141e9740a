//! Grids: which axes are cut into independent blocks, and how long the blocks are.

use crate::kernel::expr::{self, for_each_load};
use crate::kernel::ir::{AxisId, Def, Index, Item, Kernel};
use crate::kernel::lower::may_block;

/// Sizes of blocks along an axis that takes registers or lanes.
const SIZES: [usize; 5] = [1, 6, 16, 48, 64];

/// Folds over axes longer than this always run in blocks.
const WHOLE_FOLD: usize = 1024;

/// Operations that a block should have at least, so that finding it costs little.
const LEAST_WORK: usize = 1 << 13;

/// Positions of a definition's loops.
pub(super) fn points(kernel: &Kernel, def: &Def) -> usize {
    let over = def.reduce.iter().flat_map(|r| &r.axes);
    let extents = def.axes.iter().chain(over).map(|axis| kernel.axes[*axis].max);
    extents.fold(1, usize::saturating_mul).saturating_mul(if def.reduce.is_some() { 2 } else { 1 })
}

/// The definition with the most to do.
pub(super) fn heaviest(kernel: &Kernel) -> Option<usize> {
    let count = kernel.defs().count();
    let defs: Vec<&Def> = kernel.defs().collect();
    // The first of several that are equal.
    (0..count).rev().max_by_key(|d| points(kernel, defs[*d]))
}

/// Grids worth a look; the last one is a single block.
pub(super) fn grids(kernel: &Kernel) -> Vec<Vec<(AxisId, usize)>> {
    let Some(heaviest) = heaviest(kernel) else { return vec![vec![]] };
    let def = kernel.defs().nth(heaviest).expect("it was just found");
    let may: Vec<AxisId> = (0..kernel.axes.len())
        .filter(|axis| kernel.axes[*axis].max > 1 || kernel.axes[*axis].free.is_some())
        .filter(|axis| !repeats_much(kernel, *axis, points(kernel, def)) && may_block(kernel, *axis))
        .collect();
    let (main, reuse) = main_axes(kernel, def);
    let main: Vec<AxisId> = main.into_iter().filter(|axis| may.contains(axis)).collect();
    // All other axes: one position a block, in the order of the axes of the heaviest definition.
    let mut outer: Vec<AxisId> = may.iter().copied().filter(|axis| !main.contains(axis)).collect();
    outer.sort_by_key(|axis| def.axes.iter().position(|a| a == axis).map_or(0, |place| place + 1));
    let mut found: Vec<Vec<(AxisId, usize)>> = vec![];
    let mut inner: Vec<Vec<(AxisId, usize)>> = vec![vec![]];
    for axis in &main {
        let max = kernel.axes[*axis].max;
        // Single positions use nothing again.
        let sizes = SIZES.iter().copied().filter(|size| *size < max && (*size > 1 || !reuse));
        let sizes = sizes.map(|size| Some((*axis, size)));
        let sizes: Vec<Option<(AxisId, usize)>> = sizes.chain([None]).collect();
        inner = inner
            .iter()
            .flat_map(|known| sizes.iter().map(move |size| known.iter().copied().chain(*size).collect()))
            .collect();
    }
    for inner in &inner {
        let single: Vec<(AxisId, usize)> = outer.iter().map(|axis| (*axis, 1)).collect();
        found.push(grown(kernel, def, single.iter().chain(inner).copied().collect()));
        found.push(single.iter().chain(inner).copied().collect());
        if let Some((_, rest)) = single.split_last() {
            // The innermost of the other axes stays whole.
            found.push(rest.iter().chain(inner).copied().collect());
        }
    }
    found.push(vec![]);
    // A block that holds the whole axis is none.
    for grid in &mut found {
        grid.retain(|(axis, size)| *size < kernel.axes[*axis].max);
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|grid| seen.insert(grid.clone()));
    found
}

/// True if each block of the axis would compute again what a definition without the axis computes, and that is much.
/// An axis that no definition has is not cut either.
fn repeats_much(kernel: &Kernel, axis: AxisId, most: usize) -> bool {
    let lacks = |def: &Def| !def.axes.contains(&axis);
    let all = kernel.defs().all(lacks);
    all || kernel.defs().any(|def| lacks(def) && points(kernel, def) > most / 64)
}

/// Longer blocks along the innermost axis that has single positions, if blocks have too little to do.
fn grown(kernel: &Kernel, def: &Def, mut grid: Vec<(AxisId, usize)>) -> Vec<(AxisId, usize)> {
    let work = |grid: &[(AxisId, usize)]| {
        let of = |axis: &AxisId| {
            let max = kernel.axes[*axis].max;
            grid.iter().find(|b| b.0 == *axis).map_or(max, |b| b.1.min(max))
        };
        let over = def.reduce.iter().flat_map(|r| &r.axes);
        def.axes.iter().chain(over).map(of).fold(1, usize::saturating_mul)
    };
    for place in (0..grid.len()).rev() {
        let (axis, size) = grid[place];
        if size > 1 {
            continue;
        }
        let now = work(&grid).max(1);
        if now >= LEAST_WORK {
            break;
        }
        grid[place].1 = LEAST_WORK.div_ceil(now).next_power_of_two().min(kernel.axes[axis].max.max(1));
    }
    grid
}

/// The axes along which a reduction uses again what it loads, one for each set of loads that lack them: the innermost.
/// A kernel without such axes has the last axis of its heaviest definition, and false.
fn main_axes(kernel: &Kernel, def: &Def) -> (Vec<AxisId>, bool) {
    let mut loads: Vec<Vec<AxisId>> = vec![];
    for_each_load(&def.expr, &mut |_, index, _| {
        let axes = index.iter().flat_map(|i| match i {
            Index::Affine(at) => at.terms.iter().map(|t| t.0).collect::<Vec<_>>(),
            Index::Value(e) => expr::axes(e, &[]).into_iter().collect(),
        });
        loads.push(axes.collect());
    });
    let mut main: Vec<(Vec<bool>, AxisId)> = vec![];
    for axis in def.axes.iter().rev() {
        let lacks: Vec<bool> = loads.iter().map(|l| !l.contains(axis)).collect();
        let again = def.reduce.is_some() && lacks.contains(&true);
        if again && kernel.axes[*axis].max > 1 && main.iter().all(|known| known.0 != lacks) {
            main.push((lacks, *axis));
        }
    }
    let reuse = !main.is_empty();
    if !reuse {
        main.extend(def.axes.last().map(|axis| (vec![], *axis)));
    }
    main.truncate(2);
    (main.into_iter().map(|m| m.1).collect(), reuse)
}

/// Blocks of the folds: none for a kernel without.
pub(super) fn folds(kernel: &Kernel) -> Vec<Vec<usize>> {
    let axes: Vec<AxisId> = kernel
        .items
        .iter()
        .filter_map(|item| if let Item::Fold { axis, .. } = item { Some(*axis) } else { None })
        .collect();
    let mut found: Vec<Vec<usize>> = vec![];
    for size in [96, 256, usize::MAX] {
        let sizes = axes.iter().map(|axis| size.min(kernel.axes[*axis].max.max(1))).collect();
        let whole = size == usize::MAX && axes.iter().any(|axis| kernel.axes[*axis].max > WHOLE_FOLD);
        if !whole && !found.contains(&sizes) {
            found.push(sizes);
        }
    }
    found
}
