mod plans;

use super::*;
use crate::dtype::Dtype;
use crate::graph::Graph;
use crate::search::import::import;
use crate::search::term::{AxisSet, Dag, Evaluator, Precision};
use crate::search::testing::evaluate::Inputs;
use crate::search::testing::{Random, buffers, cases, difference, evaluate, random_inputs};
use std::collections::BTreeSet;

/// The axis sets that something is reduced over.
fn reduced_sets(dag: &Dag) -> BTreeSet<AxisSet> {
    dag.ids().map(|id| dag.reduced_axes(id)).filter(|axes| !axes.is_empty()).collect()
}

/// The laws of the most interesting fold of a graph: `max:plain sum:exp+defer`.
fn laws(fold: &Fold) -> String {
    let name = |component: &Component| {
        let law = match component.law {
            Law::Plain => "plain",
            Law::Exp(_) => "exp",
            Law::Shift(_) => "shift",
            Law::Attain { .. } => "attain",
            Law::Moment { .. } => "moment",
        };
        let kind = if component.maximum { "max" } else { "sum" };
        format!("{kind}:{law}{}", if component.deferred.is_empty() { "" } else { "+defer" })
    };
    fold.components.iter().map(name).collect::<Vec<_>>().join(" ")
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Magnitude {
    Unit,
    Large,
    Negative,
    Tiny,
    /// 1e8, the scores of attention too.
    Huge,
    /// 1e-8
    Small,
    Offset,
    MaskedRow,
    Infinite,
    NotANumber,
}

const MAGNITUDES: [Magnitude; 10] = [
    Magnitude::Unit,
    Magnitude::Large,
    Magnitude::Negative,
    Magnitude::Tiny,
    Magnitude::Huge,
    Magnitude::Small,
    Magnitude::Offset,
    Magnitude::MaskedRow,
    Magnitude::Infinite,
    Magnitude::NotANumber,
];

fn inputs(g: &Graph, magnitude: Magnitude, seed: u64) -> Inputs {
    let mut random = Random(seed);
    let mut inputs = random_inputs(g, &[], &mut random);
    for (name, values) in &mut inputs {
        let masked_row = |i: usize| magnitude == Magnitude::MaskedRow && i < 9;
        for (i, x) in values.iter_mut().enumerate() {
            match name.as_str() {
                "additive" if masked_row(i) || random.below(3) == 0 => *x = f64::NEG_INFINITY,
                "additive" => *x = 0.0,
                "boolean" if masked_row(i) => *x = 0.0,
                "x" | "q" | "k" => {
                    *x = match magnitude {
                        Magnitude::Large => *x * 3000.0,
                        Magnitude::Negative => *x - 60.0,
                        Magnitude::Tiny => *x * 1e-18,
                        Magnitude::Huge if name == "k" => *x,
                        Magnitude::Huge => *x * 1e8,
                        Magnitude::Small => *x * 1e-8,
                        Magnitude::Offset => *x + 1e4,
                        _ => *x,
                    }
                }
                _ => {}
            }
            *x = f64::from(*x as f32);
        }
        let third = values.len() / 3;
        match magnitude {
            Magnitude::NotANumber if name == "x" || name == "q" => values[third] = f64::NAN,
            // One element, and a whole row.
            Magnitude::Infinite if name == "x" => {
                values[third] = f64::NEG_INFINITY;
                values[22..33].fill(f64::NEG_INFINITY);
            }
            _ => {}
        }
    }
    inputs
}

/// Worst error of a graph when its reductions over `axes` run as a fold.
fn error(g: &Graph, dag: &Dag, fold: &Fold, magnitude: Magnitude, precision: Precision) -> f64 {
    let mut worst: f64 = 0.0;
    for seed in 1..4 {
        let values = evaluate(g, &inputs(g, magnitude, seed), &[]);
        let mut known = buffers(g, &values, &[]);
        for root in &dag.roots {
            let shape = g.sizes(root.node, &[]);
            let mut evaluator = Evaluator::new(dag, &known, &[], precision);
            FoldRun { fold, evaluator: &mut evaluator, seed: seed * 77 }.run();
            let out = evaluator.store(root.term, &root.index, &shape);
            worst = worst.max(difference(&out, &values[root.node]));
            known.insert(root.node, (shape, out));
        }
    }
    worst
}

/// `-inf - -inf`: without a guard in the composition a row that is -inf everywhere is NaN, as a fold it is -inf.
fn is_defined(name: &str, magnitude: Magnitude) -> bool {
    magnitude != Magnitude::Infinite || name != "log sum exp"
}

/// Relative to the greatest value, in f64: scores of 1e8 leave that few digits of their differences.
fn tolerance(magnitude: Magnitude) -> f64 {
    if matches!(magnitude, Magnitude::Offset | Magnitude::Huge) { 1e-7 } else { 1e-9 }
}

#[test]
fn folds_cut_and_merged_anywhere_have_the_right_values() {
    for (name, g) in cases::folds() {
        let dag = import(&g).unwrap().dag;
        for axes in reduced_sets(&dag) {
            // Some statistics over these axes are not a fold; what is one must be right.
            let Ok(fold) = derive(&dag, &|_| true, axes) else { continue };
            for magnitude in MAGNITUDES {
                if !is_defined(&name, magnitude) {
                    continue;
                }
                let tolerance = tolerance(magnitude);
                let worst = error(&g, &dag, &fold, magnitude, Precision::Double);
                assert!(worst < tolerance, "{name}, {magnitude:?}, {}: {worst:e}", laws(&fold));
            }
            let single = error(&g, &dag, &fold, Magnitude::Unit, Precision::Single);
            assert!(single < 1e-5, "{name}, in f32, {}: {single:e}", laws(&fold));
        }
    }
}

#[test]
fn laws_that_are_found() {
    let expected = [
        ("attention Plain", "max:plain sum:exp sum:exp+defer"),
        ("attention Causal", "max:plain sum:exp sum:exp+defer"),
        ("attention Additive", "max:plain sum:exp sum:exp+defer"),
        ("attention Boolean", "max:plain sum:exp sum:exp+defer"),
        ("attention Grouped", "max:plain sum:exp sum:exp+defer"),
        ("attention Alibi", "max:plain sum:exp sum:exp+defer"),
        ("attention SoftCap", "max:plain sum:exp sum:exp+defer"),
        ("attention Window", "max:plain sum:exp sum:exp+defer"),
        ("attention Boolean guarded", "max:plain sum:exp sum:exp+defer"),
        ("softmax", "max:plain sum:exp"),
        ("log softmax", "max:plain sum:exp"),
        ("log sum exp", "max:plain sum:exp"),
        ("log sum exp guarded", "max:plain sum:exp"),
        ("log sum exp of matmul", "max:plain sum:exp"),
        ("argmax", "max:plain max:attain"),
        ("argmax of matmul", "max:plain max:attain"),
        ("variance", "sum:plain sum:moment"),
        ("layer norm", "sum:plain sum:moment"),
        ("rms norm + matmul", "sum:plain sum:plain+defer"),
        ("scaled matmul", "max:plain sum:plain+defer"),
    ];
    for (name, want) in expected {
        let g = cases::folds().into_iter().find(|(n, _)| n == name).unwrap().1;
        let dag = import(&g).unwrap().dag;
        let found: Vec<String> = reduced_sets(&dag)
            .into_iter()
            .filter_map(|axes| derive(&dag, &|_| true, axes).ok())
            .map(|fold| laws(&fold))
            .collect();
        assert!(found.iter().any(|laws| laws == want), "{name}: found {found:?}, wanted {want}");
    }
}

#[test]
fn what_must_not_fold_is_refused() {
    let reasons = [
        ("rounded matmul", "mixes the stream and an earlier result"),
        ("maximum and sum under different masks", "does not meet its own body"),
        ("maximum of values divided by their sum", "mixes the stream and an earlier result"),
        ("count above the mean", "mixes the stream and an earlier result"),
    ];
    assert_eq!(reasons.len(), cases::traps().len());
    for ((name, g), (of, reason)) in cases::traps().into_iter().zip(reasons) {
        assert_eq!(name, of);
        let dag = import(&g).unwrap().dag;
        let sets = reduced_sets(&dag);
        assert_eq!(sets.len(), 1, "{name}");
        for axes in sets {
            let refused = derive(&dag, &|_| true, axes).unwrap_err();
            assert!(refused.contains(reason), "{name}: {refused}");
        }
    }
}

#[test]
fn integers_fold_only_where_nothing_is_repaired() {
    // A maximum of integers shifted by another maximum could wrap where the plain composition does not.
    let mut g = Graph::default();
    let x = g.input("x", &[crate::graph::Dim::Fixed(4), crate::graph::Dim::Fixed(6)], Dtype::I32);
    let m = g.reduce(crate::graph::Reduce::Max, x, 1);
    let m = g.expand(m, 1, crate::graph::Dim::Fixed(6));
    let s = g.binary(crate::graph::Binary::Add, x, m);
    let y = g.reduce(crate::graph::Reduce::Max, s, 1);
    g.outputs.push((String::from("y"), y));
    let dag = import(&g).unwrap().dag;
    let axes = reduced_sets(&dag).into_iter().next().unwrap();
    let refused = derive(&dag, &|_| true, axes).unwrap_err();
    assert!(refused.contains("not f32"), "{refused}");
}
