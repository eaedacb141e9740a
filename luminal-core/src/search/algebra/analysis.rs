//! What the e-graph knows about each class.

use crate::dtype::Dtype;
use crate::dtype::{bf16, f16};
use crate::graph::Dim;
use crate::search::term::{AxisSet, Constant, Context, Dag, Facts, Id, Precision, Term, apply, apply_long};
use egg::{Analysis, DidMerge, EGraph, Language};
use std::rc::Rc;

/// The values that an element may have. Infinity lies within the bounds only if a bound is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Nothing is smaller, except NaN.
    pub low: f64,
    /// Nothing is greater, except NaN.
    pub high: f64,
    /// NaN may occur.
    pub nan: bool,
}

impl Range {
    /// Nothing is known about an `f32`.
    pub const ALL: Range = Range { low: f64::NEG_INFINITY, high: f64::INFINITY, nan: true };

    fn new(low: f64, high: f64, nan: bool) -> Range {
        Range { low, high, nan }
    }

    /// All values of a dtype.
    fn of(dtype: Dtype) -> Range {
        match dtype {
            Dtype::F32 | Dtype::F16 | Dtype::BF16 => Range::ALL,
            Dtype::I32 => Range::new(f64::from(i32::MIN), f64::from(i32::MAX), false),
            // The greatest one is rounded up, so that the bounds hold.
            Dtype::I64 => Range::new(i64::MIN as f64, i64::MAX as f64, false),
            Dtype::U8 => Range::new(0.0, 255.0, false),
            Dtype::Bool => Range::new(0.0, 1.0, false),
        }
    }

    fn may_be_infinite(self) -> bool {
        self.low.is_infinite() || self.high.is_infinite()
    }

    fn plus(self, other: Range) -> Range {
        let (low, high) = (self.low + other.low, self.high + other.high);
        if low.is_nan() || high.is_nan() {
            return Range::ALL;
        }
        let opposite = |x: Range, y: Range| x.low == f64::NEG_INFINITY && y.high == f64::INFINITY;
        Range::new(low, high, self.nan || other.nan || opposite(self, other) || opposite(other, self))
    }

    fn times(self, other: Range) -> Range {
        let ends =
            [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high];
        let has_zero = |x: Range| x.low <= 0.0 && x.high >= 0.0;
        let zero_times_infinity =
            (self.may_be_infinite() && has_zero(other)) || (other.may_be_infinite() && has_zero(self));
        let nan = self.nan || other.nan || zero_times_infinity;
        if ends.iter().any(|end| end.is_nan()) {
            let low = if self.low >= 0.0 && other.low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
            return Range::new(low, f64::INFINITY, nan);
        }
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        Range::new(low, ends.iter().copied().fold(f64::NEG_INFINITY, f64::max), nan)
    }

    /// The bounds of results of a monotone function.
    fn map(self, function: impl Fn(f64) -> f64) -> Range {
        Range { low: function(self.low), high: function(self.high), ..self }
    }

    /// The bounds of results that are rounded to `f32`: rounding is monotone, and what overflows is infinite.
    fn rounded(self) -> Range {
        self.map(|x| f64::from(x as f32))
    }
}

/// What is known about a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Free axes, dtype, and whether some spelling needs weights only.
    pub facts: Facts,
    /// The values that occur.
    pub range: Range,
    /// The literal that it equals.
    pub literal: Option<Term>,
}

impl Data {
    /// The free axes.
    pub fn free(&self) -> AxisSet {
        self.facts.free
    }

    /// The value, if it is a literal `f32` that is finite and not 0.
    pub fn is_plain_literal(&self) -> bool {
        matches!(&self.literal, Some(Term::F32(x)) if x.value().is_finite() && x.value() != 0.0)
    }
}

/// The analysis: facts about terms over one context.
#[derive(Clone)]
pub struct Facet {
    /// What leaves refer to.
    pub context: Rc<Context>,
}

/// The e-graph of the search.
pub type Graph = EGraph<Term, Facet>;

impl Facet {
    /// The analysis for the terms of a DAG.
    pub fn new(dag: &Dag) -> Facet {
        Facet { context: Rc::clone(&dag.context) }
    }

