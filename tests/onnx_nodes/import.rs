//! From a model of one or a few ONNX nodes to a graph. Values that decide shapes must be known when a graph is built:
//! where an operator needs one, it is computed from the test's own inputs by the reference interpreter.

use super::numbers::{Numbers, numbers};
use super::proto;
use super::value::{Elem, Value};
use luminal::graph::{Graph, NodeId};
use luminal::reference::{self, Feeds};
use luminal::rt::Dtype;
use luminal::{Error, Result};
use std::collections::BTreeMap;

/// Why a model has no graph.
#[derive(Debug)]
pub enum Stop {
    /// Something that the language, or this importer, does not have; the words are the reason that is listed.
    Outside(String),
    /// A rule was broken: a failure of the test.
    Wrong(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Wrong(error.to_string())
    }
}

/// A reason to leave a model out.
pub fn outside<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(Stop::Outside(reason.into()))
}

pub type Outcome<T> = std::result::Result<T, Stop>;

/// A value of the graph, with the ONNX type that it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub node: NodeId,
    pub elem: Elem,
}

/// What one operator does.
pub type Operator = fn(&mut Call<'_>) -> Outcome<Vec<Held>>;

/// A graph and what it is run with.
#[derive(Default)]
pub struct Imported {
    pub graph: Graph,
    pub feeds: Feeds,
    values: BTreeMap<String, Held>,
    /// Version of the operator set.
    pub opset: i64,
}

/// One node while it is imported.
pub struct Call<'a> {
    pub import: &'a mut Imported,
    pub node: &'a proto::Node,
}

/// Imports a model. Its inputs are at hand, because some of them decide shapes.
pub fn import(
    model: &proto::Model,
    inputs: &[(String, Value)],
    operator: impl Fn(&str) -> Option<Operator>,
) -> Outcome<Imported> {
    let main = model.opset_import.iter().find(|opset| opset.domain.is_empty());
    let mut import = Imported { opset: main.map_or(0, |opset| opset.version), ..Default::default() };
    let Some(graph) = &model.graph else { return outside("no graph") };
    for node in &graph.node {
        if !matches!(&node.domain[..], "" | "ai.onnx") {
            return outside(format!("{}: operators of {}", node.op_type, node.domain));
        }
        if operator(&node.op_type).is_none() {
            return outside(format!("{}: no such operation", node.op_type));
        }
    }
    for (name, value) in inputs {
        import.add(name, value)?;
    }
    for node in &graph.node {
        let Some(operator) = operator(&node.op_type) else { continue };
        let results = operator(&mut Call { import: &mut import, node }).map_err(|stop| match stop {
            Stop::Outside(reason) => Stop::Outside(format!("{}: {reason}", node.op_type)),
            Stop::Wrong(error) => Stop::Wrong(format!("{}: {error}", node.op_type)),
        })?;
        for (name, held) in node.output.iter().zip(results).filter(|(name, _)| !name.is_empty()) {
            import.values.insert(name.clone(), held);
        }
    }
    for output in &graph.output {
        let Some(held) = import.values.get(&output.name).copied() else {
            return Err(Stop::Wrong(format!("output {} is not computed", output.name)));
        };
        let declared = output.ty.as_ref().and_then(|ty| ty.tensor.as_ref()).map(|tensor| tensor.elem_type);
        if declared != Some(held.elem as i32) {
            return Err(Stop::Wrong(format!("output {} is {:?}", output.name, held.elem)));
        }
        import.graph.outputs.push((output.name.clone(), held.node));
    }
    Ok(import)
}

impl Imported {
    /// A tensor that is given to the graph: an input, or an initializer.
    pub fn add(&mut self, name: &str, value: &Value) -> Outcome<Held> {
        let dtype = value.elem.dtype().or_else(|error| outside(error.to_string()))?;
        let tensor = value.tensor().or_else(|error| outside(error.to_string()))?;
        let shape: Vec<_> = value.shape.iter().map(|n| luminal::graph::Dim::Fixed(*n)).collect();
        let name =
            if self.feeds.contains_key(name) { format!("{name}.{}", self.feeds.len()) } else { name.into() };
        let node = self.graph.input(&name, &shape, dtype);
        let held = Held { node, elem: value.elem };
        self.feeds.insert(name.clone(), tensor);
        self.values.insert(name, held);
        Ok(held)
    }

    /// The elements of a value that must be known now.
    pub fn evaluate(&self, held: Held) -> Result<Numbers> {
        let mut graph = self.graph.clone();
        graph.outputs = vec![("value".into(), held.node)];
        let outputs = reference::run(&graph, &self.feeds, &[])?.outputs;
        Ok(numbers(&outputs[0].data))
    }
}

