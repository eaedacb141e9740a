//! Folds: dependent reductions over one long axis, streamed in blocks, with running values that are repaired.
//!
//! For each block, in order: a reduction that others depend on keeps its old value; then it takes the block in; what
//! depends on it is multiplied by the ratio of the new to the old factor before it takes the block in itself. Factors
//! that do not change along the axis are applied after the last block.

use super::super::cascade::{self, Component, Fold, Law, Product};
use super::super::term::{AxisSet, Id};
use super::Options;
use super::defs::{self, Cone};
use super::expr::{Builder, binary};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::graph::{Reduce, Unary};
use crate::kernel::expr;
use crate::kernel::ir::{Affine, AxisId, Binary, BufferId, Def, E, Expr, Index, Item};
use crate::mutant::planted;
use std::rc::Rc;

/// The fold of a kernel, if its axis is long enough and all its laws can be streamed in blocks.
pub fn choose(cone: &Cone<'_>, axes: Option<AxisSet>, options: &Options) -> Option<Fold> {
    let axes = axes.filter(|axes| axes.len() == 1)?;
    if cone.dag.context.volume(axes) <= options.stream_over as f64 {
        return None;
    }
    let fold = cascade::derive(cone.dag, &|id| cone.contains(id), axes).ok()?;
    let streams = |component: &Component| match component.law {
        Law::Plain | Law::Exp(_) | Law::Shift(_) => cone.dag.dtype(component.reduction) == Dtype::F32,
        Law::Attain { .. } => true,
        Law::Moment { .. } => false,
    };
    let mut components = fold.components.iter();
    let depends = components.any(|component| component.law != Law::Plain || !component.deferred.is_empty());
    (depends && fold.components.iter().all(streams)).then_some(fold)
}

/// The running value of one reduction.
struct State {
    buffer: BufferId,
    axes: Vec<AxisId>,
    /// Its value before the present block, if others need it.
    before: Option<BufferId>,
}

/// A fold within a cone.
pub struct Streamed<'a> {
    fold: &'a Fold,
    /// Reductions that run inside: those of the fold, and those whose values have the streamed axis.
    inside: Vec<Id>,
}

