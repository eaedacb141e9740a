//! The meaning of a kernel: its definitions evaluated point by point, no schedule involved. Slow and obvious.

use super::expr::{self, operands};
use super::ir::{Affine, AxisId, Binary, Def, E, Expr, Index, Item, Kernel};
use super::sample::Sample;
use crate::dtype::{Dtype, nearest_bf16, nearest_f16};
use crate::error::{Error, Result};
use crate::graph::{Reduce, Unary};
use crate::reference::scalar::{mod_i32, mod_i64};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

pub use super::values::{Scalar, Values};

/// Shared parts of an expression that are evaluated already.
pub(super) type Known = HashMap<*const Expr, Scalar>;

/// How floats are rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounding {
    /// Not at all but by casts: `f64` throughout, as a measure for errors.
    Exact,
    /// To `f32` after each operation.
    F32,
    /// As exact; but where a cast is to decide between two values, and this error relative to `1 + |x|` in what it
    /// converts would change the decision, it takes the other one. What is allowed to differ in the last bits of `f32`
    /// is allowed to come out of a cast to `f16`, or to an integer, as its neighbour.
    Other(f64),
}

impl Rounding {
    /// A float as this precision keeps it.
    pub fn round(self, x: f64) -> f64 {
        match self {
            Rounding::Exact | Rounding::Other(_) => x,
            Rounding::F32 => f64::from(x as f32),
        }
    }

    /// A conversion of a float to what has fewer values.
    fn decide<T: PartialEq>(self, x: f64, convert: impl Fn(f64) -> T) -> T {
        let nearest = convert(self.round(x));
        let Rounding::Other(error) = self else { return nearest };
        if !x.is_finite() {
            return nearest;
        }
        let error = error * (1.0 + x.abs());
        [x - error, x + error].into_iter().map(convert).find(|other| *other != nearest).unwrap_or(nearest)
    }
}

/// Function of one float.
pub fn unary(op: Unary, x: Scalar, rounding: Rounding) -> Scalar {
    let Scalar::Float(x) = x else { panic!("{op:?} of {x:?}") };
    let y = match op {
        Unary::Exp2 => x.exp2(),
        Unary::Log2 => x.log2(),
        Unary::Sin => x.sin(),
        Unary::Sqrt => x.sqrt(),
        Unary::Recip => 1.0 / x,
    };
    Scalar::Float(rounding.round(y))
}

/// Function of two values of one type.
pub fn binary(op: Binary, x: Scalar, y: Scalar, rounding: Rounding) -> Scalar {
    match (x, y) {
        (Scalar::Float(x), Scalar::Float(y)) => float_binary(op, x, y, rounding),
        (Scalar::Int(x), Scalar::Int(y)) => match op {
            Binary::Add => Scalar::Int(x.wrapping_add(y)),
            Binary::Sub => Scalar::Int(x.wrapping_sub(y)),
            Binary::Mul => Scalar::Int(x.wrapping_mul(y)),
            Binary::Max => Scalar::Int(x.max(y)),
            Binary::Mod => Scalar::Int(mod_i32(x, y)),
            // In 64 bits the quotient of i32::MIN and -1 does not overflow.
            Binary::FloorDiv => Scalar::Int(floor_div(x.into(), y.into()) as i32),
            Binary::LessThan => Scalar::Bool(x < y),
            Binary::And | Binary::Or => panic!("{op:?} of integers"),
        },
        (Scalar::Long(x), Scalar::Long(y)) => match op {
            Binary::Add => Scalar::Long(x.wrapping_add(y)),
            Binary::Sub => Scalar::Long(x.wrapping_sub(y)),
            Binary::Mul => Scalar::Long(x.wrapping_mul(y)),
            Binary::Max => Scalar::Long(x.max(y)),
            Binary::Mod => Scalar::Long(mod_i64(x, y)),
            Binary::FloorDiv => Scalar::Long(floor_div(x, y)),
            Binary::LessThan => Scalar::Bool(x < y),
            Binary::And | Binary::Or => panic!("{op:?} of integers"),
        },
        (Scalar::Bool(x), Scalar::Bool(y)) => Scalar::Bool(match op {
            Binary::And | Binary::Mul => x && y,
            Binary::Or | Binary::Max => x || y,
            Binary::LessThan => !x && y,
            _ => panic!("{op:?} of bools"),
        }),
        _ => panic!("{op:?} of {x:?} and {y:?}"),
    }
}

