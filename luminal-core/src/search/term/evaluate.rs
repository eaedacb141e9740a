//! Direct evaluation of terms: slow, obvious, and independent of everything that optimises them.

use super::axes::{Axis, AxisSet};
use super::dag::Dag;
use super::index::IndexExpr;
use super::language::{Constant, Term};
use crate::dtype::{Dtype, bf16, f16, nearest_bf16, nearest_f16};
use crate::graph::NodeId;
use crate::reference::scalar::mod_i64;
use egg::{Id, Language};
use std::collections::{BTreeMap, HashMap};

/// How `f32` values are computed. Integers - of 64 bits, as long as they are below 2^53 - and truth values are exact
/// either way, and casts to fewer bits round either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// In `f64`, to tell wrong algebra from rounding.
    Double,
    /// Every result rounded to `f32`.
    Single,
}

impl Precision {
    /// A result of this dtype, rounded as this precision says.
    pub fn round(self, value: f64, dtype: Dtype) -> f64 {
        match (self, dtype) {
            (_, Dtype::I32) => f64::from(value as i64 as i32),
            (_, Dtype::I64) => value as i128 as i64 as f64,
            (Precision::Single, Dtype::F32) => f64::from(value as f32),
            _ => value,
        }
    }
}

/// Buffers by graph node: sizes and row-major values.
pub type Buffers = BTreeMap<NodeId, (Vec<usize>, Vec<f64>)>;

/// A value at every position of its axes.
#[derive(Clone, Debug)]
pub struct Dense {
    /// Its axes, ascending.
    pub axes: Vec<Axis>,
    /// Their sizes.
    pub sizes: Vec<usize>,
    /// Row-major values.
    pub data: Vec<f64>,
}

impl Dense {
    /// Offset of the element at a position of every axis.
    pub fn offset(&self, position: &[usize]) -> usize {
        let axes = self.axes.iter().zip(&self.sizes);
        axes.fold(0, |offset, (axis, size)| offset * size + position[usize::from(*axis)])
    }
}

/// Calls `visit` with every position of these sizes, the last varying fastest.
pub fn positions(sizes: &[usize], mut visit: impl FnMut(&[usize])) {
    if sizes.contains(&0) {
        return;
    }
    let mut position = vec![0; sizes.len()];
    loop {
        visit(&position);
        let mut dim = sizes.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            position[dim] += 1;
            if position[dim] < sizes[dim] {
                break;
            }
            position[dim] = 0;
        }
    }
}

/// Maximum that is NaN when either is.
pub(crate) fn maximum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() { f64::NAN } else { x.max(y) }
}

/// Floor modulo: the sign of the divisor.
fn modulo(x: f64, y: f64, dtype: Dtype) -> f64 {
    if dtype == Dtype::I64 {
        return mod_i64(x as i64, y as i64) as f64;
    }
    if dtype == Dtype::I32 {
        let (x, y) = (x as i64, y as i64);
        return if y == 0 { 0.0 } else { (x - y * (x as f64 / y as f64).floor() as i64) as f64 };
    }
    let rest = x % y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
}

/// Conversion with the meaning of Rust's `as`; to `bool`: non-zero.
pub fn convert(value: f64, from: Dtype, to: Dtype) -> f64 {
    let float = from.is_float();
    match to {
        Dtype::F32 => value,
        Dtype::F16 => nearest_f16(if float { value } else { f64::from(value as f32) }).to_f64(),
        Dtype::BF16 => nearest_bf16(if float { value } else { f64::from(value as f32) }).to_f64(),
        // From floats saturating, from integers modulo.
        Dtype::I32 if float => f64::from(value as i32),
        Dtype::I32 => f64::from(value as i64 as i32),
        Dtype::I64 => value as i64 as f64,
        Dtype::U8 if float => f64::from(value as u8),
        Dtype::U8 => f64::from(value as i64 as u8),
        Dtype::Bool => f64::from(u8::from(value != 0.0)),
    }
}

