//! Index expressions: which element of a buffer a load reads.

use super::axes::{Axis, AxisSet};
use std::collections::BTreeMap;

/// What an index expression is a sum of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// The position on an axis.
    Axis(Axis),
    /// Floor division of an expression by a positive constant.
    Div(Box<IndexExpr>, i64),
    /// Remainder of the floor division.
    Mod(Box<IndexExpr>, i64),
    /// The computed index of a [`super::Term::Gather`]: its second operand.
    Value,
}

/// `constant + sum of coefficient * atom`. Coefficients are never 0, so equal expressions compare equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexExpr {
    /// The constant.
    pub constant: i64,
    /// Coefficient of each atom.
    pub terms: BTreeMap<Atom, i64>,
}

impl IndexExpr {
    /// A constant.
    pub fn constant(constant: i64) -> IndexExpr {
        IndexExpr { constant, terms: BTreeMap::new() }
    }

    /// One atom.
    pub fn atom(atom: Atom) -> IndexExpr {
        IndexExpr { constant: 0, terms: BTreeMap::from([(atom, 1)]) }
    }

    /// The position on an axis.
    pub fn axis(axis: Axis) -> IndexExpr {
        IndexExpr::atom(Atom::Axis(axis))
    }

    /// Sum of two expressions.
    pub fn plus(&self, other: &IndexExpr) -> IndexExpr {
        let mut sum = self.clone();
        sum.constant += other.constant;
        for (atom, coefficient) in &other.terms {
            *sum.terms.entry(atom.clone()).or_insert(0) += coefficient;
        }
        sum.terms.retain(|_, coefficient| *coefficient != 0);
        sum
    }

    /// The expression plus a constant.
    pub fn offset(&self, constant: i64) -> IndexExpr {
        IndexExpr { constant: self.constant + constant, terms: self.terms.clone() }
    }

    /// The expression times a constant other than 0.
    pub fn times(&self, factor: i64) -> IndexExpr {
        let terms = self.terms.iter().map(|(atom, coefficient)| (atom.clone(), coefficient * factor));
        IndexExpr { constant: self.constant * factor, terms: terms.collect() }
    }

    /// The axis, if the expression is just that axis.
    pub fn as_axis(&self) -> Option<Axis> {
        match self.terms.iter().next() {
            Some((Atom::Axis(axis), 1)) if self.terms.len() == 1 && self.constant == 0 => Some(*axis),
            _ => None,
        }
    }

    /// The axes that occur in it.
    pub fn axes(&self) -> AxisSet {
        let of_atom = |atom: &Atom| match atom {
            Atom::Axis(axis) => AxisSet::of(*axis),
            Atom::Div(e, _) | Atom::Mod(e, _) => e.axes(),
            Atom::Value => AxisSet::EMPTY,
        };
        self.terms.keys().fold(AxisSet::EMPTY, |set, atom| set | of_atom(atom))
    }

    /// True if the computed index of a gather occurs in it.
    pub fn has_value(&self) -> bool {
        self.terms.keys().any(|atom| match atom {
            Atom::Axis(_) => false,
            Atom::Div(e, _) | Atom::Mod(e, _) => e.has_value(),
            Atom::Value => true,
        })
    }

    /// True if it is a constant plus multiples of axes: no division, no computed index.
    pub fn is_affine(&self) -> bool {
        self.terms.keys().all(|atom| matches!(atom, Atom::Axis(_)))
    }

    /// Its value at a position of every axis, with `value` for [`Atom::Value`].
    pub fn eval(&self, position: &[usize], value: i64) -> i64 {
        let of_atom = |atom: &Atom| match atom {
            Atom::Axis(axis) => position[usize::from(*axis)] as i64,
            Atom::Div(e, by) => e.eval(position, value).div_euclid(*by),
            Atom::Mod(e, by) => e.eval(position, value).rem_euclid(*by),
            Atom::Value => value,
        };
        self.constant + self.terms.iter().map(|(atom, coefficient)| coefficient * of_atom(atom)).sum::<i64>()
    }
}
