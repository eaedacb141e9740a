//! Windows that slide: convolution, pools; and resizing.

use crate::numpy::{Numpy, error};
use crate::step::Step;
use luminal::graph::NodeId;
use luminal::{Error, Result};
use luminal_core::tensor::{Positions, Weights, Window};

const STRIDE: &[&str] = &["stride", "strides"];
const DILATION: &[&str] = &["dilation", "dilations"];
const KERNEL: &[&str] = &["kernel", "kernel_size", "kernel_shape"];

/// One positive number for each axis; one for all if only one is given.
fn each(step: &Step<'_>, names: &[&str], rank: usize, default: &[usize]) -> Result<Vec<usize>> {
    let Some(given) = step.ints(names)? else { return Ok(default.to_vec()) };
    let given = if given.len() == 1 { vec![given[0]; rank] } else { given };
    if given.len() != rank || given.iter().any(|n| *n < 1) {
        return error(format!("{} {given:?} for {rank} axes", names[0]));
    }
    Ok(given.iter().map(|n| *n as usize).collect())
}

/// Padding in front of and behind each axis: `pads` as ONNX orders it, `padding` as PyTorch means it.
fn paddings(step: &Step<'_>, rank: usize) -> Result<Vec<(usize, usize)>> {
    let given = match (step.ints(&["pads"])?, step.ints(&["padding", "pad"])?) {
        (Some(pads), _) => pads,
        (None, Some(padding)) if padding.len() == 1 => vec![padding[0]; 2 * rank],
        (None, Some(padding)) if padding.len() == rank => [&padding[..], &padding[..]].concat(),
        (None, Some(padding)) => padding,
        (None, None) => vec![0; 2 * rank],
    };
    if given.len() != 2 * rank || given.iter().any(|n| *n < 0) {
        return error(format!("padding {given:?} for {rank} axes"));
    }
    Ok((0..rank).map(|axis| (given[axis] as usize, given[axis + rank] as usize)).collect())
}

/// Windows of these taps over these sizes, which they must fit into.
fn windows(
    step: &Step<'_>,
    sizes: &[usize],
    taps: &[usize],
    stride: &[usize],
    fit: bool,
) -> Result<Vec<Window>> {
    let rank = sizes.len();
    let strides = each(step, STRIDE, rank, stride)?;
    let dilations = each(step, DILATION, rank, &vec![1; rank])?;
    let pads = paddings(step, rank)?;
    let ceil = step.flag(&["ceil_mode", "ceil"]);
    let auto = step.text(&["auto_pad"]).unwrap_or("NOTSET").to_uppercase();
    let window = |axis: usize| {
        let (before, after) = pads[axis];
        let (taps, stride, dilation) = (taps[axis], strides[axis], dilations[axis]);
        let mut window = Window { stride, before, after, dilation, ceil, ..Window::of(taps) };
        if auto.starts_with("SAME") {
            window = window.same(sizes[axis], auto != "SAME_LOWER");
        }
        match taps > 0 && (!fit || window.positions(sizes[axis]) > 0) {
            true => Ok(window),
            false => error(format!(
                "a window of {} does not fit into {sizes:?} with padding {pads:?}",
                window.reach()
            )),
        }
    };
    (0..rank).map(window).collect()
}

/// Operand and kernel as `[batch, channels, ..]`, and how many axes are slid over.
fn operands(step: &mut Step<'_>) -> Result<(NodeId, NodeId, Vec<usize>, Vec<usize>)> {
    let (x, kernel) = (step.wide(0)?, step.wide(1)?);
    let (shape, taps) = (step.graph.sizes_of(x), step.graph.sizes_of(kernel));
    if shape.len() != taps.len() || shape.len() < 3 || step.graph.dtype_of(x) != step.graph.dtype_of(kernel) {
        return error(format!(
            "input {shape:?}, kernel {taps:?}: [batch, channels, ..], [channels, channels, ..]"
        ));
    }
    Ok((x, kernel, shape, taps))
}

fn groups(step: &Step<'_>) -> Result<usize> {
    match step.int(&["groups", "group"])?.unwrap_or(1) {
        groups if groups > 0 => Ok(groups as usize),
        groups => error(format!("{groups} groups")),
    }
}

