//! C from tile programs: a register is a vector of 8 lanes or, without lanes, a scalar.
//!
//! A kernel becomes `void NAME(char **buffers, const int64_t *sizes, int64_t begin, int64_t end)`, which runs blocks
//! `begin .. end` of its grid. Compile with optimisation; for AVX2 `-O3 -march=x86-64-v3` reaches what registers allow.

mod target;

use crate::kernel::expand::Expansion;
use crate::kernel::ir::Space;
use crate::kernel::math;

use crate::dtype::Dtype;
use crate::kernel::tile::{Level, Program, Var};
use crate::mutant::planted;
use std::fmt::Write;
use target::{C, variable};

/// Vectors have this many lanes in the generated source.
pub const LANES: usize = 8;

/// Scratch beyond this is memory of the thread, not of its stack.
const STACK_BYTES: usize = 256 << 10;

/// One C file with all these programs. Names of functions are those of the programs with `suffix` appended. Programs
/// have 8 lanes, or 1 where nothing is vectorised.
pub fn render_module(programs: &[&Program], suffix: &str) -> String {
    let mut text = String::from("#include <stdint.h>\n");
    text += &constants();
    text += include_str!("prelude.h");
    for program in programs {
        text.push('\n');
        text += &render(program, suffix);
    }
    text
}

/// The tables of [`math`] as macros.
fn constants() -> String {
    let mut text = String::new();
    // The first term of a series that vanishes at 0 is added last, so that it alone decides the rounding.
    let [log2_rest @ .., log2_first] = &math::LOG2;
    let [sin_rest @ .., _] = &math::SIN;
    let tables = [("EXP2", &math::EXP2[..]), ("LOG2_REST", log2_rest), ("SIN_REST", sin_rest)];
    for (name, table) in tables {
        let horner = table[1..]
            .iter()
            .fold(format!("VF({:?}f)", table[0]), |sum, c| format!("({sum} * (x) + VF({c:?}f))"));
        let _ = writeln!(text, "#define {name}_POLYNOMIAL(x) {horner}");
    }
    for (i, part) in math::PI_PARTS.iter().enumerate() {
        let _ = writeln!(text, "#define PI_PART_{i} {part:?}f");
    }
    let _ = writeln!(text, "#define LOG2_FIRST {log2_first:?}f");
    let _ = writeln!(text, "#define SIN_LIMIT {:?}f", math::SIN_LIMIT);
    text
}

/// One function.
fn render(program: &Program, suffix: &str) -> String {
    assert!(program.lanes == 1 || program.lanes == LANES, "the C renderer has vectors of {LANES} lanes");
    let mut text = String::new();
    for note in &program.notes {
        let _ = writeln!(text, "// {}", note.replace(['\n', '\\'], " "));
    }
    for line in program.to_string().lines() {
        let _ = writeln!(text, "// {line}");
    }
    let name = format!("{}{suffix}", program.name);
    let _ =
        writeln!(text, "void {name}(char **buffers, const int64_t *sizes, int64_t begin, int64_t end) {{");
    text += &buffers(program);
    text += "  for (int64_t block = begin; block < end; block++) {\n";
    text += &positions(program);
    let body = Expansion::new(program, C::new(program, 2)).run();
    text += &body.text;
    text += "  }\n}\n";
    text
}

/// The C type of an element in memory.
fn memory_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "float",
        Dtype::I32 => "int32_t",
        Dtype::F16 | Dtype::BF16 => "uint16_t",
        Dtype::I64 => "int64_t",
        Dtype::U8 | Dtype::Bool => "uint8_t",
    }
}

fn buffers(program: &Program) -> String {
    let mut text = String::new();
    let on_stack = program.scratch_bytes() <= STACK_BYTES;
    let written: Vec<usize> =
        program.kernel.defs().flat_map(|d| d.pre.iter().chain([d])).map(|d| d.dst).collect();
    for (i, buffer) in program.kernel.buffers.iter().enumerate() {
        let (ty, name) = (memory_type(buffer.dtype), &buffer.name);
        match buffer.space {
            Space::Global => {
                let constant = if written.contains(&i) { "" } else { "const " };
                let _ =
                    writeln!(text, "  {constant}{ty} *restrict p_{name} = ({constant}{ty} *)buffers[{i}];");
            }
            Space::Scratch => {
                let place = if on_stack { "" } else { "static _Thread_local " };
                let count = buffer.len().max(1);
                let _ = writeln!(text, "  {place}{ty} p_{name}[{count}] __attribute__((aligned(64)));");
            }
            Space::Register | Space::Local => {}
        }
    }
    text
}

/// The first position of the block on each axis of the grid.
fn positions(program: &Program) -> String {
    let mut text = String::new();
    let mut left = "block".to_string();
    for (i, dimension) in program.grid.iter().enumerate().rev() {
        let axis = &program.kernel.axes[dimension.axis];
        let size = dimension.size;
        let count = match axis.free {
            Some(d) if size == 1 => format!("sizes[{d}]"),
            Some(d) => format!("((sizes[{d}] + {}) / {size})", size - 1),
            None if planted!(BlockMisplaced) => (axis.max / size).max(1).to_string(),
            None => axis.max.div_ceil(size).to_string(),
        };
        let name = variable(&program.kernel, Var { axis: dimension.axis, level: Level::Block });
        let here = if i == 0 { left.clone() } else { format!("{left} % {count}") };
        let scaled = if size == 1 { here } else { format!("({here}) * {size}") };
        let _ = writeln!(text, "    const int64_t {name} = {scaled};");
        left = if left == "block" { format!("block / {count}") } else { format!("{left} / {count}") };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_survive() {
        let constants = constants();
        assert!(constants.contains("#define PI_PART_0 3.140625f"));
        assert!(constants.contains("#define EXP2_POLYNOMIAL(x)"));
    }
}