impl Call<'_> {
    pub fn graph(&mut self) -> &mut Graph {
        &mut self.import.graph
    }

    /// An input that may be missing.
    pub fn optional(&self, position: usize) -> Option<Held> {
        let name = self.node.input.get(position).filter(|name| !name.is_empty())?;
        self.import.values.get(name).copied()
    }

    pub fn input(&self, position: usize) -> Outcome<Held> {
        self.optional(position).ok_or_else(|| Stop::Wrong(format!("input {position} is missing")))
    }

    /// All inputs.
    pub fn inputs(&self) -> Outcome<Vec<Held>> {
        (0..self.node.input.len()).map(|position| self.input(position)).collect()
    }

    /// True if the node's output at this position is asked for.
    pub fn wants(&self, position: usize) -> bool {
        self.node.output.get(position).is_some_and(|name| !name.is_empty())
    }

    fn attribute(&self, name: &str) -> Option<&proto::Attribute> {
        self.node.attribute.iter().find(|attribute| attribute.name == name)
    }

    pub fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |attribute| attribute.i)
    }

    pub fn float(&self, name: &str, default: f64) -> f64 {
        self.attribute(name).map_or(default, |attribute| attribute.f.into())
    }

    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attribute(name).map(|attribute| attribute.ints.clone())
    }

    pub fn string(&self, name: &str, default: &str) -> String {
        let text = self.attribute(name).map(|attribute| String::from_utf8_lossy(&attribute.s).into_owned());
        text.unwrap_or(default.into())
    }

    pub fn strings(&self, name: &str) -> Option<Vec<String>> {
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        self.attribute(name).map(|attribute| attribute.strings.iter().map(text).collect())
    }

    pub fn floats(&self, name: &str) -> Option<Vec<f32>> {
        self.attribute(name).map(|attribute| attribute.floats.clone())
    }

    pub fn tensor(&self, name: &str) -> Outcome<Option<Value>> {
        let tensor = self.attribute(name).and_then(|attribute| attribute.t.as_ref());
        Ok(tensor.map(Value::try_from).transpose()?)
    }

    pub fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    /// The integers of an input that decides a shape.
    pub fn known(&self, position: usize) -> Outcome<Option<Vec<i64>>> {
        let Some(held) = self.optional(position) else { return Ok(None) };
        match self.import.evaluate(held)? {
            Numbers::Integers(x) => Ok(Some(x.into_iter().map(|x| x as i64).collect())),
            Numbers::Floats(x) => Ok(Some(x.into_iter().map(|x| x as i64).collect())),
        }
    }

    /// The floats of such an input.
    pub fn known_floats(&self, position: usize) -> Outcome<Option<Vec<f64>>> {
        let Some(held) = self.optional(position) else { return Ok(None) };
        match self.import.evaluate(held)? {
            Numbers::Integers(x) => Ok(Some(x.into_iter().map(|x| x as f64).collect())),
            Numbers::Floats(x) => Ok(Some(x)),
        }
    }

    /// Axes: an input since some version of the operator, an attribute before.
    pub fn axes(&self, position: usize) -> Outcome<Option<Vec<i64>>> {
        Ok(self.known(position)?.or_else(|| self.ints("axes")))
    }

    pub fn sizes(&self, held: Held) -> Vec<usize> {
        self.import.graph.sizes(held.node, &[])
    }

    /// The value in the type that it is computed with.
    pub fn wide(&mut self, held: Held) -> NodeId {
        let dtype = self.import.graph.nodes[held.node].dtype;
        if dtype == dtype.wide() { held.node } else { self.graph().cast(held.node, dtype.wide()) }
    }

    /// A computed value as an element type of ONNX: rounded, or for small integers modulo their range.
    pub fn give(&mut self, node: NodeId, elem: Elem) -> Outcome<Held> {
        let dtype = elem.dtype()?;
        let graph = self.graph();
        let mut node = if graph.nodes[node].dtype == dtype { node } else { graph.cast(node, dtype) };
        if let Some((bits, signed)) = elem.narrow() {
            let (range, offset) =
                ((1u64 << bits) as f64, if signed { (1u64 << (bits - 1)) as f64 } else { 0.0 });
            let shifted = graph.add_number(node, offset);
            let range = graph.full_like(range, shifted);
            let inside = graph.binary(luminal::graph::Binary::Mod, shifted, range);
            node = graph.add_number(inside, -offset);
        }
        Ok(Held { node, elem })
    }

    /// A truth value.
    pub fn truth(&self, node: NodeId) -> Held {
        debug_assert_eq!(self.import.graph.nodes[node].dtype, Dtype::Bool);
        Held { node, elem: Elem::Bool }
    }
}