/// As [`apply`], on operands of `i64`, of which `f64` does not hold all.
pub(crate) fn apply_long(term: &Term, x: &[Constant]) -> Option<Constant> {
    let int = |x: Constant| if let Constant::Int(x) = x { Some(x) } else { None };
    let operands: Vec<i64> = x.iter().map(|x| int(*x)).collect::<Option<_>>()?;
    let x = &operands[..];
    Some(Constant::Int(match term {
        Term::Add(_) => x[0].wrapping_add(x[1]),
        Term::Mul(_) => x[0].wrapping_mul(x[1]),
        Term::Max(_) => x[0].max(x[1]),
        Term::LessThan(_) => (x[0] < x[1]).into(),
        Term::Mod(_) => mod_i64(x[0], x[1]),
        Term::Select(_) => {
            if x[0] != 0 {
                x[1]
            } else {
                x[2]
            }
        }
        Term::ToF32(_) => return Some(Constant::Float(f64::from(x[0] as f32))),
        Term::ToF16(_) => return Some(Constant::Float(f16::from_f32(x[0] as f32).to_f64())),
        Term::ToBF16(_) => return Some(Constant::Float(bf16::from_f32(x[0] as f32).to_f64())),
        Term::ToI32(_) => (x[0] as i32).into(),
        Term::ToI64(_) => x[0],
        Term::ToU8(_) => (x[0] as u8).into(),
        Term::ToBool(_) => (x[0] != 0).into(),
        _ => return None,
    }))
}

/// A pointwise node applied to its operands; `dtype` is that of the first operand. None for leaves and reductions.
pub fn apply(term: &Term, x: &[f64], dtype: Dtype) -> Option<f64> {
    // The wrapping product of two i32 does not fit f64.
    let wrapping = |x: f64, y: f64| f64::from((x as i32).wrapping_mul(y as i32));
    if let Some(to) = term.cast_to() {
        return Some(convert(x[0], dtype, to));
    }
    Some(match term {
        Term::Add(_) => x[0] + x[1],
        Term::Mul(_) if dtype == Dtype::I32 => wrapping(x[0], x[1]),
        Term::Mul(_) if dtype == Dtype::I64 => (x[0] as i64).wrapping_mul(x[1] as i64) as f64,
        Term::Mul(_) => x[0] * x[1],
        Term::Max(_) => maximum(x[0], x[1]),
        Term::LessThan(_) => f64::from(u8::from(x[0] < x[1])),
        Term::Mod(_) => modulo(x[0], x[1], dtype),
        Term::Select(_) => {
            if x[0] != 0.0 {
                x[1]
            } else {
                x[2]
            }
        }
        Term::Exp2(_) => x[0].exp2(),
        Term::Log2(_) => x[0].log2(),
        Term::Sin(_) => x[0].sin(),
        Term::Sqrt(_) => x[0].sqrt(),
        Term::Recip(_) => 1.0 / x[0],
        _ => return None,
    })
}

/// One step of a reduction.
pub(crate) fn combine_with(reduction: &Term, x: f64, y: f64) -> f64 {
    if matches!(reduction, Term::Sum(_)) { x + y } else { maximum(x, y) }
}

/// The value that a reduction starts from.
pub(crate) fn identity(term: &Term, dtype: Dtype) -> f64 {
    match (term, dtype) {
        (Term::Sum(_), _) | (_, Dtype::Bool) => 0.0,
        (_, Dtype::I32) => f64::from(i32::MIN),
        (_, Dtype::I64) => i64::MIN as f64,
        _ => f64::NEG_INFINITY,
    }
}

/// Values that stand for nodes during one evaluation.
pub type Fixed = HashMap<Id, f64>;

