//! Both sides of every rule on random small tensors, and the variants of every test graph.

use super::analysis::{Facet, Graph};
use super::*;
use crate::dtype::Dtype;
use crate::graph::Dim;
use crate::search::import::import;
use crate::search::term::{
    Access, AxisSet, Buffers, Context, Dag, Evaluator, Fixed, Id, IndexExpr, Precision, Term, positions,
};
use crate::search::testing::{Random, cases, models, worst_error};
use egg::{ENodeOrVar, Language, Pattern, RecExpr, Subst, Var};
use std::collections::HashMap;
use std::rc::Rc;

const SIZES: [usize; 3] = [2, 3, 2];
const WILD: [f64; 9] = [
    0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    3.0e38_f32 as f64,
    -3.0e38_f32 as f64,
    1.0e-30_f32 as f64,
    1.0e-40_f32 as f64,
    1.0,
];

#[derive(Clone, Copy, PartialEq)]
enum Values {
    /// Ordinary numbers, computed in f64.
    Tame,
    /// Among them zeros, infinities, NaN, values that overflow, computed in f32.
    Wild,
    Integers,
    /// Of 64 bits.
    Longs,
    Truths,
}

impl Values {
    fn dtype(self) -> Dtype {
        match self {
            Values::Tame | Values::Wild => Dtype::F32,
            Values::Integers => Dtype::I32,
            Values::Longs => Dtype::I64,
            Values::Truths => Dtype::Bool,
        }
    }

    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Values::Wild if random.below(4) == 0 => WILD[random.below(WILD.len())],
            Values::Tame | Values::Wild => f64::from((random.unit() * 4.0 - 2.0) as f32),
            Values::Integers if random.below(3) == 0 => f64::from(random.bits() as i32),
            // Their products are beyond 32 bits and below 2^53.
            Values::Longs if random.below(3) == 0 => random.below(121) as f64 - 60.0,
            Values::Integers | Values::Longs => random.below(7) as f64 - 3.0,
            Values::Truths => random.below(2) as f64,
        }
    }

    /// A random operand over buffer `b` of this dtype.
    fn operand(self, random: &mut Random, b: usize) -> String {
        let choices = match self {
            Values::Tame | Values::Wild => vec![
                format!("@{b}"),
                format!("@{b}"),
                format!("(exp2 @{b})"),
                format!("(* @{b} @{b})"),
                String::from(["-1.5", "0.25", "2.0", "3.0"][random.below(4)]),
                format!("(f32 (< @{b} 0.5))"),
                format!("(sum k1 (exp2 @{b}))"),
                format!("(max @{b} 0.125)"),
                format!("(max @{b} 1e-40)"),
                format!("(max (max @{b} -3.0) (* -1.0 (max (* -1.0 @{b}) -3.0)))"),
            ],
            Values::Integers | Values::Longs => {
                vec![
                    format!("@{b}"),
                    format!("(* @{b} @{b})"),
                    format!("3{}", self.dtype()),
                    format!("(sum k1 @{b})"),
                ]
            }
            Values::Truths => vec![format!("@{b}"), String::from("true"), format!("(max @{b} @0)")],
        };
        choices[random.below(choices.len())].clone()
    }
}

/// Buffers over random axes.
fn world(values: Values, random: &mut Random) -> (Rc<Context>, Buffers) {
    let mut context = Context { extents: SIZES.map(Dim::Fixed).to_vec(), ..Context::default() };
    let mut buffers = Buffers::new();
    for node in 0..5 {
        let axes = AxisSet(random.below(8) as u64);
        let index = axes.iter().map(IndexExpr::axis).collect();
        let sizes: Vec<usize> = axes.iter().map(|axis| SIZES[usize::from(axis)]).collect();
        // The last one is a condition, whatever the dtype of the rule.
        let kind = if node == 4 { Values::Truths } else { values };
        let data = (0..sizes.iter().product()).map(|_| kind.draw(random)).collect();
        context.accesses.push(Access { node, index });
        context.dtypes.push(kind.dtype());
        context.weights.push(random.below(2) == 0);
        buffers.insert(node, (sizes, data));
    }
    (Rc::new(context), buffers)
}

fn add_term(dag: &mut Dag, term: &RecExpr<Term>) -> Id {
    let mut ids: Vec<Id> = Vec::new();
    for node in term.as_ref() {
        ids.push(dag.add(node.clone().map_children(|child| ids[usize::from(child)])));
    }
    ids[ids.len() - 1]
}

fn add_pattern(dag: &mut Dag, pattern: &Pattern<Term>, at: &HashMap<Var, Id>) -> Id {
    let mut ids: Vec<Id> = Vec::new();
    for node in pattern.ast.as_ref() {
        ids.push(match node {
            ENodeOrVar::Var(variable) => at[variable],
            ENodeOrVar::ENode(node) => dag.add(node.clone().map_children(|child| ids[usize::from(child)])),
        });
    }
    ids[ids.len() - 1]
}

