//! The target that the shared expansion writes to.

use super::render::{LoopVar, OpenFor, Renderer, guard as guard_of, memory_class, memory_type, state_space};
use super::writer::Class;
use luminal_core::dtype::Dtype;
use luminal_core::graph::{Reduce, Unary};
use luminal_core::kernel::expand::{Address, Condition, Literal, Target, Value};
use luminal_core::kernel::ir::{Binary, Buffer};
use luminal_core::kernel::layout::LayoutDigit;
use luminal_core::kernel::tile::{Bound, For, Level, Part};

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Passes of a part from a known value to a known end.
fn passes(from: i64, to: i64, part: &Part) -> i64 {
    let step = part.step as i64;
    let left = (to - from).max(0);
    if part.whole { left / step } else { (left + step - 1) / step }
}

impl Renderer<'_> {
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
            Literal::Long(i64::MIN) => ("0x8000000000000000".into(), Dtype::I64),
            Literal::Long(x) => (x.to_string(), Dtype::I64),
            Literal::Size(free) => (self.free_size(free), Dtype::I32),
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
        let target = memory_class(buffer.dtype);
        let register = self.writer.register(target);
        if predicate.is_some() {
            let (opcode, zero) = match target {
                Class::Float => ("mov.f32", "0f00000000"),
                Class::Long => ("mov.b64", "0"),
                Class::Half => ("mov.b16", "0"),
                Class::Word | Class::Predicate => ("mov.b32", "0"),
            };
            self.writer.line(format_args!("{opcode} {register}, {zero}"));
        }
        let guard = guard_of(predicate.as_deref());
        let opcode = self.load_opcode(buffer, 1);
        self.writer.line(format_args!("{guard}{opcode} {register}, {place}"));
        let text = self.widened(buffer.dtype, register);
        Value { text, lanes: at.has_lanes(), dtype: buffer.dtype.wide() }
    }

    fn load_wide(&mut self, buffer: &Buffer, at: &Address, count: usize) -> Option<Vec<Value>> {
        if !self.is_wide(buffer, at, count) {
            return None;
        }
        self.before_load(buffer, at);
        let place = self.place(buffer, at);
        let target = memory_class(buffer.dtype);
        let registers: Vec<String> = (0..count).map(|_| self.writer.register(target)).collect();
        let opcode = self.load_opcode(buffer, count);
        self.writer.line(format_args!("{opcode} {{{}}}, {place}", registers.join(", ")));
        let mut loaded = vec![];
        for register in registers {
            let text = self.widened(buffer.dtype, register);
            loaded.push(Value { text, lanes: at.has_lanes(), dtype: buffer.dtype.wide() });
        }
        Some(loaded)
    }

    fn store(&mut self, buffer: &Buffer, at: &Address, value: &Value, condition: &Condition) {
        let register = self.in_register(value);
        let register = self.narrowed(buffer.dtype, register);
        self.before_store(buffer);
        let place = self.place(buffer, at);
        let predicate = self.store_predicate(at, condition);
        let guard = guard_of(predicate.as_deref());
        let (space, ty) = (state_space(buffer), memory_type(buffer.dtype));
        self.writer.line(format_args!("{guard}st.{space}.{ty} {place}, {register}"));
    }

    fn store_wide(&mut self, buffer: &Buffer, at: &Address, values: &[Value]) -> bool {
        let count = values.len();
        if !self.is_wide(buffer, at, count) {
            return false;
        }
        let mut registers = vec![];
        for value in values {
            let register = self.in_register(value);
            registers.push(self.narrowed(buffer.dtype, register));
        }
        self.before_store(buffer);
        let place = self.place(buffer, at);
        let predicate = self.store_predicate(at, &Condition::default());
        let guard = guard_of(predicate.as_deref());
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
            Dtype::I64 => self.writer.op(Class::Long, "selp.b64", &[&a, &b, &c]),
            Dtype::Bool => {
                let first = self.writer.op(Class::Predicate, "and.pred", &[&c, &a]);
                let not = self.writer.op(Class::Predicate, "not.pred", &[&c]);
                let second = self.writer.op(Class::Predicate, "and.pred", &[&not, &b]);
                self.writer.op(Class::Predicate, "or.pred", &[&first, &second])
            }
            _ => self.writer.op(Class::Word, "selp.b32", &[&a, &b, &c]),
        };
        Value { text, lanes: condition.lanes || x.lanes || y.lanes, dtype: x.dtype }
    }

    fn cast(&mut self, to: Dtype, x: &Value) -> Value {
        Value { text: self.cast_text(to, x), lanes: x.lanes, dtype: to.wide() }
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
        let guard = guard_of(condition.as_deref());
        self.writer.line(format_args!("{guard}{opcode} {target}, {target}, {operand}"));
    }

    fn accumulate_product(&mut self, register: &Value, x: &Value, y: &Value, condition: Option<&Value>) {
        let (target, a, b) = (self.operand(register), self.operand(x), self.operand(y));
        let condition = condition.map(|condition| self.operand(condition));
        let guard = guard_of(condition.as_deref());
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
        self.synchronise();
    }
}
