//! Statements to instructions: opcodes, their suffixes and their operands.

use super::instruction::*;
use super::token::{Cursor, Token, error_at};
use luminal_core::error::Result;
use std::collections::HashMap;

/// What names mean inside a kernel.
#[derive(Default)]
pub(super) struct Names {
    pub registers: HashMap<String, Register>,
    pub labels: HashMap<String, usize>,
    /// Offsets of parameters and of shared arrays.
    pub constants: HashMap<String, u64>,
}

/// An operand as written.
#[derive(Clone, Debug)]
enum Written {
    Value(Operand),
    Vector(Vec<Operand>),
    Address(Address),
    Label(usize),
    /// `%r0|%p0`
    Pair(Register, Register),
}

pub(super) struct Decoder<'a> {
    pub names: &'a Names,
    /// Position of the return behind the last instruction, for labels there.
    pub end: usize,
}

/// The suffixes of an opcode, taken one by one; what is left at the end is unknown.
struct Suffixes<'a> {
    left: Vec<&'a str>,
    opcode: Token<'a>,
}

impl<'a> Suffixes<'a> {
    fn accept(&mut self, name: &str) -> bool {
        let found = self.left.iter().position(|suffix| *suffix == name);
        found.map(|position| self.left.remove(position)).is_some()
    }

    /// Takes the first suffix that means something.
    fn find<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (position, value) =
            self.left.iter().enumerate().find_map(|(position, name)| Some((position, meaning(name)?)))?;
        self.left.remove(position);
        Some(value)
    }

    fn ty(&mut self) -> Result<Type> {
        self.find(Type::from_name).ok_or_else(|| self.error("lacks a supported type"))
    }

    fn error(&self, what: &str) -> luminal_core::error::Error {
        self.opcode.error(format_args!("`{}` {what}", self.opcode.text))
    }

    fn finish(&self) -> Result<()> {
        match self.left.first() {
            None => Ok(()),
            Some(suffix) => Err(self.error(&format!("has the unsupported suffix `.{suffix}`"))),
        }
    }
}

/// The operands of one instruction, taken in order and checked.
struct Operands {
    left: std::vec::IntoIter<Written>,
    line: usize,
    opcode: String,
}

impl Operands {
    fn error(&self, what: impl std::fmt::Display) -> luminal_core::error::Error {
        error_at(self.line, format_args!("`{}`: {what}", self.opcode))
    }

    fn next(&mut self) -> Result<Written> {
        self.left.next().ok_or_else(|| self.error("too few operands"))
    }

    fn check(&self, operand: Operand, file: File) -> Result<Operand> {
        let found = match operand {
            Operand::Register(register) => register.file,
            Operand::Special(_) => File::Word,
            Operand::Immediate(_) => file,
        };
        if found == file {
            return Ok(operand);
        }
        Err(self.error(format_args!("a {} register where a {} one is needed", found.name(), file.name())))
    }

    fn value_in(&mut self, file: File) -> Result<Operand> {
        match self.next()? {
            Written::Value(operand) => self.check(operand, file),
            _ => Err(self.error("expected a register or a literal")),
        }
    }

    fn value(&mut self, ty: Type) -> Result<Operand> {
        self.value_in(ty.file())
    }

    fn destination(&mut self, ty: Type) -> Result<Register> {
        match self.value(ty)? {
            Operand::Register(register) => Ok(register),
            _ => Err(self.error("the destination must be a register")),
        }
    }

    /// One value, or the values of `{a, b}`.
    fn vector(&mut self, ty: Type) -> Result<Vec<Operand>> {
        let values = match self.next()? {
            Written::Value(operand) => vec![operand],
            Written::Vector(operands) => operands,
            _ => return Err(self.error("expected registers")),
        };
        values.into_iter().map(|operand| self.check(operand, ty.file())).collect()
    }

    fn address(&mut self, space: Space) -> Result<Address> {
        let Written::Address(address) = self.next()? else {
            return Err(self.error("expected an address in brackets"));
        };
        let wanted = if space == Space::Global { File::Long } else { File::Word };
        match address.base {
            Operand::Register(register) if register.file != wanted || space == Space::Parameter => {
                Err(self.error("this register cannot be an address in this space"))
            }
            Operand::Immediate(_) if space == Space::Global => {
                Err(self.error("an address in global memory must be a register"))
            }
            _ => Ok(address),
        }
    }

