//! Orders in memory that a nest would like: adjacent elements for adjacent lanes.

use super::Nest;
use super::nests::Site;
use crate::kernel::expr::for_each_load;
use crate::kernel::ir::{AxisId, BufferId, Digit, Freedom, Index, Kernel, Storage};
use crate::kernel::lower::ordered_storage;
use crate::mutant::planted;

/// One order of one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub buffer: BufferId,
    /// Dimensions, outermost first.
    pub order: Vec<usize>,
    /// The dimension of the lanes is cut into panels of this width, which lie innermost.
    pub panel: Option<(usize, usize)>,
}

impl Wish {
    /// The storage of an argument.
    pub fn storage(&self, kernel: &Kernel) -> Storage {
        let dims = &kernel.buffers[self.buffer].dims;
        let Some((dim, width)) = self.panel.filter(|(dim, width)| dims[*dim] > *width) else {
            return ordered_storage(dims, &self.order);
        };
        let mut storage: Storage = vec![vec![]; dims.len()];
        storage[dim].push(Digit { size: width, stride: 1 });
        let mut stride = width;
        for d in self.order.iter().rev().filter(|d| **d != dim) {
            storage[*d].push(Digit { size: Digit::REST, stride });
            stride *= dims[*d].max(1);
        }
        let stride = if planted!(PanelOverlap) { stride / 2 } else { stride };
        storage[dim].push(Digit { size: Digit::REST, stride });
        storage
    }
}

/// What the loads and the store of a nest would like.
pub(super) fn wishes(site: &Site<'_>, nest: &Nest) -> Vec<Wish> {
    let Some(lane) = nest.lane else { return vec![] };
    let (kernel, def) = (site.kernel, site.def);
    let mut found: Vec<Wish> = vec![];
    let mut add = |wish: Wish| {
        if found.iter().all(|known| known.buffer != wish.buffer) {
            found.push(wish);
        }
    };
    let reduced = def.reduce.as_ref().is_some_and(|r| r.axes.contains(&lane));
    let values = def.pre.iter().map(|pre| &pre.expr).chain([&def.expr]).chain(&def.init).chain(&def.epilogue);
    for value in values {
        for_each_load(value, &mut |buffer, index, _| {
            let Some(dim) = lane_dimension(index, lane) else { return };
            let info = &kernel.buffers[buffer];
            if buffer < kernel.args && info.freedom == Freedom::Fixed || info.dims.len() < 2 {
                return;
            }
            let plain = matches!(&index[dim], Index::Affine(at) if at.as_axis() == Some(lane));
            let panel = info.freedom == Freedom::Pack && buffer < kernel.args && plain && !reduced;
            let panel =
                (panel && kernel.axes[lane].free.is_none()).then(|| (dim, panel_width(site, nest, lane)));
            add(Wish { buffer, order: loop_order(index, nest, dim), panel });
        });
    }
    let info = &kernel.buffers[def.dst];
    let may = def.dst >= kernel.args || info.freedom == Freedom::Choose;
    let dim = def.at.iter().position(|at| at.terms.contains(&(lane, 1)));
    if let (true, Some(dim)) = (may && info.dims.len() > 1, dim) {
        let order = (0..info.dims.len()).filter(|d| *d != dim).chain([dim]).collect();
        add(Wish { buffer: def.dst, order, panel: None });
    }
    found
}

/// A panel holds a tile, or a vector where blocks cut tiles.
fn panel_width(site: &Site<'_>, nest: &Nest, lane: AxisId) -> usize {
    let tile = nest.tile_of(lane);
    match site.blocks[lane] {
        Some(block) if block % tile != 0 => site.machine.lanes,
        _ => tile,
    }
}

/// The only dimension that lanes move along, one element a lane.
fn lane_dimension(index: &[Index], lane: AxisId) -> Option<usize> {
    let mut found = None;
    for (dim, index) in index.iter().enumerate() {
        match index {
            Index::Affine(at) => match at.terms.iter().find(|t| t.0 == lane) {
                None => {}
                Some((_, 1)) if found.is_none() => found = Some(dim),
                Some(_) => return None,
            },
            Index::Value(_) => {}
        }
    }
    found
}

/// Dimensions in the order of the loops that move them, the lanes' last.
fn loop_order(index: &[Index], nest: &Nest, last: usize) -> Vec<usize> {
    let depth = |dim: usize| match &index[dim] {
        Index::Affine(at) => {
            let depths = at.terms.iter().filter_map(|t| nest.order.iter().position(|axis| *axis == t.0));
            depths.max().map_or(0, |depth| depth + 1)
        }
        Index::Value(_) => 0,
    };
    let mut order: Vec<usize> = (0..index.len()).filter(|dim| *dim != last).collect();
    order.sort_by_key(|dim| depth(*dim));
    order.push(last);
    order
}
