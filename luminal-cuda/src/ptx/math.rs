//! Arithmetic as instructions.

use super::render::Renderer;
use super::writer::Class;
use luminal_core::dtype::Dtype;
use luminal_core::graph::{Reduce, Unary};
use luminal_core::kernel::expand::Value;
use luminal_core::kernel::ir::Binary;

impl Renderer<'_> {
    pub(super) fn unary_text(&mut self, op: Unary, x: &str) -> String {
        let opcode = match op {
            Unary::Exp2 => "ex2.approx.f32",
            Unary::Log2 => "lg2.approx.f32",
            Unary::Sqrt => "sqrt.rn.f32",
            Unary::Recip => "rcp.rn.f32",
            Unary::Sin => return self.sine(x),
        };
        self.writer.op(Class::Float, opcode, &[x])
    }

    pub(super) fn binary_text(&mut self, op: Binary, x: &Value, y: &Value) -> String {
        let (a, b) = (self.operand(x), self.operand(y));
        let (result, opcode) = match (op, x.dtype) {
            (Binary::Mod, Dtype::F32) => return self.float_modulo(&a, &b),
            (Binary::Mod, Dtype::I32) => return self.floor_division(&a, &b).1,
            (Binary::FloorDiv, Dtype::I32) => return self.floor_division(&a, &b).0,
            (Binary::LessThan, Dtype::Bool) => {
                let not = self.writer.op(Class::Predicate, "not.pred", &[&a]);
                return self.writer.op(Class::Predicate, "and.pred", &[&not, &b]);
            }
            (Binary::Add, Dtype::F32) => (Class::Float, "add.rn.f32"),
            (Binary::Sub, Dtype::F32) => (Class::Float, "sub.rn.f32"),
            (Binary::Mul, Dtype::F32) => (Class::Float, "mul.rn.f32"),
            (Binary::Max, Dtype::F32) => (Class::Float, "max.NaN.f32"),
            (Binary::LessThan, Dtype::F32) => (Class::Predicate, "setp.lt.f32"),
            (Binary::Add, Dtype::I32) => (Class::Word, "add.s32"),
            (Binary::Sub, Dtype::I32) => (Class::Word, "sub.s32"),
            (Binary::Mul, Dtype::I32) => (Class::Word, "mul.lo.s32"),
            (Binary::Max, Dtype::I32) => (Class::Word, "max.s32"),
            (Binary::LessThan, Dtype::I32) => (Class::Predicate, "setp.lt.s32"),
            (Binary::And | Binary::Mul, Dtype::Bool) => (Class::Predicate, "and.pred"),
            (Binary::Or | Binary::Max, Dtype::Bool) => (Class::Predicate, "or.pred"),
            (_, dtype) => {
                self.fail(format_args!("there is no {op:?} of {dtype}"));
                return a;
            }
        };
        self.writer.op(result, opcode, &[&a, &b])
    }

    /// Quotient rounded down, and the remainder, which has the sign of the divisor.
    fn floor_division(&mut self, a: &str, b: &str) -> (String, String) {
        let w = &mut self.writer;
        if let Some(divisor) = b.parse::<u32>().ok().filter(|divisor| divisor.is_power_of_two()) {
            let quotient = w.op(Class::Word, "shr.s32", &[a, &divisor.trailing_zeros().to_string()]);
            let remainder = w.op(Class::Word, "and.b32", &[a, &(divisor - 1).to_string()]);
            return (quotient, remainder);
        }
        // By 0 quotient and remainder are 0, as nothing may trap: divide 0 by 1.
        let (mut a, mut b) = (a.to_string(), b.to_string());
        if b.starts_with('%') {
            let zero = w.op(Class::Predicate, "setp.eq.s32", &[&b, "0"]);
            a = w.op(Class::Word, "selp.b32", &["0", &a, &zero]);
            b = w.op(Class::Word, "selp.b32", &["1", &b, &zero]);
        } else if b == "0" {
            return ("0".into(), "0".into());
        }
        let (a, b) = (a.as_str(), b.as_str());
        let quotient = w.op(Class::Word, "div.s32", &[a, b]);
        let whole = w.op(Class::Word, "mul.lo.s32", &[&quotient, b]);
        let remainder = w.op(Class::Word, "sub.s32", &[a, &whole]);
        // toward zero becomes down where a remainder is left on the other side
        let left = w.op(Class::Predicate, "setp.ne.s32", &[&remainder, "0"]);
        let signs = w.op(Class::Word, "xor.b32", &[&remainder, b]);
        let differ = w.op(Class::Predicate, "setp.lt.s32", &[&signs, "0"]);
        let repair = w.op(Class::Predicate, "and.pred", &[&left, &differ]);
        let lower = w.op(Class::Word, "sub.s32", &[&quotient, "1"]);
        let quotient = w.op(Class::Word, "selp.b32", &[&lower, &quotient, &repair]);
        let higher = w.op(Class::Word, "add.s32", &[&remainder, b]);
        let remainder = w.op(Class::Word, "selp.b32", &[&higher, &remainder, &repair]);
        (quotient, remainder)
    }

    /// `a - floor(a / b) * b`, exact while the quotient is below 2^23. A quotient that was rounded up to a whole
    /// number leaves a remainder of the wrong sign, which the last step repairs.
    fn float_modulo(&mut self, a: &str, b: &str) -> String {
        let w = &mut self.writer;
        let quotient = w.op(Class::Float, "div.rn.f32", &[a, b]);
        let whole = w.op(Class::Float, "cvt.rmi.f32.f32", &[&quotient]);
        let minus = w.op(Class::Float, "neg.f32", &[&whole]);
        let remainder = w.op(Class::Float, "fma.rn.f32", &[&minus, b, a]);
        let below = w.op(Class::Predicate, "setp.lt.f32", &[&remainder, "0f00000000"]);
        let above = w.op(Class::Predicate, "setp.gt.f32", &[&remainder, "0f00000000"]);
        let negative = w.op(Class::Predicate, "setp.lt.f32", &[b, "0f00000000"]);
        let positive = w.op(Class::Predicate, "setp.gt.f32", &[b, "0f00000000"]);
        let low = w.op(Class::Predicate, "and.pred", &[&below, &positive]);
        let high = w.op(Class::Predicate, "and.pred", &[&above, &negative]);
        let repair = w.op(Class::Predicate, "or.pred", &[&low, &high]);
        let repaired = w.op(Class::Float, "add.rn.f32", &[&remainder, b]);
        w.op(Class::Float, "selp.f32", &[&repaired, &remainder, &repair])
    }

    pub(super) fn cast_text(&mut self, to: Dtype, x: &Value) -> String {
        let a = self.operand(x);
        let w = &mut self.writer;
        match (x.dtype, to) {
            (Dtype::F32, Dtype::I32) => w.op(Class::Word, "cvt.rzi.s32.f32", &[&a]),
            // NaN is not zero
            (Dtype::F32, Dtype::Bool) => w.op(Class::Predicate, "setp.neu.f32", &[&a, "0f00000000"]),
            (Dtype::I32, Dtype::F32) => w.op(Class::Float, "cvt.rn.f32.s32", &[&a]),
            (Dtype::I32, Dtype::Bool) => w.op(Class::Predicate, "setp.ne.s32", &[&a, "0"]),
            (Dtype::Bool, Dtype::F32) => w.op(Class::Float, "selp.f32", &["0f3F800000", "0f00000000", &a]),
            (Dtype::Bool, Dtype::I32) => w.op(Class::Word, "selp.b32", &["1", "0", &a]),
            _ => a,
        }
    }

    pub(super) fn reduce_opcode(&mut self, op: Reduce, dtype: Dtype) -> Option<&'static str> {
        match (op, dtype) {
            (Reduce::Sum, Dtype::F32) => Some("add.rn.f32"),
            (Reduce::Max, Dtype::F32) => Some("max.NaN.f32"),
            (Reduce::Sum, Dtype::I32) => Some("add.s32"),
            (Reduce::Max, Dtype::I32) => Some("max.s32"),
            (Reduce::Max, Dtype::Bool) => Some("or.pred"),
            (Reduce::Sum, Dtype::Bool) => {
                self.fail("there is no sum of bools");
                None
            }
            _ => unreachable!("no other type is compiled yet"),
        }
    }

    /// The values of all threads whose numbers differ in `bits` only, reduced; each of them gets the result.
    pub(super) fn reduce_over_threads(&mut self, op: Reduce, x: &Value, bits: usize) -> String {
        if x.dtype == Dtype::Bool {
            return self.any_thread(x, bits);
        }
        let Some(opcode) = self.reduce_opcode(op, x.dtype) else { return x.text.clone() };
        let result = super::render::class(x.dtype);
        let start = self.in_register(x);
        self.reduce_words(result, opcode, start, bits)
    }

    /// A logical or.
    fn any_thread(&mut self, x: &Value, bits: usize) -> String {
        let predicate = self.operand(x);
        let word = self.writer.op(Class::Word, "selp.b32", &["1", "0", &predicate]);
        let any = self.reduce_words(Class::Word, "or.b32", word, bits);
        self.writer.op(Class::Predicate, "setp.ne.s32", &[&any, "0"])
    }

    fn reduce_words(&mut self, result: Class, opcode: &str, start: String, bits: usize) -> String {
        let mut value = start;
        let lanes = self.program.lanes;
        let members = if lanes >= 32 { "0xffffffff".into() } else { format!("{:#x}", (1_u64 << lanes) - 1) };
        for step in [16_usize, 8, 4, 2, 1].into_iter().filter(|step| bits & step != 0) {
            let operands = [&value, &step.to_string(), "31", &members];
            let other = self.writer.op(result, "shfl.sync.bfly.b32", &operands);
            value = self.writer.op(result, opcode, &[&value, &other]);
        }
        let warps = bits & !31;
        if warps == 0 { value } else { self.reduce_over_warps(result, opcode, value, warps) }
    }

    /// Warps exchange their results through shared memory. All threads combine them in one order.
    fn reduce_over_warps(&mut self, result: Class, opcode: &str, value: String, bits: usize) -> String {
        let at = match self.exchange {
            Some(at) => at,
            None => self.reserve_shared(self.program.lanes * 4),
        };
        self.exchange = Some(at);
        let (thread, base) = (self.thread(), self.shared_base());
        let own = self
            .writer
            .hoist(0, "own exchange".into(), |w| w.op(Class::Word, "mad.lo.s32", &[&thread, "4", &base]));
        let first = self.writer.hoist(0, format!("exchange {bits}"), |w| {
            let kept = w.op(Class::Word, "and.b32", &[&thread, &(!bits as u32 & 1023).to_string()]);
            w.op(Class::Word, "mad.lo.s32", &[&kept, "4", &base])
        });
        if self.unsynchronised.exchanged {
            self.synchronise();
        }
        let ty = if result == Class::Float { "f32" } else { "b32" };
        self.writer.line(format_args!("st.shared.{ty} [{own}+{at}], {value}"));
        self.synchronise();
        let load = format!("ld.shared.{ty}");
        let mut sum: Option<String> = None;
        for thread in (0..self.program.lanes).filter(|thread| thread & !bits == 0) {
            let place = format!("[{first}+{}]", at + thread * 4);
            let part = self.writer.op(result, &load, &[&place]);
            sum = Some(match sum {
                None => part,
                Some(sum) => self.writer.op(result, opcode, &[&sum, &part]),
            });
        }
        // the next exchange may not overwrite what a slow warp still reads
        if self.writer.depth() > 0 {
            self.synchronise();
        } else {
            self.unsynchronised.exchanged = true;
        }
        sum.unwrap_or(value)
    }
}
