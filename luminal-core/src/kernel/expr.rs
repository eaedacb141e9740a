//! Questions about expressions that several passes ask.

use super::ir::{AxisId, BufferId, E, Expr, Guard, Index, Kernel};
use crate::dtype::Dtype;
use crate::graph::Reduce;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Calls `visit` once for each node of a shared expression, operands first.
pub fn for_each<'a>(expr: &'a E, visit: &mut dyn FnMut(&'a E)) {
    fn walk<'a>(expr: &'a E, seen: &mut HashSet<*const Expr>, visit: &mut dyn FnMut(&'a E)) {
        // What has one owner is met once.
        if Rc::strong_count(expr) > 1 && !seen.insert(Rc::as_ptr(expr)) {
            return;
        }
        match &**expr {
            Expr::Unary(_, x) | Expr::Cast(_, x) => walk(x, seen, visit),
            Expr::Binary(_, x, y) => {
                walk(x, seen, visit);
                walk(y, seen, visit);
            }
            _ => operands(expr).into_iter().for_each(|operand| walk(operand, seen, visit)),
        }
        visit(expr);
    }
    walk(expr, &mut HashSet::new(), visit);
}

/// The expressions directly inside, those of computed indices included.
pub fn operands(expr: &Expr) -> Vec<&E> {
    match expr {
        Expr::Load { index, .. } => {
            index.iter().filter_map(|i| if let Index::Value(e) = i { Some(e) } else { None }).collect()
        }
        Expr::Unary(_, x) | Expr::Cast(_, x) => vec![x],
        Expr::Binary(_, x, y) => vec![x, y],
        Expr::Select(c, x, y) => vec![c, x, y],
        _ => vec![],
    }
}

/// The axes that a value depends on; `accumulator` are those of [`Expr::Acc`].
pub fn axes(expr: &E, accumulator: &[AxisId]) -> BTreeSet<AxisId> {
    let mut found = BTreeSet::new();
    for_each(expr, &mut |node| match &**node {
        Expr::Position(at) | Expr::NotNegative(at) => found.extend(at.terms.iter().map(|t| t.0)),
        Expr::Load { index, guards, .. } => {
            for i in index {
                if let Index::Affine(at) = i {
                    found.extend(at.terms.iter().map(|t| t.0));
                }
            }
            found.extend(guards.iter().flat_map(|g| g.at.terms.iter().map(|t| t.0)));
        }
        Expr::Acc => found.extend(accumulator),
        _ => {}
    });
    found
}

/// Calls `visit` for each load.
pub fn for_each_load<'a>(expr: &'a E, visit: &mut dyn FnMut(BufferId, &'a [Index], &'a [Guard])) {
    for_each(expr, &mut |node| {
        if let Expr::Load { buffer, index, guards } = &**node {
            visit(*buffer, index, guards);
        }
    });
}

/// Type of a value; `accumulator` is that of [`Expr::Acc`].
pub fn dtype(kernel: &Kernel, expr: &Expr, accumulator: Dtype) -> Dtype {
    use super::ir::Binary::{And, LessThan, Or};
    match expr {
        Expr::Float(_) | Expr::Unary(..) => Dtype::F32,
        Expr::Int(_) | Expr::Size(_) | Expr::Position(_) => Dtype::I32,
        Expr::Long(_) => Dtype::I64,
        Expr::Bool(_) | Expr::NotNegative(_) | Expr::Binary(LessThan | And | Or, ..) => Dtype::Bool,
        Expr::Load { buffer, .. } => kernel.buffers[*buffer].dtype.wide(),
        Expr::Acc => accumulator,
        Expr::Binary(_, x, _) | Expr::Select(_, x, _) => dtype(kernel, x, accumulator),
        Expr::Cast(to, _) => to.wide(),
    }
}

/// Zero, or false.
pub fn zero(dtype: Dtype) -> Expr {
    match dtype.wide() {
        Dtype::I32 => Expr::Int(0),
        Dtype::I64 => Expr::Long(0),
        Dtype::Bool => Expr::Bool(false),
        _ => Expr::Float(0.0),
    }
}

/// What a reduction of this type starts from. There is no sum of bools: the verifier of graphs rejects it.
pub fn identity(op: Reduce, dtype: Dtype) -> Expr {
    match (op, dtype.wide()) {
        (Reduce::Max, Dtype::F32) => Expr::Float(f32::NEG_INFINITY),
        (Reduce::Max, Dtype::I32) => Expr::Int(i32::MIN),
        (Reduce::Max, Dtype::I64) => Expr::Long(i64::MIN),
        _ => zero(dtype),
    }
}

/// The expression with every [`Expr::Acc`] replaced; sharing is kept.
pub fn substitute_accumulator(expr: &E, by: &E) -> E {
    fn again(expr: &E, by: &E, done: &mut HashMap<*const Expr, E>) -> E {
        if let Some(known) = done.get(&Rc::as_ptr(expr)) {
            return known.clone();
        }
        let new = match &**expr {
            Expr::Acc => by.clone(),
            Expr::Unary(op, x) => Rc::new(Expr::Unary(*op, again(x, by, done))),
            Expr::Binary(op, x, y) => Rc::new(Expr::Binary(*op, again(x, by, done), again(y, by, done))),
            Expr::Select(c, x, y) => {
                Rc::new(Expr::Select(again(c, by, done), again(x, by, done), again(y, by, done)))
            }
            Expr::Cast(to, x) => Rc::new(Expr::Cast(*to, again(x, by, done))),
            Expr::Load { buffer, index, guards } => {
                let index = index.iter().map(|i| match i {
                    Index::Value(e) => Index::Value(again(e, by, done)),
                    affine => affine.clone(),
                });
                Rc::new(Expr::Load { buffer: *buffer, index: index.collect(), guards: guards.clone() })
            }
            _ => expr.clone(),
        };
        done.insert(Rc::as_ptr(expr), new.clone());
        new
    }
    again(expr, by, &mut HashMap::new())
}