/// Rounded down; 0 for a divisor of 0, as nothing may trap.
fn floor_div(x: i64, y: i64) -> i64 {
    if y == 0 {
        return 0;
    }
    let quotient = x.wrapping_div(y);
    if x.wrapping_rem(y) != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }
}

fn float_binary(op: Binary, x: f64, y: f64, rounding: Rounding) -> Scalar {
    let z = match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Max if x.is_nan() || y.is_nan() => f64::NAN,
        Binary::Max => x.max(y),
        Binary::Mod => float_mod(x, y),
        Binary::LessThan => return Scalar::Bool(x < y),
        Binary::FloorDiv => (x / y).floor(),
        Binary::And | Binary::Or => panic!("{op:?} of floats"),
    };
    Scalar::Float(rounding.round(z))
}

/// The remainder with the sign of the divisor; exact.
fn float_mod(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}

/// Conversion as Rust's `as`; to bool: non-zero. A type that only stores numbers is given in its wide type.
pub fn cast(to: Dtype, x: Scalar, rounding: Rounding) -> Scalar {
    // An integer does not always fit into an f32: this rounding is part of the meaning, as is that to fewer bits.
    let float = match x {
        Scalar::Float(x) => x,
        Scalar::Int(x) => f64::from(x as f32),
        Scalar::Long(x) => f64::from(x as f32),
        Scalar::Bool(x) => f64::from(u8::from(x)),
    };
    match (to, x) {
        (Dtype::F32, _) => Scalar::Float(float),
        (Dtype::F16, _) => Scalar::Float(rounding.decide(float, |x| nearest_f16(x).to_f64())),
        (Dtype::BF16, _) => Scalar::Float(rounding.decide(float, |x| nearest_bf16(x).to_f64())),
        (Dtype::I32, Scalar::Float(x)) => Scalar::Int(rounding.decide(x, |x| x as i32)),
        (Dtype::I32, Scalar::Int(x)) => Scalar::Int(x),
        (Dtype::I32, Scalar::Long(x)) => Scalar::Int(x as i32),
        (Dtype::I32, Scalar::Bool(x)) => Scalar::Int(x.into()),
        (Dtype::I64, Scalar::Float(x)) => Scalar::Long(rounding.decide(x, |x| x as i64)),
        (Dtype::I64, Scalar::Int(x)) => Scalar::Long(x.into()),
        (Dtype::I64, Scalar::Long(x)) => Scalar::Long(x),
        (Dtype::I64, Scalar::Bool(x)) => Scalar::Long(x.into()),
        (Dtype::U8, Scalar::Float(x)) => Scalar::Int(rounding.decide(x, |x| x as u8).into()),
        (Dtype::U8, Scalar::Int(x)) => Scalar::Int((x as u8).into()),
        (Dtype::U8, Scalar::Long(x)) => Scalar::Int((x as u8).into()),
        (Dtype::U8, Scalar::Bool(x)) => Scalar::Int(x.into()),
        (Dtype::Bool, Scalar::Bool(x)) => Scalar::Bool(x),
        (Dtype::Bool, Scalar::Float(x)) => Scalar::Bool(x != 0.0),
        (Dtype::Bool, Scalar::Int(x)) => Scalar::Bool(x != 0),
        (Dtype::Bool, Scalar::Long(x)) => Scalar::Bool(x != 0),
    }
}

/// Runs a kernel: `args` are its arguments, `sizes` the free sizes. Gives back the arguments as they are afterwards.
/// Folds run in one block.
pub fn run(kernel: &Kernel, args: &[Values], sizes: &[usize], rounding: Rounding) -> Result<Vec<Values>> {
    run_blocks(kernel, args, sizes, rounding, usize::MAX)
}

/// As [`run`], with folds in blocks of this many positions: the result must not depend on it, rounding apart.
pub fn run_blocks(
    kernel: &Kernel,
    args: &[Values],
    sizes: &[usize],
    rounding: Rounding,
    block: usize,
) -> Result<Vec<Values>> {
    Ok(evaluate(kernel, args, sizes, rounding, block, &Sample::whole(kernel))?.0)
}

