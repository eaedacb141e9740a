//! Which sets of values one kernel can compute.

use super::problem::{Problem, Rounding};
use super::set::NodeSet;
use crate::search::term::AxisSet;

/// The shape of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// Pointwise values.
    Map,
    /// Reductions of rows, and values along the rows.
    Row,
    /// Contractions over the same axes, with what comes before and after.
    Contraction,
    /// A contraction whose result is reduced along rows and used again along them: a row of results stays on chip.
    ContractionRow,
    /// A contraction whose result is reduced at once.
    ContractionFold,
    /// Two contractions around a fold: the second streams over an axis of the first.
    Fold,
    /// Contractions that share an operand.
    Siblings,
}

impl Form {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Form::Map => "map",
            Form::Row => "row",
            Form::Contraction => "contraction",
            Form::ContractionRow => "contraction + row",
            Form::ContractionFold => "contraction + reduction",
            Form::Fold => "fold",
            Form::Siblings => "siblings",
        }
    }
}

/// How one kernel computes a set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub form: Form,
    /// Axes that may be streamed as a fold.
    pub fold: Option<AxisSet>,
    /// The values of the set that the kernel may store.
    pub storable: NodeSet,
}

/// No more contractions than this share one tile.
const CONTRACTIONS: usize = 4;
/// Columns of the second contraction of a fold that fit in registers.
const FOLD_COLUMNS: f64 = 256.0;
/// Rows of results of a contraction that are kept on chip at once.
const TILE_ROWS: f64 = 8.0;

/// A set with the facts that forms ask for.
struct Cone<'p, 'a> {
    problem: &'p Problem<'a>,
    set: &'p NodeSet,
    reductions: Vec<usize>,
    /// For each node the reductions of the set strictly below it, as bits in the order of `reductions`.
    below: Vec<u64>,
    /// Axes of the sink.
    out: AxisSet,
}

impl Cone<'_, '_> {
    fn mask(&self, of: &[usize]) -> u64 {
        let bit = |r: &usize| self.reductions.iter().position(|x| x == r).map_or(0, |n| 1 << n);
        of.iter().map(bit).fold(0, |mask, bit| mask | bit)
    }

    fn storable(&self, accept: impl Fn(usize) -> bool) -> NodeSet {
        NodeSet::of(self.problem.dag.nodes.len(), self.set.iter().filter(|i| accept(*i)))
    }

    fn folds(&self, axes: AxisSet) -> bool {
        self.problem.folds(self.set, axes).is_some()
    }

    fn fits_on_chip(&self, axes: AxisSet) -> bool {
        self.problem.volume(axes) <= self.problem.machine.row
    }

    fn map(&self) -> Option<Shape> {
        let inner = self.set.iter().all(|i| self.problem.free(i).is_subset(self.out));
        inner.then(|| Shape { form: Form::Map, fold: None, storable: self.set.clone() })
    }

    /// One set of reduced axes, one outer space.
    fn row(&self) -> Option<Shape> {
        let p = self.problem;
        let (over, outer) = (p.reduced(self.reductions[0]), p.free(self.reductions[0]));
        let space = outer | over;
        let same = self.reductions.iter().all(|r| p.reduced(*r) == over && p.free(*r) == outer);
        if !same || self.set.iter().any(|i| !p.free(i).is_subset(space)) {
            return None;
        }
        if self.fits_on_chip(over) {
            let storable = self.storable(|i| outer.is_subset(p.free(i)));
            // On chip or as a stream, as long as nothing along the row is stored.
            let may = self.reductions.len() > 1 && !self.out.meets(over);
            let streams = may && p.folds(self.set, over) == Some(Rounding::Same);
            return Some(Shape { form: Form::Row, fold: streams.then_some(over), storable });
        }
        let streams = !self.out.meets(over) && self.folds(over);
        let storable = self.storable(|i| p.free(i) == outer);
        streams.then_some(Shape { form: Form::Row, fold: Some(over), storable })
    }

