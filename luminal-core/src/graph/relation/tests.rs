//! Relations: text, checks, sizes that fit.

use super::*;
use crate::dtype::Dtype;

/// Three free dimensions; their bounds are given.
fn graph(bounds: [usize; 3]) -> (Graph, [Dim; 3]) {
    let mut graph = Graph::default();
    let dims = [("Past", bounds[0]), ("New", bounds[1]), ("Total", bounds[2])]
        .map(|(n, max)| graph.free_dim(n, max));
    graph.input("x", &dims, Dtype::F32);
    (graph, dims)
}

fn sum() -> Graph {
    let (mut graph, [past, new, total]) = graph([512, 512, 512]);
    graph.relate_equal(total, &[(1, past), (1, new)], 0, 1);
    graph
}

#[test]
fn text_comes_back() {
    let (mut graph, [past, new, total]) = graph([8, 8, 8]);
    graph.relate_equal(total, &[(1, past), (1, new)], 0, 1);
    graph.relate_equal(total, &[(2, past), (3, new), (1, Dim::Fixed(4))], -9, 1);
    graph.relate_equal(Dim::Fixed(7), &[(1, past), (1, past), (1, new)], 7, 2);
    graph.relate_at_most(past, &[(1, new)], -1, 3);
    graph.relate_at_most(past, &[(1, new)], 0, 1);
    let text = graph.to_string();
    for line in [
        "relation d2 = d0 + d1\n",
        "relation d2 = 2 * d0 + 3 * d1 - 5\n",
        "relation 7 = (2 * d0 + d1 + 7) / 2\n",
        "relation d0 <= (d1 - 1) / 3\n",
        "relation d0 <= d1\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    graph.verify().unwrap();
    let again = Graph::parse(&text).unwrap();
    assert_eq!(again, graph);
    assert_eq!(again.stable_hash(), graph.stable_hash());
    let mut other = graph.clone();
    other.relations.pop();
    assert_ne!(other.stable_hash(), graph.stable_hash());
}

#[test]
fn hostile_text_is_an_error() {
    let begin = "luminal graph 1\nfree d0 \"N\" max 4\n";
    let error = |line: &str| {
        let graph = match Graph::parse(&format!("{begin}{line}\n")) {
            Ok(graph) => graph,
            Err(error) => return error.to_string(),
        };
        graph.verify().unwrap_err().to_string()
    };
    assert_eq!(error("relation d0 = 3"), "relation: the right side must have at least one free dimension");
    assert_eq!(error("relation d1 = d0"), "line 3 of a graph: free dimension `d1` is not declared above");
    assert_eq!(error("relation d0 < d0"), "line 3 of a graph: expected `=`, found `< d0`");
    assert_eq!(
        error("relation d0 = d0 +"),
        "line 3 of a graph: expected a number, found the end of the line"
    );
    assert_eq!(error("relation d0 = (d0 + 1"), "line 3 of a graph: expected `)`, found the end of the line");
    assert_eq!(error("relation d0 = (d0 + 1) / 0"), "relation: the divisor 0 must be 1 to 1099511627776");
    assert_eq!(error("relation d0 = 0 * d0"), "relation: the factor 0 must be 1 to 1099511627776");
    assert_eq!(
        error("relation d0 = 2 * 3"),
        "line 3 of a graph: expected a free dimension, found the end of the line"
    );
    let far = i64::MAX;
    assert!(error(&format!("relation d0 = d0 - {far}")).contains("must be at most"), "{}", error("relation"));
}

#[test]
fn sizes_are_checked() {
    let graph = sum();
    assert!(graph.check_sizes(&[5, 3, 8]).is_ok());
    assert_eq!(
        graph.check_sizes(&[5, 3, 9]).unwrap_err().to_string(),
        "relation: `Total` is 9, but it must be `Past + New`, which is 5 + 3 = 8"
    );
}

#[test]
fn sizes_follow_from_others() {
    let relations = sum().relations;
    // From any two the third.
    for missing in 0..3 {
        let mut sizes = [5, 3, 8];
        sizes[missing] = 0;
        let mut known = [true; 3];
        known[missing] = false;
        determined(&relations, &mut known, |relation, free| {
            let size = relation.solve(free, &sizes);
            sizes[free] = size;
        });
        assert_eq!((known, sizes), ([true; 3], [5, 3, 8]));
    }
    let mut known = [true, false, false];
    determined(&relations, &mut known, |_, _| panic!("nothing follows from one"));
    let half =
        relation(Rule::Equal, Dim::Free { index: 0, max: 9 }, &[(2, Dim::Free { index: 1, max: 4 })], 0, 1);
    assert_eq!(half.determines(|free| free == 0), Some(1));
    assert_eq!(half.solve(1, &[6, 0]), 3);
    let rounded =
        relation(Rule::Equal, Dim::Free { index: 0, max: 9 }, &[(1, Dim::Free { index: 1, max: 4 })], 0, 2);
    assert_eq!(rounded.determines(|free| free == 0), None);
    assert_eq!(rounded.determines(|free| free == 1), Some(0));
}

#[test]
fn derived_sizes_are_declared_once() {
    let (mut graph, [past, new, _]) = graph([8, 5, 100]);
    assert_eq!(graph.derived(&[(1, past)], 0, 1), past);
    assert_eq!(graph.derived(&[(2, Dim::Fixed(4))], 1, 3), Dim::Fixed(3));
    let windows = graph.derived(&[(1, past)], -1, 2);
    assert_eq!(graph.derived(&[(1, past)], -1, 2), windows);
    assert_eq!(windows, Dim::Free { index: 3, max: 3 });
    assert_eq!(graph.free[3].name, "(Past - 1) / 2");
    let both = graph.derived(&[(1, past), (2, new)], 0, 1);
    assert_eq!((both.max(), graph.free[4].name.as_str()), (18, "Past + 2 * New"));
    graph.verify().unwrap();
    assert!(graph.check_sizes(&[7, 2, 0, 3, 11]).is_ok());
    assert!(graph.check_sizes(&[0, 0, 0, 0, 0]).is_ok());
    let error = graph.check_sizes(&[7, 2, 0, 2, 11]).unwrap_err().to_string();
    assert_eq!(
        error,
        "relation: `(Past - 1) / 2` is 2, but it must be `(Past - 1) / 2`, which is (7 - 1) / 2 = 3"
    );
}

#[test]
fn fitting_sizes_are_found() {
    let graph = sum();
    let sizes = graph.sizes_near(&[512, 512, 512]).unwrap();
    assert_eq!(sizes, [256, 256, 512]);
    assert_eq!(graph.sizes_near(&[1, 1, 1]).unwrap(), [1, 1, 2]);
    assert_eq!(graph.sizes_near(&[0, 0, 0]).unwrap(), [0, 0, 0]);
    // Nothing is said about what no relation names.
    let (free, _) = self::graph([3, 4, 5]);
    assert_eq!(free.sizes_near(&[3, 2, 9]).unwrap(), [3, 2, 5]);
}

#[test]
fn fitting_sizes_are_found_where_relations_meet() {
    let (mut graph, [a, b, c]) = graph([100, 100, 100]);
    graph.relate_equal(a, &[(3, b)], 1, 1);
    graph.relate_equal(a, &[(5, c)], 2, 1);
    for wanted in [[100; 3], [1; 3], [50, 1, 99]] {
        let sizes = graph.sizes_near(&wanted).unwrap();
        graph.check_sizes(&sizes).unwrap();
        assert!(sizes[0] > 0, "{sizes:?}");
    }
    let (mut graph, [a, b, _]) = self::graph([10, 10, 10]);
    graph.relate_equal(a, &[(2, b)], 11, 1);
    let error = graph.sizes_near(&[5, 5, 5]).unwrap_err().to_string();
    assert_eq!(error, "free dimension: no sizes within the bounds fulfil `Past = 2 * New + 11`");
    let (mut graph, [a, b, _]) = self::graph([10, 10, 10]);
    graph.relate_at_most(Dim::Fixed(4), &[(1, a)], -2, 1);
    graph.relate_at_most(b, &[(1, a)], -3, 2);
    assert_eq!(graph.sizes_near(&[1, 10, 10]).unwrap(), [6, 1, 10]);
}