/// As [`run`], in part. Also tells for each element of each argument whether it was computed.
pub fn run_sample(
    kernel: &Kernel,
    args: &[Values],
    sizes: &[usize],
    rounding: Rounding,
    sample: &Sample,
) -> Result<(Vec<Values>, Vec<Vec<bool>>)> {
    evaluate(kernel, args, sizes, rounding, usize::MAX, sample)
}

fn evaluate(
    kernel: &Kernel,
    args: &[Values],
    sizes: &[usize],
    rounding: Rounding,
    block: usize,
    sample: &Sample,
) -> Result<(Vec<Values>, Vec<Vec<bool>>)> {
    if args.len() != kernel.args {
        return Err(Error::new(format!(
            "the kernel has {} arguments, {} were given",
            kernel.args,
            args.len()
        )));
    }
    let mut data = args.to_vec();
    for (buffer, values) in kernel.buffers.iter().zip(&data) {
        let count: usize = buffer.dims.iter().product();
        if values.len() != count || values.dtype() != buffer.dtype.wide() {
            return Err(Error::new(format!("`{}` needs {count} elements of {}", buffer.name, buffer.dtype)));
        }
    }
    for buffer in &kernel.buffers[kernel.args..] {
        data.push(Values::zeros(buffer.dtype, buffer.dims.iter().product()));
    }
    let extents = kernel.axes.iter().map(|axis| axis.free.map_or(axis.max, |d| sizes[d])).collect();
    let written = data.iter().map(|values| vec![false; values.len()]).collect();
    let starts = vec![0; kernel.axes.len()];
    let outside = OnceCell::new();
    let mut state = State { kernel, data, written, starts, extents, sizes, rounding, sample, outside };
    for item in &kernel.items {
        match item {
            Item::Def(def) => state.definition(def),
            Item::Fold { axis, defs, .. } => state.fold(*axis, defs, block),
        }
    }
    if let Some(access) = state.outside.into_inner() {
        return Err(Error::new(access));
    }
    state.data.truncate(kernel.args);
    state.written.truncate(kernel.args);
    Ok((state.data, state.written))
}

struct State<'a> {
    kernel: &'a Kernel,
    data: Vec<Values>,
    written: Vec<Vec<bool>>,
    /// Where each axis starts and ends.
    starts: Vec<usize>,
    extents: Vec<usize>,
    sizes: &'a [usize],
    rounding: Rounding,
    sample: &'a Sample,
    /// The first access outside a buffer, in words.
    outside: OnceCell<String>,
}

