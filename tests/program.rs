//! The program's half of models that this package's own build script compiled.

mod models;

use luminal::graph::{Graph, Op};
use models::{Batch, blocks, classify};

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

/// State stays between runs, leaves as a file and comes back, in the session or in another one.
#[test]
fn state_is_kept_saved_restored_and_reset() {
    use luminal::{Device, Weights};
    let nothing = Weights::from_tensors::<String>([]).unwrap();
    let load = || blocks::step::load(Device::cpu(), &nothing).unwrap();
    let sum = |session: &mut blocks::step::Session, x: f32| {
        let step = session.run(&[x; 4]).unwrap();
        (step.sum.as_slice()[0], step.change.as_slice()[0])
    };
    let mut first = load();
    assert_eq!(sum(&mut first, 1.0), (1.0, 1.0));
    assert_eq!(sum(&mut first, 3.0), (4.0, 2.0));
    let folder = std::env::temp_dir().join(format!("luminal-state-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("step.safetensors");
    std::fs::write(&file, first.save_state()).unwrap();

    let mut second = load();
    second.restore_state(&Weights::open(&file).unwrap()).unwrap();
    assert_eq!(sum(&mut second, 10.0), (14.0, 7.0));
    // Each session has its own.
    assert_eq!(sum(&mut first, 5.0), (9.0, 2.0));
    first.reset_state();
    assert_eq!(sum(&mut first, 5.0), (5.0, 5.0));

    let error = first.restore_state(&nothing).unwrap_err().to_string();
    assert!(error.contains("`memory.sum` is missing: f32 [4]"), "{error}");
    assert!(error.contains("`memory.last` is missing: f32 [4]"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}
