//! Which axes may be cut into blocks, and how much of a local buffer a block needs.
//!
//! Blocks of the grid are independent: a block computes everything that it reads and that the kernel itself wrote. So
//! each definition that writes an argument has all blocked axes; each value that is written and read again is indexed
//! by a blocked axis in the same way everywhere; and a block reads of it only what the same block wrote.

use crate::error::{Error, Result};
use crate::kernel::expr::for_each_load;
use crate::kernel::ir::{Affine, AxisId, BufferId, Def, Index, Item, Kernel};
use std::collections::BTreeMap;

/// One access to a buffer that the kernel writes.
struct Access<'a> {
    buffer: BufferId,
    /// None: a computed index, anywhere in the dimension.
    at: Vec<Option<&'a Affine>>,
    store: bool,
    /// Position of the fold around it.
    fold: Option<usize>,
}

/// Sizes of blocks by axis, for code inside and outside folds.
struct Blocks<'a> {
    kernel: &'a Kernel,
    grid: BTreeMap<AxisId, usize>,
    /// Axis and block of each fold.
    folds: Vec<(AxisId, usize)>,
}

impl<'a> Blocks<'a> {
    fn new(kernel: &'a Kernel, grid: &[(AxisId, usize)], fold_sizes: &[usize]) -> Blocks<'a> {
        let axes = kernel
            .items
            .iter()
            .filter_map(|i| if let Item::Fold { axis, .. } = i { Some(*axis) } else { None });
        Blocks {
            kernel,
            grid: grid.iter().copied().collect(),
            folds: axes.zip(fold_sizes.iter().copied()).collect(),
        }
    }

    /// The block of an axis; None where one block holds the whole axis.
    fn block(&self, axis: AxisId, fold: Option<usize>) -> Option<usize> {
        let fold = fold.map(|f| self.folds[f]).filter(|f| f.0 == axis).map(|f| f.1);
        fold.or_else(|| self.grid.get(&axis).copied()).filter(|size| *size < self.kernel.axes[axis].max)
    }

    /// Least and greatest value of an index in the first block.
    fn range(&self, at: &Affine, fold: Option<usize>) -> (i64, i64) {
        let (mut low, mut high) = (at.offset, at.offset);
        for (axis, coefficient) in &at.terms {
            let max = self.kernel.axes[*axis].max;
            let last = self.block(*axis, fold).unwrap_or(max).min(max).saturating_sub(1) as i64;
            low += (coefficient * last).min(0);
            high += (coefficient * last).max(0);
        }
        (low, high)
    }

    /// The coefficients of blocked axes.
    fn blocked_terms(&self, at: &Affine, fold: Option<usize>) -> Vec<(AxisId, i64)> {
        at.terms.iter().copied().filter(|t| self.block(t.0, fold).is_some()).collect()
    }
}

/// All definitions, those inside reduction loops included, with the fold around them.
fn definitions(kernel: &Kernel) -> Vec<(&Def, Option<usize>)> {
    let mut found = vec![];
    let mut fold = 0;
    for item in &kernel.items {
        match item {
            Item::Def(def) => found.push((def, None)),
            Item::Fold { defs, .. } => {
                found.extend(defs.iter().map(|def| (def, Some(fold))));
                fold += 1;
            }
        }
    }
    found.into_iter().flat_map(|(def, fold)| def.pre.iter().chain([def]).map(move |d| (d, fold))).collect()
}

/// Accesses to buffers that some definition writes.
fn accesses(kernel: &Kernel) -> Vec<Access<'_>> {
    let defs = definitions(kernel);
    let written: Vec<BufferId> = defs.iter().map(|d| d.0.dst).collect();
    let mut found = vec![];
    for (def, fold) in &defs {
        for value in [Some(&def.expr), def.init.as_ref(), def.epilogue.as_ref()].into_iter().flatten() {
            for_each_load(value, &mut |buffer, index, _| {
                if written.contains(&buffer) {
                    let at = index
                        .iter()
                        .map(|i| if let Index::Affine(at) = i { Some(at) } else { None })
                        .collect();
                    found.push(Access { buffer, at, store: false, fold: *fold });
                }
            });
        }
        let at = def.at.iter().map(Some).collect();
        found.push(Access { buffer: def.dst, at, store: true, fold: *fold });
    }
    found
}

/// Tells whether a schedule may cut the axis into blocks of the grid, other axes apart.
pub fn may_block(kernel: &Kernel, axis: AxisId) -> bool {
    let folds: Vec<usize> = kernel.items.iter().map(|_| usize::MAX).collect();
    check_blocks(&Blocks::new(kernel, &[(axis, 1)], &folds)).is_ok()
}

