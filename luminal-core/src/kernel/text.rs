//! Kernels and tile programs as text: canonical, diffable, the same on every machine.

use super::expr;
use super::ir::{Affine, Binary, Buffer, Def, Digit, E, Expr, Freedom, Guard, Index, Item, Kernel, Space};
use super::layout::{Layout, LayoutDigit};
use super::tile::{Accumulator, Bound, Level, Program, Stmt, Term, Tile, Var};
use crate::graph::{Reduce, Unary};
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter, Write};

/// A number that equal kernels share, whatever their axes and buffers are called. It is the same in every build and
/// on every machine.
pub fn hash(kernel: &Kernel) -> u64 {
    // FNV-1a: the standard library's hashers promise nothing from one release to the next.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    normalised(kernel).to_string().bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The kernel with axes and buffers named by number: two kernels are equal if their normalised texts are.
pub fn normalised(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    for (i, axis) in kernel.axes.iter_mut().enumerate() {
        axis.name = format!("i{i}");
    }
    for (i, buffer) in kernel.buffers.iter_mut().enumerate() {
        buffer.name = format!("b{i}");
    }
    kernel
}

fn list<T>(items: impl IntoIterator<Item = T>, separator: &str, show: impl Fn(T) -> String) -> String {
    items.into_iter().map(show).collect::<Vec<_>>().join(separator)
}

fn affine(kernel: &Kernel, at: &Affine) -> String {
    let mut terms: Vec<String> = at
        .terms
        .iter()
        .map(|(axis, c)| match c {
            1 => kernel.axes[*axis].name.clone(),
            c => format!("{c} {}", kernel.axes[*axis].name),
        })
        .collect();
    if at.offset != 0 || terms.is_empty() {
        terms.push(at.offset.to_string());
    }
    terms.join(" + ").replace("+ -", "- ")
}

fn buffer(buffer: &Buffer) -> String {
    let digit = |d: &Digit| match d.size {
        Digit::REST => d.stride.to_string(),
        n => format!("{n}:{}", d.stride),
    };
    let space = match (buffer.space, buffer.freedom) {
        (Space::Global, Freedom::Fixed) => "global",
        (Space::Global, Freedom::Pack) => "global pack",
        (Space::Global, Freedom::Choose) => "global choose",
        (Space::Local, _) => "local",
        (Space::Scratch, _) => "scratch",
        (Space::Register, _) => "register",
    };
    let dims = list(&buffer.dims, ", ", usize::to_string);
    let storage = list(&buffer.storage, ", ", |digits| list(digits, "|", digit));
    format!("{} {} [{dims}] strides [{storage}] {space}", buffer.name, buffer.dtype)
}

/// Expressions of one definition. A node that is used twice is printed once, on a line before, as `%n`.
struct Sharing<'a> {
    kernel: &'a Kernel,
    uses: HashMap<*const Expr, usize>,
    names: HashMap<*const Expr, String>,
    lines: Vec<String>,
    /// What `Expr::Acc` is called.
    acc: String,
}

impl<'a> Sharing<'a> {
    fn new(kernel: &'a Kernel, acc: String) -> Self {
        Sharing { kernel, uses: HashMap::new(), names: HashMap::new(), lines: vec![], acc }
    }

    fn show(&mut self, value: &E) -> String {
        self.uses.clear();
        expr::for_each(value, &mut |node| {
            for operand in expr::operands(node) {
                *self.uses.entry(std::rc::Rc::as_ptr(operand)).or_insert(0) += 1;
            }
        });
        self.node(value)
    }

    fn node(&mut self, value: &E) -> String {
        let key = std::rc::Rc::as_ptr(value);
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let text = self.text(value);
        let leaf = expr::operands(value).is_empty() && !matches!(&**value, Expr::Load { .. });
        if leaf || self.uses.get(&key).is_none_or(|n| *n < 2) {
            return text;
        }
        let name = format!("%{}", self.names.len());
        self.lines.push(format!("{name} = {text}"));
        self.names.insert(key, name.clone());
        name
    }

