//! The table of the C renderer.

use super::{LANES, memory_type};
use crate::dtype::Dtype;
use crate::graph::{Reduce, Unary};
use crate::kernel::expand::{Address, Condition, Literal, Target, Value};
use crate::kernel::ir::{Binary, Buffer, Kernel};
use crate::kernel::layout::LayoutDigit;
use crate::kernel::text;
use crate::kernel::tile::{Bound, For, Part, Program, Term, Var};
use crate::mutant::planted;
use std::fmt::Write;

/// Every generated name has a prefix of its kind: an axis called `float` must not meet the type.
pub(super) fn variable(kernel: &Kernel, var: Var) -> String {
    format!("i_{}", text::variable(kernel, var))
}

pub(super) struct C<'a> {
    program: &'a Program,
    /// The body of the function.
    pub(super) text: String,
    indent: usize,
    temporaries: usize,
}

impl<'a> C<'a> {
    pub(super) fn new(program: &'a Program, indent: usize) -> Self {
        C { program, text: String::new(), indent, temporaries: 0 }
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "  ".repeat(self.indent));
    }

    fn variable(&self, var: Var) -> String {
        variable(&self.program.kernel, var)
    }

    /// A new constant.
    fn value(&mut self, expression: String, lanes: bool, dtype: Dtype) -> Value {
        let name = format!("t{}", self.temporaries);
        self.temporaries += 1;
        self.line(&format!("const {} {name} = {expression};", register_type(lanes, dtype)));
        Value { text: name, lanes, dtype }
    }

    /// The sum of loop variables, computed indices without lanes, and the constant.
    fn uniform_part(&self, at: &Address) -> String {
        let mut sum = String::new();
        for term in &at.terms {
            let mut var = self.variable(term.var);
            if term.divisor != 1 {
                var = format!("{var} / {}", term.divisor);
            }
            if term.modulus != 0 {
                var = format!("{var} % {}", term.modulus);
            }
            if term.divisor != 1 || term.modulus != 0 {
                var = format!("({var})");
            }
            add_scaled(&mut sum, &var, term.stride);
        }
        for (value, stride) in at.computed.iter().filter(|c| !c.0.lanes) {
            add_scaled(&mut sum, &value.text, *stride);
        }
        if at.offset != 0 || sum.is_empty() {
            let sign = if at.offset < 0 { "-" } else { "+" };
            let _ = write!(sum, " {sign} {}", at.offset.abs());
        }
        // The first sign is superfluous if it is a plus.
        match sum.strip_prefix(" + ") {
            Some(rest) => rest.to_string(),
            None => sum.trim_start().to_string(),
        }
    }

    /// What each lane adds, as a vector of `i32`.
    fn lane_part(&self, at: &Address) -> String {
        let mut sum = match at.lane_stride(LANES) {
            Some(0) => String::new(),
            Some(1) => " + LANE".to_string(),
            Some(stride) => format!(" + LANE * {stride}"),
            None => {
                let lanes: Vec<String> = (0..LANES).map(|lane| at.lane_offset(lane).to_string()).collect();
                format!(" + (vi){{{}}}", lanes.join(", "))
            }
        };
        for (value, stride) in at.computed.iter().filter(|c| c.0.lanes) {
            let _ = write!(sum, " + {} * {stride}", value.text);
        }
        sum
    }

    /// The address as an `i32` in each lane.
    fn lanes(&self, at: &Address) -> String {
        format!("VI((int32_t)({})){}", self.uniform_part(at), self.lane_part(at))
    }

    fn bound(&self, bound: &Bound) -> String {
        let term = |t: &Term| {
            let mut sum = String::new();
            t.vars.iter().for_each(|(var, c)| add_scaled(&mut sum, &self.variable(*var), *c));
            if let Some(d) = t.size {
                let _ = write!(sum, " + sizes[{d}]");
            }
            if t.offset != 0 || sum.is_empty() {
                let _ = write!(sum, " + {}", t.offset);
            }
            sum.strip_prefix(" + ").unwrap_or(&sum).to_string()
        };
        let terms: Vec<String> = bound.0.iter().map(term).collect();
        terms
            .into_iter()
            .reduce(|x, y| format!("(({x}) < ({y}) ? ({x}) : ({y}))"))
            .expect("a bound has at least one term")
    }

    /// The offset of one lane, for elements that are not adjacent.
    fn element(&self, buffer: &Buffer, at: &Address, lane: usize) -> String {
        let mut place = self.uniform_part(at);
        for (value, stride) in at.computed.iter().filter(|c| c.0.lanes) {
            add_scaled(&mut place, &format!("{}[{lane}]", value.text), *stride);
        }
        let offset = at.lane_offset(lane);
        if offset != 0 {
            let _ = write!(place, " + {offset}");
        }
        format!("p_{}[{}]", buffer.name, place)
    }

    fn vector_load(&mut self, buffer: &Buffer, at: &Address, lanes: Option<&Value>) -> String {
        if at.lane_stride(LANES) == Some(1) {
            let place = format!("p_{} + {}", buffer.name, self.uniform_part(at));
            let name = access("load", buffer.dtype);
            return match lanes {
                None => format!("{name}({place})"),
                Some(on) => format!("{name}_if({place}, {})", on.text),
            };
        }
        let element = |lane: usize| {
            let element = self.element(buffer, at, lane);
            let element = if buffer.dtype == Dtype::Bool { format!("-({element} != 0)") } else { element };
            match lanes {
                None => element,
                Some(on) => format!("({}[{lane}] ? {element} : 0)", on.text),
            }
        };
        let elements: Vec<String> = (0..LANES).map(element).collect();
        let elements = elements.join(", ");
        match buffer.dtype {
            Dtype::F16 => format!("vf_from_f16((vh){{{elements}}})"),
            Dtype::BF16 => format!("vf_from_bf16((vh){{{elements}}})"),
            dtype => format!("({}){{{elements}}}", register_type(true, dtype)),
        }
    }
}

