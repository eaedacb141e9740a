//! Relations between sizes: `Total = Past + New`.
//!
//! A size that is known at run time only cannot be computed in types, so the user names the size of a result, and the
//! operation records which size would be right. Every run checks that; a size that is in the shape of no input is
//! computed by it.

use super::{Dim, FreeDim, Graph, Origin, VerifyError};
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// Which sizes of the left side are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The value of the right side.
    Equal,
    /// Everything up to it.
    AtMost,
}

/// A multiple of a free size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// How often it counts, at least once.
    pub factor: usize,
    /// Position in [`Graph::free`].
    pub free: usize,
}

/// `left = (terms + plus) / over`, or `left <= ..`. The quotient is rounded down, and what is negative counts as 0.
#[derive(Clone, Debug)]
pub struct Relation {
    /// The size that the rule is about.
    pub left: Dim,
    /// How it is related to the right side.
    pub rule: Rule,
    /// At least one.
    pub terms: Cow<'static, [Term]>,
    /// Added to the terms.
    pub plus: i64,
    /// At least 1.
    pub over: usize,
    /// The user's operation and line. Not part of the graph's identity.
    pub origin: Option<Origin>,
}

impl PartialEq for Relation {
    fn eq(&self, other: &Relation) -> bool {
        let parts = |r: &Relation| (r.left, r.rule, r.plus, r.over);
        parts(self) == parts(other) && self.terms == other.terms
    }
}

impl Eq for Relation {}

impl Relation {
    /// The right side, for sizes of all free dimensions.
    pub fn value(&self, sizes: &[usize]) -> usize {
        self.value_of(|free| sizes[free])
    }

    fn value_of(&self, size: impl Fn(usize) -> usize) -> usize {
        let value = self.sum(size).div_euclid(self.over.max(1) as i128);
        usize::try_from(value.max(0)).unwrap_or(usize::MAX)
    }

    /// Hostile numbers do not overflow: they stop at the greatest.
    fn sum(&self, size: impl Fn(usize) -> usize) -> i128 {
        self.terms.iter().fold(i128::from(self.plus), |sum, term| {
            sum.saturating_add((term.factor as i128).saturating_mul(size(term.free) as i128))
        })
    }

    /// Whether sizes of all free dimensions are right.
    pub fn holds(&self, sizes: &[usize]) -> bool {
        let (left, right) = (self.left.size(sizes), self.value(sizes));
        if self.rule == Rule::Equal { left == right } else { left <= right }
    }

    /// The free dimension whose size follows from those that are known, if there is one.
    pub fn determines(&self, is_known: impl Fn(usize) -> bool) -> Option<usize> {
        if self.rule != Rule::Equal {
            return None;
        }
        let mut unknown = self.terms.iter().map(|term| term.free).filter(|free| !is_known(*free));
        let (first, second) = (unknown.next(), unknown.next());
        let left = if let Dim::Free { index, .. } = self.left { Some(index) } else { None };
        match (left.filter(|left| !is_known(*left)), first, second) {
            (Some(left), None, _) => Some(left),
            // A quotient that is rounded does not say what was divided.
            (None, Some(term), None) if self.over == 1 => Some(term),
            _ => None,
        }
    }

    /// The size of the free dimension that [`Relation::determines`] named, by the sizes of the others. That they leave no
    /// remainder is for [`Relation::holds`] to say.
    pub fn solve(&self, free: usize, sizes: &[usize]) -> usize {
        if matches!(self.left, Dim::Free { index, .. } if index == free) {
            return self.value(sizes);
        }
        let factor = self.terms.iter().find(|term| term.free == free).map_or(1, |term| term.factor);
        let others = self.sum(|other| if other == free { 0 } else { sizes[other] });
        let rest = (self.left.size(sizes) as i128).saturating_sub(others);
        usize::try_from((rest / factor.max(1) as i128).max(0)).unwrap_or(usize::MAX)
    }

