//! Kernel and schedule to tile program. One path for every form: blocks, then for each definition its own nest (free
//! loops, accumulators, reduction loops, reduction over lanes, store), with what does not fill a tile split off.

mod blocks;
mod nest;

use blocks::local_sizes;
pub use blocks::{check as check_blocks, may_block};
pub use nest::combine;

use super::expr;
use super::ir::{AxisId, BufferId, E, Item, Kernel, Space, Storage};
use super::layout::LayoutDigit;
use super::schedule::{Place, Schedule};
use super::tile::{Block, Bound, For, Level, Part, Program, Stmt, Term, Var};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// The tile program of a kernel under a schedule. An error says why the schedule does not fit the kernel.
pub fn lower(name: &str, kernel: &Kernel, schedule: &Schedule) -> Result<Program> {
    check_form(kernel, schedule)?;
    blocks::check(kernel, &schedule.grid, &schedule.folds)?;
    let locals = Locals::new(kernel, &schedule.grid, &schedule.folds);
    let mut program = lower_where(name, kernel, schedule, &locals, &|_| true)?;
    program.kernel.items = kernel.items.clone();
    Ok(program)
}

/// What blocks say about the buffers that are not arguments.
pub(super) struct Locals {
    /// For each of them its sizes in one block.
    pub sizes: Vec<Vec<usize>>,
    /// For each buffer of the kernel: it is written in a reduction loop and used nowhere else.
    pub in_one_nest: Vec<bool>,
}

impl Locals {
    pub fn new(kernel: &Kernel, grid: &[(AxisId, usize)], folds: &[usize]) -> Locals {
        Locals { sizes: local_sizes(kernel, grid, folds), in_one_nest: in_one_nest(kernel) }
    }
}

/// As [`lower`], of some definitions only: what one of them costs is seen without the others. The form of the schedule
/// and its blocks are checked already. The kernel of the program lacks its definitions.
pub(super) fn lower_where(
    name: &str,
    kernel: &Kernel,
    schedule: &Schedule,
    locals: &Locals,
    wanted: &dyn Fn(usize) -> bool,
) -> Result<Program> {
    let (axes, buffers) = (kernel.axes.clone(), kernel.buffers.clone());
    let mut decided = Kernel { axes, buffers, args: kernel.args, items: vec![] };
    place_buffers(&mut decided, schedule, &locals.sizes);
    let mut lowering = Lowering {
        kernel: &decided,
        schedule,
        fold: None,
        accumulators: 0,
        register_layouts: HashMap::new(),
        in_one_nest: &locals.in_one_nest,
    };
    let mut body = vec![];
    let mut folds = schedule.folds.iter();
    let mut number = 0;
    for item in &kernel.items {
        match item {
            Item::Def(def) => {
                if wanted(number) {
                    body.extend(lowering.definition(def, &schedule.nests[number])?);
                }
                number += 1;
            }
            Item::Fold { axis, until, defs } => {
                let block =
                    *folds.next().ok_or_else(|| Error::new("the schedule has too few fold blocks"))?;
                lowering.fold = Some(FoldBlock { axis: *axis, until: *until, size: block });
                let mut inside = vec![];
                for def in defs {
                    if wanted(number) {
                        inside.extend(lowering.definition(def, &schedule.nests[number])?);
                    }
                    number += 1;
                }
                if inside.iter().any(|stmt| matches!(stmt, Stmt::Barrier)) {
                    inside.push(Stmt::Barrier);
                }
                body.push(Stmt::For(For {
                    var: Var { axis: *axis, level: Level::Block },
                    from: Bound::constant(0),
                    to: lowering.end(*axis),
                    parts: vec![Part { step: block, whole: false, body: inside }],
                }));
                lowering.fold = None;
            }
        }
    }
    let grid = schedule.grid.iter().map(|(axis, size)| Block { axis: *axis, size: *size }).collect();
    Ok(Program { name: name.into(), notes: vec![], kernel: decided, grid, lanes: schedule.lanes, body })
}

/// The fold that is being lowered.
struct FoldBlock {
    axis: AxisId,
    until: Option<AxisId>,
    size: usize,
}

struct Lowering<'a> {
    kernel: &'a Kernel,
    schedule: &'a Schedule,
    fold: Option<FoldBlock>,
    /// Accumulators so far.
    accumulators: usize,
    /// Digits of each dimension of a register buffer: the same in every nest that touches it.
    register_layouts: HashMap<BufferId, Vec<Vec<LayoutDigit>>>,
    /// For each buffer: it is written in a reduction loop and used nowhere else.
    in_one_nest: &'a [bool],
}

/// Where an axis runs inside the present block.
struct Range {
    from: Bound,
    to: Bound,
    /// All lengths that occur, if they are known.
    lengths: Option<Vec<usize>>,
}

