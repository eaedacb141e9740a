//! A check of the rendered text that assemblers leave out: types of registers, and definition before use.
//!
//! `ptxas` takes an `f32` operation on a `.b32` register, and reads of registers that nothing has written. Here each
//! operand must have the class that its instruction asks for, each register must be declared, and, in the order of
//! the text, written before it is read; a conditional instruction does not count as writing.

use super::writer::Class;
use luminal_core::error::{Error, Result};
use std::collections::HashSet;

/// Checks a module. The first fault is reported with its line.
pub fn lint(text: &str) -> Result<()> {
    let mut entry = Entry::default();
    for (number, line) in text.lines().enumerate() {
        let statement = line.split("//").next().unwrap_or_default().trim();
        if statement == "{" {
            entry = Entry::default();
        }
        let fault = if let Some(declaration) = statement.strip_prefix(".reg ") {
            entry.declare(declaration)
        } else if let Some(instruction) = statement.strip_suffix(';').filter(|s| !s.starts_with('.')) {
            entry.instruction(instruction)
        } else {
            Ok(())
        };
        fault.map_err(|what| Error::new(format!("PTX line {}, `{statement}`: {what}", number + 1)))?;
    }
    Ok(())
}

/// What is known at one line of an entry.
#[derive(Default)]
struct Entry {
    /// Numbers of registers of each class.
    declared: [usize; 5],
    written: HashSet<String>,
}

/// What an operand must be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Predicate,
    /// `.b32`, for integers.
    Word,
    Float,
    Long,
    Half,
    /// 32 bits of either class.
    Bits,
}

impl Kind {
    fn of_suffix(suffix: &str) -> Option<Kind> {
        Some(match suffix {
            "pred" => Kind::Predicate,
            "u32" | "s32" | "u8" => Kind::Word,
            "b32" => Kind::Bits,
            "b16" | "u16" | "f16" | "bf16" => Kind::Half,
            "f32" => Kind::Float,
            "u64" | "s64" | "b64" => Kind::Long,
            _ => return None,
        })
    }

    fn accepts(self, class: Class) -> bool {
        match self {
            Kind::Predicate => class == Class::Predicate,
            Kind::Word => class == Class::Word,
            Kind::Float => class == Class::Float,
            Kind::Long => class == Class::Long,
            Kind::Half => class == Class::Half,
            Kind::Bits => matches!(class, Class::Word | Class::Float),
        }
    }
}

impl Entry {
    /// `.f32 %f<8>;`
    fn declare(&mut self, declaration: &str) -> Result<(), String> {
        let parse = || {
            let (ty, rest) = declaration.trim().strip_prefix('.')?.split_once(" %")?;
            let (letter, count) = rest.strip_suffix(">;")?.split_once('<')?;
            let class = Class::ALL.into_iter().find(|class| letter == class.letter().to_string())?;
            (class.declared() == ty).then_some((class, count.parse::<usize>().ok()?))
        };
        let (class, count) = parse().ok_or("not a declaration of registers")?;
        self.declared[class as usize] = count;
        Ok(())
    }

    fn instruction(&mut self, text: &str) -> Result<(), String> {
        let (guard, text) = match text.strip_prefix('@') {
            None => (None, text),
            Some(rest) => {
                let (guard, rest) = rest.split_once(' ').ok_or("a guard alone")?;
                (Some(guard.trim_start_matches('!')), rest)
            }
        };
        if let Some(guard) = guard {
            self.read(guard, Kind::Predicate)?;
        }
        let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
        let operands = split(operands);
        let Some((targets, sources)) = signature(opcode, &operands)? else { return Ok(()) };
        for (operand, kind) in sources {
            self.read(operand, kind)?;
        }
        for (operand, kind) in targets {
            self.check(operand, kind)?;
            if guard.is_none() {
                self.written.insert(operand.to_string());
            } else if !self.written.contains(operand) {
                return Err(format!("{operand} is written under a condition only"));
            }
        }
        Ok(())
    }

