//! Instructions that compute, load, store and exchange.

use super::arithmetic::{self, Longs, Words};
use super::instruction::*;
use super::launch::Block;
use super::warp::Warp;

impl Warp {
    /// Runs one instruction, other than control flow, on the lanes of a mask that is not empty.
    pub fn execute(&mut self, op: &Op, mask: u32, block: &mut Block) -> Result<(), String> {
        match op {
            Op::Unary { function, ty, flush, dst, a } => {
                self.unary(*function, *ty, *flush, *dst, *a, mask, block)
            }
            Op::Binary { function, ty, flush, dst, a, b } => match ty.file() {
                File::Word | File::Half => {
                    let (mut x, mut y) = (self.word(*a, mask, block)?, self.word(*b, mask, block)?);
                    if *flush {
                        (x, y) = (arithmetic::flush(&x), arithmetic::flush(&y));
                    }
                    let mut result = arithmetic::binary_word(*function, *ty, &x, &y)?;
                    if *flush {
                        result = arithmetic::flush(&result);
                    }
                    self.set_word(*dst, &result, mask);
                    Ok(())
                }
                File::Long => {
                    let x = self.long(*a, mask, block)?;
                    let y = match function {
                        Binary::ShiftLeft | Binary::ShiftRight => self.word(*b, mask, block)?.map(u64::from),
                        _ => self.long(*b, mask, block)?,
                    };
                    let result = arithmetic::binary_long(*function, *ty, &x, &y)?;
                    self.set_long(*dst, &result, mask);
                    Ok(())
                }
                File::Predicate => {
                    let (x, y) = (self.bits(*a, mask, block)?, self.bits(*b, mask, block)?);
                    self.set_predicate(*dst, arithmetic::binary_bits(*function, x, y)?, mask);
                    Ok(())
                }
            },
            Op::MultiplyAdd { ty, dst, a, b, c } => {
                if ty.file() == File::Long {
                    let (x, y) = (self.long(*a, mask, block)?, self.long(*b, mask, block)?);
                    let z = self.long(*c, mask, block)?;
                    self.set_long(*dst, &arithmetic::multiply_add_long(&x, &y, &z), mask);
                } else {
                    let (x, y) = (self.word(*a, mask, block)?, self.word(*b, mask, block)?);
                    let z = self.word(*c, mask, block)?;
                    self.set_word(*dst, &arithmetic::multiply_add_word(*ty, &x, &y, &z), mask);
                }
                Ok(())
            }
            Op::MultiplyWide { ty, dst, a, b, c } => {
                let (x, y) = (self.word(*a, mask, block)?, self.word(*b, mask, block)?);
                let z = match c {
                    Some(c) => self.long(*c, mask, block)?,
                    None => [0; 32],
                };
                self.set_long(*dst, &arithmetic::multiply_wide(*ty, &x, &y, &z), mask);
                Ok(())
            }
            Op::Convert { to, from, rounding, dst, a } => {
                let value = self.widened(*from, *a, mask, block)?;
                let result = arithmetic::convert(*to, *from, *rounding, &value);
                match to.file() {
                    File::Long => self.set_long(*dst, &result, mask),
                    _ => self.set_word(*dst, &result.map(|value| value as u32), mask),
                }
                Ok(())
            }
            Op::Compare { compare, ty, combine, dst, a, b } => {
                let mut bits = match ty.file() {
                    File::Long => {
                        let (x, y) = (self.long(*a, mask, block)?, self.long(*b, mask, block)?);
                        arithmetic::compare_long(*compare, *ty, &x, &y)
                    }
                    _ => {
                        let (x, y) = (self.word(*a, mask, block)?, self.word(*b, mask, block)?);
                        arithmetic::compare_word(*compare, *ty, &x, &y)
                    }
                };
                if let Some(combine) = combine {
                    let other = self.predicate(combine.with, mask, block)?;
                    bits = arithmetic::binary_bits(combine.function, bits, other)?;
                }
                self.set_predicate(*dst, bits, mask);
                Ok(())
            }
            Op::Select { ty, dst, a, b, predicate } => {
                let bits = self.predicate(*predicate, mask, block)?;
                if ty.file() == File::Long {
                    let (x, y) = (self.long(*a, mask, block)?, self.long(*b, mask, block)?);
                    self.set_long(*dst, &select(bits, &x, &y), mask);
                } else {
                    let (x, y) = (self.word(*a, mask, block)?, self.word(*b, mask, block)?);
                    self.set_word(*dst, &select(bits, &x, &y), mask);
                }
                Ok(())
            }
            Op::Load { space, ty, dst, address } => self.load(*space, *ty, dst, address, mask, block),
            Op::Store { space, ty, src, address } => self.store(*space, *ty, src, address, mask, block),
            Op::Shuffle { mode, dst, valid, a, b, c, members } => {
                let source = Shuffle { mode: *mode, a: *a, b: *b, c: *c, members: *members };
                let (values, inside) = self.shuffle(&source, mask, block)?;
                self.set_word(*dst, &values, mask);
                if let Some(valid) = valid {
                    self.set_predicate(*valid, inside, mask);
                }
                Ok(())
            }
            Op::Branch { .. } | Op::Barrier | Op::Return => Err("control flow is not executed here".into()),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn unary(
        &mut self,
        function: Unary,
        ty: Type,
        flush: bool,
        dst: Register,
        a: Operand,
        mask: u32,
        block: &Block,
    ) -> Result<(), String> {
        match ty.file() {
            File::Word | File::Half => {
                let mut x = self.word(a, mask, block)?;
                if flush {
                    x = arithmetic::flush(&x);
                }
                let mut result = arithmetic::unary_word(function, ty, &x)?;
                if flush {
                    result = arithmetic::flush(&result);
                }
                self.set_word(dst, &result, mask);
            }
            File::Long => {
                let x = self.long(a, mask, block)?;
                self.set_long(dst, &arithmetic::unary_long(function, ty, &x)?, mask);
            }
            File::Predicate => {
                let bits = self.bits(a, mask, block)?;
                self.set_predicate(dst, if function == Unary::Not { !bits } else { bits }, mask);
            }
        }
        Ok(())
    }

    /// A predicate operand: a register, or 0 or 1 for all lanes.
    fn bits(&self, operand: Operand, mask: u32, block: &Block) -> Result<u32, String> {
        match operand {
            Operand::Register(register) => self.predicate(register, mask, block),
            Operand::Immediate(0) => Ok(0),
            _ => Ok(u32::MAX),
        }
    }

    fn widened(&self, ty: Type, operand: Operand, mask: u32, block: &Block) -> Result<Longs, String> {
        match ty.file() {
            File::Long => self.long(operand, mask, block),
            _ => Ok(self.word(operand, mask, block)?.map(u64::from)),
        }
    }

    fn at_thread(&self, lane: usize, message: String) -> String {
        format!("thread {}: {message}", self.first_thread + lane as u32)
    }

    fn load(
        &mut self,
        space: Space,
        ty: Type,
        dst: &[Register],
        address: &Address,
        mask: u32,
        block: &mut Block,
    ) -> Result<(), String> {
        let size = ty.bytes();
        let length = size * dst.len();
        if space == Space::Parameter {
            let Operand::Immediate(base) = address.base else {
                return Err("a parameter is addressed by its name".into());
            };
            let start = base.wrapping_add_signed(address.offset) as usize;
            let bytes = block.parameters.get(start..start.saturating_add(length));
            let bytes = bytes.ok_or("reads behind the parameters")?;
            let value = widen(bytes);
            match ty.file() {
                File::Long => self.set_long(dst[0], &[value; 32], mask),
                _ => self.set_word(dst[0], &[value as u32; 32], mask),
            }
            return Ok(());
        }
        let addresses = self.addresses(space, address, mask, block)?;
        for lane in lanes(mask) {
            let thread = self.first_thread + lane as u32;
            let bytes = if space == Space::Global {
                block.memory.load(addresses[lane], length, &mut self.hint)
            } else {
                block.shared.load(addresses[lane] as usize, length, thread)
            };
            let bytes = bytes.map_err(|message| format!("thread {thread}: {message}"))?;
            for (register, element) in dst.iter().zip(bytes.chunks_exact(size)) {
                self.set_lane(*register, lane, widen(element));
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        space: Space,
        ty: Type,
        src: &[Operand],
        address: &Address,
        mask: u32,
        block: &mut Block,
    ) -> Result<(), String> {
        let size = ty.bytes();
        let length = size * src.len();
        let mut values = [[0; 32]; 4];
        for (values, operand) in values.iter_mut().zip(src) {
            *values = self.widened(ty, *operand, mask, block)?;
        }
        let addresses = self.addresses(space, address, mask, block)?;
        for lane in lanes(mask) {
            let thread = self.first_thread + lane as u32;
            let bytes = if space == Space::Global {
                block.memory.store(addresses[lane], length, &mut self.hint)
            } else {
                block.shared.store(addresses[lane] as usize, length, thread)
            };
            let bytes = bytes.map_err(|message| self.at_thread(lane, message))?;
            for (element, values) in bytes.chunks_exact_mut(size).zip(&values) {
                element.copy_from_slice(&values[lane].to_le_bytes()[..size]);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn addresses(&self, space: Space, address: &Address, mask: u32, block: &Block) -> Result<Longs, String> {
        let offset = address.offset;
        if space == Space::Global {
            return Ok(self.long(address.base, mask, block)?.map(|base| base.wrapping_add_signed(offset)));
        }
        let base = self.word(address.base, mask, block)?;
        Ok(base.map(|base| u64::from(base.wrapping_add(offset as u32))))
    }

    #[inline(always)]
    fn set_lane(&mut self, register: Register, lane: usize, value: u64) {
        match register.file {
            File::Long => self.set_long(register, &[value; 32], 1 << lane),
            _ => self.set_word(register, &[value as u32; 32], 1 << lane),
        }
    }

    /// The values that lanes take from others, and which of those lanes are inside the segment.
    fn shuffle(&self, shuffle: &Shuffle, mask: u32, block: &Block) -> Result<(Words, u32), String> {
        let members = self.word(shuffle.members, mask, block)?;
        for lane in lanes(mask) {
            if members[lane] != mask {
                return Err(self.at_thread(
                    lane,
                    format!("the shuffle names the lanes {:#010x} but {mask:#010x} run it", members[lane]),
                ));
            }
        }
        let values = self.word(shuffle.a, mask, block)?;
        let distance = self.word(shuffle.b, mask, block)?;
        let clamp = self.word(shuffle.c, mask, block)?;
        let mut result = values;
        let mut inside = 0;
        for lane in lanes(mask) {
            let this = lane as u32;
            let segment = clamp[lane] >> 8 & 31;
            let last = this & segment | clamp[lane] & 31 & !segment;
            let step = distance[lane] & 31;
            let (source, valid) = match shuffle.mode {
                // the bound of `up` is the first lane
                ShuffleMode::Up => (this.wrapping_sub(step), this >= step && this - step >= last),
                ShuffleMode::Down => (this + step, this + step <= last),
                ShuffleMode::Butterfly => (this ^ step, this ^ step <= last),
                ShuffleMode::Index => {
                    let source = this & segment | step & !segment;
                    (source, source <= last)
                }
            };
            let source = if valid { source } else { this };
            if mask >> source & 1 == 0 {
                return Err(
                    self.at_thread(lane, format!("the shuffle reads lane {source}, which does not run it"))
                );
            }
            result[lane] = values[source as usize];
            inside |= u32::from(valid) << lane;
        }
        Ok((result, inside))
    }
}

struct Shuffle {
    mode: ShuffleMode,
    a: Operand,
    b: Operand,
    c: Operand,
    members: Operand,
}

fn select<T: Copy>(bits: u32, a: &[T; 32], b: &[T; 32]) -> [T; 32] {
    std::array::from_fn(|lane| if bits >> lane & 1 != 0 { a[lane] } else { b[lane] })
}

/// The lanes of a mask.
#[inline(always)]
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// Little-endian bytes as a number.
#[inline(always)]
fn widen(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}
