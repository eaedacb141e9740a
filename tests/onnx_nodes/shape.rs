//! Operators that move elements, and those that make tensors from sizes.

use super::import::{Call, Held, Operator, Outcome, outside};
use super::numbers::Numbers;
use super::numpy::{self, Numpy, dims};
use super::value::{Elem, Value};
use luminal::graph::{Dim, NodeId};
use luminal::rt::Dtype;
use luminal_core::tensor::Padding;

pub fn operator(name: &str) -> Option<Operator> {
    Some(match name {
        "Constant" => constant,
        "ConstantOfShape" => constant_of_shape,
        "EyeLike" => eye_like,
        "Range" => range,
        "Shape" => shape,
        "Size" => size,
        "Reshape" => reshape,
        "Flatten" => flatten,
        "Squeeze" => squeeze,
        "Unsqueeze" => unsqueeze,
        "Transpose" => transpose,
        "Expand" => expand,
        "Tile" => tile,
        "Concat" => concat,
        "Split" => split,
        "Slice" => slice,
        "Pad" => pad,
        "Trilu" => trilu,
        "DepthToSpace" => depth_to_space,
        "SpaceToDepth" => space_to_depth,
        "ReverseSequence" => reverse_sequence,
        _ => return None,
    })
}

fn integers(call: &mut Call<'_>, shape: &[usize], values: Vec<i128>) -> Outcome<Vec<Held>> {
    let value = Value { elem: Elem::Int64, shape: shape.to_vec(), numbers: Numbers::Integers(values) };
    let name = format!("known.{}", call.node.output[0]);
    Ok(vec![call.import.add(&name, &value)?])
}

fn constant(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    if let Some(value) = call.tensor("value")? {
        let name = format!("known.{}", call.node.output[0]);
        return Ok(vec![call.import.add(&name, &value)?]);
    }
    if let Some(values) = call.ints("value_ints") {
        return integers(call, &[values.len()], values.iter().map(|x| (*x).into()).collect());
    }
    if call.has("value_int") {
        let value = call.int("value_int", 0);
        return integers(call, &[], vec![value.into()]);
    }
    if call.has("value_float") {
        let value = call.float("value_float", 0.0);
        let node = call.graph().constant(value, Dtype::F32);
        return Ok(vec![Held { node, elem: Elem::Float }]);
    }
    outside("sparse tensors and strings")
}

fn constant_of_shape(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let shape: Vec<usize> = call.known(0)?.unwrap_or_default().iter().map(|n| *n as usize).collect();
    let value = call.tensor("value")?;
    let elem = value.as_ref().map_or(Elem::Float, |value| value.elem);
    let value = match value.map(|value| value.numbers) {
        Some(Numbers::Floats(x)) => x[0],
        Some(Numbers::Integers(x)) => x[0] as f64,
        None => 0.0,
    };
    let node = call.graph().full(value, elem.dtype()?, &dims(&shape));
    Ok(vec![Held { node, elem }])
}

fn eye_like(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let like = call.input(0)?;
    let shape = call.sizes(like);
    let elem = if call.has("dtype") { Elem::new(call.int("dtype", 1))? } else { like.elem };
    let (diagonal, dtype) = (call.int("k", 0) as i32, elem.dtype()?);
    let node = call.graph().eye(Dim::Fixed(shape[0]), Dim::Fixed(shape[1]), diagonal, dtype);
    Ok(vec![Held { node, elem }])
}

fn range(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let elem = call.input(0)?.elem;
    let mut numbers = [0.0; 3];
    for (position, number) in numbers.iter_mut().enumerate() {
        *number = call.known_floats(position)?.unwrap_or_default()[0];
    }
    let [start, limit, delta] = numbers;
    let count = ((limit - start) / delta).ceil().max(0.0) as usize;
    let node = call.graph().arange(Dim::Fixed(count), start, delta, elem.dtype()?);
    Ok(vec![Held { node, elem }])
}

fn shape(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let shape = call.sizes(x);
    let end = call.has("end").then(|| call.int("end", 0));
    let (first, count) = numpy::slice(shape.len(), Some(call.int("start", 0)), end, 1)?;
    integers(call, &[count], shape[first..first + count].iter().map(|n| *n as i128).collect())
}

