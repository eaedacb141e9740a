//! The kernels of a region, by their meaning, against the reference: for models that are too large to be run as a whole.
//! It shows what rewrites, partition, folds and index arithmetic did wrong; the code of each kernel is checked apart.

use super::Agreement;
use super::model::{Inputs, difference, smaller_than, tolerance_of};
use crate::error::{Error, Result};
use crate::graph::{Graph, Op};
use crate::kernel::meaning::{self, Rounding, Values};
use crate::reference::{self, Data, Feeds, Tensor};
use crate::search::lower::{Program, Source, Value};

/// How many elements the reference may compute. The meaning of kernels is slower still.
const MOST_ELEMENTS: f64 = 1e7;

/// Runs the kernels of a region and compares what leaves it. Free sizes are as near to their bounds as that takes no
/// longer than it should; if it would at any size nothing is compared, and there is no agreement to tell.
///
/// # Errors
/// The worst element of the first output that disagrees.
pub fn check_region(graph: &Graph, program: &Program, seed: u64) -> Result<Option<Agreement>> {
    let Some(sizes) = smaller_than(graph, MOST_ELEMENTS)? else { return Ok(None) };
    let mut agreement = Agreement::default();
    for inputs in [Inputs::Mixed, Inputs::WithNan] {
        let feeds = inputs.feeds(graph, &sizes, seed)?;
        let expected = match reference::run(graph, &feeds, &sizes) {
            // An index that is computed from what is NaN now may be outside of its table.
            Err(_) if inputs == Inputs::WithNan => continue,
            expected => expected?,
        };
        let values = run(graph, program, &feeds, &sizes)?;
        let outputs = expected.outputs.iter().zip(&program.outputs).zip(&graph.outputs);
        let mut wanted: Vec<(&str, &Tensor, usize)> =
            outputs.map(|((tensor, value), (name, _))| (&name[..], tensor, *value)).collect();
        for ((state, _), (_, value)) in graph.writes.iter().zip(&program.writes) {
            if let Op::State(name) = &graph.nodes[*state].op {
                wanted.push((name, &expected.states[name], *value));
            }
        }
        for (name, tensor, value) in wanted {
            let computed = compact(&program.values.list[value], &values[value], &tensor.shape);
            reference::compare(tensor, &computed, tolerance_of(graph, tensor)).map_err(|e| {
                Error::new(format!(
                    "kernels of a region disagree with the reference, before they are code: {name}, inputs {inputs:?}, \
                     free sizes {sizes:?}, seed {seed}: {e}"
                ))
            })?;
            agreement.merge(difference(tensor, &computed));
        }
    }
    Ok(Some(agreement))
}

/// All tensors in memory after the region ran, over the bounds of their sizes.
fn run(graph: &Graph, program: &Program, feeds: &Feeds, sizes: &[usize]) -> Result<Vec<Values>> {
    let given = |value: &Value| {
        let count: usize = value.shape.iter().map(|&dim| dim.max()).product();
        let mut values = Values::zeros(value.dtype, count);
        if let Source::Given(node) = value.source
            && let Op::Input(name) | Op::Param(name) | Op::State(name) = &graph.nodes[node].op
        {
            let tensor = &feeds[name];
            let given = Values::from_bytes(value.dtype, &tensor.data.to_bytes());
            for (from, to) in places(value, &tensor.shape).into_iter().enumerate() {
                values.set(to, given.get(from));
            }
        }
        values
    };
    let mut values: Vec<Values> = program.values.list.iter().map(given).collect();
    for lowered in &program.kernels {
        let args: Vec<Values> = lowered.args.iter().map(|value| values[*value].clone()).collect();
        let after = meaning::run(&lowered.kernel, &args, sizes, Rounding::F32)?;
        for ((value, after), _) in
            lowered.args.iter().zip(after).zip(&lowered.writes).filter(|(_, writes)| **writes)
        {
            values[*value] = after;
        }
    }
    Ok(values)
}

/// The part of a tensor that its sizes leave of its bounds.
fn compact(value: &Value, values: &Values, shape: &[usize]) -> Tensor {
    let mut part = Values::zeros(value.dtype, shape.iter().product());
    for (to, from) in places(value, shape).into_iter().enumerate() {
        part.set(to, values.get(from));
    }
    Tensor { shape: shape.to_vec(), data: Data::from_bytes(value.dtype, &part.to_bytes(value.dtype)) }
}

/// For each element of a tensor of this shape its place within the bounds.
fn places(value: &Value, shape: &[usize]) -> Vec<usize> {
    let mut places = vec![0];
    for (size, &bound) in shape.iter().zip(&value.shape) {
        let bound = bound.max();
        places = places.iter().flat_map(|place| (0..*size).map(move |i| place * bound + i)).collect();
    }
    places
}