    /// The right side with names of sizes.
    fn formula(&self, name: &dyn Fn(usize) -> String) -> String {
        let mut sum = String::new();
        for (number, Term { factor, free }) in self.terms.iter().enumerate() {
            let plus = if number > 0 { " + " } else { "" };
            let times = if *factor == 1 { String::new() } else { format!("{factor} * ") };
            sum += &format!("{plus}{times}{}", name(*free));
        }
        match self.plus {
            0 => {}
            plus if plus > 0 => sum += &format!(" + {plus}"),
            plus => sum += &format!(" - {}", plus.unsigned_abs()),
        }
        if self.over == 1 { sum } else { format!("({sum}) / {}", self.over) }
    }

    /// The rule as messages show it: `Total = Past + New`.
    pub fn text(&self, name: impl Fn(usize) -> String) -> String {
        let left = match self.left {
            Dim::Fixed(size) => size.to_string(),
            Dim::Free { index, .. } => name(index),
        };
        let sign = if self.rule == Rule::Equal { "=" } else { "<=" };
        format!("{left} {sign} {}", self.formula(&name))
    }

    /// What is wrong with these sizes, which do not fit, and what would be right.
    pub fn complaint(&self, name: impl Fn(usize) -> String, sizes: &[usize]) -> String {
        let right = self.formula(&name);
        let value = self.value(sizes);
        let numbers = self.formula(&|free| sizes[free].to_string());
        let computed = if numbers == value.to_string() { numbers } else { format!("{numbers} = {value}") };
        let at_most = if self.rule == Rule::Equal { "" } else { "at most " };
        match self.left {
            Dim::Free { index, .. } => {
                let (left, size) = (name(index), sizes[index]);
                format!("`{left}` is {size}, but it must be {at_most}`{right}`, which is {computed}")
            }
            Dim::Fixed(size) => {
                let at_least = if self.rule == Rule::Equal && self.over == 1 { "" } else { "at least " };
                // Of one size alone it is known which would be right.
                if let [Term { factor: 1, free }] = *self.terms {
                    let needed = size as i128 * self.over as i128 - i128::from(self.plus);
                    return format!("`{}` is {}, but it must be {at_least}{needed}", name(free), sizes[free]);
                }
                format!("`{right}` is {computed}, but it must be {at_least}{size}")
            }
        }
    }

    /// [`Relation::complaint`] and the user's line.
    pub fn complaint_at(&self, name: impl Fn(usize) -> String, sizes: &[usize]) -> String {
        let complaint = self.complaint(name, sizes);
        match &self.origin {
            Some(Origin { op, file, line, column }) => {
                format!("{op}: {complaint}; from {file}:{line}:{column}")
            }
            None => complaint,
        }
    }
}

/// As in the text form of a graph: `d2 = d0 + d1`.
impl Display for Relation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|free| format!("d{free}")))
    }
}

/// Which sizes are known, if these are: all that relations determine, one after the other. Of each that is found, the
/// relation and the size are passed on in that order.
pub(crate) fn determined(
    relations: &[Relation],
    known: &mut [bool],
    mut found: impl FnMut(&Relation, usize),
) {
    while let Some((relation, free)) =
        relations.iter().find_map(|relation| Some((relation, relation.determines(|free| known[free])?)))
    {
        known[free] = true;
        found(relation, free);
    }
}

impl Graph {
    /// Records that `left` is the sum of these multiples and `plus`, divided by `over` and rounded down. Fixed sizes
    /// alone must be right already.
    pub fn relate_equal(&mut self, left: Dim, terms: &[(usize, Dim)], plus: i64, over: usize) {
        self.relate(Rule::Equal, left, terms, plus, over);
    }

    /// As [`Graph::relate_equal`]: `left` is at most that.
    pub fn relate_at_most(&mut self, left: Dim, terms: &[(usize, Dim)], plus: i64, over: usize) {
        self.relate(Rule::AtMost, left, terms, plus, over);
    }