    /// Independent contractions over the same axes; other reductions come before them (of the contracted rows) or after.
    fn contraction(&self, contractions: &[usize]) -> Option<Shape> {
        let p = self.problem;
        let (over, tile) = (p.reduced(contractions[0]), p.free(contractions[0]));
        let alike = contractions.iter().all(|r| p.reduced(*r) == over && p.free(*r) == tile);
        if contractions.len() > CONTRACTIONS || !alike || !self.out.is_subset(tile) {
            return None;
        }
        let contracted = self.mask(contractions);
        let after = |i: usize| self.below[i] & contracted != 0;
        let others = self.reductions.iter().copied().filter(|r| !contractions.contains(r));
        let (epilogue, prologue): (Vec<usize>, Vec<usize>) = others.partition(|r| after(*r));
        if prologue.iter().any(|r| p.reduced(*r) != over || !p.free(*r).is_subset(tile)) {
            return None;
        }
        let streams = !prologue.is_empty() && self.folds(over);
        if !prologue.is_empty() && !streams && !self.fits_on_chip(over) {
            return None;
        }
        if epilogue.is_empty() {
            let post = |i: usize| contractions.contains(&i) || after(i);
            let storable = self.storable(|i| post(i) && p.free(i) == tile);
            return Some(Shape { form: Form::Contraction, fold: streams.then_some(over), storable });
        }
        let rows = p.reduced(epilogue[0]);
        let outer = tile.without(rows);
        let fit = epilogue.iter().all(|r| p.reduced(*r) == rows && p.free(*r) == outer);
        if !rows.is_subset(tile) || rows.meets(over) || !fit {
            return None;
        }
        if self.out.meets(rows) {
            let on_chip = p.volume(rows) * 4.0 * TILE_ROWS <= p.machine.on_chip;
            let storable = self.storable(|i| contractions.contains(&i) || after(i));
            return on_chip.then_some(Shape { form: Form::ContractionRow, fold: None, storable });
        }
        let storable = self.storable(|i| p.free(i) == outer && after(i));
        self.folds(rows).then_some(Shape { form: Form::ContractionFold, fold: Some(rows), storable })
    }

    /// One contraction streams over an axis of another; everything else over that axis belongs to the fold. Without
    /// another reduction over the stream it would only be a chain of two products, which pays only where a schedule can
    /// keep the first one's tile on chip: those stay two kernels.
    fn fold(&self, contractions: &[usize]) -> Option<Shape> {
        let p = self.problem;
        let contracted = self.mask(contractions);
        let (last, first): (Vec<usize>, Vec<usize>) =
            contractions.iter().partition(|r| self.below[**r] & contracted != 0);
        let ([first], [last]) = (&first[..], &last[..]) else { return None };
        let stream = p.reduced(*last);
        let others = self.reductions.iter().all(|r| r == first || p.reduced(*r) == stream);
        let cascade = self.reductions.iter().any(|r| r != last && p.reduced(*r) == stream);
        let columns = p.free(*last).without(p.free(*first));
        if !stream.is_subset(p.free(*first))
            || !others
            || !cascade
            || !self.out.is_subset(p.free(*last))
            || p.volume(columns) > FOLD_COLUMNS
            || !self.folds(stream)
        {
            return None;
        }
        let (outer, end) = (p.free(*last), self.mask(&[*last]));
        let storable = self.storable(|i| p.free(i) == outer && (i == *last || self.below[i] & end != 0));
        Some(Shape { form: Form::Fold, fold: Some(stream), storable })
    }
}

impl Problem<'_> {
    /// The form in which one kernel computes a set down to its leaves, if there is one.
    pub(super) fn shape(&self, set: &NodeSet, sink: usize) -> Option<Shape> {
        let reductions: Vec<usize> = set.iter().filter(|i| self.node(*i).is_reduction()).collect();
        if reductions.len() > 64 {
            return None;
        }
        let mut cone = Cone {
            problem: self,
            set,
            reductions,
            below: vec![0; self.dag.nodes.len()],
            out: self.free(sink),
        };
        if cone.reductions.is_empty() {
            return cone.map();
        }
        for i in set.iter() {
            let mut below = 0;
            for x in self.direct[i].iter().filter(|x| set.contains(*x)) {
                below |= cone.below[x] | cone.mask(&[x]);
            }
            cone.below[i] = below;
        }
        let contractions: Vec<usize> =
            cone.reductions.iter().copied().filter(|r| self.is_contraction(*r, set)).collect();
        if contractions.is_empty() {
            return cone.row();
        }
        let contracted = cone.mask(&contractions);
        if contractions.iter().any(|r| cone.below[*r] & contracted != 0) {
            cone.fold(&contractions)
        } else {
            cone.contraction(&contractions)
        }
    }
}