    fn finish(&mut self) -> Result<()> {
        match self.left.next() {
            None => Ok(()),
            Some(_) => Err(self.error("too many operands")),
        }
    }
}

impl File {
    fn name(self) -> &'static str {
        match self {
            File::Word => "32-bit",
            File::Long => "64-bit",
            File::Predicate => "predicate",
        }
    }
}

impl Decoder<'_> {
    /// One statement without its semicolon.
    pub fn instruction(&self, statement: &[Token]) -> Result<Instruction> {
        let mut cursor = Cursor::new(statement);
        let guard = self.guard(&mut cursor)?;
        let opcode = cursor.next()?;
        let mut written = vec![];
        while !cursor.is_at_end() {
            if !written.is_empty() {
                cursor.expect(",")?;
            }
            written.push(self.operand(&mut cursor)?);
        }
        let mut parts = opcode.text.split('.');
        let name = parts.next().unwrap_or_default();
        let mut suffixes = Suffixes { left: parts.collect(), opcode };
        let mut operands =
            Operands { left: written.into_iter(), line: opcode.line, opcode: opcode.text.to_string() };
        let op = operation(name, &mut suffixes, &mut operands)?;
        suffixes.finish()?;
        operands.finish()?;
        Ok(Instruction { guard, op, line: opcode.line, text: as_written(statement) })
    }

    /// `@%p0` or `@!%p0`
    fn guard(&self, cursor: &mut Cursor) -> Result<Option<Guard>> {
        if !cursor.accept("@") {
            return Ok(None);
        }
        let negated = cursor.accept("!");
        let name = cursor.next()?;
        match self.names.registers.get(name.text) {
            Some(predicate) if predicate.file == File::Predicate => {
                Ok(Some(Guard { predicate: *predicate, negated }))
            }
            _ => Err(name.error(format_args!("`{}` is not a predicate register", name.text))),
        }
    }

    fn operand(&self, cursor: &mut Cursor) -> Result<Written> {
        if cursor.accept("{") {
            let mut values = vec![self.value(cursor)?];
            while cursor.accept(",") {
                values.push(self.value(cursor)?);
            }
            cursor.expect("}")?;
            return Ok(Written::Vector(values));
        }
        if cursor.accept("[") {
            let base = self.value(cursor)?;
            let mut offset = 0;
            while cursor.accept("+") {
                let negative = cursor.accept("-");
                let number = cursor.number()? as i64;
                offset += if negative { -number } else { number };
            }
            if cursor.accept("-") {
                offset -= cursor.number()? as i64;
            }
            cursor.expect("]")?;
            return Ok(Written::Address(Address { base, offset }));
        }
        if let Some(position) = self.names.labels.get(cursor.peek()) {
            cursor.next()?;
            return Ok(Written::Label((*position).min(self.end)));
        }
        let value = self.value(cursor)?;
        if cursor.accept("|") {
            return match (value, self.value(cursor)?) {
                (Operand::Register(first), Operand::Register(second)) => Ok(Written::Pair(first, second)),
                _ => Err(cursor.error("expected two registers around `|`")),
            };
        }
        Ok(Written::Value(value))
    }

    fn value(&self, cursor: &mut Cursor) -> Result<Operand> {
        let negative = cursor.accept("-");
        let token = cursor.next()?;
        let name = token.text;
        if let Some(register) = self.names.registers.get(name) {
            return Ok(Operand::Register(*register));
        }
        if let Some(special) = Special::from_name(name) {
            return Ok(Operand::Special(special));
        }
        if let Some(offset) = self.names.constants.get(name) {
            return Ok(Operand::Immediate(*offset));
        }
        let literal = if let Some(digits) = name.strip_prefix("0f") {
            u32::from_str_radix(digits, 16).ok().map(u64::from)
        } else if let Some(digits) = name.strip_prefix("0x") {
            u64::from_str_radix(digits, 16).ok()
        } else {
            name.parse::<u64>().ok()
        };
        let literal = literal.ok_or_else(|| token.error(format_args!("unknown name `{name}`")))?;
        Ok(Operand::Immediate(if negative { literal.wrapping_neg() } else { literal }))
    }
}