/// Evaluates nodes of a [`Dag`] over buffers.
pub struct Evaluator<'a> {
    /// The terms.
    pub dag: &'a Dag,
    /// What loads read.
    pub buffers: &'a Buffers,
    /// Sizes of free dimensions.
    pub free: &'a [usize],
    /// How `f32` is computed.
    pub precision: Precision,
    /// Values known at every position.
    pub known: HashMap<Id, Dense>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator that knows no value yet.
    pub fn new(dag: &'a Dag, buffers: &'a Buffers, free: &'a [usize], precision: Precision) -> Evaluator<'a> {
        Evaluator { dag, buffers, free, precision, known: HashMap::new() }
    }

    /// Sizes of the axes of a set, ascending.
    pub fn sizes(&self, axes: AxisSet) -> (Vec<Axis>, Vec<usize>) {
        let axes: Vec<Axis> = axes.iter().collect();
        let sizes = axes.iter().map(|axis| self.dag.context.extent(*axis).size(self.free)).collect();
        (axes, sizes)
    }

    fn load(&self, id: Id, position: &[usize], value: i64) -> f64 {
        let Some(access) = self.dag.access(id) else { return f64::NAN };
        let (sizes, data) = &self.buffers[&access.node];
        let mut offset = 0;
        for (index, size) in access.index.iter().zip(sizes) {
            let at = index.eval(position, value);
            if at < 0 || at >= *size as i64 {
                return 0.0;
            }
            offset = offset * size + at as usize;
        }
        data[offset]
    }

    /// One element. Values in `fixed` stand for nodes, known values are reused, reductions loop.
    pub fn at(&self, id: Id, position: &mut [usize], fixed: &Fixed) -> f64 {
        if let Some(value) = fixed.get(&id) {
            return *value;
        }
        if let Some(dense) = self.known.get(&id) {
            return dense.data[dense.offset(position)];
        }
        let node = self.dag.node(id);
        let value = match node {
            Term::Axes(_) => f64::NAN,
            _ if node.is_literal() => node.constant().map_or(f64::NAN, Constant::to_f64),
            Term::Position(index) => self.dag.context.index_expr(*index).eval(position, 0) as f64,
            Term::Inside(inside) => {
                let inside = self.dag.context.inside(*inside);
                let at = inside.at.eval(position, 0);
                f64::from(u8::from(at >= 0 && at < inside.extent.size(self.free) as i64))
            }
            Term::Load(_) => self.load(id, position, 0),
            Term::Gather([_, index]) => {
                let index = self.at(*index, position, fixed);
                self.load(id, position, index as i64)
            }
            Term::Sum([_, body]) | Term::MaxOver([_, body]) => self.reduce(id, *body, position, fixed),
            _ => {
                let operands: Vec<f64> =
                    node.children().iter().map(|child| self.at(*child, position, fixed)).collect();
                apply(node, &operands, self.dag.dtype(node.children()[0])).unwrap_or(f64::NAN)
            }
        };
        self.precision.round(value, self.dag.dtype(id))
    }

    fn reduce(&self, id: Id, body: Id, position: &mut [usize], fixed: &Fixed) -> f64 {
        let (node, dtype) = (self.dag.node(id), self.dag.dtype(id));
        let (axes, sizes) = self.sizes(self.dag.reduced_axes(id));
        let outer: Vec<usize> = axes.iter().map(|axis| position[usize::from(*axis)]).collect();
        let mut sum = identity(node, dtype);
        positions(&sizes, |inner| {
            set_position(position, &axes, inner);
            let value = self.at(body, position, fixed);
            sum = self.precision.round(combine_with(node, sum, value), dtype);
        });
        set_position(position, &axes, &outer);
        sum
    }

    /// Makes the value of a node, and of all it is computed from, known at every position.
    pub fn evaluate(&mut self, id: Id) {
        if self.known.contains_key(&id) || self.dag.node(id).is_leaf() {
            return;
        }
        for child in self.dag.node(id).values() {
            self.evaluate(*child);
        }
        let (axes, sizes) = self.sizes(self.dag.free(id));
        let mut position = vec![0; AxisSet::CAPACITY];
        let mut data = Vec::new();
        let nothing = Fixed::new();
        positions(&sizes, |at| {
            set_position(&mut position, &axes, at);
            data.push(self.at(id, &mut position, &nothing));
        });
        self.known.insert(id, Dense { axes, sizes, data });
    }

    /// The buffer that a node is stored to under these indices.
    pub fn store(&mut self, id: Id, index: &[IndexExpr], shape: &[usize]) -> Vec<f64> {
        self.evaluate(id);
        let mut out = vec![f64::NAN; shape.iter().product()];
        let all = index.iter().fold(AxisSet::EMPTY, |set, e| set | e.axes());
        let (axes, sizes) = self.sizes(all);
        let mut position = vec![0; AxisSet::CAPACITY];
        let nothing = Fixed::new();
        positions(&sizes, |at| {
            set_position(&mut position, &axes, at);
            let dims = index.iter().zip(shape);
            let offset = dims.fold(0, |offset, (e, n)| offset * n + e.eval(&position, 0) as usize);
            out[offset] = self.at(id, &mut position, &nothing);
        });
        out
    }
}

/// Puts positions of some axes into a position of all axes.
pub(crate) fn set_position(position: &mut [usize], axes: &[Axis], values: &[usize]) {
    for (axis, value) in axes.iter().zip(values) {
        position[usize::from(*axis)] = *value;
    }
}