impl<'a> Streamed<'a> {
    pub fn new(cone: &Cone<'_>, fold: &'a Fold, reductions: &[Id]) -> Result<Streamed<'a>> {
        let member = |id: &Id| fold.components.iter().any(|c| c.reduction == *id);
        let inside = reductions
            .iter()
            .copied()
            .filter(|id| member(id) || cone.dag.free(*id).meets(fold.axes))
            .collect();
        Ok(Streamed { fold, inside })
    }

    pub fn contains(&self, id: Id) -> bool {
        self.inside.contains(&id)
    }

    /// Adds the initial values, the fold, and leaves the builder such that its reductions stand for the final values.
    pub fn define(&self, cone: &Cone<'_>, builder: &mut Builder<'_>) -> Result<()> {
        let states = self.start(cone, builder);
        let outside = builder.kernel.items.len();
        let mut repairs = vec![];
        for id in &self.inside {
            match self.fold.components.iter().position(|c| c.reduction == *id) {
                Some(number) => self.component(cone, builder, number, &states, &mut repairs)?,
                None => defs::private_reduction(cone, *id, builder)?,
            }
        }
        let body = builder.kernel.items.drain(outside..).map(|item| match item {
            Item::Def(def) => def,
            Item::Fold { .. } => unreachable!("a fold holds definitions"),
        });
        let defs = body.collect();
        let axis = builder.axis(self.fold.axes.iter().next().expect("a fold has an axis"));
        builder.kernel.items.push(Item::Fold { axis, until: None, defs });
        self.finish(builder, &states)
    }

    /// A buffer for each running value, set to the identity.
    fn start(&self, cone: &Cone<'_>, builder: &mut Builder<'_>) -> Vec<State> {
        let mut states = vec![];
        for (number, component) in self.fold.components.iter().enumerate() {
            let (free, dtype) = (cone.dag.free(component.reduction), cone.dag.dtype(component.reduction));
            let (buffer, axes) = builder.local(free, dtype);
            let before = self.is_needed(cone, number).then(|| builder.local(free, dtype).0);
            let op = if component.maximum { Reduce::Max } else { Reduce::Sum };
            if !planted!(StateNotReset) {
                define(builder, buffer, &axes, Rc::new(expr::identity(op, dtype)));
            }
            states.push(State { buffer, axes, before });
        }
        states
    }

    /// True if a later repair depends on this running value.
    fn is_needed(&self, cone: &Cone<'_>, number: usize) -> bool {
        let reduction = self.fold.components[number].reduction;
        let attains = |component: &Component| component.law == Law::Attain { maximum: reduction };
        if self.fold.components.iter().any(attains) {
            return true;
        }
        let factors = self.fold.components[number + 1..].iter().flat_map(|component| match &component.law {
            Law::Exp(products) | Law::Shift(products) => &products[..],
            _ => &[],
        });
        factors.flat_map(|product| &product.factors).any(|factor| reaches(cone, *factor, reduction))
    }

    /// One reduction takes in a block.
    fn component(
        &self,
        cone: &Cone<'_>,
        builder: &mut Builder<'_>,
        number: usize,
        states: &[State],
        repairs: &mut Vec<(Vec<Product>, E)>,
    ) -> Result<()> {
        let component = &self.fold.components[number];
        let state = &states[number];
        if let (Some(before), false) = (state.before, planted!(RepairStale)) {
            define(builder, before, &state.axes, load(state.buffer, &state.axes));
        }
        for deferred in &component.deferred {
            builder.replace(*deferred, Rc::new(Expr::Float(1.0)));
        }
        // What attains a maximum is compared with the maximum itself, guarded against nothing.
        let mut guarded_maximum = None;
        if let Law::Attain { maximum } = component.law {
            guarded_maximum = Some((maximum, builder.value(maximum, None)?));
            let raw = self.state_of(maximum, states);
            builder.replace(maximum, load(raw.buffer, &raw.axes));
        }
        defs::shared(cone, component.reduction, builder)?;
        let own = load(state.buffer, &state.axes);
        let init = match &component.law {
            Law::Exp(products) if !planted!(RepairMissing) => {
                let ratio = self.repair(cone, builder, products, states, number, repairs, true)?;
                binary(Binary::Mul, &own, &ratio)
            }
            Law::Shift(products) => {
                let shift = self.repair(cone, builder, products, states, number, repairs, false)?;
                binary(Binary::Add, &own, &shift)
            }
            Law::Attain { maximum } => {
                let op = if component.maximum { Reduce::Max } else { Reduce::Sum };
                let nothing = Rc::new(expr::identity(op, cone.dag.dtype(component.reduction)));
                let raw = self.state_of(*maximum, states);
                let before = raw.before.expect("a maximum that others attain keeps its old value");
                kept_if_same(&load(before, &raw.axes), &load(raw.buffer, &raw.axes), own, nothing)
            }
            _ => own,
        };
        let body = cone.dag.node(component.reduction).body().expect("a reduction has a body");
        let expr = builder.value(body, None)?;
        for deferred in &component.deferred {
            builder.restore(*deferred);
        }
        if let Some((maximum, guarded)) = guarded_maximum {
            builder.replace(maximum, guarded);
        }
        let reduce = defs::reduce(cone.dag, component.reduction, builder);
        builder.kernel.items.push(Item::Def(Def {
            dst: state.buffer,
            axes: state.axes.clone(),
            at: state.axes.iter().copied().map(Affine::axis).collect(),
            reduce: Some(reduce),
            init: Some(init),
            expr,
            epilogue: None,
            pre: vec![],
        }));
        if let (Some(before), true) = (state.before, planted!(RepairStale)) {
            define(builder, before, &state.axes, load(state.buffer, &state.axes));
        }
        let running = self.value(builder, number, states)?;
        let maximum = component.maximum && !matches!(component.law, Law::Attain { .. });
        builder.replace(component.reduction, guarded(maximum, &running));
        Ok(())
    }

    fn state_of<'s>(&self, reduction: Id, states: &'s [State]) -> &'s State {
        let number = self.fold.components.iter().position(|component| component.reduction == reduction);
        &states[number.expect("a fold attains maxima of its own")]
    }

    /// `exp2(h(new) - h(old))`, or `h(new) - h(old)`: what changes the running value when those it depends on have
    /// changed. Nothing is changed while an old maximum is -inf: no element has counted yet.
    #[allow(clippy::too_many_arguments, reason = "the state of one pass over the components")]
    fn repair(
        &self,
        cone: &Cone<'_>,
        builder: &mut Builder<'_>,
        products: &[Product],
        states: &[State],
        number: usize,
        repairs: &mut Vec<(Vec<Product>, E)>,
        exponential: bool,
    ) -> Result<E> {
        if let (true, Some((_, known))) = (exponential, repairs.iter().find(|(p, _)| p == products)) {
            return Ok(Rc::clone(known));
        }
        let new = sum(builder, products)?;
        let mut empty: Option<E> = None;
        let mut changed = vec![];
        for (earlier, state) in states[..number].iter().enumerate() {
            let Some(before) = state.before else { continue };
            let component = &self.fold.components[earlier];
            let old = load(before, &state.axes);
            if component.maximum {
                let is_empty = below_all(&old);
                empty = Some(empty.map_or(Rc::clone(&is_empty), |e| binary(Binary::Or, &e, &is_empty)));
            }
            let current = builder.value(component.reduction, None)?;
            changed.push((component.reduction, current));
            builder.replace(component.reduction, guarded(component.maximum, &old));
        }
        let old = sum(builder, products)?;
        for (reduction, current) in changed {
            builder.replace(reduction, current);
        }
        let (new, old) = if planted!(RepairInverted) { (old, new) } else { (new, old) };
        let difference = difference(&new, &old);
        let (ratio, nothing) = match exponential {
            true => (Rc::new(Expr::Unary(Unary::Exp2, difference)), 1.0),
            false => (difference, 0.0),
        };
        let value = match empty {
            Some(empty) if !planted!(EmptyRepaired) => {
                Rc::new(Expr::Select(empty, Rc::new(Expr::Float(nothing)), ratio))
            }
            _ => ratio,
        };
        // Kept: several running values use it, and each would compute it again for every position of its own axes.
        let free =
            products.iter().flat_map(|p| &p.factors).fold(AxisSet::EMPTY, |set, id| set | cone.dag.free(*id));
        let (buffer, axes) = builder.local(free, Dtype::F32);
        define(builder, buffer, &axes, value);
        let kept = load(buffer, &axes);
        if exponential {
            repairs.push((products.to_vec(), Rc::clone(&kept)));
        }
        Ok(kept)
    }

    /// The running value with its deferred factors.
    fn value(&self, builder: &mut Builder<'_>, number: usize, states: &[State]) -> Result<E> {
        let mut value = load(states[number].buffer, &states[number].axes);
        for deferred in &self.fold.components[number].deferred {
            let factor = builder.value(*deferred, None)?;
            value = binary(Binary::Mul, &value, &factor);
        }
        Ok(value)
    }

    /// After the last block: what was deferred is applied where the reductions are used.
    fn finish(&self, builder: &mut Builder<'_>, states: &[State]) -> Result<()> {
        for (number, component) in self.fold.components.iter().enumerate() {
            let value = self.value(builder, number, states)?;
            builder.replace(component.reduction, value);
        }
        Ok(())
    }
}

