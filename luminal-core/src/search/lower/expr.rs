//! Terms to pointwise kernel expressions.

use super::super::term::{Atom, Axis, AxisSet, Constant, Dag, Id, IndexExpr, Term};
use super::values::{ValueId, Values};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::{Dim, Graph, Unary};
use crate::kernel::expr::zero;
use crate::kernel::ir::{
    Affine, AxisId, Binary, Buffer, BufferId, E, Expr, Freedom, Guard, Index, Kernel, Space,
};
use crate::mutant::planted;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Builds one kernel.
pub struct Builder<'a> {
    pub graph: &'a Graph,
    pub dag: &'a Dag,
    pub values: &'a mut Values,
    pub kernel: Kernel,
    /// The value behind each argument of the kernel.
    pub args: Vec<ValueId>,
    /// Values in a buffer of the kernel: where, and under which index.
    held: HashMap<Id, (BufferId, Vec<Affine>)>,
    /// Values that stand for something else here: the running state of a fold.
    replaced: HashMap<Id, E>,
    /// While an epilogue is built: the reduction that [`Expr::Acc`] stands for.
    acc: Option<Id>,
    /// Which terms are computed here; all others are read from memory.
    inside: Vec<bool>,
    axes: BTreeMap<Axis, AxisId>,
    /// Private buffers, appended after the arguments when the kernel is finished.
    locals: Vec<Buffer>,
    memo: HashMap<Id, E>,
}

/// Private buffers are numbered from here until the number of arguments is known.
const LOCAL: BufferId = 1 << 32;