fn as_written(statement: &[Token]) -> String {
    let mut text = String::new();
    let mut last = "";
    for token in statement {
        let glued = matches!(token.text, "," | "]" | "}" | "+" | "|")
            || matches!(last, "" | "@" | "!" | "[" | "{" | "+" | "-" | "|");
        if !glued {
            text.push(' ');
        }
        text.push_str(token.text);
        last = token.text;
    }
    text
}

fn operation(name: &str, suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    use Binary::*;
    use Unary::*;
    match name {
        "mov" => unary(Move, suffixes, operands),
        "cvta" => {
            // generic and global addresses are the same numbers here
            suffixes.accept("to");
            suffixes.accept("global");
            unary(Move, suffixes, operands)
        }
        "not" => unary(Not, suffixes, operands),
        "neg" => unary(Negate, suffixes, operands),
        "abs" => unary(Absolute, suffixes, operands),
        "ex2" => unary(Exp2, suffixes, operands),
        "lg2" => unary(Log2, suffixes, operands),
        "sin" => unary(Sin, suffixes, operands),
        "cos" => unary(Cos, suffixes, operands),
        "sqrt" => unary(SquareRoot, suffixes, operands),
        "rcp" => unary(Reciprocal, suffixes, operands),
        "add" => binary(Add, suffixes, operands),
        "sub" => binary(Subtract, suffixes, operands),
        "mul" if suffixes.accept("wide") => multiply_wide(false, suffixes, operands),
        "mul" => binary(Multiply, suffixes, operands),
        "mad" if suffixes.accept("wide") => multiply_wide(true, suffixes, operands),
        "mad" | "fma" => multiply_add(suffixes, operands),
        "div" => binary(Divide, suffixes, operands),
        "rem" => binary(Remainder, suffixes, operands),
        "min" if suffixes.accept("NaN") => binary(MinimumNan, suffixes, operands),
        "max" if suffixes.accept("NaN") => binary(MaximumNan, suffixes, operands),
        "min" => binary(Minimum, suffixes, operands),
        "max" => binary(Maximum, suffixes, operands),
        "and" => binary(And, suffixes, operands),
        "or" => binary(Or, suffixes, operands),
        "xor" => binary(Xor, suffixes, operands),
        "shl" => binary(ShiftLeft, suffixes, operands),
        "shr" => binary(ShiftRight, suffixes, operands),
        "setp" => compare(suffixes, operands),
        "selp" => {
            let ty = suffixes.ty()?;
            let dst = operands.destination(ty)?;
            let (a, b) = (operands.value(ty)?, operands.value(ty)?);
            let predicate = operands.destination(Type::Predicate)?;
            Ok(Op::Select { ty, dst, a, b, predicate })
        }
        "cvt" => convert(suffixes, operands),
        "ld" => load(suffixes, operands),
        "st" => store(suffixes, operands),
        "bra" => {
            let uniform = suffixes.accept("uni");
            match operands.next()? {
                Written::Label(target) => Ok(Op::Branch { target, uniform }),
                _ => Err(operands.error("expected a label")),
            }
        }
        "ret" | "exit" => Ok(Op::Return),
        "bar" | "barrier" => {
            suffixes.accept("cta");
            if !suffixes.accept("sync") {
                return Err(suffixes.error("is not supported; `bar.sync 0` is"));
            }
            match operands.value(Type::U32)? {
                Operand::Immediate(0) => Ok(Op::Barrier),
                _ => Err(operands.error("only barrier 0 is supported")),
            }
        }
        "shfl" => shuffle(suffixes, operands),
        _ => Err(suffixes.error("is not an instruction that this interpreter knows")),
    }
}

fn unary(function: Unary, suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    let ty = suffixes.ty()?;
    let flush = suffixes.accept("ftz");
    let legal = match function {
        Unary::Move => true,
        Unary::Not => matches!(ty, Type::B32 | Type::B64 | Type::Predicate),
        Unary::Negate | Unary::Absolute => matches!(ty, Type::S32 | Type::S64 | Type::F32),
        Unary::Exp2 | Unary::Log2 | Unary::Sin | Unary::Cos => suffixes.accept("approx") && ty == Type::F32,
        Unary::SquareRoot | Unary::Reciprocal => {
            (suffixes.accept("approx") || suffixes.accept("rn")) && ty == Type::F32
        }
    };
    if !legal {
        return Err(suffixes.error("has a form that is not supported"));
    }
    Ok(Op::Unary { function, ty, flush, dst: operands.destination(ty)?, a: operands.value(ty)? })
}

