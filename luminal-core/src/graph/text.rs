//! The text form of a graph: canonical, one line for each fact, so that two graphs can be compared with `diff`.
//!
//! ```text
//! luminal graph 1
//! free d0 "Batch" max 64
//! %0 = input "x" : f32[d0, 784]
//! %1 = const 0 : f32[]
//! %2 = expand %1 axis 0 : f32[784]
//! %3 = expand %2 axis 0 : f32[d0, 784]
//! %4 = max %0 %3 : f32[d0, 784]
//! output "y" %4
//! ```
//!
//! Every line ends with the type of the result. Names are quoted, with the escapes of Rust, and plain ASCII.
//! Origins are left out: they say where a graph came from, not what it means. [`Graph::parse`] is the inverse.

use super::{Binary, Dim, Graph, Node, Op, Reduce, Unary};
use std::fmt::{self, Display, Formatter};

/// The first line. The number changes when the form does, and with it every stored hash.
pub(super) const HEADER: &str = "luminal graph 1";

impl Unary {
    /// All, in order.
    pub const ALL: [Unary; 5] = [Unary::Exp2, Unary::Log2, Unary::Sin, Unary::Sqrt, Unary::Recip];

    /// The name used in the text form and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Unary::Exp2 => "exp2",
            Unary::Log2 => "log2",
            Unary::Sin => "sin",
            Unary::Sqrt => "sqrt",
            Unary::Recip => "recip",
        }
    }
}

impl Binary {
    /// All, in order.
    pub const ALL: [Binary; 5] = [Binary::Add, Binary::Mul, Binary::Mod, Binary::LessThan, Binary::Max];

    /// The name used in the text form and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Mul => "mul",
            Binary::Mod => "mod",
            Binary::LessThan => "less_than",
            Binary::Max => "max",
        }
    }
}

impl Reduce {
    /// All, in order.
    pub const ALL: [Reduce; 2] = [Reduce::Sum, Reduce::Max];

    /// The name used in the text form and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Reduce::Sum => "reduce_sum",
            Reduce::Max => "reduce_max",
        }
    }
}

impl Op {
    /// The name used in the text form and in messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Op::Input(_) => "input",
            Op::Param(_) => "param",
            Op::State(_) => "state",
            Op::Const(_) => "const",
            Op::Iota => "iota",
            Op::Unary(op, _) => op.name(),
            Op::Binary(op, ..) => op.name(),
            Op::Select(..) => "select",
            Op::Reduce(op, ..) => op.name(),
            Op::Gather(..) => "gather",
            Op::Cast(_) => "cast",
            Op::Permute(..) => "permute",
            Op::Expand(..) => "expand",
            Op::Slice { .. } => "slice",
            Op::Pad { .. } => "pad",
            Op::Split(..) => "split",
            Op::Merge(..) => "merge",
            Op::Window { .. } => "window",
        }
    }
}

impl Display for Graph {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        for (index, free) in self.free.iter().enumerate() {
            writeln!(f, "free d{index} {} max {}", Quoted(&free.name), free.max)?;
        }
        for relation in &self.relations {
            writeln!(f, "relation {relation}")?;
        }
        for (id, node) in self.nodes.iter().enumerate() {
            writeln!(f, "%{id} = {node}")?;
        }
        for (name, node) in &self.outputs {
            writeln!(f, "output {} %{node}", Quoted(name))?;
        }
        for (state, value) in &self.writes {
            writeln!(f, "write %{state} %{value}")?;
        }
        for (field, param) in &self.ties {
            writeln!(f, "tied {} {}", Quoted(field), Quoted(param))?;
        }
        Ok(())
    }
}

