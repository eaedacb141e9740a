//! Positions and addresses. Each part of a sum is computed as far outside the loops as what it depends on allows.

use super::render::Renderer;
use super::writer::{Class, Writer};
use luminal_core::kernel::expand::{Address, AddressTerm};
use luminal_core::kernel::ir::{Buffer, Space};
use luminal_core::kernel::layout::LaneDigit;
use luminal_core::kernel::tile::{Bound, Term, Var};
use std::collections::BTreeMap;

impl Renderer<'_> {
    /// At the head of the loop at `depth`, or right here where that is None.
    pub(super) fn at_depth(
        &mut self,
        depth: Option<usize>,
        key: String,
        make: impl FnOnce(&mut Writer) -> String,
    ) -> String {
        match depth {
            Some(depth) => self.writer.hoist(depth, key, make),
            None => make(&mut self.writer),
        }
    }

    /// `sum + value * factor`, in 32 bits; None is 0.
    fn add_scaled(&mut self, depth: Option<usize>, sum: Option<String>, value: &str, factor: i64) -> String {
        let text = factor.to_string();
        match (sum, factor) {
            (None, 1) => value.to_string(),
            (None, _) => self.at_depth(depth, format!("{value} * {text}"), |w| {
                w.op(Class::Word, "mul.lo.s32", &[value, &text])
            }),
            (Some(sum), 1) => self.at_depth(depth, format!("{sum} + {value}"), |w| {
                w.op(Class::Word, "add.s32", &[&sum, value])
            }),
            (Some(sum), _) => self.at_depth(depth, format!("{sum} + {value} * {text}"), |w| {
                w.op(Class::Word, "mad.lo.s32", &[value, &text, &sum])
            }),
        }
    }

    /// `value / divisor` of a number that is not negative, below 2^31.
    pub(super) fn divide_by_constant(&mut self, depth: usize, value: &str, divisor: u32) -> String {
        if divisor == 1 {
            return value.to_string();
        }
        let key = format!("{value} / {divisor}");
        if divisor.is_power_of_two() {
            let shift = divisor.trailing_zeros().to_string();
            return self.writer.hoist(depth, key, |w| w.op(Class::Word, "shr.u32", &[value, &shift]));
        }
        // The rounded-up reciprocal with 31 + log2 bits is exact for 31-bit numbers.
        let shift = 31 + divisor.ilog2() + 1;
        let reciprocal = ((1_u64 << shift).div_ceil(u64::from(divisor))).to_string();
        self.writer.hoist(depth, key, |w| {
            let product = w.op(Class::Long, "mul.wide.u32", &[value, &reciprocal]);
            let quotient = w.op(Class::Long, "shr.u64", &[&product, &shift.to_string()]);
            w.op(Class::Word, "cvt.u32.u64", &[&quotient])
        })
    }

    /// `value % modulus`, under the same conditions.
    fn modulo_constant(&mut self, depth: usize, value: &str, modulus: u32) -> String {
        let key = format!("{value} % {modulus}");
        if modulus.is_power_of_two() {
            let mask = (modulus - 1).to_string();
            return self.writer.hoist(depth, key, |w| w.op(Class::Word, "and.b32", &[value, &mask]));
        }
        let quotient = self.divide_by_constant(depth, value, modulus);
        let factor = (-i64::from(modulus)).to_string();
        self.writer.hoist(depth, key, |w| w.op(Class::Word, "mad.lo.s32", &[&quotient, &factor, value]))
    }

    /// `(thread >> shift) % size`
    fn lane_digit(&mut self, digit: &LaneDigit) -> String {
        let thread = self.thread();
        let (shift, mask) = (digit.shift.to_string(), (digit.size - 1).to_string());
        let top = digit.size << digit.shift >= self.program.lanes;
        let shifted = match digit.shift {
            0 => thread,
            _ => {
                let key = format!("thread >> {shift}");
                self.writer.hoist(0, key, |w| w.op(Class::Word, "shr.u32", &[&thread, &shift]))
            }
        };
        if top {
            return shifted;
        }
        let key = format!("{shifted} & {mask}");
        self.writer.hoist(0, key, |w| w.op(Class::Word, "and.b32", &[&shifted, &mask]))
    }

    /// The loop variable of a term, divided and limited.
    fn term(&mut self, term: &AddressTerm) -> String {
        let var = &self.vars[&term.var];
        let (depth, mut value) = (var.depth, var.register.clone());
        if term.divisor != 1 {
            value = self.divide_by_constant(depth, &value, term.divisor as u32);
        }
        if term.modulus != 0 {
            value = self.modulo_constant(depth, &value, term.modulus as u32);
        }
        value
    }

    fn depth_of(&self, var: Var) -> usize {
        self.vars[&var].depth
    }

    /// Terms by the depth of the loop that changes them.
    fn by_depth(&self, at: &Address) -> BTreeMap<usize, Vec<AddressTerm>> {
        let mut groups: BTreeMap<usize, Vec<AddressTerm>> = BTreeMap::new();
        for term in &at.terms {
            groups.entry(self.depth_of(term.var)).or_default().push(*term);
        }
        groups
    }

    /// The part of a sum that is the same in all passes of all loops.
    fn outer_sum(&mut self, terms: &[AddressTerm], lanes: &[LaneDigit]) -> Option<String> {
        let mut sum = None;
        for term in terms {
            let value = self.term(term);
            sum = Some(self.add_scaled(Some(0), sum, &value, term.stride));
        }
        for digit in lanes {
            let value = self.lane_digit(digit);
            sum = Some(self.add_scaled(Some(0), sum, &value, digit.weight));
        }
        sum
    }

    /// The sum of an address without its constant (None is 0), and the depth at which it is known; None where that is
    /// only here.
    pub(super) fn sum(&mut self, at: &Address) -> (Option<String>, Option<usize>) {
        let mut groups = self.by_depth(at);
        let outer = groups.remove(&0).unwrap_or_default();
        let mut sum = self.outer_sum(&outer, &at.lanes);
        let mut known = Some(0);
        for (depth, terms) in groups {
            known = Some(depth);
            for term in terms {
                let value = self.term(&term);
                sum = Some(self.add_scaled(known, sum, &value, term.stride));
            }
        }
        for (value, stride) in &at.computed {
            known = None;
            let value = self.operand(value);
            sum = Some(self.add_scaled(None, sum, &value, *stride));
        }
        (sum, known)
    }

    /// The least of the terms: a literal, or a register.
    pub(super) fn bound(&mut self, bound: &Bound) -> String {
        if let Some(constant) = bound.as_constant() {
            return constant.to_string();
        }
        let mut least: Option<(String, usize)> = None;
        for term in &bound.0 {
            let (value, depth) = self.bound_term(term);
            least = Some(match least {
                None => (value, depth),
                Some((known, known_depth)) => {
                    let depth = depth.max(known_depth);
                    let key = format!("min {known} {value}");
                    let both =
                        self.writer.hoist(depth, key, |w| w.op(Class::Word, "min.s32", &[&known, &value]));
                    (both, depth)
                }
            });
        }
        least.map_or_else(|| "0".into(), |(value, _)| value)
    }

    fn bound_term(&mut self, term: &Term) -> (String, usize) {
        let mut sum = term.size.map(|number| self.free_size(number));
        let mut depth = 0;
        for (var, coefficient) in &term.vars {
            depth = depth.max(self.depth_of(*var));
            let register = self.vars[var].register.clone();
            sum = Some(self.add_scaled(Some(depth), sum, &register, *coefficient));
        }
        match (sum, term.offset) {
            (None, offset) => {
                let offset = offset.to_string();
                let key = format!("constant {offset}");
                (self.writer.hoist(0, key, |w| w.op(Class::Word, "mov.b32", &[&offset])), 0)
            }
            (Some(sum), 0) => (sum, depth),
            (Some(sum), offset) => {
                let offset = offset.to_string();
                let key = format!("{sum} + {offset}");
                (self.writer.hoist(depth, key, |w| w.op(Class::Word, "add.s32", &[&sum, &offset])), depth)
            }
        }
    }

    /// All values of the bound are multiples of this.
    pub(super) fn bound_align(&self, bound: &Bound) -> usize {
        let mut align = 0_i64;
        for term in &bound.0 {
            if term.size.is_some() {
                return 1;
            }
            let vars = term.vars.iter().map(|(var, coefficient)| coefficient * self.vars[var].align as i64);
            for value in vars.chain([term.offset]) {
                align = greatest_common_divisor(align, value.abs());
            }
        }
        // 0 is a multiple of everything
        if align == 0 { 1 << 20 } else { align as usize }
    }

    /// `[register + offset]` of an element.
    pub(super) fn place(&mut self, buffer: &Buffer, at: &Address) -> String {
        let bytes = buffer.dtype.bytes() as i64;
        let shared = buffer.space == Space::Scratch;
        let mut groups = self.by_depth(at);
        let outer = groups.remove(&0).unwrap_or_default();
        // The sum of all that no loop changes is one number of 32 bits, where the buffer has no more elements than
        // that.
        let small = i32::try_from(buffer.len()).is_ok();
        let sum = if small { self.outer_sum(&outer, &at.lanes) } else { None };
        let mut pointer = if shared { self.shared_base() } else { self.argument(buffer) };
        if let Some(sum) = sum {
            pointer = self.offset_by(shared, Some(0), pointer, &sum, bytes);
        }
        if !small {
            for term in outer {
                let value = self.term(&term);
                pointer = self.offset_by(shared, Some(0), pointer, &value, term.stride * bytes);
            }
            for digit in &at.lanes {
                let value = self.lane_digit(digit);
                pointer = self.offset_by(shared, Some(0), pointer, &value, digit.weight * bytes);
            }
        }
        for (depth, terms) in groups {
            for term in terms {
                let value = self.term(&term);
                pointer = self.offset_by(shared, Some(depth), pointer, &value, term.stride * bytes);
            }
        }
        for (value, stride) in &at.computed {
            let value = self.operand(value);
            pointer = self.offset_by(shared, None, pointer, &value, stride * bytes);
        }
        let offset = at.offset * bytes + self.shared.get(&buffer.name).map_or(0, |offset| *offset as i64);
        if i32::try_from(offset).is_err() {
            let far = self.writer.op(Class::Long, "add.s64", &[&pointer, &offset.to_string()]);
            return format!("[{far}]");
        }
        match offset {
            0 => format!("[{pointer}]"),
            _ => format!("[{pointer}+{offset}]"),
        }
    }

    /// `pointer + value * bytes`, in 64 bits for global memory.
    fn offset_by(
        &mut self,
        shared: bool,
        depth: Option<usize>,
        pointer: String,
        value: &str,
        bytes: i64,
    ) -> String {
        if shared {
            return self.add_scaled(depth, Some(pointer), value, bytes);
        }
        let key = format!("{pointer} + {value} * {bytes}");
        let far = i32::try_from(bytes).is_err();
        let bytes = bytes.to_string();
        if far {
            return self.at_depth(depth, key, |w| {
                let value = w.op(Class::Long, "cvt.s64.s32", &[value]);
                w.op(Class::Long, "mad.lo.s64", &[&value, &bytes, &pointer])
            });
        }
        self.at_depth(depth, key, |w| w.op(Class::Long, "mad.wide.s32", &[value, &bytes, &pointer]))
    }

    /// The address of an argument.
    fn argument(&mut self, buffer: &Buffer) -> String {
        let buffers = &self.program.kernel.buffers;
        let number = buffers.iter().position(|other| other.name == buffer.name).unwrap_or_default();
        let source = format!("[p{number}]");
        self.writer.hoist(0, source.clone(), |w| {
            let generic = w.op(Class::Long, "ld.param.u64", &[&source]);
            w.op(Class::Long, "cvta.to.global.u64", &[&generic])
        })
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