fn binary(function: Binary, suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    use Binary::*;
    let ty = suffixes.ty()?;
    let flush = suffixes.accept("ftz");
    let float = ty == Type::F32;
    let integer = matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64);
    let legal = match function {
        Add | Subtract if float => suffixes.accept("rn") || suffixes.left.is_empty(),
        Multiply if float => suffixes.accept("rn") || suffixes.left.is_empty(),
        Multiply => integer && suffixes.accept("lo"),
        Divide if float => suffixes.accept("rn") || suffixes.accept("approx"),
        Add | Subtract | Divide | Remainder => integer,
        Minimum | Maximum => integer || float,
        MinimumNan | MaximumNan => float,
        And | Or | Xor => matches!(ty, Type::B32 | Type::B64 | Type::Predicate),
        ShiftLeft => matches!(ty, Type::B32 | Type::B64),
        ShiftRight => integer || matches!(ty, Type::B32 | Type::B64),
    };
    if !legal {
        return Err(suffixes.error("has a form that is not supported"));
    }
    let dst = operands.destination(ty)?;
    let a = operands.value(ty)?;
    let shift = matches!(function, ShiftLeft | ShiftRight);
    let b = operands.value(if shift { Type::U32 } else { ty })?;
    Ok(Op::Binary { function, ty, flush, dst, a, b })
}

fn multiply_add(suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    let ty = suffixes.ty()?;
    let legal = match ty {
        Type::F32 => suffixes.accept("rn"),
        Type::U32 | Type::S32 | Type::U64 | Type::S64 => suffixes.accept("lo"),
        _ => false,
    };
    if !legal {
        return Err(suffixes.error("has a form that is not supported"));
    }
    let dst = operands.destination(ty)?;
    let (a, b, c) = (operands.value(ty)?, operands.value(ty)?, operands.value(ty)?);
    Ok(Op::MultiplyAdd { ty, dst, a, b, c })
}

fn multiply_wide(add: bool, suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    let ty = suffixes.ty()?;
    if !matches!(ty, Type::U32 | Type::S32) {
        return Err(suffixes.error("has a form that is not supported"));
    }
    let dst = operands.destination(Type::U64)?;
    let (a, b) = (operands.value(ty)?, operands.value(ty)?);
    let c = if add { Some(operands.value(Type::U64)?) } else { None };
    Ok(Op::MultiplyWide { ty, dst, a, b, c })
}

fn compare(suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    use Comparison::*;
    let found = suffixes.find(|name| {
        let (comparison, unordered) = match name {
            "eq" => (Equal, false),
            "ne" => (NotEqual, false),
            "lt" | "lo" => (Less, false),
            "le" | "ls" => (LessEqual, false),
            "gt" | "hi" => (Greater, false),
            "ge" | "hs" => (GreaterEqual, false),
            "equ" => (Equal, true),
            "neu" => (NotEqual, true),
            "ltu" => (Less, true),
            "leu" => (LessEqual, true),
            "gtu" => (Greater, true),
            "geu" => (GreaterEqual, true),
            "num" => (BothNumbers, false),
            "nan" => (EitherNan, true),
            _ => return None,
        };
        Some(Compare { comparison, unordered })
    });
    let compare = found.ok_or_else(|| suffixes.error("lacks a comparison"))?;
    let function = suffixes.find(|name| match name {
        "and" => Some(Binary::And),
        "or" => Some(Binary::Or),
        "xor" => Some(Binary::Xor),
        _ => None,
    });
    let ty = suffixes.ty()?;
    if ty != Type::F32 && (compare.unordered || compare.comparison == BothNumbers) {
        return Err(suffixes.error("compares with NaN but is not of type f32"));
    }
    let dst = operands.destination(Type::Predicate)?;
    let (a, b) = (operands.value(ty)?, operands.value(ty)?);
    let combine = match function {
        None => None,
        Some(function) => {
            let with = operands.destination(Type::Predicate)?;
            Some(Combine { function, with })
        }
    };
    Ok(Op::Compare { compare, ty, combine, dst, a, b })
}