impl<'a> Builder<'a> {
    pub fn new(graph: &'a Graph, dag: &'a Dag, values: &'a mut Values, set: &[Id]) -> Builder<'a> {
        let mut inside = vec![false; dag.nodes.len()];
        for id in set {
            inside[usize::from(*id)] = true;
        }
        Builder {
            graph,
            dag,
            values,
            kernel: Kernel::default(),
            args: vec![],
            held: HashMap::new(),
            replaced: HashMap::new(),
            acc: None,
            inside,
            axes: BTreeMap::new(),
            locals: vec![],
            memo: HashMap::new(),
        }
    }

    /// The kernel's name of an axis.
    pub fn axis(&mut self, axis: Axis) -> AxisId {
        if let Some(id) = self.axes.get(&axis) {
            return *id;
        }
        let id = self.kernel.axes.len();
        let letters = "ijklmnopqrstuvwxyz".as_bytes();
        let name = match letters.get(id) {
            Some(letter) => char::from(*letter).to_string(),
            None => format!("a{id}"),
        };
        let dim = self.dag.context.extent(axis);
        self.kernel.axes.push(crate::kernel::ir::Axis::along(name, dim));
        self.axes.insert(axis, id);
        id
    }

    /// The expression without divisions and computed indices, if it has none.
    pub fn affine(&mut self, expr: &IndexExpr) -> Option<Affine> {
        let mut terms = vec![];
        for (atom, coefficient) in &expr.terms {
            let Atom::Axis(axis) = atom else { return None };
            terms.push((self.axis(*axis), *coefficient));
        }
        Some(Affine::new(terms, expr.constant))
    }

    /// An index expression as an integer value; `value` is the computed index of a gather.
    fn integer(&mut self, expr: &IndexExpr, value: Option<&E>) -> E {
        if let Some(affine) = self.affine(expr) {
            return match affine.terms.is_empty() {
                true => Rc::new(Expr::Int(affine.offset as i32)),
                false => Rc::new(Expr::Position(affine)),
            };
        }
        let mut plain = IndexExpr::constant(expr.constant);
        let mut sum: Option<E> = None;
        for (atom, coefficient) in &expr.terms {
            let term = match atom {
                Atom::Axis(_) => {
                    plain.terms.insert(atom.clone(), *coefficient);
                    continue;
                }
                Atom::Div(inner, by) => {
                    let inner = self.integer(inner, value);
                    binary(Binary::FloorDiv, &inner, &Rc::new(Expr::Int(*by as i32)))
                }
                Atom::Mod(inner, by) => {
                    let inner = self.integer(inner, value);
                    binary(Binary::Mod, &inner, &Rc::new(Expr::Int(*by as i32)))
                }
                Atom::Value => Rc::clone(value.expect("a computed index outside a gather")),
            };
            let term = match coefficient {
                1 => term,
                c => binary(Binary::Mul, &term, &Rc::new(Expr::Int(*c as i32))),
            };
            sum = Some(match sum {
                Some(sum) => binary(Binary::Add, &sum, &term),
                None => term,
            });
        }
        let sum = sum.expect("an expression that is not affine has another term");
        match plain == IndexExpr::default() {
            true => sum,
            false => {
                let plain = self.integer(&plain, None);
                binary(Binary::Add, &plain, &sum)
            }
        }
    }

    /// The argument that holds a value, added on first use.
    pub fn argument(&mut self, value: ValueId) -> BufferId {
        if let Some(position) = self.args.iter().position(|v| *v == value) {
            return position;
        }
        let known = &self.values.list[value];
        let dims: Vec<usize> = known.shape.iter().map(|&d| d.max()).collect();
        self.kernel.buffers.push(Buffer {
            name: format!("b{}", self.args.len()),
            dtype: known.dtype,
            storage: Buffer::row_major(&dims),
            dims,
            space: Space::Global,
            freedom: Freedom::Fixed,
        });
        self.args.push(value);
        self.args.len() - 1
    }

    /// A private buffer for a value over these axes.
    pub fn local(&mut self, free: AxisSet, dtype: Dtype) -> (BufferId, Vec<AxisId>) {
        let axes: Vec<AxisId> = free.iter().map(|axis| self.axis(axis)).collect();
        let dims: Vec<usize> = axes.iter().map(|axis| self.kernel.axes[*axis].max).collect();
        self.locals.push(Buffer {
            name: format!("l{}", self.locals.len()),
            dtype,
            storage: Buffer::row_major(&dims),
            dims,
            space: Space::Local,
            freedom: Freedom::Choose,
        });
        (LOCAL + self.locals.len() - 1, axes)
    }

    /// From now on the value is read from this buffer.
    pub fn hold(&mut self, id: Id, buffer: BufferId, index: Vec<Affine>) {
        self.held.insert(id, (buffer, index));
        self.memo.clear();
    }

    /// From now on the value is computed by this expression.
    pub fn replace(&mut self, id: Id, by: E) {
        self.replaced.insert(id, by);
        self.memo.clear();
    }

    /// Ends what [`Builder::replace`] began.
    pub fn restore(&mut self, id: Id) {
        self.replaced.remove(&id);
        self.memo.clear();
    }

    /// True if the value need not be computed again.
    pub fn is_held(&self, id: Id) -> bool {
        self.held.contains_key(&id) || self.replaced.contains_key(&id)
    }

    /// Starts an expression in which `acc`, if any, stands for the reduced value.
    pub fn value(&mut self, id: Id, acc: Option<Id>) -> Result<E> {
        self.acc = acc;
        self.memo.clear();
        let value = self.expr(id);
        self.acc = None;
        self.memo.clear();
        value
    }

    fn expr(&mut self, id: Id) -> Result<E> {
        if let Some(known) = self.memo.get(&id) {
            return Ok(Rc::clone(known));
        }
        let value = self.make(id)?;
        self.memo.insert(id, Rc::clone(&value));
        Ok(value)
    }

    fn make(&mut self, id: Id) -> Result<E> {
        if self.acc == Some(id) {
            return Ok(Rc::new(Expr::Acc));
        }
        if let Some(value) = self.replaced.get(&id) {
            return Ok(Rc::clone(value));
        }
        if let Some((buffer, index)) = self.held.get(&id) {
            let index = index.iter().cloned().map(Index::Affine).collect();
            return Ok(Rc::new(Expr::Load { buffer: *buffer, index, guards: vec![] }));
        }
        let term = self.dag.node(id).clone();
        if !term.is_leaf() && !self.inside[usize::from(id)] {
            let (value, index) = self.values.of_term(self.graph, self.dag, id);
            return self.load(value, &index, None);
        }
        let pair = |op| move |x: &E, y: &E| binary(op, x, y);
        Ok(match &term {
            Term::F32(literal) => Rc::new(Expr::Float(literal.value())),
            Term::I32(literal) => Rc::new(Expr::Int(literal.0)),
            Term::Bool(literal) => Rc::new(Expr::Bool(*literal)),
            Term::Number(literal) => Rc::new(match (literal.value(), literal.dtype()) {
                (Constant::Float(x), _) => Expr::Float(x as f32),
                (Constant::Int(x), Dtype::I64) => Expr::Long(x),
                (Constant::Int(x), _) => Expr::Int(x as i32),
            }),
            Term::Position(index) => {
                let index = self.dag.context.index_expr(*index).clone();
                self.integer(&index, None)
            }
            Term::Inside(inside) => {
                let inside = self.dag.context.inside(*inside).clone();
                self.inside_mask(&inside.at, inside.extent)?
            }
            Term::Load(access) => {
                let access = self.dag.context.access(*access).clone();
                let value = self.values.of_node(self.graph, access.node);
                self.load(value, &access.index, None)?
            }
            Term::Gather([access, index]) => {
                let computed = self.expr(*index)?;
                let access = self.dag.access(*access).expect("a gather reads a buffer").clone();
                let value = self.values.of_node(self.graph, access.node);
                self.load(value, &access.index, Some(&computed))?
            }
            Term::Add([x, y]) => self.add(*x, *y)?,
            Term::Mul([x, y]) => self.two(*x, *y, pair(Binary::Mul))?,
            Term::Max([x, y]) => self.two(*x, *y, pair(Binary::Max))?,
            Term::LessThan([x, y]) => self.two(*x, *y, pair(Binary::LessThan))?,
            Term::Mod([x, y]) => self.two(*x, *y, pair(Binary::Mod))?,
            Term::Select([condition, then, otherwise]) => self.select(*condition, *then, *otherwise)?,
            Term::Exp2(x) => self.one(Unary::Exp2, *x)?,
            Term::Log2(x) => self.one(Unary::Log2, *x)?,
            Term::Sin(x) => self.one(Unary::Sin, *x)?,
            Term::Sqrt(x) => self.one(Unary::Sqrt, *x)?,
            Term::Recip(x) => self.one(Unary::Recip, *x)?,
            Term::ToF32(x)
            | Term::ToF16(x)
            | Term::ToBF16(x)
            | Term::ToI32(x)
            | Term::ToI64(x)
            | Term::ToU8(x)
            | Term::ToBool(x) => {
                let x = self.expr(*x)?;
                Rc::new(Expr::Cast(self.dag.dtype(id), x))
            }
            Term::Sum(_) | Term::MaxOver(_) | Term::Axes(_) => {
                return Err(Error::new(format!("reduction t{id} is used before it is computed")));
            }
        })
    }

    fn one(&mut self, op: Unary, x: Id) -> Result<E> {
        Ok(Rc::new(Expr::Unary(op, self.expr(x)?)))
    }

    fn two(&mut self, x: Id, y: Id, make: impl Fn(&E, &E) -> E) -> Result<E> {
        let (x, y) = (self.expr(x)?, self.expr(y)?);
        Ok(make(&x, &y))
    }

    /// A sum; `x + -1 * y` is exactly `x - y`, one instruction less.
    fn add(&mut self, x: Id, y: Id) -> Result<E> {
        for (keep, other) in [(x, y), (y, x)] {
            if self.dag.dtype(x) == Dtype::F32
                && let Some(negated) = self.negated(other)
            {
                return self.two(keep, negated, |x, y| binary(Binary::Sub, x, y));
            }
        }
        self.two(x, y, |x, y| binary(Binary::Add, x, y))
    }

    fn negated(&self, id: Id) -> Option<Id> {
        if self.acc == Some(id) || self.is_held(id) || !self.inside[usize::from(id)] {
            return None;
        }
        let Term::Mul([x, y]) = self.dag.node(id) else { return None };
        let minus_one = |id: Id| matches!(self.dag.node(id), Term::F32(v) if v.value() == -1.0);
        match (minus_one(*x), minus_one(*y)) {
            (true, _) => Some(*y),
            (_, true) => Some(*x),
            _ => None,
        }
    }

    /// A selection. Where it only hides what lies outside a buffer, the guards of the load do it already.
    fn select(&mut self, condition: Id, then: Id, otherwise: Id) -> Result<E> {
        let then_value = self.expr(then)?;
        let zero = match self.dag.node(otherwise) {
            Term::F32(v) => v.value().to_bits() == 0,
            Term::Number(v) => v.is_zero(),
            _ => false,
        };
        if zero
            && let (Term::Inside(inside), Expr::Load { guards, .. }) =
                (self.dag.node(condition), &*then_value)
        {
            let inside = self.dag.context.inside(*inside).clone();
            let free = if let Dim::Free { index, .. } = inside.extent { Some(index) } else { None };
            if let Some(at) = self.affine(&inside.at)
                && (guards.contains(&Guard { at, extent: inside.extent.max(), free }) || planted!(GuardTaken))
            {
                return Ok(then_value);
            }
        }
        let (condition, otherwise) = (self.expr(condition)?, self.expr(otherwise)?);
        if zero && self.dag.dtype(then) == Dtype::F32 && planted!(SelectProduct) {
            return Ok(binary(Binary::Mul, &Rc::new(Expr::Cast(Dtype::F32, condition)), &then_value));
        }
        Ok(Rc::new(Expr::Select(condition, then_value, otherwise)))
    }

    /// `0 <= at < extent`
    fn inside_mask(&mut self, at: &IndexExpr, extent: Dim) -> Result<E> {
        let extent = match extent {
            Dim::Fixed(extent) => extent,
            Dim::Free { index, .. } => return Ok(self.inside_free(at, index)),
        };
        let (low, high) = self.dag.context.range(at).unwrap_or((i64::MIN, i64::MAX));
        let Some(affine) = self.affine(at) else {
            let value = self.integer(at, None);
            let below = |x: &E, y: i64| binary(Binary::LessThan, x, &Rc::new(Expr::Int(y as i32)));
            let first = binary(Binary::LessThan, &Rc::new(Expr::Int(-1)), &value);
            return Ok(binary(Binary::And, &first, &below(&value, extent as i64)));
        };
        let first = Rc::new(Expr::NotNegative(affine.clone()));
        let rest = affine.terms.iter().map(|(axis, c)| (*axis, -c));
        let last = Rc::new(Expr::NotNegative(Affine::new(rest, extent as i64 - 1 - affine.offset)));
        Ok(match (low < 0, high >= extent as i64) {
            (false, false) => Rc::new(Expr::Bool(true)),
            (true, false) => first,
            (false, true) => last,
            (true, true) => binary(Binary::And, &first, &last),
        })
    }

    /// `0 <= at < size` of a free dimension
    fn inside_free(&mut self, at: &IndexExpr, free: usize) -> E {
        if let Some(axis) = at.as_axis()
            && matches!(self.dag.context.extent(axis), Dim::Free { index, .. } if index == free)
        {
            return Rc::new(Expr::Bool(true));
        }
        let value = self.integer(at, None);
        let below = binary(Binary::LessThan, &value, &Rc::new(Expr::Size(free)));
        if self.dag.context.range(at).is_some_and(|(low, _)| low >= 0) {
            return below;
        }
        let first = match self.affine(at) {
            Some(affine) => Rc::new(Expr::NotNegative(affine)),
            None => binary(Binary::LessThan, &Rc::new(Expr::Int(-1)), &value),
        };
        binary(Binary::And, &first, &below)
    }

    /// The free dimension whose size an index may exceed. The positions of an axis along it do not.
    fn beyond(&self, expr: &IndexExpr, dim: Dim) -> Option<usize> {
        let Dim::Free { index, .. } = dim else { return None };
        let same = |axis| matches!(self.dag.context.extent(axis), Dim::Free { index: i, .. } if i == index);
        (!expr.as_axis().is_some_and(same)).then_some(index)
    }

    /// Positions are computed in 32 bits: no step of an index that divides may leave them.
    fn check_width(&self, expr: &IndexExpr) -> Result<()> {
        let narrow = -(1 << 31)..1 << 31;
        if let Some((low, high)) = self.dag.context.range(expr)
            && !(narrow.contains(&low) && narrow.contains(&high))
        {
            return Err(Error::new(format!(
                "an index between {low} and {high} is divided, and only 32 bits are computed: reshape a tensor of 2^31 or \
                 more elements only where axes are joined or divided as a whole"
            )));
        }
        expr.terms.keys().try_for_each(|atom| match atom {
            Atom::Div(inner, _) | Atom::Mod(inner, _) => self.check_width(inner),
            Atom::Axis(_) | Atom::Value => Ok(()),
        })
    }

    /// A read of memory. Loads of terms are total: what may lie outside is guarded and reads 0.
    fn load(&mut self, value: ValueId, at: &[IndexExpr], computed: Option<&E>) -> Result<E> {
        let buffer = self.argument(value);
        let shape = self.values.list[value].shape.clone();
        let (mut index, mut guards) = (vec![], vec![]);
        let mut mask: Option<E> = None;
        for (expr, dim) in at.iter().zip(shape) {
            let (extent, free) = (dim.max(), self.beyond(expr, dim));
            let range = self.dag.context.range(expr);
            let within = range.is_some_and(|(low, high)| low >= 0 && high < extent as i64) && free.is_none();
            if let Some(affine) = self.affine(expr) {
                if !within && !planted!(GuardMissing) {
                    guards.push(Guard { at: affine.clone(), extent, free });
                }
                index.push(Index::Affine(affine));
                continue;
            }
            self.check_width(expr)?;
            let position = self.integer(expr, computed);
            if within {
                index.push(Index::Value(position));
                continue;
            }
            // Memory outside the tensor is never touched, whatever the index is.
            index.push(Index::Value(match free {
                None => clamp(&position, extent),
                Some(free) => clamp_free(&position, free),
            }));
            if free.is_some() {
                guards.push(Guard { at: Affine::constant(0), extent, free });
            }
            if !expr.has_value() {
                let first = binary(Binary::LessThan, &Rc::new(Expr::Int(-1)), &position);
                let last = binary(Binary::LessThan, &position, &Rc::new(Expr::Int(extent as i32)));
                let both = binary(Binary::And, &first, &last);
                mask = Some(mask.map_or(Rc::clone(&both), |mask| binary(Binary::And, &mask, &both)));
            }
        }
        if let (&[x, y], true) = (&self.kernel.buffers[buffer].dims[..], planted!(TransposedLoad))
            && x == y
        {
            index.swap(0, 1);
        }
        let load: E = Rc::new(Expr::Load { buffer, index, guards });
        let Some(mask) = mask else { return Ok(load) };
        let zero = Rc::new(zero(self.kernel.buffers[buffer].dtype));
        Ok(Rc::new(Expr::Select(mask, load, zero)))
    }

    /// The kernel with private buffers behind the arguments.
    pub fn finish(mut self) -> (Kernel, Vec<ValueId>) {
        let args = self.args.len();
        self.kernel.args = args;
        self.kernel.buffers.append(&mut self.locals);
        let number = |buffer: BufferId| if buffer >= LOCAL { buffer - LOCAL + args } else { buffer };
        for item in &mut self.kernel.items {
            let defs = match item {
                crate::kernel::ir::Item::Def(def) => std::slice::from_mut(def),
                crate::kernel::ir::Item::Fold { defs, .. } => defs,
            };
            for def in defs {
                def.dst = number(def.dst);
                for value in
                    [Some(&mut def.expr), def.epilogue.as_mut(), def.init.as_mut()].into_iter().flatten()
                {
                    *value = renumber(value, &number, &mut HashMap::new());
                }
            }
        }
        (self.kernel, self.args)
    }
}

pub fn binary(op: Binary, x: &E, y: &E) -> E {
    Rc::new(Expr::Binary(op, Rc::clone(x), Rc::clone(y)))
}

/// `min(max(x, 0), extent - 1)`
fn clamp(x: &E, extent: usize) -> E {
    let last: E = Rc::new(Expr::Int(extent.saturating_sub(1) as i32));
    let low = binary(Binary::Max, x, &Rc::new(Expr::Int(0)));
    Rc::new(Expr::Select(binary(Binary::LessThan, &last, &low), Rc::clone(&last), low))
}

/// The same for an axis of free size. Where it is empty the result is 0, and a guard keeps the access from happening.
fn clamp_free(x: &E, free: usize) -> E {
    let last = binary(Binary::Sub, &Rc::new(Expr::Size(free)), &Rc::new(Expr::Int(1)));
    let low = Rc::new(Expr::Select(binary(Binary::LessThan, &last, x), Rc::clone(&last), Rc::clone(x)));
    binary(Binary::Max, &low, &Rc::new(Expr::Int(0)))
}

/// The expression with other buffer numbers; what is shared stays shared.
fn renumber(e: &E, number: &impl Fn(BufferId) -> BufferId, done: &mut HashMap<*const Expr, E>) -> E {
    if let Some(known) = done.get(&Rc::as_ptr(e)) {
        return Rc::clone(known);
    }
    let mut go = |x: &E| renumber(x, number, done);
    let new = match &**e {
        Expr::Load { buffer, index, guards } => {
            let index = index
                .iter()
                .map(|index| match index {
                    Index::Affine(affine) => Index::Affine(affine.clone()),
                    Index::Value(value) => Index::Value(go(value)),
                })
                .collect();
            Expr::Load { buffer: number(*buffer), index, guards: guards.clone() }
        }
        Expr::Unary(op, x) => Expr::Unary(*op, go(x)),
        Expr::Binary(op, x, y) => {
            let (x, y) = (go(x), go(y));
            Expr::Binary(*op, x, y)
        }
        Expr::Select(c, x, y) => {
            let (c, x, y) = (go(c), go(x), go(y));
            Expr::Select(c, x, y)
        }
        Expr::Cast(dtype, x) => Expr::Cast(*dtype, go(x)),
        leaf => leaf.clone(),
    };
    let new = Rc::new(new);
    done.insert(Rc::as_ptr(e), Rc::clone(&new));
    new
}
