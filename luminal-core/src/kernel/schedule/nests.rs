//! Nests that one definition may have: which axis takes the lanes, which ones the registers, in which order it loops.
//!
//! Nothing here knows an operator. A reduction reuses a vector that it loads along every axis that the load lacks, so
//! such axes take registers; lanes go along a free axis, or along a reduced one where rows are long and few.

use super::wish::{Wish, wishes};
use super::{Machine, Nest};
use crate::kernel::expr::{self, for_each_load};
use crate::kernel::ir::{Affine, AxisId, Def, E, Index, Kernel};

/// A nest and the orders in memory that make it fast.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub nest: Nest,
    pub wishes: Vec<Wish>,
}

/// What the nest of a definition is chosen for.
pub(super) struct Site<'a> {
    pub kernel: &'a Kernel,
    pub def: &'a Def,
    pub machine: &'a Machine,
    /// Positions of each axis in a block; None where the axis needs no loop.
    pub extents: Vec<Option<usize>>,
    /// The block of each axis that is cut.
    pub blocks: Vec<Option<usize>>,
}

/// `(rows, vectors)` of a register tile: those that keep the multiply-adders busy, best first, and small ones for
/// short axes.
const TILES: [(usize, usize); 12] =
    [(6, 2), (4, 3), (3, 4), (5, 2), (4, 2), (8, 1), (12, 1), (6, 1), (2, 4), (1, 4), (1, 2), (1, 1)];

