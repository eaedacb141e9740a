//! Operators that look up and write by index, and those that order.

use super::import::{Call, Held, Operator, Outcome, outside};
use super::numpy::{self, Numpy};
use super::value::Elem;
use luminal::graph::{Dim, NodeId};
use luminal_core::tensor::Scatter;

pub fn operator(name: &str) -> Option<Operator> {
    Some(match name {
        "Gather" => gather,
        "GatherElements" => gather_elements,
        "GatherND" => gather_nd,
        // Scatter is what ScatterElements was called at first.
        "Scatter" | "ScatterElements" => scatter_elements,
        "ScatterND" => scatter_nd,
        "OneHot" => one_hot,
        "TopK" => top_k,
        _ => return None,
    })
}

/// The index with negative ones counted from the end of an axis, and that axis.
fn index(call: &mut Call<'_>, x: Held, position: usize) -> Outcome<(usize, NodeId)> {
    let shape = call.sizes(x);
    let axis = numpy::axis(call.int("axis", 0), shape.len())?;
    let index = call.input(position)?;
    let index = call.graph().wrapped_index(index.node, Dim::Fixed(shape[axis]));
    Ok((axis, index))
}

fn gather(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let (axis, index) = index(call, x, 1)?;
    let node = call.graph().index_select(x.node, axis, index);
    Ok(vec![Held { node, elem: x.elem }])
}

fn gather_elements(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let (axis, index) = index(call, x, 1)?;
    let node = call.graph().gather_along(x.node, axis, index);
    Ok(vec![Held { node, elem: x.elem }])
}

fn gather_nd(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, index) = (call.input(0)?, call.input(1)?);
    let batch = call.int("batch_dims", 0) as usize;
    let node = call.graph().gather_nd(x.node, index.node, batch);
    Ok(vec![Held { node, elem: x.elem }])
}

fn reduction(call: &Call<'_>) -> Outcome<Scatter> {
    Ok(match &call.string("reduction", "none")[..] {
        "none" => Scatter::Set,
        "add" => Scatter::Add,
        "max" => Scatter::Max,
        "min" => Scatter::Min,
        other => return outside(format!("reduction {other}")),
    })
}

fn scatter_elements(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, new) = (call.input(0)?, call.input(2)?);
    let (axis, index) = index(call, x, 1)?;
    let how = reduction(call)?;
    let node = call.graph().scatter_along(x.node, axis, index, new.node, how);
    Ok(vec![Held { node, elem: x.elem }])
}

fn scatter_nd(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, index, new) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let how = reduction(call)?;
    let node = call.graph().scatter_nd(x.node, index.node, new.node, how);
    Ok(vec![Held { node, elem: x.elem }])
}

/// `values[1]` where the index names the position, `values[0]` elsewhere.
fn one_hot(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (index, values) = (call.input(0)?, call.input(2)?);
    let depth = call.known(1)?.unwrap_or_default()[0] as usize;
    let rank = call.sizes(index).len() + 1;
    let axis = numpy::axis(call.int("axis", -1), rank)?;
    let dtype = values.elem.dtype()?;
    // Indices may be floats that are whole numbers.
    let graph = call.graph();
    let whole = graph.cast(index.node, luminal::rt::Dtype::I64);
    let wrapped = graph.wrapped_index(whole, Dim::Fixed(depth));
    let hot = graph.one_hot(wrapped, axis, Dim::Fixed(depth), luminal::rt::Dtype::Bool);
    let shape = graph.sizes_of(hot);
    let mut pick = |position: i64| {
        let value = graph.sliced(values.node, 0, Some(position), Some(position + 1), 1)?;
        graph.stretch(value, &shape)
    };
    let (cold, warm) = (pick(0)?, pick(1)?);
    let node = graph.select(hot, warm, cold);
    debug_assert_eq!(graph.dtype_of(node), dtype);
    Ok(vec![Held { node, elem: values.elem }])
}

/// Results are sorted whether that is asked for or not.
fn top_k(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let shape = call.sizes(x);
    let axis = numpy::axis(call.int("axis", -1), shape.len())?;
    let count = call.known(1)?.map_or_else(|| call.int("k", 1), |k| k[0]) as usize;
    let descending = call.int("largest", 1) != 0;
    let (values, positions) = call.graph().sort(x.node, axis, descending, Dim::Fixed(count));
    let positions = call.give(positions, Elem::Int64)?;
    Ok(vec![Held { node: values, elem: x.elem }, positions])
}