    /// The operand is a declared register of this kind.
    fn check(&self, operand: &str, kind: Kind) -> Result<(), String> {
        let mut letters = operand.trim_start_matches('%').chars();
        let letter = letters.next().unwrap_or_default();
        let class = Class::ALL.into_iter().find(|class| class.letter() == letter);
        let (Some(class), Ok(number)) = (class, letters.as_str().parse::<usize>()) else {
            return Err(format!("{operand} is not a register"));
        };
        if number >= self.declared[class as usize] {
            return Err(format!("{operand} is not declared"));
        }
        if !kind.accepts(class) {
            return Err(format!("{operand} is a .{} register where {kind:?} is needed", class.declared()));
        }
        Ok(())
    }

    /// A register that was written, a literal or a symbol.
    fn read(&self, operand: &str, kind: Kind) -> Result<(), String> {
        if !operand.starts_with('%') || operand.contains('.') {
            return literal(operand, kind);
        }
        self.check(operand, kind)?;
        if self.written.contains(operand) {
            Ok(())
        } else {
            Err(format!("{operand} is read before it is written"))
        }
    }
}

/// Hexadecimal float bits go where floats are, and nowhere else.
fn literal(operand: &str, kind: Kind) -> Result<(), String> {
    let float = operand.starts_with("0f");
    let number = operand.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    match kind {
        Kind::Float if !float => Err(format!("{operand} is not a float")),
        Kind::Word | Kind::Long | Kind::Half | Kind::Predicate if float => {
            Err(format!("{operand} is a float"))
        }
        Kind::Predicate if number => Err(format!("{operand} is not a predicate")),
        _ => Ok(()),
    }
}

/// Operands in text order, without brackets and offsets.
fn split(operands: &str) -> Vec<&str> {
    operands
        .split(',')
        .map(|operand| operand.trim().trim_matches(|c| "[]{}".contains(c)))
        .map(|operand| operand.split('+').next().unwrap_or(operand).trim())
        .filter(|operand| !operand.is_empty())
        .collect()
}

type Signature<'a> = (Vec<(&'a str, Kind)>, Vec<(&'a str, Kind)>);

/// Targets and sources of an instruction with what they must be; None for control flow.
fn signature<'a>(opcode: &str, operands: &[&'a str]) -> Result<Option<Signature<'a>>, String> {
    let mut parts = opcode.split('.');
    let name = parts.next().unwrap_or_default();
    let types: Vec<Kind> = parts.clone().filter_map(Kind::of_suffix).collect();
    if matches!(name, "bra" | "ret" | "bar") {
        return Ok(None);
    }
    let ty = *types.first().ok_or("an instruction without a type")?;
    let all =
        |operands: &[&'a str], kind| operands.iter().map(|operand| (*operand, kind)).collect::<Vec<_>>();
    let count = |wanted: usize| match operands.len() {
        found if found == wanted => Ok(()),
        found => Err(format!("{found} operands instead of {wanted}")),
    };
    let vector = |name: &str| if name == "v4" { Some(4) } else { (name == "v2").then_some(2) };
    let width = parts.clone().find_map(vector).unwrap_or(1);
    let space = parts.next().unwrap_or_default();
    let address = if space == "shared" { Kind::Word } else { Kind::Long };
    let signature = match name {
        "ld" => {
            count(width + 1)?;
            let source = if space == "param" { vec![] } else { vec![(operands[width], address)] };
            (all(&operands[..width], ty), source)
        }
        "st" => {
            count(width + 1)?;
            let mut sources = all(&operands[1..], ty);
            sources.push((operands[0], address));
            (vec![], sources)
        }
        "setp" => {
            count(3)?;
            (all(&operands[..1], Kind::Predicate), all(&operands[1..], ty))
        }
        "selp" => {
            count(4)?;
            let mut sources = all(&operands[1..3], ty);
            sources.push((operands[3], Kind::Predicate));
            (all(&operands[..1], ty), sources)
        }
        "cvt" => {
            count(2)?;
            let from = *types.get(1).ok_or("a conversion from nothing")?;
            (all(&operands[..1], ty), all(&operands[1..], from))
        }
        "mul" | "mad" if opcode.contains(".wide") => {
            count(if name == "mul" { 3 } else { 4 })?;
            let mut sources = all(&operands[1..3], ty);
            sources.extend(all(&operands[3..], Kind::Long));
            (all(&operands[..1], Kind::Long), sources)
        }
        "shl" | "shr" => {
            count(3)?;
            (all(&operands[..1], ty), vec![(operands[1], ty), (operands[2], Kind::Word)])
        }
        "shfl" => {
            count(5)?;
            let mut sources = all(&operands[1..2], ty);
            sources.extend(all(&operands[2..], Kind::Word));
            (all(&operands[..1], ty), sources)
        }
        "mov" | "cvta" | "neg" | "abs" | "not" | "ex2" | "lg2" | "rcp" | "sqrt" | "sin" | "cos" => {
            count(2)?;
            (all(&operands[..1], ty), all(&operands[1..], ty))
        }
        "mad" | "fma" => {
            count(4)?;
            (all(&operands[..1], ty), all(&operands[1..], ty))
        }
        "add" | "sub" | "mul" | "div" | "rem" | "min" | "max" | "and" | "or" | "xor" => {
            count(3)?;
            (all(&operands[..1], ty), all(&operands[1..], ty))
        }
        _ => return Err(format!("the lint does not know `{name}`")),
    };
    Ok(Some(signature))
}