/// Whether both sides agree on one random instance; none if the rule does not fire.
fn agree(rule: &Rule, values: Values, random: &mut Random) -> Option<bool> {
    let (context, buffers) = world(values, random);
    let mut dag = Dag::new(context);
    let mut egraph = Graph::new(Facet::new(&dag));
    let mut subst = Subst::default();
    let mut at = HashMap::new();
    let (left, right) = rule.patterns();
    // The condition of a selection is a truth value in every domain.
    let condition: Option<Var> = rule.name.starts_with("select").then(|| "?c".parse().unwrap());
    let axes: Var = "?k".parse().unwrap();
    for variable in left.vars() {
        let term = match variable {
            v if v == axes => format!("k{}", 1 + random.below(7)),
            v if Some(v) == condition => String::from("@4"),
            _ => {
                let buffer = random.below(4);
                values.operand(random, buffer)
            }
        };
        let term: RecExpr<Term> = term.parse().unwrap();
        subst.insert(variable, egraph.add_expr(&term));
        at.insert(variable, add_term(&mut dag, &term));
    }
    let (left, right) = (add_pattern(&mut dag, &left, &at), add_pattern(&mut dag, &right, &at));
    let mut known: HashMap<Id, Id> = HashMap::new();
    for id in dag.ids().take(usize::from(left) + 1) {
        let node = dag.node(id).clone().map_children(|child| known[&child]);
        known.insert(id, egraph.add(node));
    }
    egraph.rebuild();
    if left == right || !rule.holds(&egraph, egraph.find(known[&left]), &subst) {
        return None;
    }
    assert_eq!(dag.free(left), dag.free(right), "{}", rule.name);
    assert_eq!(dag.dtype(left), dag.dtype(right), "{}", rule.name);
    let precision = if values == Values::Wild { Precision::Single } else { Precision::Double };
    let evaluator = Evaluator::new(&dag, &buffers, &[], precision);
    // Where values are added, rounding is relative to the greatest; it is not what exactness is about.
    let adds = rule.left.contains(['+']) || rule.left.contains("sum") || rule.right.contains(['+']);
    let finite =
        buffers.values().flat_map(|b| &b.1).filter(|x| x.is_finite()).fold(1.0f64, |a, x| a.max(x.abs()));
    let tolerance = match values {
        Values::Tame => 1e-9,
        Values::Wild if adds => 1e-4 * finite,
        Values::Wild => 1e-4,
        Values::Integers | Values::Longs | Values::Truths => 0.0,
    };
    let mut same = true;
    let mut position = vec![0; AxisSet::CAPACITY];
    positions(&SIZES, |p| {
        position[..3].copy_from_slice(p);
        let x = evaluator.at(left, &mut position, &Fixed::new());
        let y = evaluator.at(right, &mut position, &Fixed::new());
        let floor = if values == Values::Wild && !adds { 0.0 } else { 1.0 };
        let close = (x - y).abs() <= tolerance * (floor + x.abs().max(y.abs()));
        same &= x == y || (x.is_nan() && y.is_nan()) || (x.is_finite() && y.is_finite() && close);
    });
    Some(same)
}

/// Instances that were tried, and those that differed.
fn trial(rule: &Rule, values: Values, count: usize) -> (usize, usize) {
    let mut random = Random(42);
    let results: Vec<bool> = (0..count).filter_map(|_| agree(rule, values, &mut random)).collect();
    (results.len(), results.iter().filter(|same| !**same).count())
}

#[test]
fn rules_hold_on_ordinary_numbers() {
    for rule in RULES {
        let (tried, wrong) = trial(rule, Values::Tame, 4000);
        assert!(tried >= 20, "{} fired only {tried} times", rule.name);
        assert_eq!(wrong, 0, "{} is wrong in {wrong} of {tried}", rule.name);
    }
}

#[test]
fn exact_flags_are_true_on_both_sides() {
    for rule in RULES {
        let mut random = Random(42);
        let mut results = (0..40_000).map(|_| agree(rule, Values::Wild, &mut random));
        if rule.exact {
            assert!(
                !results.by_ref().take(5000).any(|same| same == Some(false)),
                "{} is not exact",
                rule.name
            );
        } else {
            assert!(results.any(|same| same == Some(false)), "{} is exact after all", rule.name);
        }
    }
}

