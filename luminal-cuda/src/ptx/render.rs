//! The state of the renderer: what is known of loops, buffers and names.

use super::writer::{Class, SHARED, Writer};
use luminal_core::dtype::Dtype;
use luminal_core::error::{Error, Result};
use luminal_core::kernel::expand::{Condition, Value};
use luminal_core::kernel::ir::{Buffer, BufferId, Space};
use luminal_core::kernel::tile::{Level, Program, Stmt, Var};
use std::collections::{HashMap, HashSet};

/// A loop variable.
pub(super) struct LoopVar {
    pub register: String,
    /// The loop that changes it: its value is fixed in one pass of the loop at this depth.
    pub depth: usize,
    /// It is a multiple of this.
    pub align: usize,
    /// Its value where the next part begins, if that is known.
    pub known: Option<i64>,
}

/// Loops over one axis.
pub(super) struct OpenFor {
    pub to: String,
    pub known_to: Option<i64>,
    /// Passes of the part that is open, if they are known.
    pub passes: Option<i64>,
}

/// What the renderer leaves.
pub(super) struct Rendered {
    pub declarations: String,
    pub body: String,
    pub shared_bytes: usize,
    /// Free sizes are passed up to this one.
    pub sizes: usize,
}

/// Writes one entry.
pub(super) struct Renderer<'a> {
    pub program: &'a Program,
    pub writer: Writer,
    pub vars: HashMap<Var, LoopVar>,
    /// Registers of accumulators and of buffers in registers.
    names: HashMap<String, String>,
    pub loops: Vec<OpenFor>,
    /// Buffers that some statement stores to; all others are read through the read-only path.
    pub written: HashSet<BufferId>,
    /// What has happened since the last barrier, in the order of the text.
    pub unsynchronised: Unsynchronised,
    /// Offsets of buffers in shared memory.
    pub shared: HashMap<String, usize>,
    shared_bytes: usize,
    /// Where warps exchange partial results, of 4 and of 8 bytes.
    pub exchange: [Option<usize>; 2],
    pub sizes: usize,
    problem: Option<Error>,
}

/// Names of buffers that threads touched since the last barrier.
///
/// The tile program has a barrier after each definition of a scratch buffer. Two cases are left, because only on a GPU
/// the lanes of a block run apart: a definition that updates its buffer in place, where several threads read an
/// element and one of them stores it; and an argument that one definition writes and a later one reads.
#[derive(Default)]
pub(super) struct Unsynchronised {
    /// Written by the kernel, and read by several threads each.
    pub shared_reads: HashSet<String>,
    /// Arguments.
    pub stores: HashSet<String>,
    /// Warps have read each other's partial results, outside all loops.
    pub exchanged: bool,
}

/// The class of registers that hold values of a dtype.
pub(super) fn class(dtype: Dtype) -> Class {
    match dtype.wide() {
        Dtype::I32 => Class::Word,
        Dtype::I64 => Class::Long,
        Dtype::Bool => Class::Predicate,
        _ => Class::Float,
    }
}

/// The instruction that copies a register of a dtype.
fn move_opcode(dtype: Dtype) -> &'static str {
    match class(dtype) {
        Class::Float => "mov.f32",
        Class::Long => "mov.b64",
        Class::Predicate => "mov.pred",
        Class::Word | Class::Half => "mov.b32",
    }
}

/// The class of registers that memory is loaded to and stored from: bytes and truth values pass through a word, floats
/// of 16 bits through a half.
pub(super) fn memory_class(dtype: Dtype) -> Class {
    match dtype {
        Dtype::F16 | Dtype::BF16 => Class::Half,
        Dtype::Bool => Class::Word,
        _ => class(dtype),
    }
}

/// Type of a dtype's elements in memory.
pub(super) fn memory_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "f32",
        Dtype::I32 => "b32",
        Dtype::I64 => "b64",
        Dtype::F16 | Dtype::BF16 => "b16",
        Dtype::U8 | Dtype::Bool => "u8",
    }
}

pub(super) fn state_space(buffer: &Buffer) -> &'static str {
    if buffer.space == Space::Scratch { "shared" } else { "global" }
}

/// `@p ` where an instruction is conditional.
pub(super) fn guard(condition: Option<&str>) -> String {
    condition.map_or(String::new(), |predicate| format!("@{predicate} "))
}

fn stored_buffers(body: &[Stmt], found: &mut HashSet<BufferId>) {
    for stmt in body {
        match stmt {
            Stmt::For(l) => l.parts.iter().for_each(|part| stored_buffers(&part.body, found)),
            Stmt::Store { buffer, .. } => {
                found.insert(*buffer);
            }
            _ => {}
        }
    }
}