/// An error names the axis and the buffer where blocks depend on each other.
pub fn check(kernel: &Kernel, grid: &[(AxisId, usize)], folds: &[usize]) -> Result<()> {
    for (i, (axis, _)) in grid.iter().enumerate() {
        if grid[..i].iter().any(|b| b.0 == *axis) {
            return Err(Error::new(format!("axis `{}` is twice in the grid", kernel.axes[*axis].name)));
        }
    }
    check_blocks(&Blocks::new(kernel, grid, folds))
}

fn check_blocks(blocks: &Blocks<'_>) -> Result<()> {
    let kernel = blocks.kernel;
    for (def, _) in definitions(kernel) {
        let target = &kernel.buffers[def.dst].name;
        for axis in blocks.grid.keys().filter(|axis| blocks.block(**axis, None).is_some()) {
            let name = &kernel.axes[*axis].name;
            if def.reduce.as_ref().is_some_and(|r| r.axes.contains(axis)) {
                return Err(Error::new(format!(
                    "axis `{name}` is cut into blocks but reduced for `{target}`"
                )));
            }
            if def.dst < kernel.args && !def.axes.contains(axis) {
                return Err(Error::new(format!(
                    "every block of axis `{name}` would write all of `{target}`"
                )));
            }
        }
    }
    let accesses = accesses(kernel);
    for access in &accesses {
        check_access(blocks, access, &accesses)?;
    }
    Ok(())
}

/// A block reads what it wrote itself, at the same place relative to its start.
fn check_access(blocks: &Blocks<'_>, access: &Access<'_>, all: &[Access<'_>]) -> Result<()> {
    let buffer = &blocks.kernel.buffers[access.buffer];
    let stores: Vec<&Access<'_>> = all.iter().filter(|a| a.store && a.buffer == access.buffer).collect();
    for dim in 0..buffer.dims.len() {
        let Some(at) = access.at[dim] else {
            let cut =
                |s: &&Access<'_>| s.at[dim].is_some_and(|at| !blocks.blocked_terms(at, s.fold).is_empty());
            if stores.iter().any(cut) {
                return Err(Error::new(format!("`{}` is gathered from, but cut into blocks", buffer.name)));
            }
            continue;
        };
        let terms = blocks.blocked_terms(at, access.fold);
        if let Some((axis, _)) = terms.iter().find(|t| t.1 < 0) {
            let name = &blocks.kernel.axes[*axis].name;
            return Err(Error::new(format!("`{}` runs against the blocks of axis `{name}`", buffer.name)));
        }
        let mut stored: Option<(i64, i64)> = None;
        for store in &stores {
            let at = store.at[dim].expect("stores have affine indices");
            if blocks.blocked_terms(at, store.fold) != terms {
                return Err(Error::new(format!("`{}` is indexed by blocked axes in two ways", buffer.name)));
            }
            let (low, high) = blocks.range(at, store.fold);
            stored = Some(stored.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
        }
        let (low, high) = blocks.range(at, access.fold);
        let (stored_low, stored_high) = stored.expect("only written buffers are looked at");
        if !terms.is_empty() && (low < stored_low || high > stored_high) {
            return Err(Error::new(format!("a block reads more of `{}` than it computes", buffer.name)));
        }
    }
    Ok(())
}

/// Sizes of each buffer that is private to a block, from the first one that is no argument on: what the stores of one
/// block span.
pub fn local_sizes(kernel: &Kernel, grid: &[(AxisId, usize)], folds: &[usize]) -> Vec<Vec<usize>> {
    let blocks = Blocks::new(kernel, grid, folds);
    let mut sizes: Vec<Vec<usize>> =
        kernel.buffers[kernel.args..].iter().map(|b| vec![0; b.dims.len()]).collect();
    for (def, fold) in definitions(kernel).into_iter().filter(|(def, _)| def.dst >= kernel.args) {
        for (size, at) in sizes[def.dst - kernel.args].iter_mut().zip(&def.at) {
            let high = blocks.range(at, fold).1;
            *size = (*size).max((high + 1).max(0) as usize);
        }
    }
    // A dimension without elements keeps none.
    for (sizes, buffer) in sizes.iter_mut().zip(&kernel.buffers[kernel.args..]) {
        sizes.iter_mut().zip(&buffer.dims).for_each(|(size, whole)| *size = (*size).min(*whole));
    }
    sizes
}
