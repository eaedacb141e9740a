//! A tile program as register-level text: the part that all targets share.
//!
//! Each register of a tile is one value: on a CPU a SIMD vector (a scalar if it has no lanes), on a GPU one register of
//! every thread. The expansion walks each statement register by register and shares values by expression and register;
//! a [`Target`] says only how one such value is loaded, combined, masked and stored.

mod address;
mod statement;
mod value;

pub use address::{Address, AddressTerm};

use super::ir::{AxisId, Binary, Buffer, BufferId, Expr, Space};
use super::layout::LayoutDigit;
use super::tile::{Bound, For, Part, Program, Stmt};
use crate::dtype::Dtype;
use crate::graph::{Reduce, Unary};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A value in a register, as a target spells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// A name or a literal.
    pub text: String,
    /// True if lanes may hold different values.
    pub lanes: bool,
    /// Type of each: `f32`, `i32`, `i64` or `bool`.
    pub dtype: Dtype,
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// `f32`
    Float(f32),
    /// `i32`
    Int(i32),
    /// `i64`
    Long(i64),
    /// `bool`
    Bool(bool),
    /// The size of a free dimension, an `i32`.
    Size(usize),
}

/// When an access to memory happens. Both parts must hold; a load that does not happen gives 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Condition {
    /// A bool without lanes.
    pub uniform: Option<Value>,
    /// A bool for each lane.
    pub lanes: Option<Value>,
}

impl Condition {
    /// True if the access always happens.
    pub fn is_always(&self) -> bool {
        self.uniform.is_none() && self.lanes.is_none()
    }
}

/// What a renderer provides. Operands of one operation have one dtype; where some have lanes and others do not, the
/// latter are broadcast, and the result has lanes.
pub trait Target {
    /// True if adjacent registers may be loaded and stored together.
    fn wide(&self) -> bool {
        false
    }
    /// Opens a block of text: names defined inside end with it.
    fn open_scope(&mut self);
    /// Closes the last scope.
    fn close_scope(&mut self);
    /// Declares `l.var := l.from` and evaluates `l.to`.
    fn begin_for(&mut self, l: &For);
    /// Opens the loop `part`, which goes on from the present value of the variable; a scope.
    fn begin_part(&mut self, l: &For, part: &Part);
    /// Adds the step and closes the loop.
    fn end_part(&mut self, l: &For, part: &Part);
    /// Ends what `begin_for` began.
    fn end_for(&mut self, l: &For);
    /// A constant.
    fn literal(&mut self, x: Literal) -> Value;
    /// The sum that an address stands for, as an `i32`.
    fn position(&mut self, at: &Address) -> Value;
    /// `at >= 0`
    fn not_negative(&mut self, at: &Address) -> Value;
    /// `at < end`, where `at` is not negative: a mask.
    fn below(&mut self, at: &Address, end: &Bound) -> Value;
    /// `0 <= at < extent`: a guard.
    fn inside(&mut self, at: &Address, extent: usize) -> Value;
    /// An element for each lane, or one for all if the address has no lanes; in the wide type of the buffer's.
    fn load(&mut self, buffer: &Buffer, at: &Address, condition: &Condition) -> Value;
    /// `count` registers whose elements are adjacent in memory in each lane; None if there is no such access.
    fn load_wide(&mut self, _buffer: &Buffer, _at: &Address, _count: usize) -> Option<Vec<Value>> {
        None
    }
    /// Stores a register, whose type is the wide one of the buffer's and whose value the buffer's type holds.
    fn store(&mut self, buffer: &Buffer, at: &Address, value: &Value, condition: &Condition);
    /// The counterpart of [`Target::load_wide`]; false if there is no such access.
    fn store_wide(&mut self, _buffer: &Buffer, _at: &Address, _values: &[Value]) -> bool {
        false
    }
    /// Function of one value.
    fn unary(&mut self, op: Unary, x: &Value) -> Value;
    /// Function of two values.
    fn binary(&mut self, op: Binary, x: &Value, y: &Value) -> Value;
    /// `x * y + z` of floats; None where the target leaves that to its assembler.
    fn multiply_add(&mut self, _x: &Value, _y: &Value, _z: &Value) -> Option<Value> {
        None
    }
    /// `condition ? x : y`
    fn select(&mut self, condition: &Value, x: &Value, y: &Value) -> Value;
    /// Conversion as Rust's `as`; to bool: non-zero. To a type that only stores numbers: the value in its wide type.
    fn cast(&mut self, to: Dtype, x: &Value) -> Value;
    /// Declares a register that can be assigned later; `lanes`: it holds a value for each lane.
    fn define(&mut self, name: &str, value: &Value, lanes: bool);
    /// Sets a register that was defined before.
    fn assign(&mut self, name: &str, value: &Value, lanes: bool);
    /// `name := name (+) value` in the lanes where the condition holds.
    fn accumulate(&mut self, register: &Value, op: Reduce, value: &Value, condition: Option<&Value>);
    /// `name := name + x * y`, rounded once where the target can.
    fn accumulate_product(&mut self, register: &Value, x: &Value, y: &Value, condition: Option<&Value>);
    /// All lanes that differ in these digits reduced to one value; digits of registers are to be skipped.
    fn across(&mut self, op: Reduce, x: &Value, digits: &[LayoutDigit]) -> Value;
    /// Scratch written before is visible to all lanes after.
    fn barrier(&mut self);
}

