//! One step of a case's graph: operands, and parameters in any of the usual spellings.

use super::file;
use super::numpy::{self, Numpy};
use luminal::graph::{Dim, Graph, NodeId};
use luminal::reference::Feeds;
use luminal::rt::Dtype;
use luminal::{Error, Result};
use serde_json::Value;

pub struct Step<'a> {
    pub graph: &'a mut Graph,
    /// What the graph will be run with.
    pub feeds: &'a mut Feeds,
    pub operands: Vec<NodeId>,
    pub params: &'a Value,
}

impl Step<'_> {
    pub fn operand(&self, position: usize) -> Result<NodeId> {
        let found = self.operands.get(position).copied();
        found.ok_or_else(|| Error::new(format!("operand {position} is missing")))
    }

    /// The operand in the type that it is computed with.
    pub fn wide(&mut self, position: usize) -> Result<NodeId> {
        let x = self.operand(position)?;
        Ok(self.widened(x))
    }

    pub fn widened(&mut self, x: NodeId) -> NodeId {
        let dtype = self.graph.dtype_of(x);
        if dtype == dtype.wide() { x } else { self.graph.cast(x, dtype.wide()) }
    }

    /// What was computed from an operand of a 16-bit float becomes one, rounded once. Integers stay wide.
    pub fn rounded(&mut self, result: NodeId) -> Result<NodeId> {
        let operand = self.operand(0)?;
        let dtype = self.graph.dtype_of(operand);
        let narrow =
            dtype.wide() == Dtype::F32 && dtype != Dtype::F32 && self.graph.dtype_of(result) == Dtype::F32;
        Ok(if narrow { self.graph.cast(result, dtype) } else { result })
    }

    /// Two operands of one element type in their common shape, and wide.
    pub fn pair(&mut self) -> Result<(NodeId, NodeId)> {
        let [a, b] = [self.operand(0)?, self.operand(1)?].map(|x| self.graph.dtype_of(x));
        if a != b {
            return numpy::error(format!("operands of {a} and {b}: one must be cast"));
        }
        let (x, y) = (self.wide(0)?, self.wide(1)?);
        self.graph.broadcast(x, y)
    }

    /// An operand of floats.
    pub fn float(&mut self, position: usize) -> Result<NodeId> {
        let x = self.wide(position)?;
        match self.graph.dtype_of(x) {
            Dtype::F32 => Ok(x),
            other => Err(Error::new(format!("operand {position} is {other}, but must be a float"))),
        }
    }

    pub fn sizes(&self, position: usize) -> Result<Vec<usize>> {
        Ok(self.graph.sizes_of(self.operand(position)?))
    }

    /// The parameter under the first of these names that is given and not null.
    pub fn param(&self, names: &[&str]) -> Option<&Value> {
        names.iter().find_map(|name| self.params.get(*name)).filter(|value| !value.is_null())
    }

    pub fn int(&self, names: &[&str]) -> Result<Option<i64>> {
        self.param(names).map(|value| integer(value, names)).transpose()
    }

    /// Integers, one or a list of them.
    pub fn ints(&self, names: &[&str]) -> Result<Option<Vec<i64>>> {
        let Some(value) = self.param(names) else { return Ok(None) };
        match value.as_array() {
            Some(list) => list.iter().map(|item| integer(item, names)).collect::<Result<_>>().map(Some),
            None => Ok(Some(vec![integer(value, names)?])),
        }
    }

    /// Integers or null, one or a list of them.
    pub fn open_ints(&self, names: &[&str]) -> Result<Option<Vec<Option<i64>>>> {
        let Some(value) = names.iter().find_map(|name| self.params.get(*name)) else { return Ok(None) };
        let item = |item: &Value| if item.is_null() { Ok(None) } else { integer(item, names).map(Some) };
        match value.as_array() {
            Some(list) => list.iter().map(item).collect::<Result<_>>().map(Some),
            None => Ok(Some(vec![item(value)?])),
        }
    }

    pub fn number(&self, names: &[&str]) -> Result<Option<f64>> {
        let number = |value: &Value| match (value.as_f64(), value.as_str()) {
            (Some(x), _) => Ok(x),
            (None, Some("inf")) => Ok(f64::INFINITY),
            (None, Some("-inf")) => Ok(f64::NEG_INFINITY),
            (None, Some("nan")) => Ok(f64::NAN),
            _ => Err(Error::new(format!("parameter {} is {value}, but must be a number", names[0]))),
        };
        self.param(names).map(number).transpose()
    }

    /// A list of numbers as a tensor of one axis.
    pub fn list(&mut self, names: &[&str], dtype: Dtype) -> Result<Option<NodeId>> {
        let Some(list) = self.param(names).and_then(Value::as_array) else { return Ok(None) };
        let failed = || Error::new(format!("parameter {} must be a list of numbers", names[0]));
        let numbers = list.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>().ok_or_else(failed)?;
        Ok(Some(vector(self.graph, &numbers, dtype)))
    }

    pub fn flag(&self, names: &[&str]) -> bool {
        match self.param(names) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            _ => false,
        }
    }

    pub fn text(&self, names: &[&str]) -> Option<&str> {
        self.param(names).and_then(Value::as_str)
    }

    /// The axis that is named, or this one.
    pub fn axis(&self, position: usize, default: i64) -> Result<usize> {
        let rank = self.sizes(position)?.len();
        numpy::axis(self.int(AXIS)?.unwrap_or(default), rank)
    }

    /// The element type that is named.
    pub fn dtype(&self) -> Result<Option<Dtype>> {
        self.text(&["to", "dtype", "type"]).map(file::held).transpose()
    }
}

/// Numbers that are known as a tensor of one axis.
pub fn vector(graph: &mut Graph, numbers: &[f64], dtype: Dtype) -> NodeId {
    let parts: Vec<NodeId> =
        numbers.iter().map(|number| graph.full(exact(*number, dtype), dtype, &[Dim::Fixed(1)])).collect();
    match parts[..] {
        [] => graph.full(0.0, dtype, &[Dim::Fixed(0)]),
        _ => graph.concat(&parts, 0),
    }
}

/// A number as an element type can hold it.
pub fn exact(number: f64, dtype: Dtype) -> f64 {
    if dtype == Dtype::F32 { f64::from(number as f32) } else { number }
}

pub const AXIS: &[&str] = &["axis", "dim", "axes", "dims"];
pub const KEEP: &[&str] = &["keepdims", "keepdim", "keep"];

fn integer(value: &Value, names: &[&str]) -> Result<i64> {
    let whole = |x: f64| (x.fract() == 0.0).then_some(x as i64);
    let found = match value {
        Value::Array(list) if list.len() == 1 => list[0].as_i64(),
        value => value.as_i64().or_else(|| value.as_f64().and_then(whole)),
    };
    found.ok_or_else(|| Error::new(format!("parameter {} is {value}, but must be an integer", names[0])))
}
