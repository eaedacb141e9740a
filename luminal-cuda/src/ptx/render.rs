//! The state of the renderer, and the target that the shared expansion writes to: loops, accesses, registers.

use super::writer::{Class, SHARED, Writer};
use luminal_core::dtype::Dtype;
use luminal_core::error::{Error, Result};
use luminal_core::graph::{Reduce, Unary};
use luminal_core::kernel::expand::{Address, Condition, Literal, Target, Value};
use luminal_core::kernel::ir::{Binary, Buffer, BufferId, Space};
use luminal_core::kernel::layout::LayoutDigit;
use luminal_core::kernel::tile::{Bound, For, Level, Part, Program, Stmt, Var};
use std::collections::{HashMap, HashSet};

/// A loop variable.
pub(super) struct LoopVar {
    pub register: String,
    /// The loop that changes it: its value is fixed in one pass of the loop at this depth.
    pub depth: usize,
    /// It is a multiple of this.
    pub align: usize,
    /// Its value where the next part begins, if that is known.
    known: Option<i64>,
}

/// Loops over one axis.
struct OpenFor {
    to: String,
    known_to: Option<i64>,
    /// Passes of the part that is open, if they are known.
    passes: Option<i64>,
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
    loops: Vec<OpenFor>,
    /// Buffers that some statement stores to; all others are read through the read-only path.
    written: HashSet<BufferId>,
    /// What has happened since the last barrier, in the order of the text.
    unsynchronised: Unsynchronised,
    /// Offsets of buffers in shared memory.
    pub shared: HashMap<String, usize>,
    shared_bytes: usize,
    /// Where warps exchange partial results.
    pub exchange: Option<usize>,
    pub sizes: usize,
    problem: Option<Error>,
}

/// Names of buffers that threads touched since the last barrier.
///
/// The tile program has a barrier after each definition of a scratch buffer. Two cases are left, because only on a GPU
/// the lanes of a block run apart: a definition that updates its buffer in place, where several threads read an
/// element and one of them stores it; and an argument that one definition writes and a later one reads.
#[derive(Default)]
struct Unsynchronised {
    /// Written by the kernel, and read by several threads each.
    shared_reads: HashSet<String>,
    /// Arguments.
    stores: HashSet<String>,
}

/// The class of registers that hold values of a dtype.
pub(super) fn class(dtype: Dtype) -> Class {
    match dtype {
        Dtype::F32 => Class::Float,
        Dtype::I32 => Class::Word,
        Dtype::Bool => Class::Predicate,
    }
}

/// Type of a dtype's elements in memory.
fn memory_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "f32",
        Dtype::I32 => "b32",
        Dtype::Bool => "u8",
    }
}

