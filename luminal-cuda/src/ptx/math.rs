//! Arithmetic as instructions.

use super::render::{Renderer, class};
use super::writer::{Class, Writer};
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
            (Binary::Mod, Dtype::I64) => return self.divide_rounding_down(Class::Long, "64", &a, &b).1,
            (Binary::FloorDiv, Dtype::I64) => return self.divide_rounding_down(Class::Long, "64", &a, &b).0,
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
            (Binary::Add, Dtype::I64) => (Class::Long, "add.s64"),
            (Binary::Sub, Dtype::I64) => (Class::Long, "sub.s64"),
            (Binary::Mul, Dtype::I64) => (Class::Long, "mul.lo.s64"),
            (Binary::Max, Dtype::I64) => (Class::Long, "max.s64"),
            (Binary::LessThan, Dtype::I64) => (Class::Predicate, "setp.lt.s64"),
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
        self.divide_rounding_down(Class::Word, "32", a, b)
    }

    /// As [`Renderer::floor_division`], in registers of so many bits.
    fn divide_rounding_down(&mut self, class: Class, bits: &str, a: &str, b: &str) -> (String, String) {
        let w = &mut self.writer;
        // By 0 quotient and remainder are 0, as nothing may trap: divide 0 by 1.
        let (mut a, mut b) = (a.to_string(), b.to_string());
        if b.starts_with('%') {
            let zero = w.op(Class::Predicate, &format!("setp.eq.s{bits}"), &[&b, "0"]);
            a = w.op(class, &format!("selp.b{bits}"), &["0", &a, &zero]);
            b = w.op(class, &format!("selp.b{bits}"), &["1", &b, &zero]);
        } else if b == "0" {
            return ("0".into(), "0".into());
        }
        let (a, b) = (a.as_str(), b.as_str());
        let quotient = w.op(class, &format!("div.s{bits}"), &[a, b]);
        let whole = w.op(class, &format!("mul.lo.s{bits}"), &[&quotient, b]);
        let remainder = w.op(class, &format!("sub.s{bits}"), &[a, &whole]);
        // toward zero becomes down where a remainder is left on the other side
        let left = w.op(Class::Predicate, &format!("setp.ne.s{bits}"), &[&remainder, "0"]);
        let signs = w.op(class, &format!("xor.b{bits}"), &[&remainder, b]);
        let differ = w.op(Class::Predicate, &format!("setp.lt.s{bits}"), &[&signs, "0"]);
        let repair = w.op(Class::Predicate, "and.pred", &[&left, &differ]);
        let lower = w.op(class, &format!("sub.s{bits}"), &[&quotient, "1"]);
        let quotient = w.op(class, &format!("selp.b{bits}"), &[&lower, &quotient, &repair]);
        let higher = w.op(class, &format!("add.s{bits}"), &[&remainder, b]);
        let remainder = w.op(class, &format!("selp.b{bits}"), &[&higher, &remainder, &repair]);
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

    /// Types that only store numbers come in their wide type: then this rounds, or wraps.
    pub(super) fn cast_text(&mut self, to: Dtype, x: &Value) -> String {
        let a = self.in_register(x);
        let wide = self.cast_wide(to, x.dtype, a);
        match to {
            // A bool fits everywhere.
            Dtype::F16 | Dtype::BF16 if x.dtype != Dtype::Bool => {
                let narrow = self.narrowed(to, wide);
                self.widened(to, narrow)
            }
            Dtype::U8 if x.dtype == Dtype::F32 => {
                let w = &mut self.writer;
                let positive = w.op(Class::Word, "max.s32", &[&wide, "0"]);
                w.op(Class::Word, "min.s32", &[&positive, "255"])
            }
            Dtype::U8 if x.dtype != Dtype::Bool => self.writer.op(Class::Word, "and.b32", &[&wide, "255"]),
            _ => wide,
        }
    }

    /// To the wide type of `to`.
    fn cast_wide(&mut self, to: Dtype, from: Dtype, a: String) -> String {
        let w = &mut self.writer;
        match (from, to.wide()) {
            (Dtype::F32, Dtype::I32) => w.op(Class::Word, "cvt.rzi.s32.f32", &[&a]),
            (Dtype::F32, Dtype::I64) => {
                // NaN would become the least number.
                let nan = w.op(Class::Predicate, "setp.nan.f32", &[&a, &a]);
                let converted = w.op(Class::Long, "cvt.rzi.s64.f32", &[&a]);
                w.op(Class::Long, "selp.b64", &["0", &converted, &nan])
            }
            // NaN is not zero
            (Dtype::F32, Dtype::Bool) => w.op(Class::Predicate, "setp.neu.f32", &[&a, "0f00000000"]),
            (Dtype::I32, Dtype::F32) => w.op(Class::Float, "cvt.rn.f32.s32", &[&a]),
            (Dtype::I32, Dtype::I64) => w.op(Class::Long, "cvt.s64.s32", &[&a]),
            (Dtype::I32, Dtype::Bool) => w.op(Class::Predicate, "setp.ne.s32", &[&a, "0"]),
            (Dtype::I64, Dtype::F32) => w.op(Class::Float, "cvt.rn.f32.s64", &[&a]),
            (Dtype::I64, Dtype::I32) => w.op(Class::Word, "cvt.u32.u64", &[&a]),
            (Dtype::I64, Dtype::Bool) => w.op(Class::Predicate, "setp.ne.s64", &[&a, "0"]),
            (Dtype::Bool, Dtype::F32) => w.op(Class::Float, "selp.f32", &["0f3F800000", "0f00000000", &a]),
            (Dtype::Bool, Dtype::I32) => w.op(Class::Word, "selp.b32", &["1", "0", &a]),
            (Dtype::Bool, Dtype::I64) => w.op(Class::Long, "selp.b64", &["1", "0", &a]),
            _ => a,
        }
    }

    /// The wide value of what was loaded from memory of this type.
    pub(super) fn widened(&mut self, dtype: Dtype, register: String) -> String {
        let w = &mut self.writer;
        match dtype {
            Dtype::F16 => w.op(Class::Float, "cvt.f32.f16", &[&register]),
            // Only newer processors convert it by themselves.
            Dtype::BF16 => {
                let bits = w.op(Class::Word, "cvt.u32.u16", &[&register]);
                let bits = w.op(Class::Word, "shl.b32", &[&bits, "16"]);
                w.op(Class::Float, "mov.b32", &[&bits])
            }
            Dtype::Bool => w.op(Class::Predicate, "setp.ne.s32", &[&register, "0"]),
            _ => register,
        }
    }

    /// The inverse of [`Renderer::widened`], for a store.
    pub(super) fn narrowed(&mut self, dtype: Dtype, register: String) -> String {
        let w = &mut self.writer;
        match dtype {
            Dtype::F16 => w.op(Class::Half, "cvt.rn.f16.f32", &[&register]),
            Dtype::BF16 => w.op(Class::Half, "cvt.rn.bf16.f32", &[&register]),
            Dtype::Bool => w.op(Class::Word, "selp.b32", &["1", "0", &register]),
            _ => register,
        }
    }

    pub(super) fn reduce_opcode(&mut self, op: Reduce, dtype: Dtype) -> Option<&'static str> {
        match (op, class(dtype)) {
            (Reduce::Sum, Class::Float) => Some("add.rn.f32"),
            (Reduce::Max, Class::Float) => Some("max.NaN.f32"),
            (Reduce::Sum, Class::Word) => Some("add.s32"),
            (Reduce::Max, Class::Word) => Some("max.s32"),
            (Reduce::Sum, Class::Long) => Some("add.s64"),
            (Reduce::Max, Class::Long) => Some("max.s64"),
            (Reduce::Max, Class::Predicate) => Some("or.pred"),
            (op, _) => {
                self.fail(format_args!("there is no {op:?} of {dtype}"));
                None
            }
        }
    }

    /// The values of all threads whose numbers differ in `bits` only, reduced; each of them gets the result.
    pub(super) fn reduce_over_threads(&mut self, op: Reduce, x: &Value, bits: usize) -> String {
        if x.dtype == Dtype::Bool {
            return self.any_thread(x, bits);
        }
        let Some(opcode) = self.reduce_opcode(op, x.dtype) else { return x.text.clone() };
        let result = class(x.dtype);
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
            let other = self.value_of_thread(result, &value, &step.to_string(), &members);
            value = self.writer.op(result, opcode, &[&value, &other]);
        }
        let warps = bits & !31;
        if warps == 0 { value } else { self.reduce_over_warps(result, opcode, value, warps) }
    }

    /// What the thread holds whose number differs in the bit `step`.
    fn value_of_thread(&mut self, class: Class, value: &str, step: &str, members: &str) -> String {
        let w = &mut self.writer;
        let shuffle = |w: &mut Writer, class, value: &str| {
            w.op(class, "shfl.sync.bfly.b32", &[value, step, "31", members])
        };
        if class != Class::Long {
            return shuffle(w, class, value);
        }
        // 64 bits in two halves.
        let low = w.op(Class::Word, "cvt.u32.u64", &[value]);
        let high = w.op(Class::Long, "shr.u64", &[value, "32"]);
        let high = w.op(Class::Word, "cvt.u32.u64", &[&high]);
        let low = shuffle(w, Class::Word, &low);
        let high = shuffle(w, Class::Word, &high);
        let low = w.op(Class::Long, "cvt.u64.u32", &[&low]);
        let high = w.op(Class::Long, "cvt.u64.u32", &[&high]);
        let high = w.op(Class::Long, "shl.b64", &[&high, "32"]);
        w.op(Class::Long, "or.b64", &[&high, &low])
    }

    /// Warps exchange their results through shared memory. All threads combine them in one order.
    fn reduce_over_warps(&mut self, result: Class, opcode: &str, value: String, bits: usize) -> String {
        let long = result == Class::Long;
        let bytes = if long { 8 } else { 4 };
        let at = match self.exchange[usize::from(long)] {
            Some(at) => at,
            None => self.reserve_shared(self.program.lanes * bytes),
        };
        self.exchange[usize::from(long)] = Some(at);
        let size = bytes.to_string();
        let (thread, base) = (self.thread(), self.shared_base());
        let own = self.writer.hoist(0, format!("own exchange of {size}"), |w| {
            w.op(Class::Word, "mad.lo.s32", &[&thread, &size, &base])
        });
        let first = self.writer.hoist(0, format!("exchange {bits} of {size}"), |w| {
            let kept = w.op(Class::Word, "and.b32", &[&thread, &(!bits as u32 & 1023).to_string()]);
            w.op(Class::Word, "mad.lo.s32", &[&kept, &size, &base])
        });
        if self.unsynchronised.exchanged {
            self.synchronise();
        }
        let ty = match result {
            Class::Float => "f32",
            Class::Long => "b64",
            _ => "b32",
        };
        self.writer.line(format_args!("st.shared.{ty} [{own}+{at}], {value}"));
        self.synchronise();
        let load = format!("ld.shared.{ty}");
        let mut sum: Option<String> = None;
        for thread in (0..self.program.lanes).filter(|thread| thread & !bits == 0) {
            let place = format!("[{first}+{}]", at + thread * bytes);
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
