//! Operators that work element by element, and conversions.

use super::import::{Call, Held, Operator, Outcome, outside};
use super::numpy::Numpy;
use super::value::Elem;
use luminal::graph::{Graph, NodeId, Unary};
use luminal::rt::Dtype;

pub fn operator(name: &str) -> Option<Operator> {
    if UNARY.iter().any(|(known, _)| *known == name) {
        return Some(unary);
    }
    if BINARY.iter().any(|(known, _)| *known == name) {
        return Some(binary);
    }
    if COMPARISONS.iter().any(|(known, _)| *known == name) {
        return Some(comparison);
    }
    Some(match name {
        "Identity" => identity,
        "Dropout" => dropout,
        "Max" | "Min" | "Sum" | "Mean" => variadic,
        "And" | "Or" | "Xor" => logic,
        "Not" => not,
        "IsNaN" => is_nan,
        "IsInf" => is_inf,
        "Clip" => clip,
        "Where" => choose,
        "Cast" | "CastLike" => cast,
        "Pow" => pow,
        "Mod" => modulo,
        "BitShift" => bit_shift,
        "LeakyRelu" | "PRelu" | "Elu" | "Celu" | "Selu" | "ThresholdedRelu" | "HardSigmoid" | "Shrink" => {
            activation
        }
        _ => return None,
    })
}

type Function1 = fn(&mut Graph, NodeId) -> NodeId;

/// Functions of one operand.
const UNARY: &[(&str, Function1)] = &[
    ("Abs", Graph::abs),
    ("Acos", Graph::acos),
    ("Acosh", Graph::acosh),
    ("Asin", Graph::asin),
    ("Asinh", Graph::asinh),
    ("Atan", Graph::atan),
    ("Atanh", Graph::atanh),
    ("Ceil", Graph::ceil),
    ("Cos", Graph::cos),
    ("Cosh", Graph::cosh),
    ("Erf", Graph::erf),
    ("Exp", Graph::exp),
    ("Floor", Graph::floor),
    ("HardSwish", Graph::hardswish),
    ("Log", Graph::log),
    ("Neg", Graph::neg),
    ("Reciprocal", |graph, x| graph.unary(Unary::Recip, x)),
    ("Relu", Graph::relu),
    ("Round", Graph::round),
    ("Sigmoid", Graph::sigmoid),
    ("Sign", Graph::sign),
    ("Sin", |graph, x| graph.unary(Unary::Sin, x)),
    ("Sinh", Graph::sinh),
    ("Softplus", Graph::softplus),
    ("Softsign", Graph::softsign),
    ("Sqrt", |graph, x| graph.unary(Unary::Sqrt, x)),
    ("Tan", Graph::tan),
    ("Tanh", Graph::tanh),
];

fn unary(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let Some((_, function)) = UNARY.iter().find(|(name, _)| *name == call.node.op_type) else {
        return Ok(vec![]);
    };
    let wide = call.wide(x);
    let result = function(call.graph(), wide);
    Ok(vec![call.give(result, x.elem)?])
}

type Function2 = fn(&mut Graph, NodeId, NodeId) -> NodeId;

const BINARY: &[(&str, Function2)] =
    &[("Add", Graph::add), ("Sub", Graph::sub), ("Mul", Graph::mul), ("Div", divide)];

/// Division of integers truncates.
fn divide(graph: &mut Graph, x: NodeId, y: NodeId) -> NodeId {
    if graph.nodes[x].dtype == Dtype::F32 { graph.div(x, y) } else { graph.quotient(x, y) }
}

fn binary(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let Some((_, function)) = BINARY.iter().find(|(name, _)| *name == call.node.op_type) else {
        return Ok(vec![]);
    };
    let result = combine(call, x, y, *function)?;
    Ok(vec![call.give(result, x.elem)?])
}

/// A function of two operands, broadcast to each other, in the type that they are computed with.
pub fn combine(call: &mut Call<'_>, x: Held, y: Held, function: Function2) -> Outcome<NodeId> {
    let (x, y) = (call.wide(x), call.wide(y));
    let (x, y) = call.graph().broadcast(x, y)?;
    Ok(function(call.graph(), x, y))
}

