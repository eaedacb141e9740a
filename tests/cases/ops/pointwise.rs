//! Element by element.

use crate::numpy::{Numpy, error};
use crate::step::{Step, exact};
use luminal::Result;
use luminal::graph::{Graph, NodeId, Unary};
use luminal::rt::Dtype;

/// Functions of one operand: of floats, or of all numbers.
macro_rules! unary {
    ($($name:ident: $operand:ident, $function:expr;)*) => {$(
        pub fn $name(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
            let x = step.$operand(0)?;
            let function: fn(&mut Graph, NodeId) -> NodeId = $function;
            let result = function(step.graph, x);
            Ok(vec![step.rounded(result)?])
        }
    )*};
}

unary! {
    neg: wide, Graph::neg;
    abs: wide, Graph::abs;
    relu: wide, Graph::relu;
    exp: float, Graph::exp;
    log: float, Graph::log;
    sqrt: float, |graph, x| graph.unary(Unary::Sqrt, x);
    tanh: float, Graph::tanh;
    sigmoid: float, Graph::sigmoid;
    silu: float, Graph::silu;
    softplus: float, Graph::softplus;
    gelu_erf: float, Graph::gelu;
    gelu_tanh: float, Graph::gelu_tanh;
    less_than_zero: wide, |graph, x| {
        let zero = graph.full_like(0.0, x);
        graph.less(x, zero)
    };
}

pub fn gelu(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    match step.text(&["approximate", "form", "mode"]) {
        None if step.flag(&["approximate"]) => gelu_tanh(step),
        None | Some("none" | "erf" | "exact") => gelu_erf(step),
        Some("tanh") => gelu_tanh(step),
        Some(other) => error(format!("there is no form {other:?}: none or tanh")),
    }
}

pub fn clamp(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let mut x = step.wide(0)?;
    if let Some(min) = step.number(&["min", "lo", "low"])? {
        let bound = step.graph.full_like(exact(min, step.graph.dtype_of(x)), x);
        x = step.graph.maximum(x, bound);
    }
    if let Some(max) = step.number(&["max", "hi", "high"])? {
        let bound = step.graph.full_like(exact(max, step.graph.dtype_of(x)), x);
        x = step.graph.minimum(x, bound);
    }
    Ok(vec![step.rounded(x)?])
}

pub fn scale(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.wide(0)?;
    let Some(factor) = step.number(&["by", "factor", "scale"])? else { return error("there is no factor") };
    let result = step.graph.mul_number(x, exact(factor, step.graph.dtype_of(x)));
    Ok(vec![step.rounded(result)?])
}

pub fn cast(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.operand(0)?;
    let Some(dtype) = step.dtype()? else { return error("there is no element type") };
    Ok(vec![step.graph.cast(x, dtype)])
}

/// Functions of two operands.
macro_rules! binary {
    ($($name:ident: $function:expr;)*) => {$(
        pub fn $name(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
            let (x, y) = step.pair()?;
            let function: fn(&mut Graph, NodeId, NodeId) -> NodeId = $function;
            let result = function(step.graph, x, y);
            Ok(vec![step.rounded(result)?])
        }
    )*};
}

binary! {
    add: Graph::add;
    sub: Graph::sub;
    mul: Graph::mul;
    floor_divide: Graph::floor_divide;
    floor_modulo: Graph::modulo;
    // Of floats, the quotient without its fraction.
    truncating_divide: |graph, x, y| match graph.dtype_of(x) {
        Dtype::F32 => {
            let remainder = graph.fmod(x, y);
            let multiple = graph.sub(x, remainder);
            let quotient = graph.div(multiple, y);
            graph.round(quotient)
        }
        _ => graph.quotient(x, y),
    };
    div: |graph, x, y| match graph.dtype_of(x) {
        Dtype::F32 => graph.div(x, y),
        _ => graph.quotient(x, y),
    };
}

/// `x + w (y - x)`
pub fn lerp(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, y) = step.pair()?;
    let Some(weight) = step.number(&["w", "weight", "t"])? else { return error("there is no weight") };
    let graph = &mut *step.graph;
    let difference = graph.sub(y, x);
    let part = graph.mul_number(difference, exact(weight, Dtype::F32));
    let result = graph.add(x, part);
    Ok(vec![step.rounded(result)?])
}

pub fn choose(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let operands = [step.operand(0)?, step.operand(1)?, step.operand(2)?];
    let graph = &mut *step.graph;
    let [condition, x, y] = graph.broadcast_all(operands)?;
    match (graph.dtype_of(condition), graph.dtype_of(x), graph.dtype_of(y)) {
        (Dtype::Bool, a, b) if a == b => Ok(vec![graph.select(condition, x, y)]),
        (condition, a, b) => error(format!("a condition of {condition}, values of {a} and {b}")),
    }
}

pub fn offset(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let operands = [step.operand(0)?, step.operand(1)?, step.operand(2)?];
    let graph = &mut *step.graph;
    let operands = graph.broadcast_all(operands)?;
    // An index beyond 2^31 needs 64 bits.
    let [row, stride, column] = operands.map(|x| graph.cast(x, Dtype::I64));
    let start = graph.mul(row, stride);
    Ok(vec![graph.add(start, column)])
}
