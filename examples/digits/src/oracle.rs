//! The same model in the reference interpreter, which defines what is right.

use crate::Result;
use crate::classifier::{CLASSES, Probabilities};
use crate::digit::{Digit, SIDE};
use crate::model;
use luminal::Weights;
use luminal::graph::{Graph, Op};
use luminal::reference::{self, Feeds, Tensor};

/// The traced graph of the model with its weights.
pub struct Oracle {
    graph: Graph,
    input: String,
    feeds: Feeds,
}

impl Oracle {
    /// Reads the graph that the build script left in the program.
    pub fn new(weights: &Weights) -> Result<Oracle> {
        let graph = Graph::parse(model::classify::GRAPH)?;
        let mut input = String::new();
        let mut feeds = Feeds::new();
        for (id, node) in graph.nodes.iter().enumerate() {
            match &node.op {
                Op::Input(name) => input = name.clone(),
                Op::Param(name) => {
                    let stored = weights.tensor(name).ok_or_else(|| format!("no tensor `{name}`"))?;
                    let elements: Vec<f32> =
                        stored.data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
                    feeds.insert(name.clone(), Tensor::new(&graph.sizes(id, &[]), elements)?);
                }
                _ => {}
            }
        }
        Ok(Oracle { graph, input, feeds })
    }

    /// What a picture shows.
    pub fn classify(&mut self, digit: &Digit) -> Result<Probabilities> {
        let image = Tensor::new(&[1, 1, SIDE, SIDE], digit.input().to_vec())?;
        self.feeds.insert(self.input.clone(), image);
        let evaluation = reference::run(&self.graph, &self.feeds, &[])?;
        let elements = evaluation.outputs[0].as_f32().ok_or("the model returns no f32")?;
        Ok(*elements.first_chunk::<CLASSES>().ok_or("the model returns too few probabilities")?)
    }
}