fn add_scaled(sum: &mut String, value: &str, scale: i64) {
    let _ = match scale {
        1 => write!(sum, " + {value}"),
        -1 => write!(sum, " - {value}"),
        c if c < 0 => write!(sum, " - {value} * (int64_t){}", -c),
        c => write!(sum, " + {value} * (int64_t){c}"),
    };
}

/// The type of a register, which holds the wide type of an element.
fn register_type(lanes: bool, dtype: Dtype) -> &'static str {
    match (lanes, dtype.wide()) {
        (true, _) => kind(true, dtype),
        (false, Dtype::F32) => "float",
        (false, Dtype::I64) => "int64_t",
        (false, _) => "int32_t",
    }
}

/// What the names of functions of the prelude begin with: the class of registers they work on.
fn kind(lanes: bool, dtype: Dtype) -> &'static str {
    match (lanes, dtype.wide()) {
        (true, Dtype::F32) => "vf",
        (true, Dtype::I64) => "vl",
        (true, _) => "vi",
        (false, Dtype::F32) => "f",
        (false, Dtype::I64) => "l",
        (false, _) => "i",
    }
}

/// The function that loads or stores adjacent elements of this type.
fn access(what: &str, dtype: Dtype) -> String {
    let kind = kind(true, dtype);
    match dtype {
        Dtype::F32 | Dtype::I32 | Dtype::I64 => format!("{kind}_{what}"),
        narrow => format!("{kind}_{what}_{narrow}"),
    }
}

/// The value in all lanes.
fn vector(x: &Value) -> String {
    match (x.lanes, x.dtype) {
        (true, _) => x.text.clone(),
        (false, Dtype::F32) => format!("VF({})", x.text),
        (false, Dtype::I64) => format!("VLONG({})", x.text),
        (false, Dtype::Bool) => format!("VI(-({}))", x.text),
        (false, _) => format!("VI({})", x.text),
    }
}

