//! A warp: registers, program counters, and control flow.

use super::arithmetic::{Longs, Words};
use super::instruction::{File, Guard, Op, Operand, Register, Special};
use super::launch::Block;
use super::module::Kernel;

/// What a warp waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    AtBarrier,
    Done,
}

/// 32 lanes. Masks have one bit for each.
pub(super) struct Warp {
    pub state: State,
    /// Number in the block of the thread in lane 0.
    pub first_thread: u32,
    /// The buffer of the last access to global memory.
    pub hint: usize,
    /// Lanes that exist: the last warp of a block may be partial.
    pub members: u32,
    /// Lanes that have not returned.
    alive: u32,
    /// Lanes that run the next instruction.
    active: u32,
    counter: usize,
    /// All living lanes share `counter`; otherwise each has its own in `counters`.
    uniform: bool,
    counters: [usize; 32],
    words: Vec<(Words, u32)>,
    longs: Vec<(Longs, u32)>,
    predicates: Vec<(u32, u32)>,
}

impl Warp {
    pub fn new(kernel: &Kernel, first_thread: u32, lanes: u32) -> Warp {
        let members = if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 };
        Warp {
            state: State::Ready,
            first_thread,
            hint: 0,
            members,
            alive: members,
            active: members,
            counter: 0,
            uniform: true,
            counters: [0; 32],
            // no lane is written
            words: vec![([0; 32], 0); kernel.words.len()],
            longs: vec![([0; 32], 0); kernel.longs.len()],
            predicates: vec![(0, 0); kernel.predicates.len()],
        }
    }

    /// The instruction that comes next, or failed.
    pub fn position(&self) -> usize {
        self.counter
    }

    /// Runs to the next barrier, or to the end.
    pub fn run(&mut self, block: &mut Block) -> Result<(), String> {
        let kernel = block.kernel;
        loop {
            if !self.uniform {
                self.choose_lanes();
            }
            let instruction = &kernel.instructions[self.counter];
            let mask = match instruction.guard {
                None => self.active,
                Some(guard) => self.active & self.test(guard, block)?,
            };
            block.count(mask)?;
            match &instruction.op {
                Op::Branch { target, uniform } => {
                    if *uniform && mask != 0 && mask != self.active {
                        return Err("lanes of the warp disagree on a `bra.uni`".into());
                    }
                    self.branch(mask, *target);
                    continue;
                }
                Op::Return => {
                    self.alive &= !mask;
                    self.active &= !mask;
                    if self.alive == 0 {
                        self.state = State::Done;
                        return Ok(());
                    }
                }
                Op::Barrier => {
                    if mask != self.members {
                        return Err("not all threads of the warp arrive at the barrier together".into());
                    }
                    self.state = State::AtBarrier;
                    self.advance(self.counter + 1);
                    return Ok(());
                }
                op if mask != 0 => self.execute(op, mask, block)?,
                _ => {}
            }
            self.advance(self.counter + 1);
        }
    }

    /// Of diverged lanes the ones that are furthest behind run, until all are at one place.
    fn choose_lanes(&mut self) {
        let living = (0..32).filter(|lane| self.alive >> lane & 1 != 0);
        self.counter = living.clone().map(|lane| self.counters[lane]).min().unwrap_or(self.counter);
        self.active =
            living.filter(|lane| self.counters[*lane] == self.counter).fold(0, |mask, lane| mask | 1 << lane);
        self.uniform = self.active == self.alive;
    }

    fn advance(&mut self, to: usize) {
        if self.uniform {
            self.counter = to;
        } else {
            self.move_lanes(self.active, to);
        }
    }

    fn move_lanes(&mut self, mask: u32, to: usize) {
        for lane in 0..32 {
            if mask >> lane & 1 != 0 {
                self.counters[lane] = to;
            }
        }
    }

    fn branch(&mut self, taken: u32, target: usize) {
        let next = self.counter + 1;
        if taken == self.active {
            self.advance(target);
        } else if taken == 0 {
            self.advance(next);
        } else {
            self.uniform = false;
            self.move_lanes(taken, target);
            self.move_lanes(self.active & !taken, next);
        }
    }

    fn test(&self, guard: Guard, block: &Block) -> Result<u32, String> {
        let bits = self.predicate(guard.predicate, self.active, block)?;
        Ok(if guard.negated { !bits } else { bits })
    }

    #[inline(always)]
    fn check(&self, register: Register, written: u32, mask: u32, block: &Block) -> Result<(), String> {
        if written & mask == mask { Ok(()) } else { Err(self.unwritten(register, written, mask, block)) }
    }

    #[cold]
    fn unwritten(&self, register: Register, written: u32, mask: u32, block: &Block) -> String {
        let kernel = block.kernel;
        let name = match register.file {
            File::Word | File::Half => &kernel.words[register.index],
            File::Long => &kernel.longs[register.index],
            File::Predicate => &kernel.predicates[register.index],
        };
        let lane = (mask & !written).trailing_zeros();
        format!("thread {}: reads register {name}, which was never written", self.first_thread + lane)
    }

    /// The bits of a predicate, which the lanes of `mask` must have written.
    #[inline(always)]
    pub fn predicate(&self, register: Register, mask: u32, block: &Block) -> Result<u32, String> {
        let (bits, written) = self.predicates[register.index];
        self.check(register, written, mask, block)?;
        Ok(bits)
    }

    /// 32-bit values, which the lanes of `mask` must have written.
    #[inline(always)]
    pub fn word(&self, operand: Operand, mask: u32, block: &Block) -> Result<Words, String> {
        match operand {
            Operand::Register(register) => {
                let (values, written) = &self.words[register.index];
                self.check(register, *written, mask, block)?;
                Ok(*values)
            }
            Operand::Immediate(value) => Ok([value as u32; 32]),
            Operand::Special(special) => Ok(self.special(special, block)),
        }
    }

    /// 64-bit values, which the lanes of `mask` must have written.
    #[inline(always)]
    pub fn long(&self, operand: Operand, mask: u32, block: &Block) -> Result<Longs, String> {
        match operand {
            Operand::Register(register) => {
                let (values, written) = &self.longs[register.index];
                self.check(register, *written, mask, block)?;
                Ok(*values)
            }
            Operand::Immediate(value) => Ok([value; 32]),
            Operand::Special(special) => Ok(self.special(special, block).map(u64::from)),
        }
    }

    fn special(&self, special: Special, block: &Block) -> Words {
        match special {
            Special::Thread(0) => std::array::from_fn(|lane| self.first_thread + lane as u32),
            Special::Thread(_) => [0; 32],
            Special::Threads(0) => [block.threads; 32],
            Special::Threads(_) => [1; 32],
            Special::Block(axis) => [block.position[axis]; 32],
            Special::Blocks(axis) => [block.grid[axis]; 32],
            Special::Lane => std::array::from_fn(|lane| lane as u32),
        }
    }

    #[inline(always)]
    pub fn set_word(&mut self, register: Register, values: &Words, mask: u32) {
        let (target, written) = &mut self.words[register.index];
        *written |= mask;
        write_lanes(target, values, mask);
    }

    #[inline(always)]
    pub fn set_long(&mut self, register: Register, values: &Longs, mask: u32) {
        let (target, written) = &mut self.longs[register.index];
        *written |= mask;
        write_lanes(target, values, mask);
    }

    #[inline(always)]
    pub fn set_predicate(&mut self, register: Register, bits: u32, mask: u32) {
        let (target, written) = &mut self.predicates[register.index];
        *written |= mask;
        *target = *target & !mask | bits & mask;
    }
}

#[inline(always)]
fn write_lanes<T: Copy>(target: &mut [T; 32], values: &[T; 32], mask: u32) {
    if mask == u32::MAX {
        *target = *values;
        return;
    }
    for lane in 0..32 {
        if mask >> lane & 1 != 0 {
            target[lane] = values[lane];
        }
    }
}
