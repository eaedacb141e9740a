//! Products, convolutions, pools, and quantised forms of them.

use super::import::{Call, Held, Operator, Outcome, Stop, outside};
use super::numpy::{Numpy, Reduction};
use super::value::Elem;
use luminal::graph::{Graph, NodeId};
use luminal::rt::Dtype;
use luminal_core::tensor::Window;

pub fn operator(name: &str) -> Option<Operator> {
    Some(match name {
        "MatMul" => matmul,
        "Gemm" => gemm,
        "Einsum" => einsum,
        "Conv" => conv,
        "ConvTranspose" => conv_transpose,
        "MaxPool" => max_pool,
        "AveragePool" => average_pool,
        "GlobalAveragePool" | "GlobalMaxPool" => global_pool,
        "MatMulInteger" => matmul_integer,
        "ConvInteger" => conv_integer,
        "QuantizeLinear" => quantize,
        "DequantizeLinear" => dequantize,
        "QLinearMatMul" => quantized_matmul,
        "QLinearConv" => quantized_conv,
        _ => return None,
    })
}

fn matmul(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let (a, b) = (call.wide(x), call.wide(y));
    let product = call.graph().product(a, b)?;
    Ok(vec![call.give(product, x.elem)?])
}

/// `alpha A B + beta C`, each of A and B transposed if asked for.
fn gemm(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let (mut a, mut b) = (call.wide(x), call.wide(y));
    let [turn_a, turn_b] = ["transA", "transB"].map(|name| call.int(name, 0) != 0);
    let (alpha, beta) = (call.float("alpha", 1.0), call.float("beta", 1.0));
    if turn_a {
        a = call.graph().transpose(a, 0, 1);
    }
    if turn_b {
        b = call.graph().transpose(b, 0, 1);
    }
    let product = call.graph().product(a, b)?;
    let mut result = call.graph().mul_number(product, alpha);
    if let Some(c) = call.optional(2) {
        let c = call.wide(c);
        let c = call.graph().mul_number(c, beta);
        let (scaled, c) = call.graph().broadcast(result, c)?;
        result = call.graph().add(scaled, c);
    }
    Ok(vec![call.give(result, x.elem)?])
}

fn einsum(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let inputs = call.inputs()?;
    let equation = call.string("equation", "");
    let nodes: Vec<NodeId> = inputs.iter().map(|held| call.wide(*held)).collect();
    let result = call.graph().einsum(&equation, &nodes).map_err(Stop::Wrong)?;
    Ok(vec![call.give(result, inputs[0].elem)?])
}

/// The windows that attributes describe, over axes of these sizes.
fn windows(call: &Call<'_>, sizes: &[usize], kernel: &[usize]) -> Vec<Window> {
    let rank = sizes.len();
    let list = |name: &str, default: i64, count: usize| -> Vec<usize> {
        call.ints(name).unwrap_or(vec![default; count]).iter().map(|n| *n as usize).collect()
    };
    let (strides, dilations) = (list("strides", 1, rank), list("dilations", 1, rank));
    let pads = list("pads", 0, 2 * rank);
    let auto = call.string("auto_pad", "NOTSET");
    let ceil = call.int("ceil_mode", 0) != 0;
    let window = |axis: usize| {
        let (stride, dilation) = (strides[axis], dilations[axis]);
        let window = Window { stride, dilation, ceil, ..Window::of(kernel[axis]) };
        match &auto[..] {
            "SAME_UPPER" => window.same(sizes[axis], true),
            "SAME_LOWER" => window.same(sizes[axis], false),
            "VALID" => window,
            _ => Window { before: pads[axis], after: pads[axis + rank], ..window },
        }
    };
    (0..rank).map(window).collect()
}

fn convolved(call: &mut Call<'_>, x: NodeId, kernel: NodeId) -> Outcome<NodeId> {
    let (shape, taps) = (call.graph().sizes_of(x), call.graph().sizes_of(kernel));
    if shape.len() != taps.len() || shape.len() < 3 {
        return Err(Stop::Wrong(format!("convolution of {shape:?} with {taps:?}")));
    }
    let windows = windows(call, &shape[2..], &taps[2..]);
    let groups = call.int("group", 1) as usize;
    Ok(call.graph().conv(x, kernel, &windows, groups))
}

/// Adds one number a channel.
fn biased(call: &mut Call<'_>, x: NodeId, bias: Option<Held>) -> Outcome<NodeId> {
    let Some(bias) = bias else { return Ok(x) };
    let mut shape = vec![1i64; call.graph().sizes_of(x).len() - 1];
    shape[0] = -1;
    let bias = call.wide(bias);
    let bias = call.graph().shaped(bias, &shape)?;
    let (x, bias) = call.graph().broadcast(x, bias)?;
    Ok(call.graph().add(x, bias))
}