impl Site<'_> {
    /// All nests worth a look.
    pub fn choices(&self) -> Vec<Choice> {
        let free: Vec<AxisId> = self.looped(&self.def.axes);
        let over: Vec<AxisId> = self.def.reduce.as_ref().map_or(vec![], |r| self.looped(&r.axes));
        let over = self.by_stride(&over);
        let mut found = vec![];
        let mut lanes: Vec<AxisId> = free.iter().chain(&over).copied().collect();
        lanes.sort_by_key(|axis| self.scattered(*axis));
        lanes.truncate(4);
        for lane in lanes {
            if over.contains(&lane) {
                self.across(lane, &free, &over, &mut found);
            } else if self.def.reduce.is_some() {
                self.contraction(lane, &free, &over, &mut found);
            } else {
                self.map(lane, &free, &mut found);
            }
        }
        let order = free.iter().chain(&over).copied().collect();
        found.push(self.choice(order, vec![], None));
        let mut seen = std::collections::HashSet::new();
        found.retain(|choice: &Choice| seen.insert(choice.nest.clone()));
        found
    }

    fn looped(&self, axes: &[AxisId]) -> Vec<AxisId> {
        axes.iter().copied().filter(|axis| self.extents[*axis].is_some()).collect()
    }

    fn extent(&self, axis: AxisId) -> usize {
        self.extents[axis].unwrap_or(1)
    }

    fn values(&self) -> impl Iterator<Item = &E> {
        let def = self.def;
        let pre = def.pre.iter().map(|pre| &pre.expr);
        pre.chain([&def.expr]).chain(&def.init).chain(&def.epilogue)
    }

    fn choice(&self, order: Vec<AxisId>, tile: Vec<(AxisId, usize)>, lane: Option<AxisId>) -> Choice {
        let nest = Nest { order, tile, lane, wide: 1, rows: None };
        let wishes = wishes(self, &nest);
        Choice { nest, wishes }
    }

    /// How many accesses are not adjacent, and cannot be made so, with lanes along the axis; a longer axis is better.
    fn scattered(&self, axis: AxisId) -> (usize, usize) {
        let mut count = 0;
        for value in self.values() {
            for_each_load(value, &mut |buffer, index, _| {
                let mut uses = 0;
                let mut good = false;
                for (dim, index) in index.iter().enumerate() {
                    match index {
                        Index::Affine(at) => {
                            let c = at.terms.iter().find(|t| t.0 == axis).map_or(0, |t| t.1);
                            uses += usize::from(c != 0);
                            good |= c == 1 && self.may_be_adjacent(buffer, dim);
                        }
                        Index::Value(e) => uses += 2 * usize::from(expr::axes(e, &[]).contains(&axis)),
                    }
                }
                count += usize::from(uses > 0 && !(uses == 1 && good));
            });
        }
        let stored = |(dim, at): (usize, &Affine)| {
            let c = at.terms.iter().find(|t| t.0 == axis).map_or(0, |t| t.1);
            c != 0 && !(c == 1 && self.may_be_adjacent(self.def.dst, dim))
        };
        count += self.def.at.iter().enumerate().filter(|d| stored(*d)).count();
        // A vector that is half empty is as bad as one access that is not adjacent.
        let short = usize::from(self.extent(axis) * 2 < self.machine.lanes);
        (count + short, usize::MAX - self.extent(axis))
    }

    fn may_be_adjacent(&self, buffer: usize, dim: usize) -> bool {
        let info = &self.kernel.buffers[buffer];
        let given = buffer < self.kernel.args && info.freedom == crate::kernel::ir::Freedom::Fixed;
        !given || info.storage[dim][0].stride == 1
    }

    /// Reduced axes with the longest strides outermost.
    fn by_stride(&self, axes: &[AxisId]) -> Vec<AxisId> {
        let stride = |axis: &AxisId| {
            let mut sum = 0;
            for_each_load(&self.def.expr, &mut |buffer, index, _| {
                for (index, digits) in index.iter().zip(&self.kernel.buffers[buffer].storage) {
                    if let Index::Affine(at) = index {
                        let c = at.terms.iter().find(|t| t.0 == *axis).map_or(0, |t| t.1);
                        sum += c.unsigned_abs() as usize * digits[0].stride;
                    }
                }
            });
            usize::MAX - sum
        };
        let mut axes = axes.to_vec();
        axes.sort_by_key(stride);
        axes
    }

    /// Free axes other than `lane` that should take registers: first those along which a vector is used again, the
    /// innermost ones of the result first.
    fn register_axes(&self, lane: AxisId, free: &[AxisId]) -> Vec<AxisId> {
        let reused = |axis: AxisId| {
            let mut found = false;
            for_each_load(&self.def.expr, &mut |_, index, _| {
                let depends = |axis: AxisId| {
                    index.iter().any(|i| match i {
                        Index::Affine(at) => at.terms.iter().any(|t| t.0 == axis),
                        Index::Value(e) => expr::axes(e, &[]).contains(&axis),
                    })
                };
                found |= depends(lane) && !depends(axis);
            });
            found
        };
        let mut axes: Vec<AxisId> = free.iter().rev().copied().filter(|axis| *axis != lane).collect();
        axes.sort_by_key(|axis| (!reused(*axis), self.extent(*axis) < 4));
        axes.truncate(2);
        axes
    }

    /// Lanes along a free axis, registers along another one.
    fn contraction(&self, lane: AxisId, free: &[AxisId], over: &[AxisId], found: &mut Vec<Choice>) {
        let all = self.machine.lanes;
        let vectors_at_most = self.extent(lane).div_ceil(all);
        let mut rows: Vec<Option<AxisId>> = self.register_axes(lane, free).into_iter().map(Some).collect();
        if rows.is_empty() {
            rows.push(None);
        }
        for row in rows {
            let rows_at_most = row.map_or(1, |axis| self.extent(axis));
            for (rows, vectors) in TILES {
                let (rows, vectors) = (rows.min(rows_at_most), vectors.min(vectors_at_most));
                if rows * vectors + rows.min(vectors) + 1 > self.machine.registers {
                    continue;
                }
                let mut tile = vec![(lane, vectors * all)];
                tile.extend(row.filter(|_| rows > 1).map(|axis| (axis, rows)));
                let rest = free.iter().copied().filter(|axis| *axis != lane && Some(*axis) != row);
                let inside: Vec<AxisId> = rest.collect();
                let lane_first: Vec<AxisId> =
                    inside.iter().copied().chain([lane]).chain(row).chain(over.iter().copied()).collect();
                found.push(self.choice(lane_first, tile.clone(), Some(lane)));
                if row.is_some() {
                    let lane_last =
                        inside.iter().copied().chain(row).chain([lane]).chain(over.iter().copied()).collect();
                    found.push(self.choice(lane_last, tile.clone(), Some(lane)));
                }
                // Short reductions, such as the taps of a window, are written out.
                if let Some(last) = over.last().filter(|axis| (2..=4).contains(&self.extent(**axis))) {
                    let mut tile = tile.clone();
                    tile.push((*last, self.extent(*last)));
                    let order = inside.iter().copied().chain([lane]).chain(row).chain(over.iter().copied());
                    found.push(self.choice(order.collect(), tile, Some(lane)));
                }
            }
        }
    }

    /// Lanes along a reduced axis: each keeps a part of the result.
    fn across(&self, lane: AxisId, free: &[AxisId], over: &[AxisId], found: &mut Vec<Choice>) {
        let all = self.machine.lanes;
        let vectors_at_most = self.extent(lane).div_ceil(all);
        let mut rows: Vec<Option<AxisId>> = self.register_axes(lane, free).into_iter().map(Some).collect();
        rows.push(None);
        for row in rows {
            let rows_at_most = row.map_or(1, |axis| self.extent(axis));
            for (rows, vectors) in [(1, 1), (1, 2), (1, 4), (2, 2), (4, 1), (4, 2), (8, 1)] {
                let (rows, vectors) = (rows.min(rows_at_most), vectors.min(vectors_at_most));
                if rows * vectors + rows + 1 > self.machine.registers {
                    continue;
                }
                let mut tile = vec![(lane, vectors * all)];
                tile.extend(row.filter(|_| rows > 1).map(|axis| (axis, rows)));
                let outer = free.iter().copied().filter(|axis| Some(*axis) != row).chain(row);
                let inner = over.iter().copied().filter(|axis| *axis != lane).chain([lane]);
                found.push(self.choice(outer.chain(inner).collect(), tile.clone(), Some(lane)));
                // A second free axis shares what the rows load.
                let second = free.iter().copied().find(|axis| Some(*axis) != row);
                if let (Some(second), true) = (second, rows > 1 && vectors == 1) {
                    let more = self.extent(second).min(self.machine.registers / (rows * vectors + 1)).min(4);
                    if more > 1 {
                        tile.push((second, more));
                        let outer = free.iter().copied().filter(|axis| Some(*axis) != row).chain(row);
                        let inner = over.iter().copied().filter(|axis| *axis != lane).chain([lane]);
                        found.push(self.choice(outer.chain(inner).collect(), tile, Some(lane)));
                    }
                }
            }
        }
    }

    /// No reduction: a few vectors at a time, lanes innermost; or, where an access is not adjacent along the lanes,
    /// a few positions of the axis along which it is.
    fn map(&self, lane: AxisId, free: &[AxisId], found: &mut Vec<Choice>) {
        let all = self.machine.lanes;
        let vectors_at_most = self.extent(lane).div_ceil(all);
        let outer: Vec<AxisId> = free.iter().copied().filter(|axis| *axis != lane).collect();
        for vectors in [1, 2, 4] {
            let tile = vec![(lane, vectors.min(vectors_at_most) * all)];
            found.push(self.choice(outer.iter().copied().chain([lane]).collect(), tile.clone(), Some(lane)));
            if let (Some(second), 1) = (outer.last(), vectors) {
                for rows in [4, 8] {
                    let rows = rows.min(self.extent(*second));
                    let tile = tile.iter().copied().chain([(*second, rows)]).collect();
                    let order = outer[..outer.len() - 1].iter().copied().chain([lane, *second]).collect();
                    found.push(self.choice(order, tile, Some(lane)));
                }
            }
        }
    }
}
