//! The rewrite rules, one row each.

use super::analysis::{Data, Facet, Graph};
use crate::dtype::Dtype;
use crate::mutant::planted;
use crate::search::term::{Id, Term};
use egg::{ConditionalApplier, Pattern, Rewrite, Subst, Var};

/// For which element types a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// For `f32` only.
    Float,
    /// Also for wrapping integers and for truth values, where it is exact.
    Any,
}

/// A rewrite rule: the right side may replace the left side.
pub struct Rule {
    /// Its name, in reports and in the documentation of what may change rounding.
    pub name: &'static str,
    /// What is matched.
    pub left: &'static str,
    /// What may replace it.
    pub right: &'static str,
    /// When.
    pub condition: fn(&Match) -> bool,
    /// For which dtype of the value.
    pub domain: Domain,
    /// True if results differ by rounding at most (and the sign of zero), also where zeros, infinities, NaN or overflow
    /// occur.
    pub exact: bool,
}

/// The classes that the variables of a rule stand for: `?a ?b ?c` are values, `?k` the axes of a reduction.
pub struct Match<'a> {
    egraph: &'a Graph,
    subst: &'a Subst,
}

impl Match<'_> {
    fn data(&self, variable: &str) -> &Data {
        let variable: Var = variable.parse().unwrap_or_else(|_| unreachable!("{variable} is a variable"));
        &self.egraph[self.subst[variable]].data
    }

    fn a(&self) -> &Data {
        self.data("?a")
    }

    fn b(&self) -> &Data {
        self.data("?b")
    }

    fn c(&self) -> &Data {
        self.data("?c")
    }

    /// `?a` does not depend on the reduced axes.
    fn a_is_outside(&self) -> bool {
        !self.a().free().meets(self.data("?k").free())
    }
}

fn always(_: &Match) -> bool {
    true
}

macro_rules! rule {
    ($name:literal, $domain:ident, $exact:literal, $left:literal => $right:literal, $condition:expr) => {
        Rule {
            name: $name,
            left: $left,
            right: $right,
            condition: $condition,
            domain: Domain::$domain,
            exact: $exact,
        }
    };
}

