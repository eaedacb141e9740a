use super::*;
use crate::search::testing::deep;
use crate::search::testing::models::{self, Sizes};
use std::collections::BTreeMap;

/// How often each distinct graph occurs, the most frequent first.
fn counts(regions: &[Region]) -> Vec<usize> {
    let mut times: BTreeMap<u128, usize> = BTreeMap::new();
    for region in regions {
        *times.entry(region.graph.stable_hash()).or_default() += 1;
    }
    let mut times: Vec<usize> = times.into_values().collect();
    times.sort_by(|a, b| b.cmp(a));
    times
}

#[test]
fn equal_layers_are_equal_graphs() {
    let z = Sizes::SMALL;
    let decode = Sizes { s: 1, ..z };
    for (name, graph, layers) in [
        ("bert", deep::bert(z, 12, 50), 12),
        ("llama, prefill", deep::llama(z, 30, 50, None), 30),
        ("llama, decode", deep::llama(decode, 30, 50, Some(7)), 30),
    ] {
        let regions = cut(&graph);
        let times = counts(&regions);
        assert_eq!(times[0], layers, "{name}: {times:?}");
        assert_eq!(times.len(), 3, "{name}: {times:?}");
        for region in &regions {
            region.graph.verify().unwrap_or_else(|e| panic!("{name}: {e}\n{}", region.graph));
        }
    }
}

#[test]
fn every_output_and_write_is_in_one_region() {
    let decode = Sizes { s: 1, ..Sizes::SMALL };
    let mut graph = deep::llama(decode, 6, 50, Some(7));
    // The model also returns a value inside, an input and one value twice.
    let inner = graph.writes[4].1;
    for (name, node) in [("inner", inner), ("tokens", 0), ("again", graph.outputs[0].1)] {
        graph.outputs.push((name.into(), node));
    }
    let regions = cut(&graph);
    assert!(regions.len() > 5);
    let mut outputs = vec![];
    let mut writes: Vec<usize> = vec![];
    for region in &regions {
        for (role, (_, node)) in region.outputs.iter().zip(&region.graph.outputs) {
            if let Role::Output(number) = role {
                outputs.push(*number);
                assert_eq!(region.nodes[*node], graph.outputs[*number].1);
            }
        }
        writes.extend(&region.writes);
    }
    outputs.sort();
    writes.sort();
    assert_eq!(outputs, (0..graph.outputs.len()).collect::<Vec<_>>());
    assert_eq!(writes, (0..graph.writes.len()).collect::<Vec<_>>());
}

#[test]
fn small_models_are_searched_as_a_whole() {
    for (name, graph) in models::small() {
        let regions = cut(&graph);
        assert_eq!(regions.len(), 1, "{name}");
        assert_eq!(regions[0].graph, graph, "{name}");
    }
}

#[test]
fn stages_of_a_vision_network_are_cut_between_blocks() {
    let regions = cut(&deep::vision(16, &[4, 6, 8], 3));
    let times = counts(&regions);
    assert!(regions.len() >= 3, "{times:?}");
    for region in &regions {
        region.graph.verify().unwrap();
        let inputs = region.graph.nodes.iter().filter(|node| matches!(node.op, crate::graph::Op::Input(_)));
        assert_eq!(inputs.count(), 1, "{}", region.graph);
    }
}

#[test]
fn groups_are_the_shortest_period_or_what_fits() {
    // An even hash is a contraction.
    let groups = |hashes: &[u128], nodes: usize| {
        let shape = |hash: &u128| Shape { hash: *hash, nodes, contracts: hash.is_multiple_of(2) };
        grouped(&hashes.iter().map(shape).collect::<Vec<_>>())
    };
    assert_eq!(groups(&[2, 4, 6, 4, 6, 4, 6, 8], 100), [1, 2, 2, 2, 1]);
    assert_eq!(groups(&[2, 2, 2, 2], 100), [1, 1, 1, 1]);
    assert_eq!(groups(&[2, 4, 6, 8, 10], 100), [3, 2]);
    assert_eq!(groups(&[2, 4, 2, 4], 200), [1, 1, 1, 1]);
    // The part without a contraction in front does not shift the period, and stays behind the one that it follows.
    assert_eq!(groups(&[1, 2, 1, 2, 1, 2, 1], 50), [1, 2, 2, 2]);
    assert_eq!(groups(&[2, 4, 6, 1, 8], 100), [4, 1]);
    assert_eq!(groups(&[], 1), [0usize; 0]);
}