/// Adds the third operand, one number a channel.
fn biased(step: &mut Step<'_>, mut x: NodeId) -> Result<Vec<NodeId>> {
    if step.operands.len() > 2 {
        let bias = step.wide(2)?;
        let mut shape = vec![1i64; step.graph.rank_of(x) - 1];
        shape[0] = -1;
        let bias = step.graph.shaped(bias, &shape)?;
        let (left, right) = step.graph.broadcast(x, bias)?;
        x = step.graph.add(left, right);
    }
    Ok(vec![step.rounded(x)?])
}

pub fn conv(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, kernel, shape, taps) = operands(step)?;
    let groups = groups(step)?;
    if shape[1] != taps[1] * groups || !taps[0].is_multiple_of(groups) {
        return error(format!("input {shape:?}, kernel {taps:?}, {groups} groups: the channels do not fit"));
    }
    let windows = windows(step, &shape[2..], &taps[2..], &vec![1; shape.len() - 2], true)?;
    let result = step.graph.conv(x, kernel, &windows, groups);
    biased(step, result)
}

pub fn conv_transpose(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, kernel, shape, taps) = operands(step)?;
    let groups = groups(step)?;
    if shape[1] != taps[0] || !taps[0].is_multiple_of(groups) {
        return error(format!("input {shape:?}, kernel {taps:?}, {groups} groups: the channels do not fit"));
    }
    let rank = shape.len() - 2;
    let windows = windows(step, &shape[2..], &taps[2..], &vec![1; rank], false)?;
    let added = step.ints(&["output_padding"])?.unwrap_or(vec![0]);
    let added = if added.len() == 1 { vec![added[0]; rank] } else { added };
    let fits = |axis: usize| {
        let added = usize::try_from(added[axis]).ok();
        let limit = windows[axis].stride.max(windows[axis].dilation);
        added.filter(|added| *added < limit && windows[axis].transposed(shape[axis + 2], *added).is_some())
    };
    let added: Option<Vec<usize>> = if added.len() == rank { (0..rank).map(fits).collect() } else { None };
    let Some(added) = added else { return error(format!("output padding does not fit input {shape:?}")) };
    let result = step.graph.conv_transpose(x, kernel, &windows, &added, groups);
    biased(step, result)
}

fn pool(step: &mut Step<'_>) -> Result<(NodeId, Vec<Window>)> {
    let x = step.wide(0)?;
    let shape = step.graph.sizes_of(x);
    let Some(given) = step.ints(KERNEL)? else { return error("there is no kernel") };
    let rank = if given.len() == 1 { shape.len().saturating_sub(2).max(1) } else { given.len() };
    let taps = each(step, KERNEL, rank, &[])?;
    let Some(first) = shape.len().checked_sub(rank) else {
        return error(format!("kernel {taps:?} over {shape:?}"));
    };
    let windows = windows(step, &shape[first..], &taps, &taps, true)?;
    Ok((x, windows))
}

/// Padding is never the greatest.
pub fn max_pool(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, windows) = pool(step)?;
    let result = step.graph.max_pool(x, &windows);
    Ok(vec![step.rounded(result)?])
}

pub fn avg_pool(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    step.float(0)?;
    let (x, windows) = pool(step)?;
    let names = &["count_include_pad"];
    let count = step.param(names).is_none() || step.flag(names);
    let result = step.graph.avg_pool(x, &windows, count);
    Ok(vec![step.rounded(result)?])
}

/// The last axis, or the one that is named.
pub fn resize_linear(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, axis) = (step.float(0)?, step.axis(0, -1)?);
    let from = step.graph.sizes_of(x)[axis];
    let Some(size) = step.int(&["out", "size", "output"])?.and_then(|size| usize::try_from(size).ok()) else {
        return Err(Error::new("there is no size"));
    };
    let mode = step.text(&["coord", "coordinates", "mode"]);
    let align = step.flag(&["align_corners"]);
    if from == 0 || size == 0 {
        return error(format!("an axis of {from} cannot be resized to {size}"));
    }
    let positions = match mode {
        Some("align_corners") => Positions::align_corners(from, size),
        None if align => Positions::align_corners(from, size),
        None | Some("half_pixel") => Positions::half_pixel(from, size),
        Some("pytorch_half_pixel") => Positions::pytorch_half_pixel(from, size),
        Some("asymmetric") => Positions::asymmetric(from, size),
        Some(other) => {
            return error(format!("there are no coordinates {other:?}: align_corners, half_pixel"));
        }
    };
    let result = step.graph.resize_weighted(x, axis, size, positions, Weights::Linear, false);
    Ok(vec![step.rounded(result)?])
}
