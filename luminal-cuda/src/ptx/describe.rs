//! The comment above an entry: its grid, and its loops.

use luminal_core::kernel::ir::{Affine, Kernel, Space};
use luminal_core::kernel::layout::{Layout, LayoutDigit};
use luminal_core::kernel::tile::{Bound, Level, Program, Stmt, Var};
use std::fmt::Write;

/// Comment lines.
pub(super) fn describe(program: &Program) -> String {
    let kernel = &program.kernel;
    let grid: Vec<String> = program
        .grid
        .iter()
        .map(|block| format!("{} by {}", kernel.axes[block.axis].name, block.size))
        .collect();
    let grid = if grid.is_empty() { "one block".into() } else { format!("blocks {}", grid.join(", ")) };
    let mut text = format!("// {}: {grid}; {} threads\n", program.name, program.lanes);
    for (number, buffer) in kernel.buffers.iter().enumerate() {
        let place = match buffer.space {
            _ if number < kernel.args => format!("p{number}"),
            Space::Scratch => "shared".into(),
            _ => continue,
        };
        let _ = writeln!(text, "//   {place}: {} {:?} {}", buffer.name, buffer.dims, buffer.dtype);
    }
    statements(kernel, &program.body, 1, &mut text);
    text
}

fn statements(kernel: &Kernel, body: &[Stmt], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for stmt in body {
        match stmt {
            Stmt::For(l) => {
                let (from, to) = (bound(kernel, &l.from), bound(kernel, &l.to));
                for part in &l.parts {
                    let kind = if part.whole { "" } else { ", masked" };
                    let name = var(kernel, l.var);
                    let _ = writeln!(text, "//{indent}for {name} in {from} .. {to} step {}{kind}", part.step);
                    statements(kernel, &part.body, depth + 1, text);
                }
            }
            Stmt::Init { tile, acc, .. } => {
                let _ = writeln!(text, "//{indent}a{} := start, {}", acc.id, layout(kernel, &tile.layout));
            }
            Stmt::Accumulate { tile, acc, op, .. } => {
                let _ = writeln!(text, "//{indent}a{} {op:?}= ..., {}", acc.id, layout(kernel, &tile.layout));
            }
            Stmt::Reduce { acc, to, op, .. } => {
                let _ = writeln!(text, "//{indent}a{} := {op:?} of a{} over threads", to.id, acc.id);
            }
            Stmt::Store { tile, buffer, at, .. } => {
                let index: Vec<String> = at.iter().map(|at| affine(kernel, at)).collect();
                let name = &kernel.buffers[*buffer].name;
                let _ = writeln!(
                    text,
                    "//{indent}{name}[{}] := ..., {}",
                    index.join(", "),
                    layout(kernel, &tile.layout)
                );
            }
            Stmt::Barrier => {
                let _ = writeln!(text, "//{indent}barrier");
            }
        }
    }
}

fn var(kernel: &Kernel, var: Var) -> String {
    let name = &kernel.axes[var.axis].name;
    match var.level {
        Level::Block => format!("{name}_block"),
        Level::Nest => name.clone(),
    }
}

fn sum(terms: Vec<(String, i64)>, constant: i64) -> String {
    let mut parts: Vec<String> =
        terms.into_iter().map(|(name, c)| if c == 1 { name } else { format!("{c} {name}") }).collect();
    if constant != 0 || parts.is_empty() {
        parts.push(constant.to_string());
    }
    parts.join(" + ")
}

fn affine(kernel: &Kernel, at: &Affine) -> String {
    sum(at.terms.iter().map(|(axis, c)| (kernel.axes[*axis].name.clone(), *c)).collect(), at.offset)
}

fn bound(kernel: &Kernel, bound: &Bound) -> String {
    let terms: Vec<String> = bound
        .0
        .iter()
        .map(|term| {
            let mut parts: Vec<(String, i64)> =
                term.vars.iter().map(|(v, c)| (var(kernel, *v), *c)).collect();
            parts.extend(term.size.map(|number| (format!("dim{number}"), 1)));
            sum(parts, term.offset)
        })
        .collect();
    if terms.len() == 1 { terms[0].clone() } else { format!("min({})", terms.join(", ")) }
}

fn layout(kernel: &Kernel, layout: &Layout) -> String {
    let digit = |digit: &LayoutDigit| match digit {
        LayoutDigit::Registers(count) => format!("R{count}"),
        LayoutDigit::Lanes { size, .. } => format!("L{size}"),
    };
    let axes: Vec<String> = layout
        .0
        .iter()
        .map(|(axis, digits)| {
            let digits: Vec<String> = digits.iter().map(digit).collect();
            format!("{} {}", kernel.axes[*axis].name, digits.join(" "))
        })
        .collect();
    if axes.is_empty() { "one value".into() } else { axes.join(", ") }
}