fn size(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let count: usize = call.sizes(x).iter().product();
    integers(call, &[], vec![count as i128])
}

fn same(node: NodeId, like: Held) -> Outcome<Vec<Held>> {
    Ok(vec![Held { node, elem: like.elem }])
}

fn reshape(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let mine = call.sizes(x);
    let mut shape = call.known(1)?.or_else(|| call.ints("shape")).unwrap_or_default();
    if call.int("allowzero", 0) == 0 {
        // 0 is the size of that axis now.
        for (axis, size) in shape.iter_mut().enumerate().filter(|(_, size)| **size == 0) {
            *size = mine.get(axis).map_or(0, |n| *n as i64);
        }
    }
    let result = call.graph().shaped(x.node, &shape)?;
    same(result, x)
}

fn flatten(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let shape = call.sizes(x);
    let axis = call.int("axis", 1);
    let axis = if axis < 0 { axis + shape.len() as i64 } else { axis } as usize;
    if axis > shape.len() {
        return Err(numpy::error::<()>(format!("axis {axis} of {shape:?}")).unwrap_err().into());
    }
    let sizes =
        [shape[..axis].iter().product::<usize>() as i64, shape[axis..].iter().product::<usize>() as i64];
    let result = call.graph().shaped(x.node, &sizes)?;
    same(result, x)
}

fn squeeze(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let shape = call.sizes(x);
    let axes = match call.axes(1)? {
        Some(axes) => numpy::axes(Some(&axes), shape.len())?,
        None => (0..shape.len()).filter(|axis| shape[*axis] == 1).collect(),
    };
    let mut result = x.node;
    for axis in axes.into_iter().rev() {
        if shape[axis] != 1 {
            return Err(numpy::error::<()>(format!("axis {axis} of {shape:?} is not 1")).unwrap_err().into());
        }
        result = call.graph().squeeze(result, axis);
    }
    same(result, x)
}

fn unsqueeze(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let axes = call.axes(1)?.unwrap_or_default();
    let rank = call.sizes(x).len() + axes.len();
    let mut result = x.node;
    for axis in numpy::axes(Some(&axes), rank)? {
        result = call.graph().unsqueeze(result, axis);
    }
    same(result, x)
}

fn transpose(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let rank = call.sizes(x).len();
    let order: Vec<usize> = match call.ints("perm") {
        Some(order) => order.iter().map(|axis| *axis as usize).collect(),
        None => (0..rank).rev().collect(),
    };
    let result = call.graph().permute(x.node, &order);
    same(result, x)
}

fn expand(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let asked: Vec<usize> = call.known(1)?.unwrap_or_default().iter().map(|n| *n as usize).collect();
    let shape = numpy::common_shape(&[&call.sizes(x), &asked])?;
    let result = call.graph().stretch(x.node, &shape)?;
    same(result, x)
}

fn tile(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let mut result = x.node;
    for (axis, times) in call.known(1)?.unwrap_or_default().iter().enumerate() {
        result = call.graph().repeat(result, axis, *times as usize);
    }
    same(result, x)
}

fn concat(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let inputs = call.inputs()?;
    let nodes: Vec<NodeId> = inputs.iter().map(|held| held.node).collect();
    let axis = call.int("axis", 0);
    let result = call.graph().joined(&nodes, axis)?;
    same(result, inputs[0])
}

fn split(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let shape = call.sizes(x);
    let axis = numpy::axis(call.int("axis", 0), shape.len())?;
    let count = call.node.output.len();
    let sizes: Vec<usize> = match call.known(1)?.or_else(|| call.ints("split")) {
        Some(sizes) => sizes.iter().map(|n| *n as usize).collect(),
        None if shape[axis].is_multiple_of(count) => vec![shape[axis] / count; count],
        None => return outside("parts of different sizes that are not named"),
    };
    let parts = call.graph().split_sizes(x.node, axis, &dims(&sizes));
    Ok(parts.into_iter().map(|node| Held { node, elem: x.elem }).collect())
}