impl<'a> Renderer<'a> {
    pub fn new(program: &'a Program) -> Renderer<'a> {
        let mut written = HashSet::new();
        stored_buffers(&program.body, &mut written);
        let mut renderer = Renderer {
            program,
            writer: Writer::new(),
            vars: HashMap::new(),
            names: HashMap::new(),
            loops: vec![],
            written,
            unsynchronised: Unsynchronised::default(),
            shared: HashMap::new(),
            shared_bytes: 0,
            exchange: [None; 2],
            sizes: 0,
            problem: None,
        };
        for buffer in program.kernel.buffers.iter().filter(|buffer| buffer.space == Space::Scratch) {
            let at = renderer.reserve_shared(buffer.len() * buffer.dtype.bytes());
            renderer.shared.insert(buffer.name.clone(), at);
        }
        renderer.block_positions();
        renderer
    }

    /// Offset of so many new bytes of shared memory.
    pub fn reserve_shared(&mut self, bytes: usize) -> usize {
        let at = self.shared_bytes.next_multiple_of(16);
        self.shared_bytes = at + bytes;
        at
    }

    /// Remembers what cannot be rendered; the first problem is reported.
    pub fn fail(&mut self, what: impl std::fmt::Display) {
        let name = &self.program.name;
        self.problem.get_or_insert_with(|| Error::new(format!("kernel `{name}`: {what}")));
    }

    pub fn finish(mut self) -> Result<Rendered> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let declarations = self.writer.declarations();
        let body = self.writer.close_loop();
        Ok(Rendered { declarations, body, shared_bytes: self.shared_bytes, sizes: self.sizes })
    }

    /// Positions of the block on the axes of the grid, from its row-major number.
    fn block_positions(&mut self) {
        let grid = &self.program.grid;
        if grid.is_empty() {
            return;
        }
        let mut left = self.writer.hoist(0, "block".into(), |w| w.op(Class::Word, "mov.u32", &["%ctaid.x"]));
        for (number, block) in grid.iter().enumerate().rev() {
            let size = block.size.to_string();
            let mut here = left.clone();
            if number > 0 {
                let blocks = self.blocks_along(block.axis, block.size);
                let quotient = match blocks.parse::<u32>() {
                    Ok(count) => self.divide_by_constant(0, &left, count),
                    Err(_) => {
                        let key = format!("{left} / {blocks}");
                        self.writer.hoist(0, key, |w| w.op(Class::Word, "div.u32", &[&left, &blocks]))
                    }
                };
                here = self.writer.hoist(0, format!("{left} mod {blocks}"), |w| {
                    let whole = w.op(Class::Word, "mul.lo.u32", &[&quotient, &blocks]);
                    w.op(Class::Word, "sub.u32", &[&left, &whole])
                });
                left = quotient;
            }
            let register = match block.size {
                1 => here,
                _ => self.writer.hoist(0, format!("{here} * {size}"), |w| {
                    w.op(Class::Word, "mul.lo.u32", &[&here, &size])
                }),
            };
            let var = Var { axis: block.axis, level: Level::Block };
            self.vars.insert(var, LoopVar { register, depth: 0, align: block.size, known: None });
        }
    }

    /// Number of blocks along an axis: a literal, or a register.
    fn blocks_along(&mut self, axis: usize, block: usize) -> String {
        let axis = &self.program.kernel.axes[axis];
        let Some(number) = axis.free else { return axis.max.div_ceil(block).max(1).to_string() };
        let size = self.free_size(number);
        let last = (block - 1).to_string();
        let padded = self
            .writer
            .hoist(0, format!("{size} + {last}"), |w| w.op(Class::Word, "add.u32", &[&size, &last]));
        self.divide_by_constant(0, &padded, block as u32)
    }

    /// A size known at run time.
    pub fn free_size(&mut self, number: usize) -> String {
        self.sizes = self.sizes.max(number + 1);
        let source = format!("[dim{number}]");
        self.writer.hoist(0, source.clone(), |w| w.op(Class::Word, "ld.param.u32", &[&source]))
    }

    /// The register behind a name, or the literal itself.
    pub fn operand(&self, value: &Value) -> String {
        self.names.get(&value.text).unwrap_or(&value.text).clone()
    }

    /// The value in a register.
    pub fn in_register(&mut self, value: &Value) -> String {
        let operand = self.operand(value);
        if operand.starts_with('%') {
            return operand;
        }
        self.writer.op(class(value.dtype), move_opcode(value.dtype), &[&operand])
    }

    /// The predicate of a condition, if there is one.
    pub fn predicate(&mut self, condition: &Condition) -> Option<String> {
        let parts: Vec<String> =
            condition.uniform.iter().chain(&condition.lanes).map(|part| self.operand(part)).collect();
        match &parts[..] {
            [] => None,
            [one] => Some(one.clone()),
            more => Some(self.writer.op(Class::Predicate, "and.pred", &[&more[0], &more[1]])),
        }
    }

    /// Declares a name, or finds its register.
    pub fn named(&mut self, name: &str, dtype: Dtype) -> String {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let register = self.writer.register(class(dtype));
        self.names.insert(name.into(), register.clone());
        register
    }

    pub fn set(&mut self, register: &str, value: &Value) {
        let opcode = move_opcode(value.dtype);
        let operand = self.operand(value);
        self.writer.line(format_args!("{opcode} {register}, {operand}"));
    }
}

impl Renderer<'_> {
    /// The base address of the shared memory of the entry.
    pub fn shared_base(&mut self) -> String {
        self.writer.hoist(0, SHARED.into(), |w| w.op(Class::Word, "mov.u32", &[SHARED]))
    }

    /// The number of the thread in its block.
    pub fn thread(&mut self) -> String {
        self.writer.hoist(0, "thread".into(), |w| w.op(Class::Word, "mov.u32", &["%tid.x"]))
    }
}