    fn text(&mut self, value: &E) -> String {
        let kernel = self.kernel;
        match &**value {
            Expr::Float(x) => format!("{x:?}"),
            Expr::Int(x) => format!("{x}i"),
            Expr::Long(x) => format!("{x}l"),
            Expr::Bool(x) => x.to_string(),
            Expr::Position(at) => format!("#({})", affine(kernel, at)),
            Expr::Size(free) => format!("size{free}"),
            Expr::NotNegative(at) => format!("({} >= 0)", affine(kernel, at)),
            Expr::Load { buffer, index, guards } => {
                let mut places = vec![];
                for i in index {
                    places.push(match i {
                        Index::Affine(at) => affine(kernel, at),
                        Index::Value(e) => format!("({})", self.node(e)),
                    });
                }
                let guard = |g: &Guard| {
                    let extent = g.free.map_or_else(|| g.extent.to_string(), |free| format!("size{free}"));
                    format!("0 <= {} < {extent}", affine(kernel, &g.at))
                };
                let when = if guards.is_empty() {
                    String::new()
                } else {
                    format!(" if {}", list(guards, ", ", guard))
                };
                format!("{}[{}{when}]", kernel.buffers[*buffer].name, places.join(", "))
            }
            Expr::Acc => self.acc.clone(),
            Expr::Unary(op, x) => {
                let name = match op {
                    Unary::Exp2 => "exp2",
                    Unary::Log2 => "log2",
                    Unary::Sin => "sin",
                    Unary::Sqrt => "sqrt",
                    Unary::Recip => "recip",
                };
                format!("{name}({})", self.node(x))
            }
            Expr::Binary(op, x, y) => {
                let (x, y) = (self.node(x), self.node(y));
                match op {
                    Binary::Add => format!("({x} + {y})"),
                    Binary::Sub => format!("({x} - {y})"),
                    Binary::Mul => format!("({x} * {y})"),
                    Binary::Max => format!("max({x}, {y})"),
                    Binary::Mod => format!("({x} mod {y})"),
                    Binary::FloorDiv => format!("({x} div {y})"),
                    Binary::LessThan => format!("({x} < {y})"),
                    Binary::And => format!("({x} and {y})"),
                    Binary::Or => format!("({x} or {y})"),
                }
            }
            Expr::Select(c, x, y) => format!("select({}, {}, {})", self.node(c), self.node(x), self.node(y)),
            Expr::Cast(to, x) => format!("{to}({})", self.node(x)),
        }
    }
}

fn reduce_name(op: Reduce) -> &'static str {
    match op {
        Reduce::Sum => "sum",
        Reduce::Max => "max",
    }
}

fn definition(kernel: &Kernel, def: &Def, indent: usize, out: &mut String) {
    let pad = "  ".repeat(indent);
    let mut sharing = Sharing::new(kernel, "acc".into());
    let place =
        |d: &Def| format!("{}[{}]", kernel.buffers[d.dst].name, list(&d.at, ", ", |at| affine(kernel, at)));
    let names = |axes: &[usize]| list(axes, ", ", |axis| kernel.axes[*axis].name.clone());
    let mut lines = vec![];
    for pre in &def.pre {
        let value = sharing.show(&pre.expr);
        lines.append(&mut sharing.lines);
        lines.push(format!("with {} = {value}", place(pre)));
    }
    let value = sharing.show(&def.expr);
    lines.append(&mut sharing.lines);
    let mut text = match &def.reduce {
        None => value,
        Some(reduce) => format!("{} over {} of {value}", reduce_name(reduce.op), names(&reduce.axes)),
    };
    if let Some(init) = &def.init {
        let init = sharing.show(init);
        lines.append(&mut sharing.lines);
        text += &format!(" from {init}");
    }
    if let Some(epilogue) = &def.epilogue {
        let epilogue = sharing.show(epilogue);
        lines.append(&mut sharing.lines);
        text += &format!(" then {epilogue}");
    }
    lines.push(format!("{} = {text} for {}", place(def), names(&def.axes)));
    for line in lines {
        let _ = writeln!(out, "{pad}{line}");
    }
}

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let axis = |axis: &super::ir::Axis| match axis.free {
            Some(d) => format!("{} size{d} <= {}", axis.name, axis.max),
            None => format!("{} {}", axis.name, axis.max),
        };
        writeln!(f, "axes {}", list(&self.axes, ", ", axis))?;
        for (i, b) in self.buffers.iter().enumerate() {
            writeln!(f, "{} {}", if i < self.args { "arg" } else { "own" }, buffer(b))?;
        }
        let mut out = String::new();
        for item in &self.items {
            match item {
                Item::Def(def) => definition(self, def, 0, &mut out),
                Item::Fold { axis, until, defs } => {
                    let until = until.map_or(String::new(), |a| format!(" until {}", self.axes[a].name));
                    let _ = writeln!(out, "fold {}{until}", self.axes[*axis].name);
                    defs.iter().for_each(|def| definition(self, def, 1, &mut out));
                }
            }
        }
        f.write_str(&out)
    }
}

/// The name of a loop variable.
pub fn variable(kernel: &Kernel, var: Var) -> String {
    let name = &kernel.axes[var.axis].name;
    match var.level {
        Level::Block => format!("{name}_block"),
        Level::Nest => name.clone(),
    }
}

fn bound(kernel: &Kernel, bound: &Bound) -> String {
    let term = |t: &Term| {
        let mut parts = list(&t.vars, " + ", |(v, c)| match c {
            1 => variable(kernel, *v),
            c => format!("{c} {}", variable(kernel, *v)),
        });
        let mut push = |text: String| {
            let separator = if parts.is_empty() { "" } else { " + " };
            parts += &format!("{separator}{text}");
        };
        if let Some(d) = t.size {
            push(format!("size{d}"));
        }
        if t.offset != 0 || (t.vars.is_empty() && t.size.is_none()) {
            push(t.offset.to_string());
        }
        parts
    };
    match &bound.0[..] {
        [only] => term(only),
        terms => format!("min({})", list(terms, ", ", term)),
    }
}