fn slice(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let starts = call.known(1)?.or_else(|| call.ints("starts")).unwrap_or_default();
    let ends = call.known(2)?.or_else(|| call.ints("ends")).unwrap_or_default();
    let axes = call.axes(3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = call.known(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    let mut result = x.node;
    for (((axis, start), end), step) in axes.iter().zip(&starts).zip(&ends).zip(&steps) {
        result = call.graph().sliced(result, *axis, Some(*start), Some(*end), *step)?;
    }
    same(result, x)
}

fn pad(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let rank = call.sizes(x).len();
    let pads = call.known(1)?.or_else(|| call.ints("pads")).unwrap_or_default();
    let value = call.known_floats(2)?.map_or_else(|| call.float("value", 0.0), |value| value[0]);
    let mode = call.string("mode", "constant");
    let mut result = x.node;
    for axis in 0..rank {
        let (before, after) = (pads[axis], pads[axis + rank]);
        if mode == "constant" {
            result = call.graph().pad_constant(result, axis, before, after, value);
            continue;
        }
        let mode = if mode == "edge" { Padding::Edge } else { Padding::Reflect };
        if before < 0 || after < 0 {
            return outside("negative padding that is not constant");
        }
        result = call.graph().pad_with(result, axis, before as usize, after as usize, mode);
    }
    same(result, x)
}

fn trilu(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let diagonal = call.known(1)?.map_or(0, |k| k[0]) as i32;
    let result = match call.int("upper", 1) {
        0 => call.graph().tril(x.node, diagonal),
        _ => call.graph().triu(x.node, diagonal),
    };
    same(result, x)
}

/// Blocks of channels become pixels.
fn depth_to_space(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let block = call.int("blocksize", 1);
    let [n, c, h, w] = call.sizes(x)[..] else { return outside("other than images") };
    let [n, c, h, w] = [n, c, h, w].map(|size| size as i64);
    let out = c / (block * block);
    // In mode DCR the position in the block is the slower part of a channel, in CRD the faster one.
    let (split, order) = match &call.string("mode", "DCR")[..] {
        "DCR" => ([n, block, block, out, h, w], [0, 3, 4, 1, 5, 2]),
        _ => ([n, out, block, block, h, w], [0, 1, 4, 2, 5, 3]),
    };
    let graph = call.graph();
    let split = graph.shaped(x.node, &split)?;
    let ordered = graph.permute(split, &order);
    let result = graph.shaped(ordered, &[n, out, h * block, w * block])?;
    same(result, x)
}

fn space_to_depth(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let block = call.int("blocksize", 1);
    let [n, c, h, w] = call.sizes(x)[..] else { return outside("other than images") };
    let [n, c, h, w] = [n, c, h, w].map(|size| size as i64);
    let graph = call.graph();
    let split = graph.shaped(x.node, &[n, c, h / block, block, w / block, block])?;
    let ordered = graph.permute(split, &[0, 3, 5, 1, 2, 4]);
    let result = graph.shaped(ordered, &[n, c * block * block, h / block, w / block])?;
    same(result, x)
}

/// The first `lengths[b]` steps of each sequence in reverse, the rest as they are.
fn reverse_sequence(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, lengths) = (call.input(0)?, call.input(1)?);
    if call.sizes(x).len() < 2 {
        return outside("other than batches of sequences");
    }
    let batch_first = call.int("batch_axis", 1) == 0;
    let graph = call.graph();
    let length = graph.cast(lengths.node, Dtype::I32);
    // [time, batch, ..]
    let x_time_first = if batch_first { graph.transpose(x.node, 0, 1) } else { x.node };
    let shape = graph.sizes_of(x_time_first);
    let (time, batch) = (Dim::Fixed(shape[0]), Dim::Fixed(shape[1]));
    let step = graph.iota(time);
    let step = graph.expand(step, 1, batch);
    let length = graph.expand(length, 0, time);
    let inside = graph.less(step, length);
    let mirrored = graph.sub(length, step);
    let mirrored = graph.add_number(mirrored, -1.0);
    let position = graph.select(inside, mirrored, step);
    // Rows of the flat table [time * batch, ..].
    let sequence = graph.iota(batch);
    let sequence = graph.expand(sequence, 0, time);
    let row = graph.mul_number(position, shape[1] as f64);
    let row = graph.add(row, sequence);
    let table = graph.merge(x_time_first, 0);
    let result = graph.gather(table, row);
    let result = if batch_first { graph.transpose(result, 0, 1) } else { result };
    same(result, x)
}