const COMPARISONS: &[(&str, Function2)] = &[
    ("Less", Graph::less),
    ("LessOrEqual", Graph::less_equal),
    ("Greater", Graph::greater),
    ("GreaterOrEqual", Graph::greater_equal),
    ("Equal", Graph::equal),
];

fn comparison(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let Some((_, function)) = COMPARISONS.iter().find(|(name, _)| *name == call.node.op_type) else {
        return Ok(vec![]);
    };
    let result = combine(call, x, y, *function)?;
    Ok(vec![call.truth(result)])
}

fn logic(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let function: Function2 = match &call.node.op_type[..] {
        "And" => Graph::and,
        "Or" => Graph::or,
        _ => Graph::xor,
    };
    let result = combine(call, x, y, function)?;
    Ok(vec![call.truth(result)])
}

fn not(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let result = call.graph().not(x.node);
    Ok(vec![call.truth(result)])
}

fn is_nan(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let x = call.wide(x);
    let result = call.graph().is_nan(x);
    Ok(vec![call.truth(result)])
}

fn is_inf(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let x = call.wide(x);
    let (positive, negative) = (call.int("detect_positive", 1) != 0, call.int("detect_negative", 1) != 0);
    let graph = call.graph();
    let mut found = graph.full(0.0, Dtype::Bool, &graph.nodes[x].shape.clone());
    for (_, infinity) in
        [(positive, f64::INFINITY), (negative, f64::NEG_INFINITY)].iter().filter(|(asked, _)| *asked)
    {
        let infinity = graph.full_like(*infinity, x);
        let equal = graph.equal(x, infinity);
        found = graph.or(found, equal);
    }
    Ok(vec![call.truth(found)])
}

fn identity(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    Ok(vec![call.input(0)?])
}

/// In inference nothing is dropped: the mask is true everywhere.
fn dropout(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let ratio = call.known_floats(1)?.map_or(0.5, |ratio| ratio[0]);
    let training = call.known(2)?.is_some_and(|training| training[0] != 0);
    if training && ratio != 0.0 {
        return outside("random numbers of training");
    }
    let shape = call.graph().nodes[x.node].shape.clone();
    let mask = call.graph().full(1.0, Dtype::Bool, &shape);
    Ok(vec![x, call.truth(mask)])
}

fn variadic(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let inputs = call.inputs()?;
    let function: Function2 = match &call.node.op_type[..] {
        "Max" => Graph::maximum,
        "Min" => Graph::minimum,
        _ => Graph::add,
    };
    let elem = inputs[0].elem;
    let mut result = call.wide(inputs[0]);
    for input in &inputs[1..] {
        let input = call.wide(*input);
        let (x, y) = call.graph().broadcast(result, input)?;
        result = function(call.graph(), x, y);
    }
    if call.node.op_type == "Mean" {
        let count = call.graph().full_like(inputs.len() as f64, result);
        result = call.graph().div(result, count);
    }
    Ok(vec![call.give(result, elem)?])
}

fn clip(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let mut result = call.wide(x);
    // The bounds were attributes before version 11.
    for (position, name, function) in
        [(1, "min", Graph::maximum as Function2), (2, "max", Graph::minimum as Function2)]
    {
        let bound = match call.optional(position) {
            Some(bound) => call.wide(bound),
            None if call.has(name) => {
                let bound = call.float(name, 0.0);
                call.graph().full_like(bound, result)
            }
            None => continue,
        };
        let (value, bound) = call.graph().broadcast(result, bound)?;
        result = function(call.graph(), value, bound);
    }
    Ok(vec![call.give(result, x.elem)?])
}

fn choose(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (condition, x, y) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let [condition, then, otherwise] = call.graph().broadcast_all([condition.node, x.node, y.node])?;
    let result = call.graph().select(condition, then, otherwise);
    Ok(vec![Held { node: result, elem: x.elem }])
}