/// Operation and type, without the node's number.
impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.op.name())?;
        for operand in self.op.operands() {
            write!(f, " %{operand}")?;
        }
        match &self.op {
            Op::Input(name) | Op::Param(name) | Op::State(name) => write!(f, " {}", Quoted(name))?,
            Op::Const(value) => write!(f, " {}", Number(*value))?,
            Op::Reduce(_, _, axis) | Op::Expand(_, axis) | Op::Split(_, axis) | Op::Merge(_, axis) => {
                write!(f, " axis {axis}")?;
            }
            Op::Permute(_, order) => write!(f, " order {order:?}")?,
            Op::Slice { axis, start, step, .. } => write!(f, " axis {axis} start {start} step {step}")?,
            Op::Pad { axis, before, fill, .. } => {
                write!(f, " axis {axis} before {before} fill {}", Number(*fill))?;
            }
            Op::Window { axis, stride, dilation, .. } => {
                write!(f, " axis {axis} stride {stride} dilation {dilation}")?;
            }
            Op::Iota | Op::Unary(..) | Op::Binary(..) | Op::Select(..) | Op::Gather(..) | Op::Cast(_) => {}
        }
        write!(f, " : {}{}", self.dtype, Shape(&self.shape))
    }
}

/// A dimension as in the text form: a number, or `d` and the number of the free dimension.
impl Display for Dim {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Fixed(n) => write!(f, "{n}"),
            Dim::Free { index, .. } => write!(f, "d{index}"),
        }
    }
}

/// A shape as in the text form.
pub(super) struct Shape<'a>(pub &'a [Dim]);

impl Display for Shape<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (axis, dim) in self.0.iter().enumerate() {
            let separator = if axis == 0 { "" } else { ", " };
            write!(f, "{separator}{dim}")?;
        }
        f.write_str("]")
    }
}

/// A name in quotes.
pub(super) struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_default())
    }
}

/// A number with the fewest digits that give it back.
pub(super) struct Number(pub f64);

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Own limits for the two notations: those of the standard library's `{:?}` have changed before, and a hash
        // depends on this text. NaN has no sign and no payload here; numerics knows one NaN only.
        let value = self.0;
        let plain = value == 0.0 || (1e-5..1e16).contains(&value.abs());
        if value.is_nan() {
            f.write_str("nan")
        } else if plain || value.is_infinite() {
            write!(f, "{value}")
        } else {
            write!(f, "{value:e}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;

    #[test]
    fn is_readable() {
        let mut graph = Graph::default();
        let batch = graph.free_dim("Batch", 64);
        let x = graph.input("x", &[batch, Dim::Fixed(784)], Dtype::F32);
        let zero = graph.constant(0.0, Dtype::F32);
        let row = graph.expand(zero, 0, Dim::Fixed(784));
        let rows = graph.expand(row, 0, batch);
        let y = graph.binary(Binary::Max, x, rows);
        let padded = graph.pad(y, 1, 1, Dim::Fixed(786), f64::NEG_INFINITY);
        let windows = graph.window(padded, 1, 3, 2, 1);
        let highest = graph.reduce(Reduce::Max, windows, 2);
        graph.permute(highest, &[1, 0]);
        graph.outputs.push(("y".into(), y));
        let expected = r#"luminal graph 1
free d0 "Batch" max 64
%0 = input "x" : f32[d0, 784]
%1 = const 0 : f32[]
%2 = expand %1 axis 0 : f32[784]
%3 = expand %2 axis 0 : f32[d0, 784]
%4 = max %0 %3 : f32[d0, 784]
%5 = pad %4 axis 1 before 1 fill -inf : f32[d0, 786]
%6 = window %5 axis 1 stride 2 dilation 1 : f32[d0, 392, 3]
%7 = reduce_max %6 axis 2 : f32[d0, 392]
%8 = permute %7 order [1, 0] : f32[392, d0]
output "y" %4
"#;
        assert_eq!(graph.to_string(), expected);
    }

    #[test]
    fn numbers_are_short_and_exact() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (-0.5, "-0.5"),
            (0.1, "0.1"),
            (0.1f32 as f64, "0.10000000149011612"),
            (1e15, "1000000000000000"),
            (1e16, "1e16"),
            (1e-5, "0.00001"),
            (1.5e-6, "1.5e-6"),
            (f64::MAX, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (-f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(Number(value).to_string(), text);
        }
    }
}