impl State<'_> {
    fn fold(&mut self, axis: AxisId, defs: &[Def], block: usize) {
        let end = self.extents[axis];
        let mut at = 0;
        while at < end {
            self.starts[axis] = at;
            self.extents[axis] = at.saturating_add(block).min(end);
            defs.iter().for_each(|def| self.definition(def));
            at = self.extents[axis];
        }
        self.starts[axis] = 0;
        self.extents[axis] = end;
    }

    fn definition(&mut self, def: &Def) {
        let mut position = vec![0; self.kernel.axes.len()];
        self.each(&def.axes, &mut position, &mut |state, position| {
            let value = match &def.reduce {
                None => state.eval(&def.expr, position, None),
                Some(_) => state.reduction(def, position),
            };
            state.write(def, position, value);
        });
    }

    fn reduction(&mut self, def: &Def, position: &mut Vec<i64>) -> Scalar {
        let reduce = def.reduce.as_ref().expect("checked by the caller");
        let dtype = expr::dtype(self.kernel, &def.expr, Dtype::F32);
        let mut sum = match &def.init {
            Some(init) => self.eval(init, position, None),
            None => Scalar::identity(reduce.op, dtype),
        };
        let op = match reduce.op {
            Reduce::Sum => Binary::Add,
            Reduce::Max => Binary::Max,
        };
        self.each(&reduce.axes, position, &mut |state, position| {
            for pre in &def.pre {
                let value = state.eval(&pre.expr, position, None);
                state.write(pre, position, value);
            }
            let value = state.eval(&def.expr, position, None);
            sum = binary(op, sum, value, state.rounding);
        });
        match &def.epilogue {
            Some(epilogue) => self.eval(epilogue, position, Some(sum)),
            None => sum,
        }
    }

    fn each(
        &mut self,
        axes: &[AxisId],
        position: &mut Vec<i64>,
        visit: &mut dyn FnMut(&mut Self, &mut Vec<i64>),
    ) {
        let Some((axis, rest)) = axes.split_first() else {
            visit(self, position);
            return;
        };
        if let Some(positions) = self.sample.positions(*axis) {
            for i in positions {
                position[*axis] = *i as i64;
                self.each(rest, position, visit);
            }
            return;
        }
        for i in self.starts[*axis]..self.extents[*axis] {
            position[*axis] = i as i64;
            self.each(rest, position, visit);
        }
    }

    fn write(&mut self, def: &Def, position: &[i64], value: Scalar) {
        let index: Vec<i64> = def.at.iter().map(|at| at.eval(position)).collect();
        let Some(place) = self.place(def.dst, &index) else { return };
        self.data[def.dst].set(place, value);
        self.written[def.dst][place] = true;
    }

    fn place(&self, buffer: usize, index: &[i64]) -> Option<usize> {
        let buffer = &self.kernel.buffers[buffer];
        let mut place = 0;
        for (at, size) in index.iter().zip(&buffer.dims) {
            if !(0..*size as i64).contains(at) {
                self.outside.get_or_init(|| format!("`{}` has no element {index:?}", buffer.name));
                return None;
            }
            place = place * size + *at as usize;
        }
        Some(place)
    }

    fn eval(&self, value: &E, position: &[i64], acc: Option<Scalar>) -> Scalar {
        self.eval_once(value, position, acc, &mut Known::new())
    }

    /// What is shared is evaluated once: as a tree, a deep expression has more nodes than can be visited.
    fn eval_once(&self, value: &E, position: &[i64], acc: Option<Scalar>, known: &mut Known) -> Scalar {
        if Rc::strong_count(value) == 1 || operands(value).is_empty() {
            return self.eval_node(value, position, acc, known);
        }
        if let Some(known) = known.get(&Rc::as_ptr(value)) {
            return *known;
        }
        let result = self.eval_node(value, position, acc, known);
        known.insert(Rc::as_ptr(value), result);
        result
    }

    fn eval_node(&self, value: &E, position: &[i64], acc: Option<Scalar>, known: &mut Known) -> Scalar {
        let affine = |at: &Affine| at.eval(position);
        let mut eval = |x: &E| self.eval_once(x, position, acc, known);
        match &**value {
            Expr::Float(x) => Scalar::Float(f64::from(*x)),
            Expr::Int(x) => Scalar::Int(*x),
            Expr::Long(x) => Scalar::Long(*x),
            Expr::Bool(x) => Scalar::Bool(*x),
            Expr::Size(free) => Scalar::Int(self.sizes[*free] as i32),
            Expr::Position(at) => Scalar::Int(affine(at) as i32),
            Expr::NotNegative(at) => Scalar::Bool(affine(at) >= 0),
            Expr::Load { buffer, index, guards } => {
                if guards.iter().any(|g| !g.holds(affine(&g.at), self.sizes)) {
                    return Scalar::zero(self.kernel.buffers[*buffer].dtype);
                }
                let index: Vec<i64> = index
                    .iter()
                    .map(|i| match i {
                        Index::Affine(at) => affine(at),
                        Index::Value(e) => i64::from(eval(e).int()),
                    })
                    .collect();
                match self.place(*buffer, &index) {
                    Some(place) => self.data[*buffer].get(place),
                    None => Scalar::zero(self.kernel.buffers[*buffer].dtype),
                }
            }
            Expr::Acc => acc.expect("the reduced value occurs in epilogues only"),
            Expr::Unary(op, x) => unary(*op, eval(x), self.rounding),
            Expr::Binary(op, x, y) => {
                let (x, y) = (eval(x), eval(y));
                binary(*op, x, y, self.rounding)
            }
            Expr::Select(c, x, y) => {
                // Generated code computes both sides, so both must stay within their buffers.
                let (x, y) = (eval(x), eval(y));
                if eval(c).truth() { x } else { y }
            }
            Expr::Cast(to, x) => cast(*to, eval(x), self.rounding),
        }
    }
}
