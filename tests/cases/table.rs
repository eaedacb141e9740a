//! The one table from names of operations in files of cases to operations of the language, with the parameters that each
//! takes. Where a parameter has several usual spellings all are taken: `axis`, `dim`, `axes` and `dims`; `keepdims` and
//! `keepdim`; `kernel` and `kernel_size`; `pads` (as ONNX: all sides in front, then all behind) and `padding` (one number
//! or one a side). Axes may be negative. A list of one number is a number. A parameter that is missing has PyTorch's
//! default.

use super::ops::{attention, images, index, linear, movement, normalise, pointwise, quantised, reduce};
use super::step::Step;
use luminal::graph::NodeId;
use luminal::{Error, Result};

/// Makes the results of a step; all but `topk` have one.
pub type Operation = fn(&mut Step<'_>) -> Result<Vec<NodeId>>;

/// An operation by its name in the file.
pub fn operation(name: &str) -> Result<Operation> {
    let found = TABLE.iter().find(|(names, _)| names.contains(&name));
    found.map(|(_, operation)| *operation).ok_or_else(|| Error::new(format!("unknown operation {name:?}")))
}

const TABLE: &[(&[&str], Operation)] = &[
    // x
    (&["neg"], pointwise::neg),
    (&["abs"], pointwise::abs),
    (&["exp"], pointwise::exp),
    (&["log"], pointwise::log),
    (&["sqrt"], pointwise::sqrt),
    (&["relu"], pointwise::relu),
    (&["tanh"], pointwise::tanh),
    (&["sigmoid"], pointwise::sigmoid),
    (&["silu", "swish"], pointwise::silu),
    (&["softplus"], pointwise::softplus),
    (&["gelu_erf"], pointwise::gelu_erf),
    (&["gelu_tanh"], pointwise::gelu_tanh),
    // x; approximate or form: "none" or "erf", "tanh"
    (&["gelu"], pointwise::gelu),
    (&["lt0"], pointwise::less_than_zero),
    // x; min, max
    (&["clamp_min", "clamp_max", "clamp", "clip"], pointwise::clamp),
    // x; by or factor
    (&["scale"], pointwise::scale),
    // x; to or dtype
    (&["cast", "cast_saturating"], pointwise::cast),
    // x, y, which broadcast to each other
    (&["add"], pointwise::add),
    (&["sub"], pointwise::sub),
    (&["mul"], pointwise::mul),
    (&["div"], pointwise::div),
    (&["floordiv"], pointwise::floor_divide),
    (&["floormod"], pointwise::floor_modulo),
    (&["truncdiv"], pointwise::truncating_divide),
    // x, y; w or weight: x + w (y - x)
    (&["lerp"], pointwise::lerp),
    // condition, x, y
    (&["where"], pointwise::choose),
    // row, stride, column: row * stride + column, of integers
    (&["offset"], pointwise::offset),
    // x; axis, one or several or none for all; keepdims
    (&["sum"], reduce::sum),
    (&["mean"], reduce::mean),
    (&["max", "amax"], reduce::max),
    (&["min", "amin"], reduce::min),
    (&["logsumexp"], reduce::logsumexp),
    // x; axis, or none for all; keepdims
    (&["argmax"], reduce::argmax),
    // x; axis (-1), exclusive, reverse
    (&["cumsum"], reduce::cumsum),
    // x; axis (-1)
    (&["softmax"], normalise::softmax),
    (&["log_softmax"], normalise::log_softmax),
    // x, weight and bias as further operands; eps, axis or normalized_shape (the last axis)
    (&["layernorm", "layer_norm"], normalise::layer_norm),
    (&["rmsnorm", "rms_norm"], normalise::rms_norm),
    // x [N, C, ..], weight and bias of C as further operands; num_groups or groups, eps
    (&["group_norm", "groupnorm"], normalise::group_norm),
    // x; shape
    (&["broadcast_to", "expand"], movement::broadcast_to),
    (&["reshape"], movement::reshape),
    // x; perm or axes, or two axes dim0 and dim1
    (&["transpose", "permute"], movement::transpose),
    // x; axis, one or several
    (&["flip"], movement::flip),
    // x; starts, ends, steps (1), axes (the first ones); null is an open end
    (&["slice"], movement::slice),
    // x, y, ..; axis (0)
    (&["concat", "cat"], movement::concat),
    // x; pads: as PyTorch from the last axis on (before, after), or pairs [[before, after], ..] of all axes, or as ONNX
    // with axes or with twice the rank; mode: constant, reflect, edge or replicate; value (0)
    (&["pad"], movement::pad),
    // x, index; axis (0)
    (&["index_select", "gather"], index::index_select),
    // x, index, values; axis (0), accumulate or reduce: rows of the axis are set, or added to. Several indices are one for
    // each leading axis. Indices may also be the parameter indices: a list, or a list of lists
    (&["index_put"], index::index_put),
    // x, source; axis (0), start, end, step (1)
    (&["slice_scatter"], index::slice_scatter),
    // index, x; shape: zeros of this shape, to whose row index[n] row n of x is added
    (&["scatter_add0"], index::scatter_add_rows),
    // x; axis (-1), descending
    (&["argsort"], index::argsort),
    // x; k, axis (-1), largest (true); results: values, indices, or only what `output` names
    (&["topk", "top_k"], index::top_k),
    // hq, hkv: the key head of each query head
    (&["gqa_map"], attention::head_map),
    // q, k, v, mask: [.., heads, length, channels]; a mask of bool says what is seen, one of floats is added;
    // causal: "bottom_right" (or true), "top_left"; window, scale, softcap, alibi (a slope a head)
    (&["sdpa", "attention"], attention::attention),
    // x [.., length, channels]; style: interleaved, half_split; positions; theta or base (10000)
    (&["rope"], attention::rope),
    // x, y, with NumPy's rules
    (&["matmul"], linear::matmul),
    // operands; equation
    (&["einsum"], linear::einsum),
    // bytes, signed bytes: the sum of products
    (&["int_dot"], linear::int_dot),
    // x, kernel, bias; stride, pads or padding or auto_pad (SAME_UPPER, SAME_LOWER, VALID), dilation, groups
    (&["conv", "conv1d", "conv2d", "conv3d"], images::conv),
    (&["conv_transpose1d", "conv_transpose2d", "conv_transpose"], images::conv_transpose),
    // x; kernel or kernel_size, stride (the kernel), pads or padding, dilation, ceil_mode; count_include_pad (true)
    (&["max_pool"], images::max_pool),
    (&["avg_pool"], images::avg_pool),
    // x; out or size, coord: align_corners, half_pixel, asymmetric
    (&["resize1d_linear"], images::resize_linear),
    // bytes; kind: the name of the format
    (&["dequant"], quantised::dequantise),
];