fn convert(suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    let rounding = suffixes.find(|name| match name {
        "rni" => Some(Rounding::Nearest),
        "rzi" => Some(Rounding::Zero),
        "rmi" => Some(Rounding::Down),
        "rpi" => Some(Rounding::Up),
        _ => None,
    });
    let nearest_even = suffixes.accept("rn");
    // conversions to integers clamp with or without it
    suffixes.accept("sat");
    let (to, from) = (suffixes.ty()?, suffixes.ty()?);
    let legal = match (to, from) {
        (Type::Predicate, _) | (_, Type::Predicate) => false,
        (_, Type::F32) => rounding.is_some() && !nearest_even,
        (Type::F32, _) => nearest_even && rounding.is_none(),
        _ => rounding.is_none() && !nearest_even,
    };
    if !legal {
        return Err(suffixes.error("has a form that is not supported"));
    }
    let rounding = rounding.unwrap_or(Rounding::None);
    Ok(Op::Convert { to, from, rounding, dst: operands.destination(to)?, a: operands.value(from)? })
}

fn space(suffixes: &mut Suffixes) -> Result<Space> {
    suffixes
        .find(|name| match name {
            "param" => Some(Space::Parameter),
            "global" => Some(Space::Global),
            "shared" => Some(Space::Shared),
            _ => None,
        })
        .ok_or_else(|| suffixes.error("lacks a state space"))
}

fn lanes_of_vector(suffixes: &mut Suffixes) -> usize {
    suffixes
        .find(|name| match name {
            "v2" => Some(2),
            "v4" => Some(4),
            _ => None,
        })
        .unwrap_or(1)
}

fn load(suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    let space = space(suffixes)?;
    suffixes.accept("nc");
    let count = lanes_of_vector(suffixes);
    let ty = suffixes.ty()?;
    let values = operands.vector(ty)?;
    let address = operands.address(space)?;
    let mut dst = vec![];
    for value in values {
        match value {
            Operand::Register(register) => dst.push(register),
            _ => return Err(operands.error("the destination must be a register")),
        }
    }
    check_vector(count, dst.len(), ty, operands)?;
    Ok(Op::Load { space, ty, dst, address })
}

fn store(suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    let space = space(suffixes)?;
    if space == Space::Parameter {
        return Err(suffixes.error("writes a parameter"));
    }
    let count = lanes_of_vector(suffixes);
    let ty = suffixes.ty()?;
    let address = operands.address(space)?;
    let src = operands.vector(ty)?;
    check_vector(count, src.len(), ty, operands)?;
    Ok(Op::Store { space, ty, src, address })
}

fn check_vector(count: usize, found: usize, ty: Type, operands: &Operands) -> Result<()> {
    if count != found {
        return Err(operands.error(format_args!("{found} registers for {count} elements")));
    }
    if ty == Type::Predicate || count * ty.bytes() > 16 {
        return Err(operands.error("more than 16 bytes, or predicates, in one access"));
    }
    Ok(())
}

fn shuffle(suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
    let mode = suffixes.find(|name| match name {
        "up" => Some(ShuffleMode::Up),
        "down" => Some(ShuffleMode::Down),
        "bfly" => Some(ShuffleMode::Butterfly),
        "idx" => Some(ShuffleMode::Index),
        _ => None,
    });
    let mode = mode.ok_or_else(|| suffixes.error("lacks a mode"))?;
    if !suffixes.accept("sync") || suffixes.ty()? != Type::B32 {
        return Err(suffixes.error("must be `.sync` and of type b32"));
    }
    let (dst, valid) = match operands.next()? {
        Written::Value(Operand::Register(dst)) => (dst, None),
        Written::Pair(dst, valid) if valid.file == File::Predicate => (dst, Some(valid)),
        _ => return Err(operands.error("the destination must be a register")),
    };
    operands.check(Operand::Register(dst), File::Word)?;
    let (a, b) = (operands.value(Type::B32)?, operands.value(Type::B32)?);
    let (c, members) = (operands.value(Type::B32)?, operands.value(Type::B32)?);
    Ok(Op::Shuffle { mode, dst, valid, a, b, c, members })
}