fn conv(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, kernel, bias) = (call.input(0)?, call.input(1)?, call.optional(2));
    let (wide, kernel) = (call.wide(x), call.wide(kernel));
    let result = convolved(call, wide, kernel)?;
    let result = biased(call, result, bias)?;
    Ok(vec![call.give(result, x.elem)?])
}

fn conv_transpose(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, kernel, bias) = (call.input(0)?, call.input(1)?, call.optional(2));
    let (shape, taps) = (call.sizes(x), call.sizes(kernel));
    let rank = shape.len() - 2;
    let mut windows = windows(call, &shape[2..], &taps[2..]);
    let added = call.ints("output_padding").unwrap_or(vec![0; rank]);
    let mut added: Vec<usize> = added.iter().map(|n| *n as usize).collect();
    let auto = call.string("auto_pad", "NOTSET");
    let asked: Option<Vec<usize>> = match call.ints("output_shape") {
        Some(sizes) => Some(sizes[sizes.len() - rank..].iter().map(|n| *n as usize).collect()),
        None if auto.starts_with("SAME") => {
            Some((0..rank).map(|i| shape[i + 2] * windows[i].stride).collect())
        }
        None => None,
    };
    // A size that is asked for is reached by padding, or by elements behind.
    for (axis, size) in asked.into_iter().flatten().enumerate() {
        let window = Window { before: 0, after: 0, ..windows[axis] };
        let natural = window.transposed(shape[axis + 2], 0).unwrap_or(0);
        let surplus = natural.saturating_sub(size);
        let (less, more) = (surplus / 2, surplus.div_ceil(2));
        let (before, after) = if auto == "SAME_UPPER" { (less, more) } else { (more, less) };
        windows[axis] = Window { before, after, ..window };
        added[axis] = size.saturating_sub(natural);
    }
    let groups = call.int("group", 1) as usize;
    let (wide, kernel) = (call.wide(x), call.wide(kernel));
    let result = call.graph().conv_transpose(wide, kernel, &windows, &added, groups);
    let result = biased(call, result, bias)?;
    Ok(vec![call.give(result, x.elem)?])
}

fn pooled(call: &mut Call<'_>, x: Held) -> Vec<Window> {
    let shape = call.sizes(x);
    let kernel: Vec<usize> =
        call.ints("kernel_shape").unwrap_or_default().iter().map(|n| *n as usize).collect();
    windows(call, &shape[2..], &kernel)
}

fn max_pool(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    if call.wants(1) {
        return outside("positions of the greatest elements");
    }
    let windows = pooled(call, x);
    let wide = call.wide(x);
    let result = call.graph().max_pool(wide, &windows);
    Ok(vec![call.give(result, x.elem)?])
}

fn average_pool(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let windows = pooled(call, x);
    let count_padding = call.int("count_include_pad", 0) != 0;
    let wide = call.wide(x);
    let result = call.graph().avg_pool(wide, &windows, count_padding);
    Ok(vec![call.give(result, x.elem)?])
}

fn global_pool(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let axes: Vec<i64> = (2..call.sizes(x).len() as i64).collect();
    let function: Reduction = match &call.node.op_type[..] {
        "GlobalMaxPool" => |graph, x, axes| graph.max(x, axes),
        _ => |graph, x, axes| graph.mean(x, axes),
    };
    let wide = call.wide(x);
    let result = call.graph().reduced(wide, Some(&axes), true, function)?;
    Ok(vec![call.give(result, x.elem)?])
}

/// Integers less their zero point, as `i32`. A zero point of one number a channel lies along the given axis.
fn centred(call: &mut Call<'_>, x: Held, zero: Option<Held>, axis: Option<usize>) -> Outcome<NodeId> {
    let wide = call.wide(x);
    let Some(zero) = zero else { return Ok(wide) };
    let zero = along(call, zero, x, axis)?;
    let (wide, zero) = call.graph().broadcast(wide, zero)?;
    Ok(call.graph().sub(wide, zero))
}

/// A scalar, or a vector that lies along an axis of `x`, in a shape that broadcasts to it.
fn along(call: &mut Call<'_>, vector: Held, x: Held, axis: Option<usize>) -> Outcome<NodeId> {
    let rank = call.sizes(x).len();
    let wide = call.wide(vector);
    let count: usize = call.sizes(vector).iter().product();
    match axis {
        Some(axis) if count > 1 => {
            let mut shape = vec![1i64; rank - axis];
            shape[0] = -1;
            Ok(call.graph().shaped(wide, &shape)?)
        }
        _ => Ok(call.graph().shaped(wide, &[])?),
    }
}

fn matmul_integer(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let (zero_x, zero_y) = (call.optional(2), call.optional(3));
    let (a, b) = (centred(call, x, zero_x, Some(0))?, centred(call, y, zero_y, Some(1))?);
    let product = call.graph().product(a, b)?;
    Ok(vec![call.give(product, Elem::Int32)?])
}