    fn range(
        &self,
        term: &Term,
        dtype: Dtype,
        of: impl Fn(Id) -> Range,
        axes_of: impl Fn(Id) -> AxisSet,
    ) -> Range {
        let infinity = f64::INFINITY;
        let float = dtype == Dtype::F32;
        let range = match term {
            Term::F32(x) => {
                let x = f64::from(x.value());
                Range::new(x, x, x.is_nan())
            }
            Term::I32(x) => Range::new(f64::from(x.0), f64::from(x.0), false),
            Term::Position(index) => match self.context.range(self.context.index_expr(*index)) {
                Some((low, high)) => Range::new(low as f64, high as f64, false),
                None => Range::of(dtype),
            },
            // Bounds are exact in f64, and rounding to fewer bits is monotone.
            Term::Number(x) if dtype.holds(x.value().to_f64()) => {
                let value = x.value().to_f64();
                Range::new(value, value, value.is_nan())
            }
            Term::ToF32(x) => of(*x),
            Term::ToF16(x) => of(*x).map(|x| f16::from_f32(x as f32).to_f64()),
            Term::ToBF16(x) => of(*x).map(|x| bf16::from_f32(x as f32).to_f64()),
            Term::Max([x, y]) => {
                let (x, y) = (of(*x), of(*y));
                Range::new(x.low.max(y.low), x.high.max(y.high), x.nan || y.nan)
            }
            Term::Select([_, x, y]) => {
                let (x, y) = (of(*x), of(*y));
                Range::new(x.low.min(y.low), x.high.max(y.high), x.nan || y.nan)
            }
            Term::MaxOver([axes, body]) => {
                let Range { low, high, nan } = of(*body);
                // An empty axis gives the identity.
                let some = |axis| matches!(self.context.extent(axis), Dim::Fixed(n) if n > 0);
                let some = axes_of(*axes).iter().all(some);
                Range::new(if some { low } else { Range::of(dtype).low }, high, nan)
            }
            // Integer arithmetic wraps.
            _ if !float => Range::of(dtype),
            Term::Exp2(x) => {
                let x = of(*x);
                Range::new(x.low.exp2(), x.high.exp2(), x.nan)
            }
            Term::Log2(x) if of(*x).low >= 0.0 => {
                let x = of(*x);
                Range::new(x.low.log2(), x.high.log2(), x.nan)
            }
            Term::Sin(x) => Range::new(-1.0, 1.0, of(*x).nan || of(*x).may_be_infinite()),
            Term::Sqrt(x) => {
                let x = of(*x);
                Range::new(0.0, x.high.max(0.0).sqrt(), x.nan || x.low < 0.0)
            }
            // Not for a lower bound of 0: the reciprocal of -0 is -inf.
            Term::Recip(x) if of(*x).low > 0.0 => {
                let x = of(*x);
                Range::new(1.0 / x.high, 1.0 / x.low, x.nan)
            }
            Term::Recip(x) => Range { nan: of(*x).nan, ..Range::ALL },
            Term::Add([x, y]) => of(*x).plus(of(*y)),
            // A square: 0 times infinity cannot occur.
            Term::Mul([x, y]) if x == y => {
                let x = of(*x);
                let high = x.low.abs().max(x.high.abs());
                Range::new(0.0, high * high, x.nan)
            }
            Term::Mul([x, y]) => of(*x).times(of(*y)),
            Term::Sum([_, body]) if of(*body).low >= 0.0 => Range::new(0.0, infinity, of(*body).nan),
            _ => Range::ALL,
        };
        if float { range.rounded() } else { range }
    }
}

/// A pointwise node of literals, computed as the program would: every result in its dtype.
fn fold(term: &Term, dtype: Dtype, operand: Dtype, of: impl Fn(Id) -> Option<Term>) -> Option<Term> {
    if term.is_literal() {
        return Some(term.clone());
    }
    if term.is_leaf() || term.is_reduction() || matches!(term, Term::Gather(_)) {
        return None;
    }
    let operands: Vec<Constant> =
        term.children().iter().map(|child| of(*child)?.constant()).collect::<Option<_>>()?;
    // Not every i64 is an f64.
    if operand == Dtype::I64 || dtype == Dtype::I64 && matches!(term, Term::Select(_)) {
        return Some(Term::literal(apply_long(term, &operands)?, dtype));
    }
    let operands: Vec<f64> = operands.into_iter().map(Constant::to_f64).collect();
    let value = apply(term, &operands, operand)?;
    Some(Term::literal(Constant::Float(Precision::Single.round(value, dtype)), dtype))
}

impl Analysis<Term> for Facet {
    type Data = Data;

    fn make(egraph: &mut Graph, term: &Term, _: Id) -> Data {
        let facet = &egraph.analysis;
        let facts = facet.context.facts(term, |id| egraph[id].data.facts);
        let axes = |id: Id| egraph[id].data.facts.free;
        let range = facet.range(term, facts.dtype, |id| egraph[id].data.range, axes);
        let operand = term.values().first().map_or(facts.dtype, |id| egraph[*id].data.facts.dtype);
        let literal = fold(term, facts.dtype, operand, |id| egraph[id].data.literal.clone());
        Data { facts, range, literal }
    }

    fn merge(&mut self, a: &mut Data, b: Data) -> DidMerge {
        // A rule that changes these would be unsound: asserted, never joined.
        assert_eq!(a.facts.free, b.facts.free, "a rule equated values over different axes");
        assert_eq!(a.facts.dtype, b.facts.dtype, "a rule equated values of different dtypes");
        let old = a.clone();
        a.facts.weight |= b.facts.weight;
        a.range.low = a.range.low.max(b.range.low);
        a.range.high = a.range.high.min(b.range.high);
        a.range.nan &= b.range.nan;
        if a.literal.is_none() {
            a.literal = b.literal.clone();
        }
        DidMerge(*a != old, *a != b)
    }

    /// A literal needs no other spelling. Without this, constants folded in different orders differ in the last bit
    /// and breed new constants for ever.
    fn modify(egraph: &mut Graph, id: Id) {
        if let Some(literal) = egraph[id].data.literal.clone() {
            let node = egraph.add(literal.clone());
            egraph.union(id, node);
            let id = egraph.find(id);
            egraph[id].nodes.retain(|node| *node == literal);
        }
    }
}