fn cast(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let elem = match call.node.op_type == "CastLike" {
        true => call.input(1)?.elem,
        false => Elem::new(call.int("to", 1))?,
    };
    if elem == Elem::String {
        return outside("strings");
    }
    if elem == Elem::Bfloat16 && x.elem != Elem::Bfloat16 {
        return outside("to bfloat16: there it truncates, here it rounds to the nearest");
    }
    let target = elem.dtype()?;
    let result = call.graph().cast(x.node, target);
    Ok(vec![call.give(result, elem)?])
}

/// The result has the type of the base.
fn pow(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let (base, exponent) = (call.wide(x), call.wide(y));
    let (mine, theirs) = (call.graph().dtype_of(base), call.graph().dtype_of(exponent));
    // Of different types: as floats, if one is a float.
    let common = match (mine, theirs) {
        (Dtype::F32, _) | (_, Dtype::F32) => Dtype::F32,
        _ => mine,
    };
    let (base, exponent) = (call.graph().cast(base, common), call.graph().cast(exponent, common));
    let (base, exponent) = call.graph().broadcast(base, exponent)?;
    let mut power = call.graph().pow(base, exponent);
    if !x.elem.is_float() {
        // A power of integers is one, but for the rounding of logarithms.
        power = call.graph().round(power);
    }
    Ok(vec![call.give(power, x.elem)?])
}

/// Floor modulo, or, with `fmod`, the remainder of a division that truncates.
fn modulo(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let function: Function2 = match call.int("fmod", 0) {
        0 => Graph::modulo,
        _ => Graph::fmod,
    };
    let result = combine(call, x, y, function)?;
    Ok(vec![call.give(result, x.elem)?])
}

/// `x * 2^y`, or the quotient without remainder.
fn bit_shift(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let exponent = call.graph().cast(y.node, Dtype::F32);
    let power = call.graph().unary(Unary::Exp2, exponent);
    let (power, wide) = (power, call.wide(x));
    let dtype = call.graph().nodes[wide].dtype;
    let power = call.graph().cast(power, dtype);
    let result = match &call.string("direction", "")[..] {
        "LEFT" => call.graph().mul(wide, power),
        _ => call.graph().quotient(wide, power),
    };
    Ok(vec![call.give(result, x.elem)?])
}

fn activation(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let wide = call.wide(x);
    let result = match &call.node.op_type[..] {
        "LeakyRelu" => {
            let slope = call.float("alpha", 0.01);
            call.graph().leaky_relu(wide, slope)
        }
        "PRelu" => {
            let slope = call.input(1)?;
            let slope = call.wide(slope);
            let (x, slope) = call.graph().broadcast(wide, slope)?;
            call.graph().prelu(x, slope)
        }
        "Elu" => {
            let alpha = call.float("alpha", 1.0);
            call.graph().elu(wide, alpha)
        }
        "Celu" => {
            let alpha = call.float("alpha", 1.0);
            call.graph().celu(wide, alpha)
        }
        "Selu" => {
            let alpha = call.float("alpha", f64::from(1.673_263_2_f32));
            let gamma = call.float("gamma", f64::from(1.050_701_f32));
            call.graph().selu(wide, alpha, gamma)
        }
        "ThresholdedRelu" => {
            let alpha = call.float("alpha", 1.0);
            let graph = call.graph();
            let (bound, zero) = (graph.full_like(alpha, wide), graph.full_like(0.0, wide));
            let above = graph.less(bound, wide);
            graph.select(above, wide, zero)
        }
        "HardSigmoid" => {
            let (alpha, beta) = (call.float("alpha", f64::from(0.2f32)), call.float("beta", 0.5));
            call.graph().hardsigmoid(wide, alpha, beta)
        }
        // x < -lambd: x + bias; x > lambd: x - bias; otherwise 0
        _ => {
            let (bias, bound) = (call.float("bias", 0.0), call.float("lambd", 0.5));
            let graph = call.graph();
            let (low, high) = (graph.full_like(-bound, wide), graph.full_like(bound, wide));
            let (below, above) = (graph.less(wide, low), graph.less(high, wide));
            let (up, down) = (graph.add_number(wide, bias), graph.add_number(wide, -bias));
            let zero = graph.full_like(0.0, wide);
            let right = graph.select(above, down, zero);
            graph.select(below, up, right)
        }
    };
    Ok(vec![call.give(result, x.elem)?])
}
