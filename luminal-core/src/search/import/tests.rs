use super::*;
use crate::dtype::Dtype::F32;
use crate::search::term::Atom;
use crate::search::testing::{cases, fixed, models, worst_error};

#[test]
fn terms_have_the_values_of_the_graph() {
    let all = models::small().into_iter().map(|(name, g)| (name.to_string(), g));
    let all = all.chain(cases::folds()).chain(cases::traps()).chain(cases::separate()).chain(cases::views());
    for (name, g) in all {
        let imported = import(&g).unwrap_or_else(|e| panic!("{name}: {e}"));
        let worst = worst_error(&g, &imported.dag, 7);
        assert!(worst < 1e-12, "{name}: {worst:e}\n{}", imported.dag);
        let again = import(&g).unwrap();
        assert_eq!(imported.dag.to_string(), again.dag.to_string(), "{name} twice");
    }
}

fn named(list: Vec<(String, Graph)>, name: &str) -> Graph {
    list.into_iter().find(|(n, _)| n == name).unwrap().1
}

#[test]
fn second_incompatible_split_stays_a_division() {
    let g = named(cases::views(), "two incompatible splits of one axis");
    let dag = import(&g).unwrap().dag;
    let divided = |e: &IndexExpr| e.terms.keys().any(|a| matches!(a, Atom::Div(..) | Atom::Mod(..)));
    let loads = dag.context.accesses.iter().filter(|a| a.index.iter().any(divided)).count();
    assert_eq!(loads, 1, "{dag}");
}

#[test]
fn nested_sums_of_a_convolution_are_one_reduction() {
    let dag = import(&named(cases::views(), "strided convolution, then sums")).unwrap().dag;
    let reductions: Vec<usize> =
        dag.ids().map(|id| dag.reduced_axes(id).len()).filter(|axes| *axes > 0).collect();
    assert_eq!(reductions, [3, 2], "{dag}");
}

#[test]
fn store_rule() {
    let stored = |name: &str| {
        let g = models::small().into_iter().find(|(n, _)| *n == name).unwrap().1;
        import(&g).unwrap().dag.roots.len()
    };
    assert_eq!(stored("attention, causal, grouped"), 1);
    assert_eq!(stored("bert block"), 3, "keys and values under a second name, and the output");
    assert_eq!(stored("llama block, prefill"), 5);
    assert_eq!(stored("resnet block"), 2, "what a window reads nine times");
    assert_eq!(stored("softmax"), 1);
}

#[test]
fn free_dimensions_cannot_be_reshaped() {
    let mut g = Graph::default();
    let n = g.free_dim("Batch", 8);
    let x = g.input("x", &[n, fixed(4)], F32);
    // Built by hand: the builder refuses it already.
    let y = g.push(Op::Merge(x, 0), vec![fixed(32)], F32);
    g.outputs.push((String::from("y"), y));
    let message = import(&g).unwrap_err().to_string();
    assert!(message.contains("cannot merge the free dimension `Batch`"), "{message}");
}

#[test]
fn too_many_axes_are_an_error() {
    let mut g = Graph::default();
    let mut sum = None;
    for n in 0..70 {
        let x = g.input(&format!("x{n}"), &[fixed(n + 2)], F32);
        let y = g.reduce(crate::graph::Reduce::Sum, x, 0);
        sum = Some(sum.map_or(y, |s| g.binary(crate::graph::Binary::Add, s, y)));
    }
    g.outputs.push((String::from("y"), sum.unwrap()));
    let message = import(&g).unwrap_err().to_string();
    assert!(message.contains("more than 64 distinct axes"), "{message}");
}

#[test]
fn every_value_knows_its_origin() {
    for (name, g) in models::small() {
        let dag = import(&g).unwrap().dag;
        for id in dag.ids() {
            assert!(!dag.origins(id).is_empty(), "{name}: v{id}");
        }
    }
}
