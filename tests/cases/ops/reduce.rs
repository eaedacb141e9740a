//! Reductions along axes, and sums up to each element.

use crate::numpy::{Numpy, Reduction, error};
use crate::step::{AXIS, KEEP, Step};
use luminal::Result;
use luminal::graph::NodeId;
use luminal::rt::Dtype;
use luminal_core::tensor::Scan;

fn reduced(step: &mut Step<'_>, x: NodeId, function: Reduction) -> Result<Vec<NodeId>> {
    let axes = step.ints(AXIS)?;
    let result = step.graph.reduced(x, axes.as_deref(), step.flag(KEEP), function)?;
    Ok(vec![step.rounded(result)?])
}

/// Sums of `u8` are `i32`.
pub fn sum(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.wide(0)?;
    let x = if step.graph.dtype_of(x) == Dtype::Bool { step.graph.cast(x, Dtype::I32) } else { x };
    reduced(step, x, |graph, x, axes| graph.sum(x, axes))
}

/// Of integers, the sum in 64 bits divided by the number of elements, rounded towards zero.
pub fn mean(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.wide(0)?;
    let dtype = step.graph.dtype_of(x);
    if dtype == Dtype::F32 {
        return reduced(step, x, |graph, x, axes| graph.mean(x, axes));
    }
    let wide = step.graph.cast(x, Dtype::I64);
    let sums = reduced(step, wide, |graph, x, axes| graph.sum(x, axes))?;
    let all = step.graph.sizes_of(x).iter().product::<usize>();
    let left = step.graph.sizes_of(sums[0]).iter().product::<usize>();
    let count = step.graph.full_like(all.checked_div(left).unwrap_or(0) as f64, sums[0]);
    let quotient = step.graph.quotient(sums[0], count);
    Ok(vec![step.graph.cast(quotient, dtype)])
}

pub fn max(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.wide(0)?;
    reduced(step, x, |graph, x, axes| graph.max(x, axes))
}

pub fn min(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.wide(0)?;
    reduced(step, x, |graph, x, axes| graph.min(x, axes))
}

pub fn logsumexp(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.float(0)?;
    reduced(step, x, |graph, x, axes| graph.logsumexp(x, axes))
}

/// The first of the greatest.
pub fn argmax(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.wide(0)?;
    if step.param(AXIS).is_none() {
        let flat = step.graph.shaped(x, &[-1])?;
        return Ok(vec![step.graph.argmax(flat, 0)]);
    }
    let axis = step.axis(0, 0)?;
    if step.graph.sizes_of(x)[axis] == 0 {
        return error(format!("axis {axis} is empty: it has no greatest element"));
    }
    let mut result = step.graph.argmax(x, axis);
    if step.flag(KEEP) {
        result = step.graph.unsqueeze(result, axis);
    }
    Ok(vec![result])
}

pub fn cumsum(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.wide(0)?;
    let axis = step.axis(0, -1)?;
    let scan = Scan { exclusive: step.flag(&["exclusive"]), reverse: step.flag(&["reverse"]) };
    let result = step.graph.cumsum(x, axis, scan);
    Ok(vec![step.rounded(result)?])
}
