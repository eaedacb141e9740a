//! The parts of an instruction as written, taken one by one and checked.

use super::instruction::{Address, File, Operand, Register, Space, Type};
use super::token::{Token, error_at};
use luminal_core::error::{Error, Result};

/// An operand as written.
#[derive(Clone, Debug)]
pub(super) enum Written {
    Value(Operand),
    Vector(Vec<Operand>),
    Address(Address),
    Label(usize),
    /// `%r0|%p0`
    Pair(Register, Register),
}

/// The suffixes of an opcode, taken one by one; what is left at the end is unknown.
pub(super) struct Suffixes<'a> {
    pub left: Vec<&'a str>,
    pub opcode: Token<'a>,
}

impl<'a> Suffixes<'a> {
    pub fn accept(&mut self, name: &str) -> bool {
        let found = self.left.iter().position(|suffix| *suffix == name);
        found.map(|position| self.left.remove(position)).is_some()
    }

    /// Takes the first suffix that means something.
    pub fn find<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (position, value) =
            self.left.iter().enumerate().find_map(|(position, name)| Some((position, meaning(name)?)))?;
        self.left.remove(position);
        Some(value)
    }

    pub fn ty(&mut self) -> Result<Type> {
        self.find(Type::from_name).ok_or_else(|| self.error("lacks a supported type"))
    }

    pub fn error(&self, what: &str) -> Error {
        self.opcode.error(format_args!("`{}` {what}", self.opcode.text))
    }

    pub fn finish(&self) -> Result<()> {
        match self.left.first() {
            None => Ok(()),
            Some(suffix) => Err(self.error(&format!("has the unsupported suffix `.{suffix}`"))),
        }
    }
}

/// The operands of one instruction, taken in order and checked.
pub(super) struct Operands {
    left: std::vec::IntoIter<Written>,
    line: usize,
    opcode: String,
}

impl Operands {
    pub fn new(written: Vec<Written>, opcode: Token) -> Operands {
        Operands { left: written.into_iter(), line: opcode.line, opcode: opcode.text.to_string() }
    }

    pub fn error(&self, what: impl std::fmt::Display) -> Error {
        error_at(self.line, format_args!("`{}`: {what}", self.opcode))
    }

    pub fn next(&mut self) -> Result<Written> {
        self.left.next().ok_or_else(|| self.error("too few operands"))
    }

    pub fn check(&self, operand: Operand, file: File) -> Result<Operand> {
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

    pub fn value_in(&mut self, file: File) -> Result<Operand> {
        match self.next()? {
            Written::Value(operand) => self.check(operand, file),
            _ => Err(self.error("expected a register or a literal")),
        }
    }

    pub fn value(&mut self, ty: Type) -> Result<Operand> {
        self.value_in(ty.file())
    }

    pub fn destination(&mut self, ty: Type) -> Result<Register> {
        match self.value(ty)? {
            Operand::Register(register) => Ok(register),
            _ => Err(self.error("the destination must be a register")),
        }
    }

    /// One value, or the values of `{a, b}`.
    pub fn vector(&mut self, ty: Type) -> Result<Vec<Operand>> {
        let values = match self.next()? {
            Written::Value(operand) => vec![operand],
            Written::Vector(operands) => operands,
            _ => return Err(self.error("expected registers")),
        };
        values.into_iter().map(|operand| self.check(operand, ty.file())).collect()
    }

    pub fn address(&mut self, space: Space) -> Result<Address> {
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

    pub fn finish(&mut self) -> Result<()> {
        match self.left.next() {
            None => Ok(()),
            Some(_) => Err(self.error("too many operands")),
        }
    }
}

impl File {
    fn name(self) -> &'static str {
        match self {
            File::Half => "16-bit",
            File::Word => "32-bit",
            File::Long => "64-bit",
            File::Predicate => "predicate",
        }
    }
}
