//! A short list of schedules for any kernel, built from what its definitions load and store.
//!
//! For each grid, definitions get the nest that the cost model likes best, the heaviest one first: the orders in
//! memory that it wishes for are granted, and the others make do with what is left. The heaviest definition, which
//! decides, keeps several nests.

use super::grid::{folds, grids, heaviest, points};
use super::nests::{Choice, Site};
use super::wish::Wish;
use super::{Machine, Place, Schedule};
use crate::error::Result;
use crate::kernel::cost::{self, Uses};
use crate::kernel::expr::for_each_load;
use crate::kernel::ir::{AxisId, BufferId, Def, Freedom, Index, Item, Kernel, Storage};
use crate::kernel::lower::{Locals, check_blocks, lower, lower_where};
use crate::kernel::tile::Program;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Schedules that are kept.
const KEPT: usize = 24;

/// Nests of the heaviest definition that are tried on one grid.
const NESTS: usize = 4;

/// Scratch beyond this falls out of the second cache: such grids count only if there is no other.
const MOST_SCRATCH: usize = 1 << 20;

/// Schedules of a kernel, those that should be fastest first; at least one.
pub fn candidates(kernel: &Kernel, machine: &Machine) -> Vec<Schedule> {
    ranked(kernel, machine).into_iter().map(|found| found.schedule).collect()
}

/// The schedule that should be fastest, its program, and the seconds that it should take on one core.
pub fn best(name: &str, kernel: &Kernel, machine: &Machine) -> Result<(Schedule, Program, f64)> {
    let first = ranked(kernel, machine).into_iter().next();
    let schedule = first.map_or_else(|| Schedule::plain(kernel), |found| found.schedule);
    let program = lower(name, kernel, &schedule)?;
    let seconds = cost::predict(&program, machine);
    Ok((schedule, program, seconds))
}

struct Found {
    schedule: Schedule,
    /// What it is ranked by.
    cost: f64,
}

fn ranked(kernel: &Kernel, machine: &Machine) -> Vec<Found> {
    let mut found: Vec<Found> = vec![];
    let uses = Rc::new(Uses::new(kernel));
    let rated = |schedule| rated(kernel, machine, &uses, schedule);
    for folds in folds(kernel) {
        for grid in grids(kernel) {
            let Some(draft) = Draft::new(kernel, machine, &uses, grid, folds.clone()) else { continue };
            found.extend(draft.schedules().into_iter().filter_map(rated));
        }
    }
    found.extend(rated(Schedule::plain(kernel)));
    // A stable sort: equal costs keep the order in which they were found.
    found.sort_by(|x, y| x.cost.total_cmp(&y.cost));
    let mut seen = std::collections::HashSet::new();
    found.retain(|f| seen.insert(f.schedule.clone()));
    found.truncate(KEPT);
    found
}

/// A schedule with its cost; None if it cannot be lowered.
fn rated(kernel: &Kernel, machine: &Machine, uses: &Uses, schedule: Schedule) -> Option<Found> {
    let program = lower("candidate", kernel, &schedule).ok()?;
    let seconds = cost::predict_with(&program, machine, uses);
    // Launches of a few microseconds run on one thread.
    let shared = if seconds > 20e-6 { cost::imbalance(&program, machine) } else { 1.0 };
    let crowded = if program.scratch_bytes() > MOST_SCRATCH { 2.0 } else { 1.0 };
    Some(Found { schedule, cost: seconds * shared * crowded })
}

/// A grid whose nests are to be chosen.
struct Draft<'a> {
    kernel: &'a Kernel,
    machine: &'a Machine,
    uses: Rc<Uses>,
    locals: Rc<Locals>,
    schedule: Schedule,
    /// Buffers whose order is decided.
    decided: Vec<bool>,
    /// The best nest of a definition for orders of the buffers that it touches: other buffers do not matter.
    known: Rc<RefCell<HashMap<Question, Option<Choice>>>>,
}

/// A definition, and what is decided about each of its buffers.
type Question = (usize, Vec<(BufferId, bool, Storage, Vec<usize>)>);

