//! What is normalised along axes.

use crate::numpy::{self, Numpy, error};
use crate::step::{AXIS, Step};
use luminal::Result;
use luminal::graph::NodeId;

const EPSILON: &[&str] = &["eps", "epsilon"];

/// Of a row that is -inf everywhere: NaN.
pub fn softmax(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, axis) = (step.float(0)?, step.axis(0, -1)?);
    let result = step.graph.softmax(x, axis);
    Ok(vec![step.rounded(result)?])
}

pub fn log_softmax(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, axis) = (step.float(0)?, step.axis(0, -1)?);
    let result = step.graph.log_softmax(x, axis);
    Ok(vec![step.rounded(result)?])
}

/// The last axes: as many as the normalised shape has, from the named axis on, or one.
fn last_axes(step: &Step<'_>) -> Result<Vec<usize>> {
    let rank = step.sizes(0)?.len();
    let named = step.ints(AXIS)?;
    if let Some(shape) = step.ints(&["normalized_shape", "shape"])? {
        return match shape.len() {
            count if count <= rank => Ok((rank - count..rank).collect()),
            count => error(format!("{count} axes of a tensor of rank {rank}")),
        };
    }
    match named {
        Some(axes) if axes.len() == 1 => Ok(vec![numpy::axis(axes[0], rank)?]),
        Some(axes) => numpy::axes(Some(&axes), rank),
        None => Ok(vec![numpy::axis(-1, rank)?]),
    }
}

/// A weight or bias of the shape of these axes.
fn parameter(step: &Step<'_>, position: usize, shape: &[usize]) -> Result<Option<NodeId>> {
    if step.operands.len() <= position {
        return Ok(None);
    }
    match step.sizes(position)? {
        sizes if sizes == shape => step.operand(position).map(Some),
        sizes => error(format!("operand {position} is {sizes:?}, but must be {shape:?}")),
    }
}

pub fn layer_norm(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, axes) = (step.operand(0)?, last_axes(step)?);
    step.float(0)?;
    let shape: Vec<usize> = axes.iter().map(|axis| step.graph.sizes_of(x)[*axis]).collect();
    let (weight, bias) = (parameter(step, 1, &shape)?, parameter(step, 2, &shape)?);
    let epsilon = step.number(EPSILON)?.unwrap_or(1e-5);
    Ok(vec![step.graph.layer_norm(x, &axes, weight, bias, epsilon)])
}

pub fn rms_norm(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, axes) = (step.operand(0)?, last_axes(step)?);
    step.float(0)?;
    let shape: Vec<usize> = axes.iter().map(|axis| step.graph.sizes_of(x)[*axis]).collect();
    let weight = parameter(step, 1, &shape)?;
    let epsilon = step.number(EPSILON)?.unwrap_or(1e-6);
    Ok(vec![step.graph.rms_norm(x, &axes, weight, epsilon)])
}

pub fn group_norm(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.operand(0)?;
    step.float(0)?;
    let shape = step.graph.sizes_of(x);
    let groups = step.int(&["num_groups", "groups", "group", "G"])?.unwrap_or(1);
    let channels = *shape.get(1).unwrap_or(&0);
    if groups < 1 || !channels.is_multiple_of(groups as usize) || shape.len() < 2 {
        return error(format!("{groups} groups of the channels of {shape:?}"));
    }
    let (weight, bias) = (parameter(step, 1, &[channels])?, parameter(step, 2, &[channels])?);
    let epsilon = step.number(EPSILON)?.unwrap_or(1e-5);
    Ok(vec![step.graph.group_norm(x, 1, groups as usize, weight, bias, epsilon)])
}