    fn relate(&mut self, rule: Rule, left: Dim, terms: &[(usize, Dim)], plus: i64, over: usize) {
        let relation = relation(rule, left, terms, plus, over);
        if relation.terms.is_empty() && matches!(left, Dim::Fixed(_)) {
            assert!(relation.holds(&[]), "sizes that do not fit: {relation}");
            return;
        }
        // `Seq = Seq` says nothing.
        let itself =
            [Term { factor: 1, free: if let Dim::Free { index, .. } = left { index } else { usize::MAX } }];
        if *relation.terms == itself && relation.plus == 0 && over == 1 {
            return;
        }
        if !self.relations.contains(&relation) {
            self.relations.push(relation);
        }
    }

    /// The size that is the sum of these multiples and `plus`, divided by `over` and rounded down: a number if all are
    /// fixed, else a free size that every run computes.
    pub fn derived(&mut self, terms: &[(usize, Dim)], plus: i64, over: usize) -> Dim {
        let mut relation = relation(Rule::Equal, Dim::Fixed(0), terms, plus, over);
        if relation.terms.is_empty() {
            return Dim::Fixed(relation.value(&[]));
        }
        if let ([Term { factor: 1, free }], 0, 1) = (&*relation.terms, relation.plus, over) {
            return Dim::Free { index: *free, max: self.free[*free].max };
        }
        let name = relation.formula(&|free| self.free[free].name.clone());
        let max = relation.value_of(|free| self.free[free].max);
        relation.left = self.free_dim(&name, max);
        let left = relation.left;
        if !self.relations.contains(&relation) {
            self.relations.push(relation);
        }
        left
    }

    /// Relations that follow from nodes: a slice of a free axis must be within it, a pad to a free size must fit.
    fn implied(&self) -> Vec<Relation> {
        let mut implied: Vec<Relation> = vec![];
        for node in &self.nodes {
            if let Some(mut relation) = super::verify::implied(self, node)
                && !implied.contains(&relation)
            {
                relation.origin = node.origin.clone();
                implied.push(relation);
            }
        }
        implied
    }

    /// Everything that must hold between sizes: what is recorded and what follows from nodes.
    pub fn all_relations(&self) -> Vec<Relation> {
        let mut all = self.relations.clone();
        all.extend(self.implied().into_iter().filter(|relation| !self.relations.contains(relation)));
        all
    }

    /// Free sizes that fit, as near to the wanted ones as is easily found. Sizes of 0 are avoided.
    pub fn sizes_near(&self, wanted: &[usize]) -> Result<Vec<usize>, VerifyError> {
        let relations = self.all_relations();
        let found = sizes::near(&self.free, &relations, wanted);
        found.ok_or_else(|| {
            let names = |free: usize| self.free[free].name.clone();
            let rules: Vec<String> = relations.iter().map(|relation| relation.text(names)).collect();
            VerifyError {
                node: None,
                op: "free dimension".into(),
                rule: format!("no sizes within the bounds fulfil `{}`", rules.join("`, `")),
                origin: relations.iter().find_map(|relation| relation.origin.clone()),
            }
        })
    }
}

/// Fixed sizes become part of the sum.
fn relation(rule: Rule, left: Dim, terms: &[(usize, Dim)], plus: i64, over: usize) -> Relation {
    let mut plus = plus;
    let mut free: Vec<Term> = vec![];
    for (factor, size) in terms {
        match size {
            Dim::Fixed(n) => plus += (factor * n) as i64,
            Dim::Free { index, .. } => match free.iter_mut().find(|term| term.free == *index) {
                Some(term) => term.factor += factor,
                None => free.push(Term { factor: *factor, free: *index }),
            },
        }
    }
    free.retain(|term| term.factor > 0);
    Relation { left, rule, terms: free.into(), plus, over, origin: None }
}

mod sizes;
#[cfg(test)]
mod tests;