fn reaches(cone: &Cone<'_>, from: Id, to: Id) -> bool {
    from == to || cone.dag.node(from).values().iter().any(|value| reaches(cone, *value, to))
}

/// `new - old`, with what both are multiplied by taken out: a running value that has not changed must give exactly 0,
/// which a difference of two products does not where one of them is rounded and the other part of a multiply-add.
fn difference(new: &E, old: &E) -> E {
    if let (Expr::Binary(Binary::Mul, x, factor), Expr::Binary(Binary::Mul, y, other)) = (&**new, &**old) {
        if factor == other {
            return binary(Binary::Mul, &difference(x, y), factor);
        }
        if x == y {
            return binary(Binary::Mul, x, &difference(factor, other));
        }
    }
    if let (Expr::Binary(Binary::Add, x, rest), Expr::Binary(Binary::Add, y, other)) = (&**new, &**old) {
        return binary(Binary::Add, &difference(x, y), &difference(rest, other));
    }
    binary(Binary::Sub, new, old)
}

/// Adds `buffer[axes] = value`.
fn define(builder: &mut Builder<'_>, buffer: BufferId, axes: &[AxisId], value: E) {
    builder.kernel.items.push(Item::Def(Def {
        dst: buffer,
        axes: axes.to_vec(),
        at: axes.iter().copied().map(Affine::axis).collect(),
        reduce: None,
        init: None,
        expr: value,
        epilogue: None,
        pre: vec![],
    }));
}