/// Expands the body of a program.
pub struct Expansion<'a, T: Target> {
    program: &'a Program,
    /// Where the text goes.
    pub target: T,
    /// Values of the present statement: by expression and by the registers along its axes.
    values: HashMap<(*const Expr, Vec<usize>), Value>,
    /// Conditions of the present statement, by their text.
    conditions: HashMap<String, Value>,
    /// Axes of each expression of the present statement.
    axes: HashMap<*const Expr, Rc<Vec<AxisId>>>,
}

impl<'a, T: Target> Expansion<'a, T> {
    /// Starts with an empty text.
    pub fn new(program: &'a Program, target: T) -> Self {
        Expansion {
            program,
            target,
            values: HashMap::new(),
            conditions: HashMap::new(),
            axes: HashMap::new(),
        }
    }

    /// Writes the whole body and gives the target back.
    pub fn run(mut self) -> T {
        self.define_registers();
        let program = self.program;
        self.statements(&program.body);
        self.target
    }

    /// Registers that cross nests are declared at the start, so that no scope ends them.
    fn define_registers(&mut self) {
        let mut registers: BTreeMap<BufferId, Vec<(String, bool)>> = BTreeMap::new();
        collect_registers(self.program, &self.program.body, &mut registers);
        for (buffer, names) in registers {
            let zero = match self.program.kernel.buffers[buffer].dtype.wide() {
                Dtype::I32 => Literal::Int(0),
                Dtype::I64 => Literal::Long(0),
                Dtype::Bool => Literal::Bool(false),
                _ => Literal::Float(0.0),
            };
            for (name, lanes) in names {
                let zero = self.target.literal(zero);
                self.target.define(&name, &zero, lanes);
            }
        }
    }
}

fn collect_registers(program: &Program, body: &[Stmt], found: &mut BTreeMap<BufferId, Vec<(String, bool)>>) {
    for stmt in body {
        match stmt {
            Stmt::For(l) => l.parts.iter().for_each(|part| collect_registers(program, &part.body, found)),
            Stmt::Store { tile, buffer, axes, at, .. } => {
                let target = &program.kernel.buffers[*buffer];
                if target.space != Space::Register {
                    continue;
                }
                let names = found.entry(*buffer).or_default();
                for slot in tile.layout.slots(axes) {
                    let name = value::register_name(target, at.iter(), &slot);
                    if names.iter().all(|n| n.0 != name) {
                        names.push((name, tile.layout.any_lanes(axes)));
                    }
                }
            }
            _ => {}
        }
    }
}