#[test]
fn rules_for_any_dtype_are_exact_on_integers_and_truth_values() {
    for rule in RULES.iter().filter(|rule| rule.domain == Domain::Any) {
        let (tried, wrong) = trial(rule, Values::Integers, 2000);
        assert!(tried >= 10 && wrong == 0, "{}: {wrong} of {tried} differ on i32", rule.name);
        let (tried, wrong) = trial(rule, Values::Longs, 2000);
        assert!(tried >= 10 && wrong == 0, "{}: {wrong} of {tried} differ on i64", rule.name);
        // Truth values have no sum.
        if !rule.left.contains(['+']) && !rule.left.contains("sum") {
            let (tried, wrong) = trial(rule, Values::Truths, 2000);
            assert!(tried >= 10 && wrong == 0, "{}: {wrong} of {tried} differ on bool", rule.name);
        }
    }
}

#[test]
fn float_rules_do_not_fire_on_integers() {
    for rule in RULES.iter().filter(|rule| rule.domain == Domain::Float && !rule.left.contains('.')) {
        if ["exp2", "log2", "sqrt", "recip"].iter().any(|f| rule.left.contains(f)) {
            continue;
        }
        assert_eq!(trial(rule, Values::Integers, 500).0, 0, "{}", rule.name);
        assert_eq!(trial(rule, Values::Longs, 500).0, 0, "{}", rule.name);
    }
}

#[test]
fn variants_have_the_values_of_the_graph() {
    let all = models::small().into_iter().map(|(name, g)| (name.to_string(), g));
    let all = all.chain(cases::folds()).chain(cases::traps()).chain(cases::separate()).chain(cases::views());
    for (name, g) in all {
        let dag = import(&g).unwrap().dag;
        let saturated = saturate(&dag, Limits::default());
        let found = variants(&saturated, &dag, 6);
        assert!(dag_cost(&found[0]) <= dag_cost(&dag) * (1.0 + 1e-9), "{name} became dearer");
        for variant in &found {
            let worst = worst_error(&g, variant, 7);
            assert!(worst < 1e-5, "{name}: {worst:e}\n{variant}");
        }
        let again = variants(&saturate(&dag, Limits::default()), &dag, 6);
        let text = |all: &[Dag]| all.iter().map(Dag::to_string).collect::<Vec<_>>();
        assert_eq!(text(&found), text(&again), "{name} twice");
    }
}

#[test]
fn batch_norm_goes_into_the_weights() {
    let g = models::real().into_iter().find(|(name, _)| *name == "resnet block").unwrap().1;
    let dag = import(&g).unwrap().dag;
    let best = &variants(&saturate(&dag, Limits::default()), &dag, 1)[0];
    assert!(dag_cost(best) < dag_cost(&dag));
    // What is left to multiply at run time is what the convolutions sum.
    let products = best.ids().filter(|id| matches!(best.node(*id), Term::Mul(_)) && !best.weight(*id));
    assert_eq!(products.map(|id| best.free(id).len()).collect::<Vec<_>>(), [6, 6], "{best}");
}

#[test]
fn gelu_saturates() {
    let mut g = crate::graph::Graph::default();
    let x = g.input("x", &[Dim::Fixed(5), Dim::Fixed(7)], Dtype::F32);
    let y = crate::search::testing::build::gelu(&mut g, x);
    let dag = import(&crate::search::testing::build::output(g, y)).unwrap().dag;
    let saturated = saturate(&dag, Limits::default());
    assert!(saturated.complete && saturated.egraph.total_number_of_nodes() < 100);
}

#[test]
fn casts_are_never_removed() {
    let (_, g) = cases::views().into_iter().find(|(name, _)| name == "casts and integers").unwrap();
    let dag = import(&g).unwrap().dag;
    let casts = |dag: &Dag| dag.nodes.iter().filter(|node| node.is_cast()).count();
    for variant in variants(&saturate(&dag, Limits::default()), &dag, 6) {
        assert_eq!(casts(&variant), casts(&dag));
    }
}

#[test]
fn every_variant_is_explained_by_the_rules() {
    let mut explained = 0;
    for (name, graph) in crate::search::testing::models::small() {
        let dag = crate::search::import::import(&graph).unwrap().dag;
        let saturated = saturate(&dag, Limits::default());
        for (number, variant) in variants(&saturated, &dag, 4).iter().enumerate() {
            let explanation = explain(&dag, variant, Limits::default());
            assert_eq!(explanation.unexplained, 0, "{name}, variant {number}");
            for rule in explanation.rules.keys() {
                assert!(RULES.iter().any(|known| known.name == rule), "{name}: {rule} is no rule");
            }
            for step in &explanation.steps {
                assert_ne!(step.before, step.after, "{name}: {}", step.rule);
            }
            explained += explanation.steps.len();
        }
        assert_eq!(explain(&dag, &dag, Limits::default()), Explanation::default(), "{name}");
    }
    assert!(explained > 20, "{explained} steps");
}
