//! Statements to instructions: guards, operands and names.

use super::forms::operation;
use super::instruction::{Address, File, Guard, Instruction, Operand, Register, Special};
use super::operands::{Operands, Suffixes, Written};
use super::token::{Cursor, Token};
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

pub(super) struct Decoder<'a> {
    pub names: &'a Names,
    /// Position of the return behind the last instruction, for labels there.
    pub end: usize,
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
        let mut operands = Operands::new(written, opcode);
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
