//! Names of axes, and the splits that reshapes ask for.

use super::Importer;
use crate::error::{Error, Result};
use crate::graph::{Dim, NodeId, Op};
use crate::search::term::{Atom, Axis, AxisSet, IndexExpr};

/// Where axes get their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Site {
    /// A dimension of a stored node.
    Dim(NodeId, usize),
    /// The reduced dimension of a reduction.
    Reduction(NodeId),
}

/// A wish to split one factor of a site's dimension so that its inner part has this size.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitWish {
    pub site: Site,
    /// Which factor.
    pub factor: usize,
    /// Size of the inner part.
    pub inner: usize,
}

impl Importer<'_> {
    /// The graph dimension that a site binds.
    pub(super) fn dimension(&self, site: Site) -> (NodeId, usize) {
        match site {
            Site::Dim(node, dim) => (node, dim),
            Site::Reduction(node) => match &self.graph.nodes[node].op {
                Op::Reduce(_, x, axis) => (*x, *axis),
                _ => (node, 0),
            },
        }
    }

    /// A name that is not in use. Names come from a pool for each class of aligned dimensions and extent: dimensions
    /// that meet in a pointwise operation share a name unless both are live at once.
    fn fresh(&mut self, class: usize, extent: Dim, used: AxisSet) -> Result<Axis> {
        let known = (0..self.context.extents.len()).find(|axis| {
            self.context.extents[*axis] == extent
                && self.axis_class[*axis] == class
                && !used.contains(*axis as Axis)
        });
        if let Some(axis) = known {
            return Ok(axis as Axis);
        }
        if self.context.extents.len() == AxisSet::CAPACITY {
            return Err(Error::new(format!(
                "the model has more than {} distinct axes; give equal layers equal sizes, or split it into several models",
                AxisSet::CAPACITY
            )));
        }
        self.context.extents.push(extent);
        self.axis_class.push(class);
        Ok((self.context.extents.len() - 1) as Axis)
    }

    /// Names the dimension of a site, as its factors where it was split, and adds the names to `used`.
    pub(super) fn bind(&mut self, site: Site, used: &mut AxisSet) -> Result<IndexExpr> {
        let (node, dim) = self.dimension(site);
        let factors = match self.splits.get(&site) {
            Some(factors) => factors.iter().map(|n| Dim::Fixed(*n)).collect(),
            None => vec![self.graph.nodes[node].shape[dim]],
        };
        let class = self.classes.class(node, dim);
        let mut expr = IndexExpr::constant(0);
        for (factor, extent) in factors.into_iter().enumerate() {
            if extent == Dim::Fixed(1) {
                continue;
            }
            let axis = self.fresh(class, extent, *used)?;
            *used |= AxisSet::of(axis);
            self.bound_at.insert(axis, (site, factor));
            expr = expr.times(extent.max().max(1) as i64).plus(&IndexExpr::axis(axis));
        }
        Ok(expr)
    }

    /// Quotient and remainder of an expression. Exact where factors of axes allow; else `Div` and `Mod`, with a wish to
    /// split the axis where that would help.
    pub(super) fn divide(&mut self, expr: &IndexExpr, by: i64) -> (IndexExpr, IndexExpr) {
        let mut quotient = IndexExpr::constant(expr.constant.div_euclid(by));
        let mut rest = IndexExpr::constant(expr.constant.rem_euclid(by));
        for (atom, coefficient) in &expr.terms {
            let atom = IndexExpr::atom(atom.clone());
            if coefficient % by == 0 {
                quotient = quotient.plus(&atom.times(coefficient / by));
            } else {
                rest = rest.plus(&atom.times(*coefficient));
            }
        }
        if self.context.range(&rest).is_some_and(|(low, high)| low >= 0 && high < by) {
            return (quotient, rest);
        }
        let common = rest.terms.values().fold(gcd(by, rest.constant), |common, c| gcd(common, *c));
        if common > 1 {
            let terms = rest.terms.iter().map(|(atom, c)| (atom.clone(), c / common)).collect();
            let smaller = IndexExpr { constant: rest.constant / common, terms };
            let (inner_quotient, inner_rest) = self.divide(&smaller, by / common);
            return (quotient.plus(&inner_quotient), inner_rest.times(common));
        }
        if let Some(axis) = rest.as_axis() {
            let extent = self.context.extent(axis).max() as i64;
            if let Some((site, factor)) = self.bound_at.get(&axis).copied()
                && extent % by == 0
            {
                self.wishes.push(SplitWish { site, factor, inner: by as usize });
            }
        }
        let div = IndexExpr::atom(Atom::Div(Box::new(rest.clone()), by));
        (quotient.plus(&div), IndexExpr::atom(Atom::Mod(Box::new(rest), by)))
    }
}

fn gcd(x: i64, y: i64) -> i64 {
    let (mut x, mut y) = (x.abs(), y.abs());
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x
}
