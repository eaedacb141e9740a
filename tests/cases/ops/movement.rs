//! Elements in another order, place or number.

use crate::numpy::{Numpy, axes, axis, dims, error};
use crate::step::{AXIS, Step, exact};
use luminal::graph::NodeId;
use luminal::{Error, Result};
use luminal_core::tensor::Padding;

const SHAPE: &[&str] = &["shape", "size", "sizes"];

pub fn sizes(step: &Step<'_>) -> Result<Vec<usize>> {
    let Some(shape) = step.ints(SHAPE)? else { return error("there is no shape") };
    shape.iter().map(|n| usize::try_from(*n).map_err(|_| Error::new(format!("size {n}")))).collect()
}

pub fn broadcast_to(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, shape) = (step.operand(0)?, sizes(step)?);
    Ok(vec![step.graph.stretch(x, &shape)?])
}

pub fn reshape(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.operand(0)?;
    let Some(shape) = step.ints(SHAPE)? else { return error("there is no shape") };
    Ok(vec![step.graph.shaped(x, &shape)?])
}

pub fn transpose(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.operand(0)?;
    let rank = step.graph.rank_of(x);
    if let (Some(first), Some(second)) = (step.int(&["dim0", "axis0"])?, step.int(&["dim1", "axis1"])?) {
        return Ok(vec![step.graph.transpose(x, axis(first, rank)?, axis(second, rank)?)]);
    }
    let order = match step.ints(&["perm", "permutation", "axes", "dims", "order"])? {
        Some(order) => order.iter().map(|a| axis(*a, rank)).collect::<Result<Vec<_>>>()?,
        None => (0..rank).rev().collect(),
    };
    if axes(Some(&order.iter().map(|a| *a as i64).collect::<Vec<_>>()), rank)?.len() != rank {
        return error(format!("order {order:?} of a tensor of rank {rank}"));
    }
    Ok(vec![step.graph.permute(x, &order)])
}

pub fn flip(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let mut x = step.operand(0)?;
    for axis in axes(step.ints(AXIS)?.as_deref(), step.graph.rank_of(x))? {
        x = step.graph.flip(x, axis);
    }
    Ok(vec![x])
}

pub fn slice(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let mut x = step.operand(0)?;
    let starts = step.open_ints(&["starts", "start"])?.unwrap_or_default();
    let ends = step.open_ints(&["ends", "end", "stops", "stop"])?.unwrap_or_default();
    let steps = step.open_ints(&["steps", "step", "strides"])?.unwrap_or_default();
    let count = starts.len().max(ends.len()).max(steps.len());
    let axes = step.ints(AXIS)?.unwrap_or_else(|| (0..count as i64).collect());
    for (number, axis) in axes.into_iter().enumerate() {
        let at = |list: &[Option<i64>]| list.get(number).copied().flatten();
        x = step.graph.sliced(x, axis, at(&starts), at(&ends), at(&steps).unwrap_or(1))?;
    }
    Ok(vec![x])
}

pub fn concat(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let axis = step.int(AXIS)?.unwrap_or(0);
    Ok(vec![step.graph.joined(&step.operands.clone(), axis)?])
}

/// How much is added in front of and behind each axis.
fn paddings(step: &Step<'_>, rank: usize) -> Result<Vec<(usize, i64, i64)>> {
    const NAMES: &[&str] = &["pads", "pad", "padding", "pad_width", "paddings"];
    let Some(value) = step.param(NAMES) else { return error("there is no padding") };
    let pairs = value.as_array().is_some_and(|list| list.iter().any(|item| item.is_array()));
    if pairs {
        let pair = |(axis, pair): (usize, &serde_json::Value)| match (pair[0].as_i64(), pair[1].as_i64()) {
            (Some(before), Some(after)) => Ok((axis, before, after)),
            _ => error(format!("padding {pair}")),
        };
        let pairs =
            value.as_array().into_iter().flatten().enumerate().map(pair).collect::<Result<Vec<_>>>()?;
        return if pairs.len() == rank {
            Ok(pairs)
        } else {
            error(format!("{} pairs, rank {rank}", pairs.len()))
        };
    }
    let numbers = step.ints(NAMES)?.unwrap_or_default();
    let half = numbers.len() / 2;
    if numbers.len() == 1 {
        return Ok((0..rank).map(|axis| (axis, numbers[0], numbers[0])).collect());
    }
    if numbers.len() % 2 == 1 || half > rank {
        return error(format!("padding {numbers:?} of rank {rank}"));
    }
    // `pads` is ONNX's word and order, others are PyTorch's.
    if step.param(&["pads"]).is_some() {
        let axes = match step.ints(AXIS)? {
            Some(axes) => axes.iter().map(|a| axis(*a, rank)).collect::<Result<Vec<_>>>()?,
            None => (rank - half..rank).collect(),
        };
        return Ok(axes
            .into_iter()
            .enumerate()
            .map(|(i, axis)| (axis, numbers[i], numbers[i + half]))
            .collect());
    }
    Ok((0..half).map(|i| (rank - 1 - i, numbers[2 * i], numbers[2 * i + 1])).collect())
}

pub fn pad(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let mut x = step.operand(0)?;
    let value = step.number(&["value", "fill", "constant"])?.unwrap_or(0.0);
    let value = exact(value, step.graph.dtype_of(x).wide());
    let mode = step.text(&["mode"]).unwrap_or("constant").to_string();
    for (axis, before, after) in paddings(step, step.graph.rank_of(x))? {
        let size = step.graph.sizes_of(x)[axis] as i64;
        if mode == "constant" {
            if before.min(0) + after.min(0) + size < 0 {
                return error(format!("padding {before}, {after} of an axis of {size}"));
            }
            x = step.graph.pad_constant(x, axis, before, after, value);
            continue;
        }
        let (mode, most) = match &mode[..] {
            "reflect" => (Padding::Reflect, size - 1),
            "edge" | "replicate" => (Padding::Edge, if size > 0 { i64::MAX } else { 0 }),
            other => return error(format!("there is no mode {other:?}: constant, reflect, edge")),
        };
        if before < 0 || after < 0 || before > most || after > most {
            return error(format!("padding {before}, {after} of an axis of {size}"));
        }
        x = step.graph.pad_with(x, axis, before as usize, after as usize, mode);
    }
    Ok(vec![x])
}

/// Zeros of the shape that is named.
pub fn zeros(step: &mut Step<'_>, like: NodeId) -> Result<NodeId> {
    let (shape, dtype) = (sizes(step)?, step.graph.dtype_of(like));
    Ok(step.graph.full(0.0, dtype, &dims(&shape)))
}
