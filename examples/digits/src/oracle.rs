//! The same model in the reference interpreter, which defines what is right.

use crate::Result;
use crate::classifier::{CLASSES, Probabilities};
use crate::digit::{Digit, SIDE};
use crate::model;
use luminal::Weights;
use luminal::graph::{Graph, Op};
use luminal::reference::{self, DenseTensor, Feeds};

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
                    feeds.insert(name.clone(), DenseTensor::new(&graph.sizes(id, &[]), elements)?);
                }
                _ => {}
            }
        }
        Ok(Oracle { graph, input, feeds })
    }

    /// What a picture shows.
    pub fn classify(&mut self, digit: &Digit) -> Result<Probabilities> {
        let image = DenseTensor::new(&[1, 1, SIDE, SIDE], digit.input().to_vec())?;
        self.feeds.insert(self.input.clone(), image);
        let evaluation = reference::run(&self.graph, &self.feeds, &[])?;
        let elements = evaluation.outputs[0].as_f32().ok_or("the model returns no f32")?;
        Ok(*elements.first_chunk::<CLASSES>().ok_or("the model returns too few probabilities")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::ranked;
    use crate::{dataset, weight_file};

    #[test]
    fn the_traced_graph_is_the_network_that_was_trained() {
        let mut oracle = Oracle::new(&weight_file::open(None).unwrap()).unwrap();
        let held_out = dataset::held_out().unwrap();
        let mut right = 0;
        for (digit, label) in held_out.iter().take(40) {
            let probabilities = oracle.classify(digit).unwrap();
            right += usize::from(ranked(&probabilities)[0].0 == usize::from(label));
            assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
        // Training ends with three mistakes among all 360 images, one of them here.
        assert_eq!(right, 39);
    }
}