fn spelled(x: &Value, lanes: bool) -> String {
    if lanes { vector(x) } else { x.text.clone() }
}

fn float_literal(x: f32) -> String {
    if x.is_nan() {
        return "__builtin_nanf(\"\")".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "__builtin_inff()".into() } else { "(-__builtin_inff())".into() };
    }
    if x.is_sign_negative() { format!("({x:?}f)") } else { format!("{x:?}f") }
}

/// `x op y`; None if it has no operator or function of this type.
fn binary_text(op: Binary, dtype: Dtype, lanes: bool, x: &str, y: &str) -> String {
    let kind = kind(lanes, dtype);
    let call = |name: &str| format!("{kind}_{name}({x}, {y})");
    match (op, dtype) {
        (Binary::Max, Dtype::F32) if planted!(MaxLosesNan) => match lanes {
            true => format!("vf_select({x} > {y}, {x}, {y})"),
            false => format!("({x} > {y} ? {x} : {y})"),
        },
        (Binary::Mod, Dtype::I32) if planted!(ModTruncated) => format!("{x} % {y}"),
        (Binary::Add, Dtype::F32) => format!("{x} + {y}"),
        (Binary::Sub, Dtype::F32) => format!("{x} - {y}"),
        (Binary::Mul, Dtype::F32) => format!("{x} * {y}"),
        (Binary::And | Binary::Mul, Dtype::Bool) => format!("{x} & {y}"),
        (Binary::Or | Binary::Max, Dtype::Bool) => format!("{x} | {y}"),
        (Binary::LessThan, Dtype::Bool) => format!("~{x} & {y}{}", if lanes { "" } else { " & 1" }),
        (Binary::LessThan, Dtype::I64) if lanes => format!("vi_from_mask({x} < {y})"),
        (Binary::LessThan, _) => format!("{x} < {y}"),
        (Binary::FloorDiv, Dtype::F32) if !lanes => format!("__builtin_floorf({x} / {y})"),
        (Binary::Add, _) => call("add"),
        (Binary::Sub, _) => call("sub"),
        (Binary::Mul, _) => call("mul"),
        (Binary::Max, _) => call("max"),
        (Binary::Mod, _) => call("mod"),
        (Binary::FloorDiv, _) => call("floor_div"),
        (Binary::And | Binary::Or, _) => panic!("{op:?} of {dtype}: only bools have it"),
    }
}