impl<'a> Draft<'a> {
    /// None if blocks of this grid depend on each other.
    fn new(
        kernel: &'a Kernel,
        machine: &'a Machine,
        uses: &Rc<Uses>,
        grid: Vec<(AxisId, usize)>,
        folds: Vec<usize>,
    ) -> Option<Draft<'a>> {
        check_blocks(kernel, &grid, &folds).ok()?;
        let mut schedule = Schedule::plain(kernel);
        schedule.lanes = machine.lanes;
        let folds: Vec<usize> =
            schedule.folds.iter().zip(&folds).map(|(whole, size)| *whole.min(size)).collect();
        let locals = Rc::new(Locals::new(kernel, &grid, &folds));
        for ((buffer, place), sizes) in (kernel.args..).zip(&mut schedule.places).zip(&locals.sizes) {
            let in_one_nest = locals.in_one_nest[buffer];
            if sizes.iter().all(|size| *size == 1) || (in_one_nest && plain_indices(kernel, buffer)) {
                *place = Place::Register;
            }
        }
        schedule.grid = grid;
        schedule.folds = folds;
        let decided = vec![false; kernel.buffers.len()];
        let (uses, known) = (uses.clone(), Rc::default());
        Some(Draft { kernel, machine, uses, locals, schedule, decided, known })
    }

    /// Complete schedules on this grid.
    fn schedules(mut self) -> Vec<Schedule> {
        let Some(heaviest) = heaviest(self.kernel) else { return vec![self.schedule] };
        let defs: Vec<(usize, &Def, Option<AxisId>)> = numbered(self.kernel);
        // Until they are chosen, nests only have to be legal.
        for (number, def, fold) in &defs {
            let site = self.site(def, *fold);
            let last = site.choices().pop().expect("there is always the plain nest");
            self.schedule.nests[*number] = last.nest;
        }
        let mut order: Vec<usize> = (0..defs.len()).collect();
        order.sort_by_key(|d| (*d != heaviest, usize::MAX - points(self.kernel, defs[*d].1)));
        let mut drafts = vec![];
        for choice in self.best_choices(&defs[heaviest], NESTS) {
            let mut draft = self.with(heaviest, &choice);
            for other in order.iter().filter(|d| **d != heaviest) {
                if let Some(choice) = draft.best_choice(&defs[*other]) {
                    draft = draft.with(*other, &choice);
                }
            }
            drafts.push(draft.schedule);
        }
        drafts
    }

    fn site<'s>(&'s self, def: &'s Def, fold: Option<AxisId>) -> Site<'s> {
        let blocks: Vec<Option<usize>> =
            (0..self.kernel.axes.len()).map(|axis| self.block(axis, fold)).collect();
        let extents = self.kernel.axes.iter().zip(&blocks).map(|(axis, block)| match block {
            Some(1) => None,
            Some(size) => Some((*size).min(axis.max)),
            None if axis.max == 1 && axis.free.is_none() => None,
            None => Some(axis.max),
        });
        let extents = extents.collect();
        Site { kernel: self.kernel, def, machine: self.machine, extents, blocks }
    }

    fn block(&self, axis: AxisId, fold: Option<AxisId>) -> Option<usize> {
        if fold == Some(axis) {
            let folds = self
                .kernel
                .items
                .iter()
                .filter_map(|i| if let Item::Fold { axis, .. } = i { Some(*axis) } else { None });
            let place = folds.into_iter().position(|a| a == axis);
            return place.map(|place| self.schedule.folds[place]);
        }
        self.schedule.grid.iter().find(|b| b.0 == axis).map(|b| b.1)
    }

    /// The nest of a definition that costs least, the others as they are.
    fn best_choice(&self, numbered: &(usize, &Def, Option<AxisId>)) -> Option<Choice> {
        let mut touched: BTreeSet<BufferId> = BTreeSet::from([numbered.1.dst]);
        for def in numbered.1.pre.iter().chain([numbered.1]) {
            for value in [Some(&def.expr), def.init.as_ref(), def.epilogue.as_ref()].into_iter().flatten() {
                for_each_load(value, &mut |buffer, _, _| {
                    touched.insert(buffer);
                });
            }
        }
        let state = |buffer: BufferId| {
            let storage = self.schedule.storage.get(buffer).cloned().unwrap_or_default();
            let order = match buffer.checked_sub(self.kernel.args).map(|local| &self.schedule.places[local]) {
                Some(Place::Scratch(order)) => order.clone(),
                _ => vec![],
            };
            (buffer, self.decided[buffer], storage, order)
        };
        let question = (numbered.0, touched.into_iter().map(state).collect::<Vec<_>>());
        if let Some(known) = self.known.borrow().get(&question) {
            return known.clone();
        }
        let answer = self.best_choices(numbered, 1).into_iter().next();
        self.known.borrow_mut().insert(question, answer.clone());
        answer
    }

    /// The nests of a definition that cost least, the others as they are.
    fn best_choices(&self, (number, def, fold): &(usize, &Def, Option<AxisId>), count: usize) -> Vec<Choice> {
        let mut rated: Vec<(f64, Choice)> = vec![];
        let wanted = |d| d == *number;
        for choice in self.site(def, *fold).choices() {
            let draft = self.with(*number, &choice);
            if let Ok(program) = lower_where("draft", self.kernel, &draft.schedule, &self.locals, &wanted) {
                rated.push((cost::predict_with(&program, self.machine, &self.uses), choice));
            }
        }
        rated.sort_by(|x, y| x.0.total_cmp(&y.0));
        rated.truncate(count);
        rated.into_iter().map(|r| r.1).collect()
    }

    /// The draft with one more nest, its wishes granted where nothing is decided yet.
    fn with(&self, number: usize, choice: &Choice) -> Draft<'a> {
        let mut draft = Draft {
            kernel: self.kernel,
            machine: self.machine,
            uses: self.uses.clone(),
            locals: self.locals.clone(),
            schedule: self.schedule.clone(),
            decided: self.decided.clone(),
            known: self.known.clone(),
        };
        draft.schedule.nests[number] = choice.nest.clone();
        choice.wishes.iter().for_each(|wish| draft.grant(wish));
        draft
    }

    fn grant(&mut self, wish: &Wish) {
        if std::mem::replace(&mut self.decided[wish.buffer], true) {
            return;
        }
        if wish.buffer < self.kernel.args {
            if self.kernel.buffers[wish.buffer].freedom != Freedom::Fixed {
                self.schedule.storage[wish.buffer] = wish.storage(self.kernel);
            }
        } else if let Place::Scratch(order) = &mut self.schedule.places[wish.buffer - self.kernel.args] {
            *order = wish.order.clone();
        }
    }
}

/// Definitions with their number and the axis of the fold around them.
fn numbered(kernel: &Kernel) -> Vec<(usize, &Def, Option<AxisId>)> {
    let defs = kernel.items.iter().flat_map(|item| match item {
        Item::Def(def) => vec![(def, None)],
        Item::Fold { axis, defs, .. } => defs.iter().map(|def| (def, Some(*axis))).collect(),
    });
    defs.enumerate().map(|(number, (def, fold))| (number, def, fold)).collect()
}

/// True if every index of the buffer is just an axis.
fn plain_indices(kernel: &Kernel, buffer: usize) -> bool {
    let mut plain = true;
    for def in kernel.defs().flat_map(|d| d.pre.iter().chain([d])) {
        for value in [Some(&def.expr), def.init.as_ref(), def.epilogue.as_ref()].into_iter().flatten() {
            for_each_load(value, &mut |b, index, _| {
                let axis = |i: &Index| matches!(i, Index::Affine(at) if at.as_axis().is_some());
                plain &= b != buffer || index.iter().all(axis);
            });
        }
        plain &= def.dst != buffer || def.at.iter().all(|at| at.as_axis().is_some());
    }
    plain
}