#[cfg(test)]
mod tests {
    use super::lint;

    fn fault(body: &str) -> String {
        let text = format!(
            "{{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .b64 %d<2>;\n.reg .b16 %h<2>;\n\
             {body}\n}}"
        );
        lint(&text).map_or_else(|error| error.to_string(), |()| "none".into())
    }

    #[test]
    fn well_typed_text_passes() {
        let body = "mov.u32 %r0, %tid.x;\nld.param.u64 %d0, [p0];\nmad.wide.s32 %d1, %r0, 4, %d0;\n\
                    ld.global.f32 %f0, [%d1+16];\nsetp.lt.f32 %p0, %f0, 0f00000000;\nmov.f32 %f1, 0f00000000;\n\
                    @%p0 add.rn.f32 %f1, %f0, 0f3F800000;\nshfl.sync.bfly.b32 %f2, %f1, 16, 31, 0xffffffff;\n\
                    st.global.f32 [%d1], %f2;\nret;";
        assert_eq!(fault(body), "none");
    }

    #[test]
    fn each_fault_is_found() {
        let cases = [
            ("mov.b32 %r0, 0;\nadd.rn.f32 %f0, %r0, %r0;", "is a .b32 register where Float is needed"),
            ("add.s32 %r0, %r1, 1;", "%r1 is read before it is written"),
            ("mov.b32 %r9, 0;", "%r9 is not declared"),
            (
                "mov.b32 %r0, 0;\nsetp.eq.s32 %p0, %r0, 0;\n@%p0 mov.f32 %f0, 0f00000000;",
                "under a condition only",
            ),
            ("mov.b32 %r0, 0;\nld.global.f32 %f0, [%r0];", "where Long is needed"),
            ("mov.f32 %f0, 1;", "1 is not a float"),
            ("mov.s32 %r0, 0f00000000;", "is a float"),
            ("add.s32 %r0, 1;", "2 operands instead of 3"),
            ("ld.param.u64 %d0, [p0];\nld.global.v2.f32 {%f0}, [%d0];", "2 operands instead of 3"),
            ("frob.s32 %r0, 1;", "does not know `frob`"),
            ("mov.f32 %f0, 0f00000000;\ncvt.rn.f16.f32 %r0, %f0;", "where Half is needed"),
            ("cvt.f32.f16 %f0, %h0;", "%h0 is read before it is written"),
            ("mov.b64 %d0, 1;\nadd.s32 %r0, %d0, %d0;", "where Word is needed"),
        ];
        for (body, message) in cases {
            assert!(fault(body).contains(message), "{body}: {}", fault(body));
        }
    }
}
