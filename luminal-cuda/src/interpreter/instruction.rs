//! Decoded instructions.

/// Element type of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    U8,
    B16,
    U16,
    F16,
    BF16,
    B32,
    U32,
    S32,
    F32,
    B64,
    U64,
    S64,
    Predicate,
}

impl Type {
    /// The type named by a suffix of an opcode.
    pub fn from_name(name: &str) -> Option<Type> {
        Some(match name {
            "u8" | "b8" => Type::U8,
            "b16" => Type::B16,
            "u16" => Type::U16,
            "f16" => Type::F16,
            "bf16" => Type::BF16,
            "b32" => Type::B32,
            "u32" => Type::U32,
            "s32" => Type::S32,
            "f32" => Type::F32,
            "b64" => Type::B64,
            "u64" => Type::U64,
            "s64" => Type::S64,
            "pred" => Type::Predicate,
            _ => return None,
        })
    }

    /// Size in memory, in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Type::U8 => 1,
            Type::B16 | Type::U16 | Type::F16 | Type::BF16 => 2,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 => 4,
            Type::B64 | Type::U64 | Type::S64 => 8,
            Type::Predicate => 0,
        }
    }

    /// The register file that holds values of this type. Bytes live in 32-bit registers.
    pub fn file(self) -> File {
        match self {
            Type::B16 | Type::U16 | Type::F16 | Type::BF16 => File::Half,
            Type::U8 | Type::B32 | Type::U32 | Type::S32 | Type::F32 => File::Word,
            Type::B64 | Type::U64 | Type::S64 => File::Long,
            Type::Predicate => File::Predicate,
        }
    }
}

/// Registers by width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
    /// 64 bits.
    Long,
    /// One bit.
    Predicate,
}

/// A register: its file and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub file: File,
    pub index: usize,
}

/// Registers that the machine fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    /// Thread number in the block, along one axis.
    Thread(usize),
    /// Threads of a block.
    Threads(usize),
    /// Block number.
    Block(usize),
    /// Blocks of the grid.
    Blocks(usize),
    /// Lane number in the warp.
    Lane,
}

impl Special {
    pub fn from_name(name: &str) -> Option<Special> {
        if name == "%laneid" {
            return Some(Special::Lane);
        }
        let (name, axis) = name.split_once('.')?;
        let axis = ["x", "y", "z"].iter().position(|letter| *letter == axis)?;
        Some(match name {
            "%tid" => Special::Thread(axis),
            "%ntid" => Special::Threads(axis),
            "%ctaid" => Special::Block(axis),
            "%nctaid" => Special::Blocks(axis),
            _ => return None,
        })
    }
}

/// What an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Register(Register),
    /// A literal, an offset of a parameter or of shared memory; the low bits count.
    Immediate(u64),
    Special(Special),
}

/// `[base + offset]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Address {
    pub base: Operand,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Parameter,
    Global,
    Shared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Move,
    Not,
    Negate,
    Absolute,
    Exp2,
    Log2,
    Sin,
    Cos,
    SquareRoot,
    Reciprocal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    /// The low half.
    Multiply,
    Divide,
    Remainder,
    Minimum,
    Maximum,
    /// `min.NaN`, `max.NaN`: NaN if either is.
    MinimumNan,
    MaximumNan,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Neither is NaN.
    BothNumbers,
    /// Either is NaN.
    EitherNan,
}

/// Test of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compare {
    pub comparison: Comparison,
    /// `equ`, `ltu` and so on: true if either is NaN.
    pub unordered: bool,
}

/// How a value of `f32` becomes an integer value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// None: from integers, or to `f32` (nearest even).
    None,
    /// `rni`: nearest even.
    Nearest,
    /// `rzi`: toward zero.
    Zero,
    /// `rmi`: down.
    Down,
    /// `rpi`: up.
    Up,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Op {
    Unary {
        function: Unary,
        ty: Type,
        flush: bool,
        dst: Register,
        a: Operand,
    },
    Binary {
        function: Binary,
        ty: Type,
        flush: bool,
        dst: Register,
        a: Operand,
        b: Operand,
    },
    /// `fma`, `mad.lo`
    MultiplyAdd {
        ty: Type,
        dst: Register,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `mul.wide`, `mad.wide`: the whole product.
    MultiplyWide {
        ty: Type,
        dst: Register,
        a: Operand,
        b: Operand,
        c: Option<Operand>,
    },
    Convert {
        to: Type,
        from: Type,
        rounding: Rounding,
        dst: Register,
        a: Operand,
    },
    Compare {
        compare: Compare,
        ty: Type,
        combine: Option<Combine>,
        dst: Register,
        a: Operand,
        b: Operand,
    },
    Select {
        ty: Type,
        dst: Register,
        a: Operand,
        b: Operand,
        predicate: Register,
    },
    Load {
        space: Space,
        ty: Type,
        dst: Vec<Register>,
        address: Address,
    },
    Store {
        space: Space,
        ty: Type,
        src: Vec<Operand>,
        address: Address,
    },
    Branch {
        target: usize,
        uniform: bool,
    },
    Barrier,
    Shuffle {
        mode: ShuffleMode,
        dst: Register,
        valid: Option<Register>,
        a: Operand,
        b: Operand,
        c: Operand,
        members: Operand,
    },
    Return,
}

/// The `.and`, `.or` or `.xor` of a comparison with a predicate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Combine {
    pub function: Binary,
    pub with: Register,
}

/// The predicate in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Guard {
    pub predicate: Register,
    pub negated: bool,
}

/// An instruction with its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Instruction {
    pub guard: Option<Guard>,
    pub op: Op,
    pub line: usize,
    /// As written, for messages.
    pub text: String,
}