fn conv_integer(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, kernel) = (call.input(0)?, call.input(1)?);
    let (zero_x, zero_kernel) = (call.optional(2), call.optional(3));
    let (x, kernel) = (centred(call, x, zero_x, None)?, centred(call, kernel, zero_kernel, Some(0))?);
    let result = convolved(call, x, kernel)?;
    Ok(vec![call.give(result, Elem::Int32)?])
}

/// `round(x / scale)` with a quotient that is rounded once, as ONNX divides: a product with the reciprocal is rounded
/// twice and may lie on the other side of a half. It is the sum of its floor, from the exact remainder, and its fraction.
fn nearest(graph: &mut Graph, x: NodeId, scale: NodeId) -> NodeId {
    let (floor, rest) = (graph.floor_divide(x, scale), graph.modulo(x, scale));
    let fraction = graph.div(rest, scale);
    let quotient = graph.add(floor, fraction);
    graph.round(quotient)
}

/// `round(x / scale) + zero`, saturated.
fn quantized(call: &mut Call<'_>, x: NodeId, scale: NodeId, zero: NodeId, elem: Elem) -> Outcome<Held> {
    let graph = call.graph();
    let (x, scale) = graph.broadcast(x, scale)?;
    let rounded = nearest(graph, x, scale);
    let zero = graph.cast(zero, Dtype::F32);
    let (rounded, zero) = graph.broadcast(rounded, zero)?;
    let shifted = graph.add(rounded, zero);
    let (low, high) = match elem {
        Elem::Uint8 => (0.0, 255.0),
        Elem::Int8 => (-128.0, 127.0),
        other => return outside(format!("quantisation to {other:?}")),
    };
    let inside = graph.clamp_numbers(shifted, low, high);
    let whole = graph.cast(inside, Dtype::I32);
    call.give(whole, elem)
}

fn quantize(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, scale) = (call.input(0)?, call.input(1)?);
    let axis = super::numpy::axis(call.int("axis", 1), call.sizes(x).len()).ok();
    let wide = call.wide(x);
    let scale = along(call, scale, x, axis)?;
    let (zero, elem) = match call.optional(2) {
        Some(zero) => (along(call, zero, x, axis)?, zero.elem),
        None => (call.graph().constant(0.0, Dtype::I32), Elem::Uint8),
    };
    Ok(vec![quantized(call, wide, scale, zero, elem)?])
}

/// `(x - zero) * scale`
fn dequantized(
    call: &mut Call<'_>,
    x: Held,
    scale: Held,
    zero: Option<Held>,
    axis: Option<usize>,
) -> Outcome<NodeId> {
    let centred = centred(call, x, zero, axis)?;
    let number = call.graph().cast(centred, Dtype::F32);
    let scale = along(call, scale, x, axis)?;
    let (number, scale) = call.graph().broadcast(number, scale)?;
    Ok(call.graph().mul(number, scale))
}

fn dequantize(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, scale, zero) = (call.input(0)?, call.input(1)?, call.optional(2));
    let axis = super::numpy::axis(call.int("axis", 1), call.sizes(x).len()).ok();
    let result = dequantized(call, x, scale, zero, axis)?;
    Ok(vec![call.give(result, Elem::Float)?])
}

fn quantized_matmul(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y, zero) = (call.input(0)?, call.input(3)?, call.input(7)?);
    let (scale_x, zero_x) = (call.input(1)?, call.optional(2));
    let (scale_y, zero_y) = (call.input(4)?, call.optional(5));
    let a = dequantized(call, x, scale_x, zero_x, Some(0))?;
    let b = dequantized(call, y, scale_y, zero_y, Some(1))?;
    let product = call.graph().product(a, b)?;
    requantized(call, product, 6, zero)
}

fn quantized_conv(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, kernel, zero) = (call.input(0)?, call.input(3)?, call.input(7)?);
    if call.optional(8).is_some() {
        return outside("a bias");
    }
    let (scale_x, zero_x) = (call.input(1)?, call.optional(2));
    let (scale_kernel, zero_kernel) = (call.input(4)?, call.optional(5));
    let x = dequantized(call, x, scale_x, zero_x, None)?;
    let kernel = dequantized(call, kernel, scale_kernel, zero_kernel, Some(0))?;
    let result = convolved(call, x, kernel)?;
    requantized(call, result, 6, zero)
}

fn requantized(call: &mut Call<'_>, x: NodeId, scale: usize, zero: Held) -> Outcome<Vec<Held>> {
    let scale = call.input(scale)?;
    let scale = call.graph().shaped(scale.node, &[])?;
    let wide = call.wide(zero);
    let zero_point = call.graph().shaped(wide, &[])?;
    Ok(vec![quantized(call, x, scale, zero_point, zero.elem)?])
}
