//! The instructions that the interpreter knows, and the forms of each.

use super::instruction::*;
use super::operands::{Operands, Suffixes, Written};
use luminal_core::error::Result;

/// What an opcode does.
pub(super) fn operation(name: &str, suffixes: &mut Suffixes, operands: &mut Operands) -> Result<Op> {
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
        (Type::F16 | Type::BF16, Type::F32) => nearest_even && rounding.is_none(),
        (Type::F32, Type::F16) => !nearest_even && rounding.is_none(),
        // From bf16 only newer processors convert.
        (Type::F16 | Type::BF16, _) | (_, Type::F16 | Type::BF16) => false,
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