fn state_space(buffer: &Buffer) -> &'static str {
    if buffer.space == Space::Scratch { "shared" } else { "global" }
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
            exchange: None,
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
        match value.dtype {
            _ if operand.starts_with('%') => operand,
            Dtype::F32 => self.writer.op(Class::Float, "mov.f32", &[&operand]),
            Dtype::I32 => self.writer.op(Class::Word, "mov.b32", &[&operand]),
            Dtype::Bool => self.writer.op(Class::Predicate, "mov.pred", &[&operand]),
        }
    }

    /// `@p ` where an instruction is conditional.
    fn guard(condition: Option<&str>) -> String {
        condition.map_or(String::new(), |predicate| format!("@{predicate} "))
    }

    /// The predicate of a condition, if there is one.
    fn predicate(&mut self, condition: &Condition) -> Option<String> {
        let parts: Vec<String> =
            condition.uniform.iter().chain(&condition.lanes).map(|part| self.operand(part)).collect();
        match &parts[..] {
            [] => None,
            [one] => Some(one.clone()),
            more => Some(self.writer.op(Class::Predicate, "and.pred", &[&more[0], &more[1]])),
        }
    }

    /// Bits of the thread number that do not change the element.
    fn copies(&self, at: &Address) -> usize {
        let held: usize = at.lanes.iter().map(|digit| (digit.size - 1) << digit.shift).fold(0, |a, b| a | b);
        (self.program.lanes - 1) & !held
    }

    /// A test for the threads that store, where several hold the same element.
    fn first_holder(&mut self, at: &Address) -> Option<String> {
        let copies = self.copies(at);
        // a computed position with lanes may differ between any two threads
        if copies == 0 || at.computed.iter().any(|(position, _)| position.lanes) {
            return None;
        }
        let thread = self.thread();
        Some(self.writer.hoist(0, format!("first of {copies}"), |w| {
            let copy = w.op(Class::Word, "and.b32", &[&thread, &copies.to_string()]);
            w.op(Class::Predicate, "setp.eq.s32", &[&copy, "0"])
        }))
    }

    fn is_written(&self, buffer: &Buffer) -> bool {
        let number = self.program.kernel.buffers.iter().position(|other| other.name == buffer.name);
        number.is_some_and(|number| self.written.contains(&number))
    }

    /// Waits for stores by other threads, if there were any.
    fn before_load(&mut self, buffer: &Buffer, at: &Address) {
        if !self.is_written(buffer) {
            return;
        }
        if self.unsynchronised.stores.contains(&buffer.name) {
            self.barrier();
        }
        if self.copies(at) != 0 {
            self.unsynchronised.shared_reads.insert(buffer.name.clone());
        }
    }

    /// Waits for loads by other threads, if there were any.
    fn before_store(&mut self, buffer: &Buffer) {
        if self.unsynchronised.shared_reads.contains(&buffer.name) {
            self.barrier();
        }
        if buffer.space == Space::Global {
            self.unsynchronised.stores.insert(buffer.name.clone());
        }
    }

    /// The predicate under which a thread stores.
    fn store_predicate(&mut self, at: &Address, condition: &Condition) -> Option<String> {
        let holder = self.first_holder(at);
        match (holder, self.predicate(condition)) {
            (Some(a), Some(b)) => Some(self.writer.op(Class::Predicate, "and.pred", &[&a, &b])),
            (a, b) => a.or(b),
        }
    }

    /// True if an access of `count` adjacent elements lies at a multiple of its size in every thread.
    fn is_aligned(&self, at: &Address, count: usize) -> bool {
        let count = count as i64;
        let terms = at.terms.iter().all(|term| {
            let align =
                if (term.divisor, term.modulus) == (1, 0) { self.vars[&term.var].align as i64 } else { 1 };
            (term.stride * align) % count == 0
        });
        let lanes = at.lanes.iter().all(|digit| digit.weight % count == 0);
        at.offset % count == 0 && terms && lanes && at.computed.is_empty()
    }

    /// Declares a name, or finds its register.
    fn named(&mut self, name: &str, dtype: Dtype) -> String {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let register = self.writer.register(class(dtype));
        self.names.insert(name.into(), register.clone());
        register
    }

    fn set(&mut self, register: &str, value: &Value) {
        let opcode = match value.dtype {
            Dtype::F32 => "mov.f32",
            Dtype::I32 => "mov.b32",
            Dtype::Bool => "mov.pred",
        };
        let operand = self.operand(value);
        self.writer.line(format_args!("{opcode} {register}, {operand}"));
    }

    /// Writes a test of `var` against the end of a loop: the predicate holds where another pass is to be made, or, if
    /// `stop`, where not.
    fn loop_test(&mut self, var: &str, part: &Part, to: &str, stop: bool) -> String {
        if part.whole && part.step > 1 {
            let end = self.writer.op(Class::Word, "add.s32", &[var, &part.step.to_string()]);
            let opcode = if stop { "setp.gt.s32" } else { "setp.le.s32" };
            return self.writer.op(Class::Predicate, opcode, &[&end, to]);
        }
        let opcode = if stop { "setp.ge.s32" } else { "setp.lt.s32" };
        self.writer.op(Class::Predicate, opcode, &[var, to])
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Passes of a part from a known value to a known end.
fn passes(from: i64, to: i64, part: &Part) -> i64 {
    let step = part.step as i64;
    let left = (to - from).max(0);
    if part.whole { left / step } else { (left + step - 1) / step }
}

impl Target for Renderer<'_> {
    fn wide(&self) -> bool {
        true
    }

    fn open_scope(&mut self) {}

    fn close_scope(&mut self) {}

    fn begin_for(&mut self, l: &For) {
        let from = self.bound(&l.from);
        let to = self.bound(&l.to);
        // the variable changes, the bound may be shared
        let register = self.writer.op(Class::Word, "mov.b32", &[&from]);
        let align = self.bound_align(&l.from);
        let depth = self.writer.depth() + 1;
        self.vars.insert(l.var, LoopVar { register, depth, align, known: l.from.as_constant() });
        self.loops.push(OpenFor { to, known_to: l.to.as_constant(), passes: None });
    }

    fn begin_part(&mut self, l: &For, part: &Part) {
        let var = self.vars.get_mut(&l.var).expect("begin_for declared it");
        var.align = greatest_common_divisor(var.align, part.step);
        let open = self.loops.last_mut().expect("begin_for opened it");
        open.passes = var.known.zip(open.known_to).map(|(from, to)| passes(from, to, part));
        self.writer.open_loop();
    }

    fn end_part(&mut self, l: &For, part: &Part) {
        // the next block of a fold may read what this one wrote
        if l.var.level == Level::Block && !self.unsynchronised.stores.is_empty() {
            self.barrier();
        }
        let body = self.writer.close_loop();
        let open = self.loops.last().expect("begin_for opened it");
        let (passes, to) = (open.passes, open.to.clone());
        let var = self.vars.get_mut(&l.var).expect("begin_for declared it");
        var.known = var.known.zip(passes).map(|(from, passes)| from + passes * part.step as i64);
        let register = var.register.clone();
        let step = part.step;
        match passes {
            Some(0) => {}
            Some(1) => {
                self.writer.append(&body);
                self.writer.line(format_args!("add.s32 {register}, {register}, {step}"));
            }
            _ => {
                let (again, end) = (self.writer.label(), self.writer.label());
                if passes.is_none() {
                    let stop = self.loop_test(&register, part, &to, true);
                    self.writer.line(format_args!("@{stop} bra.uni {end}"));
                }
                self.writer.place(&again);
                self.writer.append(&body);
                self.writer.line(format_args!("add.s32 {register}, {register}, {step}"));
                let more = self.loop_test(&register, part, &to, false);
                self.writer.line(format_args!("@{more} bra.uni {again}"));
                self.writer.place(&end);
            }
        }
    }

    fn end_for(&mut self, _: &For) {
        self.loops.pop();
    }

    fn literal(&mut self, x: Literal) -> Value {
        let (text, dtype) = match x {
            Literal::Float(x) => (format!("0f{:08X}", x.to_bits()), Dtype::F32),
            Literal::Int(x) => (x.to_string(), Dtype::I32),
            Literal::Bool(x) => {
                let opcode = if x { "setp.eq.s32" } else { "setp.ne.s32" };
                let predicate = self.writer.hoist(0, format!("always {x}"), |w| {
                    let zero = w.op(Class::Word, "mov.b32", &["0"]);
                    w.op(Class::Predicate, opcode, &[&zero, "0"])
                });
                (predicate, Dtype::Bool)
            }
        };
        Value { text, lanes: false, dtype }
    }

    fn position(&mut self, at: &Address) -> Value {
        let (sum, depth) = self.sum(at);
        let text = match (sum, at.offset) {
            (None, offset) => offset.to_string(),
            (Some(sum), 0) => sum,
            (Some(sum), offset) => {
                let offset = offset.to_string();
                self.at_depth(depth, format!("{sum} + {offset}"), |w| {
                    w.op(Class::Word, "add.s32", &[&sum, &offset])
                })
            }
        };
        Value { text, lanes: at.has_lanes(), dtype: Dtype::I32 }
    }

    fn not_negative(&mut self, at: &Address) -> Value {
        let (sum, _) = self.sum(at);
        let text = match sum {
            // at + offset >= 0
            Some(sum) => self.writer.op(Class::Predicate, "setp.ge.s32", &[&sum, &(-at.offset).to_string()]),
            None => self.literal(Literal::Bool(at.offset >= 0)).text,
        };
        Value { text, lanes: at.has_lanes(), dtype: Dtype::Bool }
    }

    fn below(&mut self, at: &Address, end: &Bound) -> Value {
        let position = self.position(at);
        let position = self.in_register(&position);
        let end = self.bound(end);
        let text = self.writer.op(Class::Predicate, "setp.lt.s32", &[&position, &end]);
        Value { text, lanes: at.has_lanes(), dtype: Dtype::Bool }
    }

    fn inside(&mut self, at: &Address, extent: usize) -> Value {
        let position = self.position(at);
        let position = self.in_register(&position);
        // a negative position is a great unsigned number
        let text = self.writer.op(Class::Predicate, "setp.lt.u32", &[&position, &extent.to_string()]);
        Value { text, lanes: at.has_lanes(), dtype: Dtype::Bool }
    }

    fn load(&mut self, buffer: &Buffer, at: &Address, condition: &Condition) -> Value {
        self.before_load(buffer, at);
        let place = self.place(buffer, at);
        let predicate = self.predicate(condition);
        let (target, zero) = match buffer.dtype {
            Dtype::F32 => (Class::Float, "mov.f32"),
            Dtype::I32 | Dtype::Bool => (Class::Word, "mov.b32"),
        };
        let register = self.writer.register(target);
        if predicate.is_some() {
            self.writer.line(format_args!(
                "{zero} {register}, {}",
                if target == Class::Float { "0f00000000" } else { "0" }
            ));
        }
        let guard = Self::guard(predicate.as_deref());
        let opcode = self.load_opcode(buffer, 1);
        self.writer.line(format_args!("{guard}{opcode} {register}, {place}"));
        let text = match buffer.dtype {
            Dtype::Bool => self.writer.op(Class::Predicate, "setp.ne.s32", &[&register, "0"]),
            _ => register,
        };
        Value { text, lanes: at.has_lanes(), dtype: buffer.dtype }
    }

    fn load_wide(&mut self, buffer: &Buffer, at: &Address, count: usize) -> Option<Vec<Value>> {
        if !matches!(count, 2 | 4) || buffer.dtype == Dtype::Bool || !self.is_aligned(at, count) {
            return None;
        }
        self.before_load(buffer, at);
        let place = self.place(buffer, at);
        let registers: Vec<String> = (0..count).map(|_| self.writer.register(class(buffer.dtype))).collect();
        let opcode = self.load_opcode(buffer, count);
        self.writer.line(format_args!("{opcode} {{{}}}, {place}", registers.join(", ")));
        let value = |text| Value { text, lanes: at.has_lanes(), dtype: buffer.dtype };
        Some(registers.into_iter().map(value).collect())
    }

    fn store(&mut self, buffer: &Buffer, at: &Address, value: &Value, condition: &Condition) {
        let mut register = self.in_register(value);
        if buffer.dtype == Dtype::Bool {
            register = self.writer.op(Class::Word, "selp.b32", &["1", "0", &register]);
        }
        self.before_store(buffer);
        let place = self.place(buffer, at);
        let predicate = self.store_predicate(at, condition);
        let guard = Self::guard(predicate.as_deref());
        let (space, ty) = (state_space(buffer), memory_type(buffer.dtype));
        self.writer.line(format_args!("{guard}st.{space}.{ty} {place}, {register}"));
    }

    fn store_wide(&mut self, buffer: &Buffer, at: &Address, values: &[Value]) -> bool {
        let count = values.len();
        if !matches!(count, 2 | 4) || buffer.dtype == Dtype::Bool || !self.is_aligned(at, count) {
            return false;
        }
        let registers: Vec<String> = values.iter().map(|value| self.in_register(value)).collect();
        self.before_store(buffer);
        let place = self.place(buffer, at);
        let predicate = self.store_predicate(at, &Condition::default());
        let guard = Self::guard(predicate.as_deref());
        let (space, ty) = (state_space(buffer), memory_type(buffer.dtype));
        self.writer
            .line(format_args!("{guard}st.{space}.v{count}.{ty} {place}, {{{}}}", registers.join(", ")));
        true
    }

    fn unary(&mut self, op: Unary, x: &Value) -> Value {
        let operand = self.operand(x);
        let text = self.unary_text(op, &operand);
        Value { text, lanes: x.lanes, dtype: Dtype::F32 }
    }

    fn binary(&mut self, op: Binary, x: &Value, y: &Value) -> Value {
        let lanes = x.lanes || y.lanes;
        let dtype = match op {
            Binary::LessThan | Binary::And | Binary::Or => Dtype::Bool,
            _ => x.dtype,
        };
        let text = self.binary_text(op, x, y);
        Value { text, lanes, dtype }
    }

    fn multiply_add(&mut self, x: &Value, y: &Value, z: &Value) -> Option<Value> {
        let (a, b, c) = (self.operand(x), self.operand(y), self.operand(z));
        let text = self.writer.op(Class::Float, "fma.rn.f32", &[&a, &b, &c]);
        Some(Value { text, lanes: x.lanes || y.lanes || z.lanes, dtype: Dtype::F32 })
    }

    fn select(&mut self, condition: &Value, x: &Value, y: &Value) -> Value {
        let (c, a, b) = (self.operand(condition), self.operand(x), self.operand(y));
        let text = match x.dtype {
            Dtype::F32 => self.writer.op(Class::Float, "selp.f32", &[&a, &b, &c]),
            Dtype::I32 => self.writer.op(Class::Word, "selp.b32", &[&a, &b, &c]),
            Dtype::Bool => {
                let first = self.writer.op(Class::Predicate, "and.pred", &[&c, &a]);
                let not = self.writer.op(Class::Predicate, "not.pred", &[&c]);
                let second = self.writer.op(Class::Predicate, "and.pred", &[&not, &b]);
                self.writer.op(Class::Predicate, "or.pred", &[&first, &second])
            }
        };
        Value { text, lanes: condition.lanes || x.lanes || y.lanes, dtype: x.dtype }
    }

    fn cast(&mut self, to: Dtype, x: &Value) -> Value {
        Value { text: self.cast_text(to, x), lanes: x.lanes, dtype: to }
    }

    fn define(&mut self, name: &str, value: &Value, _: bool) {
        let register = self.named(name, value.dtype);
        self.set(&register, value);
    }

    fn assign(&mut self, name: &str, value: &Value, _: bool) {
        let register = self.named(name, value.dtype);
        self.set(&register, value);
    }

    fn accumulate(&mut self, register: &Value, op: Reduce, value: &Value, condition: Option<&Value>) {
        let Some(opcode) = self.reduce_opcode(op, value.dtype) else { return };
        let (target, operand) = (self.operand(register), self.operand(value));
        let condition = condition.map(|condition| self.operand(condition));
        let guard = Self::guard(condition.as_deref());
        self.writer.line(format_args!("{guard}{opcode} {target}, {target}, {operand}"));
    }

    fn accumulate_product(&mut self, register: &Value, x: &Value, y: &Value, condition: Option<&Value>) {
        let (target, a, b) = (self.operand(register), self.operand(x), self.operand(y));
        let condition = condition.map(|condition| self.operand(condition));
        let guard = Self::guard(condition.as_deref());
        self.writer.line(format_args!("{guard}fma.rn.f32 {target}, {a}, {b}, {target}"));
    }

    fn across(&mut self, op: Reduce, x: &Value, digits: &[LayoutDigit]) -> Value {
        let bits = digits.iter().fold(0, |bits, digit| match digit {
            LayoutDigit::Lanes { shift, size } => bits | (size - 1) << shift,
            LayoutDigit::Registers(_) => bits,
        });
        Value { text: self.reduce_over_threads(op, x, bits), lanes: x.lanes, dtype: x.dtype }
    }

    fn barrier(&mut self) {
        self.unsynchronised = Unsynchronised::default();
        self.writer.line(format_args!("bar.sync 0"));
    }
}

impl Renderer<'_> {
    fn load_opcode(&self, buffer: &Buffer, count: usize) -> String {
        let vector = if count > 1 { format!(".v{count}") } else { String::new() };
        let read_only = buffer.space == Space::Global && !self.is_written(buffer);
        let path = if read_only { ".nc" } else { "" };
        format!("ld.{}{path}{vector}.{}", state_space(buffer), memory_type(buffer.dtype))
    }

    /// The base address of the shared memory of the entry.
    pub fn shared_base(&mut self) -> String {
        self.writer.hoist(0, SHARED.into(), |w| w.op(Class::Word, "mov.u32", &[SHARED]))
    }

    /// The number of the thread in its block.
    pub fn thread(&mut self) -> String {
        self.writer.hoist(0, "thread".into(), |w| w.op(Class::Word, "mov.u32", &["%tid.x"]))
    }
}