/// All rules. The order is part of the result: where the e-graph is full, later rules have fired less often.
pub const RULES: &[Rule] = &[
    rule!("comm-add", Any, true, "(+ ?a ?b)" => "(+ ?b ?a)", always),
    rule!("comm-mul", Any, true, "(* ?a ?b)" => "(* ?b ?a)", always),
    rule!("comm-max", Any, true, "(max ?a ?b)" => "(max ?b ?a)", always),
    // Only where it changes a volume or makes a product of weights.
    rule!("assoc-mul", Any, false, "(* (* ?a ?b) ?c)" => "(* ?a (* ?b ?c))", |m| {
        let (a, b, c) = (m.a().facts, m.b().facts, m.c().facts);
        b.free | c.free != a.free | b.free || (b.weight && c.weight)
    }),
    rule!("assoc-add-weight", Any, false, "(+ (+ ?a ?b) ?c)" => "(+ ?a (+ ?b ?c))", |m| {
        m.b().facts.weight && m.c().facts.weight
    }),
    rule!("hoist-sum", Any, false, "(sum ?k (* ?a ?b))" => "(* ?a (sum ?k ?b))", |m| {
        m.a_is_outside() || planted!(RuleGuard)
    }),
    rule!("sink-sum-weight", Any, false, "(* ?a (sum ?k (* ?b ?c)))" => "(sum ?k (* ?b (* ?a ?c)))", |m| {
        let (a, c) = (m.a().facts, m.c().facts);
        m.a_is_outside() && a.weight && c.weight && a.free.is_subset(c.free)
    }),
    rule!("hoist-max-add", Float, false, "(maxover ?k (+ ?a ?b))" => "(+ ?a (maxover ?k ?b))", |m| m.a_is_outside()),
    rule!("hoist-max-mul", Float, true, "(maxover ?k (* ?a ?b))" => "(* ?a (maxover ?k ?b))", |m| {
        let range = m.a().range;
        m.a_is_outside() && range.low > 0.0 && range.high < f64::INFINITY && !range.nan
    }),
    rule!("split-sum-weight", Any, false, "(sum ?k (+ ?a ?b))" => "(+ (sum ?k ?a) (sum ?k ?b))", |m| {
        m.b().facts.weight
    }),
    rule!("distribute-weight", Any, false, "(* (+ ?a ?b) ?c)" => "(+ (* ?a ?c) (* ?b ?c))", |m| {
        m.b().facts.weight && m.c().facts.weight && m.c().literal.is_none()
    }),
    rule!("factor-const", Float, false, "(+ (* ?a ?c) (* ?b ?c))" => "(* (+ ?a ?b) ?c)", |m| m.c().is_plain_literal()),
    rule!("mul-one", Float, true, "(* ?a 1.0)" => "?a", always),
    rule!("add-zero", Float, true, "(+ ?a 0.0)" => "?a", always),
    rule!("max-same", Any, true, "(max ?a ?a)" => "?a", always),
    rule!("max-range", Float, true, "(max ?a ?b)" => "?b", |m| {
        let (a, b) = (m.a(), m.b());
        (!a.range.nan || planted!(RuleNan)) && a.range.high <= b.range.low && a.free() == b.free()
    }),
    rule!("recip-recip", Float, false, "(recip (recip ?a))" => "?a", always),
    rule!("recip-mul-const", Float, false, "(recip (* ?a ?c))" => "(* (recip ?a) (recip ?c))", |m| {
        m.c().is_plain_literal()
    }),
    rule!("exp2-log2", Float, true, "(exp2 (log2 ?a))" => "?a", |m| m.a().range.low >= 0.0),
    rule!("log2-exp2", Float, true, "(log2 (exp2 ?a))" => "?a", |m| {
        m.a().range.low > -120.0 && m.a().range.high < 120.0
    }),
    rule!("sqrt-square", Float, true, "(* (sqrt ?a) (sqrt ?a))" => "?a", |m| m.a().range.low >= 0.0),
    rule!("log2-recip", Float, false, "(log2 (recip ?a))" => "(* -1.0 (log2 ?a))", |m| m.a().range.low > 0.0),
    rule!("select-same", Any, true, "(select ?c ?a ?a)" => "?a", |m| m.c().free().is_subset(m.a().free())),
    rule!("select-add", Float, true, "(+ (select ?c ?a 0.0) ?b)" => "(select ?c (+ ?a ?b) ?b)", |m| {
        m.c().free().is_subset(m.a().free())
    }),
];

impl Rule {
    /// The two patterns.
    pub fn patterns(&self) -> (Pattern<Term>, Pattern<Term>) {
        let parse = |text: &str| {
            text.parse().unwrap_or_else(|e| unreachable!("rule {} does not parse: {e}", self.name))
        };
        let right = match self.name {
            "factor-const" if planted!(RuleFactor) => "(+ ?a (* ?b ?c))",
            "sink-sum-weight" if planted!(WeightLost) => "(sum ?k (* ?b ?c))",
            _ => self.right,
        };
        (parse(self.left), parse(right))
    }

    /// True if the rule may fire on a match whose value is in this class.
    pub fn holds(&self, egraph: &Graph, class: Id, subst: &Subst) -> bool {
        let float = egraph[class].data.facts.dtype == Dtype::F32;
        (self.domain == Domain::Any || float) && (self.condition)(&Match { egraph, subst })
    }

    /// The rule for egg.
    pub fn rewrite(&'static self) -> Rewrite<Term, Facet> {
        let (left, right) = self.patterns();
        let condition = |egraph: &mut Graph, class: Id, subst: &Subst| self.holds(egraph, class, subst);
        let applier = ConditionalApplier { condition, applier: right };
        Rewrite::new(self.name, left, applier)
            .unwrap_or_else(|e| unreachable!("rule {} is not well formed: {e}", self.name))
    }
}