impl Lowering<'_> {
    fn name(&self, axis: AxisId) -> &str {
        &self.kernel.axes[axis].name
    }

    /// The size of the block of an axis, where it is cut into blocks.
    fn block(&self, axis: AxisId) -> Option<usize> {
        if let Some(fold) = self.fold.as_ref().filter(|fold| fold.axis == axis) {
            return Some(fold.size);
        }
        self.schedule.grid.iter().find(|b| b.0 == axis).map(|b| b.1)
    }

    /// The end of a whole axis; inside a fold that stops early, of what it runs over.
    fn end(&self, axis: AxisId) -> Bound {
        let info = &self.kernel.axes[axis];
        let mut terms = vec![match info.free {
            Some(size) => Term { vars: vec![], size: Some(size), offset: 0 },
            None => Term::constant(info.max as i64),
        }];
        if let Some(until) = self.fold.as_ref().filter(|fold| fold.axis == axis).and_then(|fold| fold.until)
            && let Some(size) = self.block(until)
        {
            let block = Var { axis: until, level: Level::Block };
            terms.push(Term { vars: vec![(block, 1)], size: None, offset: size as i64 });
        }
        Bound(terms)
    }

    fn range(&self, axis: AxisId) -> Range {
        let info = &self.kernel.axes[axis];
        let end = self.end(axis);
        let known = info.free.is_none() && end.0.len() == 1;
        let Some(block) = self.block(axis) else {
            return Range { from: Bound::constant(0), to: end, lengths: known.then(|| vec![info.max]) };
        };
        let at = |offset| Term { vars: vec![(Var { axis, level: Level::Block }, 1)], size: None, offset };
        let mut to = vec![at(block as i64)];
        let fits = known && info.max.is_multiple_of(block);
        if !fits {
            to.extend(end.0);
        }
        let lengths = known.then(|| {
            let last = info.max % block;
            let whole = (info.max >= block).then_some(block);
            whole.into_iter().chain((last > 0).then_some(last)).collect()
        });
        Range { from: Bound(vec![at(0)]), to: Bound(to), lengths }
    }
}

fn check_form(kernel: &Kernel, schedule: &Schedule) -> Result<()> {
    let fail = |what: &str| Err(Error::new(format!("the schedule does not fit the kernel: {what}")));
    if schedule.nests.len() != kernel.defs().count() {
        return fail("it needs one nest for each definition");
    }
    if schedule.folds.len() != kernel.items.iter().filter(|i| matches!(i, Item::Fold { .. })).count() {
        return fail("it needs one block size for each fold");
    }
    if schedule.storage.len() != kernel.args || schedule.places.len() != kernel.buffers.len() - kernel.args {
        return fail("it needs a storage for each argument and a place for each other buffer");
    }
    if schedule.grid.iter().any(|b| b.1 == 0) || schedule.folds.contains(&0) {
        return fail("a block has no positions");
    }
    if !schedule.lanes.is_power_of_two() {
        return fail("the number of lanes is not a power of two");
    }
    for (buffer, storage) in kernel.buffers.iter().zip(&schedule.storage) {
        if storage.len() != buffer.dims.len() || storage.iter().any(|d| d.is_empty()) {
            return fail(&format!("the storage of `{}` has another number of dimensions", buffer.name));
        }
    }
    Ok(())
}

/// Buffers that the maps inside one reduction loop write and only that loop reads.
fn in_one_nest(kernel: &Kernel) -> Vec<bool> {
    let mut touched: Vec<Vec<(usize, bool)>> = vec![vec![]; kernel.buffers.len()];
    for (number, def) in kernel.defs().enumerate() {
        let mut touch = |value: &E, inside: bool| {
            expr::for_each_load(value, &mut |buffer, _, _| touched[buffer].push((number, inside)));
        };
        def.pre.iter().for_each(|pre| touch(&pre.expr, true));
        touch(&def.expr, def.reduce.is_some());
        def.init.iter().chain(&def.epilogue).for_each(|value| touch(value, false));
        def.pre.iter().for_each(|pre| touched[pre.dst].push((number, true)));
        touched[def.dst].push((number, false));
    }
    let one = |uses: &Vec<(usize, bool)>| uses.iter().all(|u| u.1 && u.0 == uses[0].0);
    touched.iter().map(|uses| !uses.is_empty() && one(uses)).collect()
}

/// Gives arguments their storage, and local buffers a space and the sizes that a block needs.
fn place_buffers(kernel: &mut Kernel, schedule: &Schedule, sizes: &[Vec<usize>]) {
    for (buffer, storage) in kernel.buffers.iter_mut().zip(&schedule.storage) {
        buffer.storage = storage.clone();
    }
    let args = kernel.args;
    for ((buffer, place), sizes) in kernel.buffers[args..].iter_mut().zip(&schedule.places).zip(sizes) {
        buffer.dims.clone_from(sizes);
        match place {
            Place::Register => {
                buffer.space = Space::Register;
                buffer.storage = super::ir::Buffer::row_major(&buffer.dims);
            }
            Place::Scratch(order) => {
                buffer.space = Space::Scratch;
                buffer.storage = ordered_storage(&buffer.dims, order);
            }
        }
    }
}

/// Storage without padding whose dimensions follow each other in this order, outermost first.
pub fn ordered_storage(dims: &[usize], order: &[usize]) -> Storage {
    let mut storage: Storage = vec![vec![]; dims.len()];
    let mut stride = 1;
    for dim in order.iter().rev() {
        storage[*dim] = vec![super::ir::Digit { size: super::ir::Digit::REST, stride }];
        stride *= dims[*dim].max(1);
    }
    storage
}
