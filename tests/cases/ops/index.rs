//! By index, and in order.

use super::movement;
use crate::numpy::{Numpy, common_shape, error, slice};
use crate::step::{Step, vector};
use luminal::Result;
use luminal::graph::{Dim, NodeId};
use luminal::rt::Dtype;
use luminal_core::tensor::Scatter;

fn integers(step: &Step<'_>, position: usize) -> Result<NodeId> {
    let index = step.operand(position)?;
    match step.graph.dtype_of(index) {
        dtype if dtype.is_float() => error(format!("operand {position} is {dtype}, but must be an index")),
        _ => Ok(index),
    }
}

/// Negative indices count from the end.
pub fn index_select(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, index, axis) = (step.operand(0)?, integers(step, 1)?, step.axis(0, 0)?);
    let size = step.graph.sizes_of(x)[axis];
    let index = step.graph.wrapped_index(index, Dim::Fixed(size));
    Ok(vec![step.graph.index_select(x, axis, index)])
}

/// What an index that names a place several times does there.
fn how(step: &Step<'_>) -> Result<Scatter> {
    if step.flag(&["accumulate"]) {
        return Ok(Scatter::Add);
    }
    match step.text(&["reduce", "reduction", "mode"]) {
        None | Some("none" | "set" | "assign") => Ok(Scatter::Set),
        Some("add" | "sum") => Ok(Scatter::Add),
        Some("max" | "amax") => Ok(Scatter::Max),
        Some("min" | "amin") => Ok(Scatter::Min),
        Some(other) => error(format!("there is no reduction {other:?}")),
    }
}

/// `x[index] = values` for an index of one axis; of several indices, one for each leading axis.
pub fn index_put(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let how = how(step)?;
    let x = step.operand(0)?;
    let Some(last) = step.operands.len().checked_sub(1).filter(|last| *last > 0) else {
        return error("x, an index and values are needed");
    };
    let (shape, values) = (step.graph.sizes_of(x), step.operand(last)?);
    if step.graph.dtype_of(values) != step.graph.dtype_of(x) {
        return error("the values are of another element type");
    }
    let mut indices = vec![];
    for position in 1..last {
        indices.push(integers(step, position)?);
    }
    if indices.is_empty() {
        const NAMES: &[&str] = &["indices", "index"];
        let lists = step.param(NAMES).and_then(|value| value.as_array()).cloned().unwrap_or_default();
        for (number, list) in lists.iter().enumerate().filter(|(_, list)| list.is_array()) {
            let numbers: Option<Vec<f64>> =
                list.as_array().into_iter().flatten().map(|n| n.as_f64()).collect();
            let Some(numbers) = numbers else { return error(format!("index {number} is {list}")) };
            indices.push(vector(step.graph, &numbers, Dtype::I32));
        }
        if indices.is_empty() {
            indices.extend(step.list(NAMES, Dtype::I32)?);
        }
        if indices.is_empty() {
            return error("there is no index");
        }
    }
    let axis = if indices.len() == 1 { step.axis(0, 0)? } else { 0 };
    if indices.len() > shape.len() {
        return error(format!("{} indices of {shape:?}", indices.len()));
    }
    let graph = &mut *step.graph;
    let shapes: Vec<Vec<usize>> = indices.iter().map(|index| graph.sizes_of(*index)).collect();
    let place = common_shape(&shapes.iter().map(|shape| &shape[..]).collect::<Vec<_>>())?;
    if let ([index], [count]) = (&indices[..], &place[..]) {
        let mut rows = shape.clone();
        rows[axis] = *count;
        let index = graph.wrapped_index(*index, Dim::Fixed(shape[axis]));
        let values = graph.stretch(values, &rows)?;
        return Ok(vec![graph.index_put(x, axis, index, values, how)]);
    }
    // Tuples of indices, one entry from each.
    let mut entries = vec![];
    for (at, index) in indices.iter().enumerate() {
        let index = graph.wrapped_index(*index, Dim::Fixed(shape[at]));
        entries.push(graph.stretch(index, &place)?);
    }
    let tuples = graph.stack(&entries, place.len());
    let values = graph.stretch(values, &[&place[..], &shape[indices.len()..]].concat())?;
    Ok(vec![graph.scatter_nd(x, tuples, values, how)])
}

pub fn slice_scatter(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, new, axis) = (step.operand(0)?, step.operand(1)?, step.axis(0, 0)?);
    let mut shape = step.graph.sizes_of(x);
    let (start, end) = (step.int(&["start", "starts"])?, step.int(&["end", "ends", "stop"])?);
    let stride = step.int(&["step", "steps"])?.unwrap_or(1);
    if stride < 1 {
        return error(format!("step {stride}"));
    }
    let (first, count) = slice(shape[axis], start, end, stride)?;
    shape[axis] = count;
    if step.graph.sizes_of(new) != shape || step.graph.dtype_of(new) != step.graph.dtype_of(x) {
        return error(format!("the source is {:?}, the slice {shape:?}", step.graph.sizes_of(new)));
    }
    if count == 0 {
        return Ok(vec![x]);
    }
    Ok(vec![step.graph.slice_scatter(x, axis, first, stride as usize, new)])
}

/// Zeros, to whose rows those of `x` are added.
pub fn scatter_add_rows(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (index, x) = (integers(step, 0)?, step.operand(1)?);
    let zeros = movement::zeros(step, x)?;
    let (shape, rows) = (step.graph.sizes_of(zeros), step.graph.sizes_of(x));
    if shape.is_empty()
        || rows.is_empty()
        || shape[1..] != rows[1..]
        || step.graph.sizes_of(index) != rows[..1]
    {
        return error(format!("rows {rows:?} added to {shape:?}"));
    }
    Ok(vec![step.graph.index_put(zeros, 0, index, x, Scatter::Add)])
}

fn descending(step: &Step<'_>) -> bool {
    step.flag(&["descending", "reverse"])
}

/// NaN is greater than all numbers; equal elements stay in order.
pub fn argsort(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, axis) = (step.wide(0)?, step.axis(0, -1)?);
    let size = step.graph.sizes_of(x)[axis];
    Ok(vec![step.graph.argsort(x, axis, descending(step), Dim::Fixed(size))])
}

pub fn top_k(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, axis) = (step.operand(0)?, step.axis(0, -1)?);
    let size = step.graph.sizes_of(x)[axis];
    let count = match step.int(&["k", "n"])?.and_then(|k| usize::try_from(k).ok()) {
        Some(k) if k <= size => k,
        k => return error(format!("{k:?} of an axis of {size}")),
    };
    let smallest = step.param(&["largest"]).is_some() && !step.flag(&["largest"]);
    let wide = step.widened(x);
    let (values, indices) = step.graph.sort(wide, axis, !smallest, Dim::Fixed(count));
    let values = step.graph.cast(values, step.graph.dtype_of(x));
    match step.text(&["output", "return", "result", "returns"]) {
        Some("indices" | "index") => Ok(vec![indices]),
        _ => Ok(vec![values, indices]),
    }
}