fn load(buffer: BufferId, axes: &[AxisId]) -> E {
    let index = axes.iter().copied().map(|axis| Index::Affine(Affine::axis(axis))).collect();
    Rc::new(Expr::Load { buffer, index, guards: vec![] })
}

/// True for -inf alone.
fn below_all(value: &E) -> E {
    binary(Binary::LessThan, value, &Rc::new(Expr::Float(f32::MIN)))
}

/// A maximum that no element has reached is read as 0: the difference of two infinities is NaN, and what is -inf must
/// count as nothing.
fn guarded(maximum: bool, value: &E) -> E {
    match maximum && !planted!(EmptyUnguarded) {
        true => Rc::new(Expr::Select(below_all(value), Rc::new(Expr::Float(0.0)), Rc::clone(value))),
        false => Rc::clone(value),
    }
}

/// A running value if the maximum that its elements attain has not changed: it is equal, or is NaN and was.
fn kept_if_same(before: &E, now: &E, value: E, nothing: E) -> E {
    let is_number = |x: &E| {
        let infinity = |sign: f32| Rc::new(Expr::Float(sign * f32::INFINITY));
        let (below, above) =
            (binary(Binary::LessThan, x, &infinity(1.0)), binary(Binary::LessThan, &infinity(-1.0), x));
        binary(Binary::Or, &below, &above)
    };
    let select = |condition, x: &E, y: &E| Rc::new(Expr::Select(condition, x.clone(), y.clone()));
    let was_nan = select(is_number(before), &nothing, &value);
    let not_greater = select(is_number(now), &value, &was_nan);
    select(binary(Binary::LessThan, before, now), &nothing, &not_greater)
}

/// The value of a sum of products.
fn sum(builder: &mut Builder<'_>, products: &[Product]) -> Result<E> {
    let mut total: Option<E> = None;
    for product in products {
        let mut value: Option<E> = match product.coefficient {
            1.0 => None,
            c => Some(Rc::new(Expr::Float(c as f32))),
        };
        for factor in &product.factors {
            let factor = builder.value(*factor, None)?;
            value = Some(value.map_or(Rc::clone(&factor), |v| binary(Binary::Mul, &v, &factor)));
        }
        let value = value.unwrap_or_else(|| Rc::new(Expr::Float(1.0)));
        total = Some(total.map_or(Rc::clone(&value), |t| binary(Binary::Add, &t, &value)));
    }
    Ok(total.unwrap_or_else(|| Rc::new(Expr::Float(0.0))))
}
