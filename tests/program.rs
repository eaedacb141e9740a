//! The program's half of models that this package's own build script compiled.

mod models;

use luminal::graph::{Graph, Op};
use models::{Batch, classify};

/// The text that the build script left is the graph of the function, as the reference interpreter reads it.
#[test]
fn the_program_holds_the_traced_graph() {
    let graph = Graph::parse(classify::GRAPH).unwrap();
    graph.verify().unwrap();
    let names: Vec<_> = graph
        .nodes
        .iter()
        .filter_map(|node| match &node.op {
            Op::Input(name) | Op::Param(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["x", "hidden.weight", "hidden.bias", "out.weight"]);
    assert_eq!(graph.free[0].name, "Batch");
    assert_eq!(graph.free[0].max, <Batch as luminal::Dim>::INFO.max());
    assert_eq!(graph.outputs.len(), 1);
}

#[test]
fn model_names_the_function() {
    assert_eq!(classify::MODEL.name, "classify");
    assert!(classify::MODEL.file.ends_with("models/mod.rs"), "{}", classify::MODEL.file);
}