impl Target for C<'_> {
    fn open_scope(&mut self) {
        self.line("{");
        self.indent += 1;
    }

    fn close_scope(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn begin_for(&mut self, l: &For) {
        if l.parts.len() > 1 {
            let (name, from, to) = (self.variable(l.var), self.bound(&l.from), self.bound(&l.to));
            self.open_scope();
            self.line(&format!("int64_t {name} = {from};"));
            self.line(&format!("const int64_t e_{name} = {to};"));
        }
    }

    fn begin_part(&mut self, l: &For, part: &Part) {
        let (name, step) = (self.variable(l.var), part.step);
        let (start, end) = if l.parts.len() > 1 {
            (String::new(), format!("e_{name}"))
        } else {
            (format!("int64_t {name} = {}", self.bound(&l.from)), self.bound(&l.to))
        };
        let last = if part.whole && planted!(LastTileLost) {
            format!("{name} + {step} < {end}")
        } else if part.whole && step > 1 {
            format!("{name} + {step} <= {end}")
        } else {
            format!("{name} < {end}")
        };
        self.line(&format!("for ({start}; {last}; {name} += {step}) {{"));
        self.indent += 1;
    }

    fn end_part(&mut self, _: &For, _: &Part) {
        self.close_scope();
    }

    fn end_for(&mut self, l: &For) {
        if l.parts.len() > 1 {
            self.close_scope();
        }
    }

    fn literal(&mut self, x: Literal) -> Value {
        let (text, dtype) = match x {
            Literal::Float(x) => (float_literal(x), Dtype::F32),
            Literal::Int(i32::MIN) => ("INT32_MIN".into(), Dtype::I32),
            Literal::Int(x) if x < 0 => (format!("({x})"), Dtype::I32),
            Literal::Int(x) => (x.to_string(), Dtype::I32),
            Literal::Long(i64::MIN) => ("INT64_MIN".into(), Dtype::I64),
            Literal::Long(x) => (format!("INT64_C({x})"), Dtype::I64),
            Literal::Size(free) => (format!("((int32_t)sizes[{free}])"), Dtype::I32),
            Literal::Bool(x) => (i32::from(x).to_string(), Dtype::Bool),
        };
        Value { text, lanes: false, dtype }
    }

    fn position(&mut self, at: &Address) -> Value {
        if at.has_lanes() {
            let lanes = self.lanes(at);
            self.value(lanes, true, Dtype::I32)
        } else {
            let sum = self.uniform_part(at);
            self.value(format!("(int32_t)({sum})"), false, Dtype::I32)
        }
    }

    fn not_negative(&mut self, at: &Address) -> Value {
        if at.has_lanes() {
            let lanes = self.lanes(at);
            self.value(format!("({lanes}) >= VI(0)"), true, Dtype::Bool)
        } else {
            let sum = self.uniform_part(at);
            self.value(format!("({sum}) >= 0"), false, Dtype::Bool)
        }
    }

    fn below(&mut self, at: &Address, end: &Bound) -> Value {
        let (sum, end) = (self.uniform_part(at), self.bound(end));
        if at.has_lanes() {
            let lanes = self.lane_part(at);
            self.value(format!("VI(0){lanes} < VI((int32_t)({end} - ({sum})))"), true, Dtype::Bool)
        } else {
            self.value(format!("({sum}) < {end}"), false, Dtype::Bool)
        }
    }

    fn inside(&mut self, at: &Address, extent: usize) -> Value {
        if at.has_lanes() {
            let lanes = self.lanes(at);
            // Negative numbers are great ones without sign.
            self.value(format!("(vi)((vu)({lanes}) < (vu)VI({extent}))"), true, Dtype::Bool)
        } else {
            let sum = self.uniform_part(at);
            self.value(format!("(uint64_t)({sum}) < {extent}u"), false, Dtype::Bool)
        }
    }

    fn load(&mut self, buffer: &Buffer, at: &Address, condition: &Condition) -> Value {
        let (lanes, dtype) = (at.has_lanes() || condition.lanes.is_some(), buffer.dtype.wide());
        let loaded = if lanes {
            self.vector_load(buffer, at, condition.lanes.as_ref())
        } else {
            let element = format!("p_{}[{}]", buffer.name, self.uniform_part(at));
            match buffer.dtype {
                Dtype::Bool => format!("{element} != 0"),
                Dtype::F16 | Dtype::BF16 => format!("f_from_{}({element})", buffer.dtype),
                _ => element,
            }
        };
        match &condition.uniform {
            None => self.value(loaded, lanes, dtype),
            Some(c) if lanes => {
                let name = format!("t{}", self.temporaries);
                self.temporaries += 1;
                let ty = register_type(true, dtype);
                self.line(&format!("{ty} {name} = ({ty}){{0}};"));
                self.line(&format!("if ({}) {name} = {loaded};", c.text));
                Value { text: name, lanes, dtype }
            }
            Some(c) => self.value(format!("{} ? {loaded} : 0", c.text), false, dtype),
        }
    }

    fn store(&mut self, buffer: &Buffer, at: &Address, value: &Value, condition: &Condition) {
        let when = condition.uniform.as_ref().map_or(String::new(), |c| format!("if ({}) ", c.text));
        if !at.has_lanes() {
            let element = format!("p_{}[{}]", buffer.name, self.uniform_part(at));
            let value = if value.lanes { format!("{}[0]", value.text) } else { value.text.clone() };
            let stored = match buffer.dtype {
                Dtype::F16 | Dtype::BF16 => format!("{}_from_f({value})", buffer.dtype),
                dtype => format!("({})({value})", memory_type(dtype)),
            };
            return self.line(&format!("{when}{element} = {stored};"));
        }
        let text = vector(value);
        if at.lane_stride(LANES) == Some(1) {
            let place = format!("p_{} + {}", buffer.name, self.uniform_part(at));
            let name = access("store", buffer.dtype);
            return match &condition.lanes {
                None => self.line(&format!("{when}{name}({place}, {text});")),
                Some(on) => self.line(&format!("{when}{name}_if({place}, {text}, {});", on.text)),
            };
        }
        let held = self.value(text, true, value.dtype);
        for lane in 0..LANES {
            let element = self.element(buffer, at, lane);
            let on =
                condition.lanes.as_ref().map_or(String::new(), |on| format!("if ({}[{lane}]) ", on.text));
            let value = match buffer.dtype {
                Dtype::Bool => format!("{}[{lane}] & 1", held.text),
                Dtype::F16 | Dtype::BF16 => format!("{}_from_f({}[{lane}])", buffer.dtype, held.text),
                _ => format!("{}[{lane}]", held.text),
            };
            self.line(&format!("{when}{on}{element} = {value};"));
        }
    }

    fn unary(&mut self, op: Unary, x: &Value) -> Value {
        let kind = if x.lanes { "vf" } else { "f" };
        let text = match op {
            Unary::Exp2 => format!("{kind}_exp2({})", x.text),
            Unary::Log2 => format!("{kind}_log2({})", x.text),
            Unary::Sin => format!("{kind}_sin({})", x.text),
            Unary::Sqrt if x.lanes => format!("vf_sqrt({})", x.text),
            Unary::Sqrt => format!("__builtin_sqrtf({})", x.text),
            Unary::Recip if x.lanes => format!("VF(1.0f) / {}", x.text),
            Unary::Recip => format!("1.0f / {}", x.text),
        };
        self.value(text, x.lanes, Dtype::F32)
    }

    fn binary(&mut self, op: Binary, x: &Value, y: &Value) -> Value {
        let lanes = x.lanes || y.lanes;
        let text = binary_text(op, x.dtype, lanes, &spelled(x, lanes), &spelled(y, lanes));
        let dtype = if op == Binary::LessThan { Dtype::Bool } else { x.dtype };
        self.value(text, lanes, dtype)
    }

    fn select(&mut self, condition: &Value, x: &Value, y: &Value) -> Value {
        if !condition.lanes {
            let lanes = x.lanes || y.lanes;
            if !lanes {
                let text = format!("{} ? {} : {}", condition.text, x.text, y.text);
                return self.value(text, false, x.dtype);
            }
        }
        let kind = kind(true, x.dtype);
        let text = format!("{kind}_select({}, {}, {})", vector(condition), vector(x), vector(y));
        self.value(text, true, x.dtype)
    }

    fn cast(&mut self, to: Dtype, x: &Value) -> Value {
        let (from, wide, lanes) = (x.dtype, to.wide(), x.lanes);
        let call = |name: &str| format!("{}_{name}({})", kind(lanes, wide), x.text);
        let widened = match (from, wide) {
            (Dtype::F32, Dtype::I32) if to == Dtype::I32 && planted!(CastWraps) => {
                let wrapped = |x: &str| format!("(int32_t)(int64_t)({x} == {x} ? {x} : 0.0f)");
                match lanes {
                    true => {
                        let each = |lane| wrapped(&format!("{}[{lane}]", x.text));
                        format!("(vi){{{}}}", (0..LANES).map(each).collect::<Vec<_>>().join(", "))
                    }
                    false => wrapped(&x.text),
                }
            }
            (Dtype::F32, _) if to == Dtype::U8 => call(if lanes { "u8_from_vf" } else { "u8_from_f" }),
            _ if from == wide => x.text.clone(),
            (Dtype::Bool, Dtype::Bool) => x.text.clone(),
            (_, Dtype::Bool) if lanes => match from {
                Dtype::F32 => format!("{} != VF(0.0f)", x.text),
                Dtype::I64 => format!("vi_from_mask({} != VLONG(0))", x.text),
                _ => format!("{} != VI(0)", x.text),
            },
            (_, Dtype::Bool) => format!("{} != 0", x.text),
            (Dtype::Bool, Dtype::F32) if lanes => format!("vf_select({}, VF(1.0f), VF(0.0f))", x.text),
            (Dtype::Bool, Dtype::I64) if lanes => format!("-vl_from_vi({})", x.text),
            (Dtype::Bool, _) if lanes => format!("-{}", x.text),
            (from, _) if lanes => call(&format!("from_{}", kind(true, from))),
            (Dtype::F32, _) => call("from_f"),
            (_, wide) => format!("({})({})", register_type(false, wide), x.text),
        };
        // What the narrow type does not hold is rounded, or wraps; a bool fits everywhere.
        let text = match to {
            Dtype::BF16 if from == Dtype::F32 && lanes && planted!(RoundingDown) => {
                format!("(vf)((vi){widened} & VI((int32_t)0xffff0000))")
            }
            Dtype::F16 | Dtype::BF16 if from != Dtype::Bool => {
                format!("{}_round_{to}({widened})", kind(lanes, wide))
            }
            Dtype::U8 if matches!(from, Dtype::I32 | Dtype::I64) => {
                format!("({widened}) & {}", if lanes { "VI(255)" } else { "255" })
            }
            _ => widened,
        };
        self.value(text, lanes, wide)
    }

    fn define(&mut self, name: &str, value: &Value, lanes: bool) {
        self.line(&format!("{} {name} = {};", register_type(lanes, value.dtype), spelled(value, lanes)));
    }

    fn assign(&mut self, name: &str, value: &Value, lanes: bool) {
        self.line(&format!("{name} = {};", spelled(value, lanes)));
    }

    fn accumulate(&mut self, register: &Value, op: Reduce, value: &Value, condition: Option<&Value>) {
        let op = crate::kernel::lower::combine(op);
        let (name, lanes) = (&register.text, register.lanes);
        let sum = binary_text(op, register.dtype, lanes, name, &spelled(value, lanes));
        self.conditional(register, sum, condition);
    }

    fn accumulate_product(&mut self, register: &Value, x: &Value, y: &Value, condition: Option<&Value>) {
        let lanes = register.lanes;
        let product = format!("{} * {}", spelled(x, lanes), spelled(y, lanes));
        match condition {
            None => self.line(&format!("{} += {product};", register.text)),
            Some(_) => self.conditional(register, format!("{} + {product}", register.text), condition),
        }
    }

    fn across(&mut self, op: Reduce, x: &Value, digits: &[LayoutDigit]) -> Value {
        let lanes: usize =
            digits.iter().map(|d| if let LayoutDigit::Lanes { size, .. } = d { *size } else { 1 }).product();
        assert_eq!(lanes, LANES, "a vector is reduced as a whole");
        let kind = kind(true, x.dtype);
        let name = match op {
            _ if x.dtype == Dtype::Bool => "any",
            Reduce::Sum => "sum",
            Reduce::Max => "greatest",
        };
        self.value(format!("{kind}_{name}({})", x.text), false, x.dtype)
    }

    fn barrier(&mut self) {}
}

impl C<'_> {
    fn conditional(&mut self, register: &Value, sum: String, condition: Option<&Value>) {
        let name = &register.text;
        let text = match condition {
            None => sum,
            Some(on) if register.lanes => {
                let kind = kind(true, register.dtype);
                format!("{kind}_select({}, {sum}, {name})", vector(on))
            }
            Some(on) => format!("{} ? {sum} : {name}", on.text),
        };
        self.line(&format!("{name} = {text};"));
    }
}