fn layout(kernel: &Kernel, layout: &Layout) -> String {
    let digit = |d: &LayoutDigit| match d {
        LayoutDigit::Registers(n) => format!("R{n}"),
        LayoutDigit::Lanes { shift: 0, size } => format!("L{size}"),
        LayoutDigit::Lanes { shift, size } => format!("L{size}@{shift}"),
    };
    list(&layout.0, ", ", |(axis, digits)| {
        format!("{}: {}", kernel.axes[*axis].name, list(digits, " ", digit))
    })
}

fn statement(program: &Program, stmt: &Stmt, indent: usize, out: &mut String) {
    let kernel = &program.kernel;
    let pad = "  ".repeat(indent);
    let name = |acc: &Accumulator| format!("a{}", acc.id);
    let tile = |tile: &Tile| {
        let mask =
            |m: &super::tile::Mask| format!(", {} < {}", kernel.axes[m.axis].name, bound(kernel, &m.end));
        format!("{{{}{}}}", layout(kernel, &tile.layout), list(&tile.masks, "", mask))
    };
    let value = |value: &E, acc: Option<&Accumulator>, out: &mut String| {
        let mut sharing = Sharing::new(kernel, acc.map_or("acc".into(), name));
        let text = sharing.show(value);
        sharing.lines.iter().for_each(|line| {
            let _ = writeln!(out, "{pad}{line}");
        });
        text
    };
    match stmt {
        Stmt::For(l) => {
            for (i, part) in l.parts.iter().enumerate() {
                let from = if i == 0 { format!(" from {}", bound(kernel, &l.from)) } else { String::new() };
                let kind = if part.whole { "step" } else { "masked step" };
                let var = variable(kernel, l.var);
                let _ =
                    writeln!(out, "{pad}for {var}{from} to {} {kind} {}", bound(kernel, &l.to), part.step);
                part.body.iter().for_each(|stmt| statement(program, stmt, indent + 1, out));
            }
        }
        Stmt::Init { tile: t, acc, value: v } => {
            let v = value(v, None, out);
            let _ = writeln!(out, "{pad}{} := {v} in {}", name(acc), tile(t));
        }
        Stmt::Accumulate { tile: t, acc, op, over, value: v } => {
            let v = value(v, None, out);
            let over = list(over, ", ", |axis| kernel.axes[*axis].name.clone());
            let _ = writeln!(out, "{pad}{} {}= {v} over {over} in {}", name(acc), reduce_name(*op), tile(t));
        }
        Stmt::Reduce { acc, to, op, over, .. } => {
            let over = list(over, ", ", |axis| kernel.axes[*axis].name.clone());
            let _ = writeln!(
                out,
                "{pad}{} := {} of {} over lanes of {over}",
                name(to),
                reduce_name(*op),
                name(acc)
            );
        }
        Stmt::Store { tile: t, buffer, at, value: v, acc, .. } => {
            let v = value(v, acc.as_ref(), out);
            let at = list(at, ", ", |at| affine(kernel, at));
            let _ = writeln!(out, "{pad}{}[{at}] := {v} in {}", kernel.buffers[*buffer].name, tile(t));
        }
        Stmt::Barrier => {
            let _ = writeln!(out, "{pad}barrier");
        }
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kernel = &self.kernel;
        writeln!(f, "program {}, {} lanes", self.name, self.lanes)?;
        for b in &kernel.buffers {
            writeln!(f, "  {}", buffer(b))?;
        }
        let mut out = String::new();
        for block in &self.grid {
            let axis = &kernel.axes[block.axis];
            let size = axis.free.map_or(axis.max.to_string(), |d| format!("size{d}"));
            let _ = writeln!(out, "  grid {} of {size} by {}", axis.name, block.size);
        }
        self.body.iter().for_each(|stmt| statement(self, stmt, 1, &mut out));
        f.write_str(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::testing;

    #[test]
    fn names_do_not_matter_for_the_hash() {
        let kernel = testing::matmul(5, 6, 7);
        let mut renamed = kernel.clone();
        renamed.axes[0].name = "row".into();
        renamed.buffers[1].name = "weight".into();
        assert_eq!(hash(&kernel), hash(&renamed));
        assert_ne!(hash(&kernel), hash(&testing::matmul(5, 6, 8)));
    }

    #[test]
    fn text_of_a_kernel() {
        let text = testing::matmul(5, 6, 7).to_string();
        let expected = "\
axes i 5, j 6, k 7
arg A f32 [5, 7] strides [7, 1] global
arg B f32 [7, 6] strides [6, 1] global pack
arg bias f32 [6] strides [1] global pack
arg C f32 [5, 6] strides [6, 1] global choose
C[i, j] = sum over k of (A[i, k] * B[k, j]) then max((acc + bias[j]), 0.0) for i, j
";
        assert_eq!(text, expected);
    }
}
