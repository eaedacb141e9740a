//! Under which conditions threads load and store, and when they must wait for each other before.

use super::render::{Renderer, Unsynchronised, memory_type, state_space};
use super::writer::Class;
use luminal_core::dtype::Dtype;
use luminal_core::kernel::expand::{Address, Condition};
use luminal_core::kernel::ir::{Buffer, Space};

impl Renderer<'_> {
    /// Bits of the thread number that do not change the element.
    fn copies(&self, at: &Address) -> usize {
        let held: usize = at.lanes.iter().map(|digit| (digit.size - 1) << digit.shift).fold(0, |a, b| a | b);
        (self.program.lanes - 1) & !held
    }

    /// A test for the threads that store, where several hold the same element.
    fn first_holder(&mut self, at: &Address) -> Option<String> {
        let copies = self.copies(at);
        // a computed position with lanes may differ between any two threads
        if copies == 0 || at.computed.iter().any(|(position, _)| position.lanes) {
            return None;
        }
        let thread = self.thread();
        Some(self.writer.hoist(0, format!("first of {copies}"), |w| {
            let copy = w.op(Class::Word, "and.b32", &[&thread, &copies.to_string()]);
            w.op(Class::Predicate, "setp.eq.s32", &[&copy, "0"])
        }))
    }

    fn is_written(&self, buffer: &Buffer) -> bool {
        let number = self.program.kernel.buffers.iter().position(|other| other.name == buffer.name);
        number.is_some_and(|number| self.written.contains(&number))
    }

    /// Waits for stores by other threads, if there were any.
    pub(super) fn before_load(&mut self, buffer: &Buffer, at: &Address) {
        if !self.is_written(buffer) {
            return;
        }
        if self.unsynchronised.stores.contains(&buffer.name) {
            self.synchronise();
        }
        if self.copies(at) != 0 {
            self.unsynchronised.shared_reads.insert(buffer.name.clone());
        }
    }

    /// Waits for loads by other threads, if there were any.
    pub(super) fn before_store(&mut self, buffer: &Buffer) {
        if self.unsynchronised.shared_reads.contains(&buffer.name) {
            self.synchronise();
        }
        if buffer.space == Space::Global {
            self.unsynchronised.stores.insert(buffer.name.clone());
        }
    }

    /// The predicate under which a thread stores.
    pub(super) fn store_predicate(&mut self, at: &Address, condition: &Condition) -> Option<String> {
        let holder = self.first_holder(at);
        match (holder, self.predicate(condition)) {
            (Some(a), Some(b)) => Some(self.writer.op(Class::Predicate, "and.pred", &[&a, &b])),
            (a, b) => a.or(b),
        }
    }

    /// True if an access of `count` adjacent elements lies at a multiple of its size in every thread.
    pub(super) fn is_aligned(&self, at: &Address, count: usize) -> bool {
        let count = count as i64;
        let terms = at.terms.iter().all(|term| {
            let align =
                if (term.divisor, term.modulus) == (1, 0) { self.vars[&term.var].align as i64 } else { 1 };
            (term.stride * align) % count == 0
        });
        let lanes = at.lanes.iter().all(|digit| digit.weight % count == 0);
        at.offset % count == 0 && terms && lanes && at.computed.is_empty()
    }

    /// True if one instruction accesses so many adjacent elements: 16 bytes at most, and no truth values.
    pub(super) fn is_wide(&self, buffer: &Buffer, at: &Address, count: usize) -> bool {
        let fits = matches!(count, 2 | 4) && count * buffer.dtype.bytes() <= 16;
        fits && buffer.dtype != Dtype::Bool && self.is_aligned(at, count)
    }

    pub(super) fn load_opcode(&self, buffer: &Buffer, count: usize) -> String {
        let vector = if count > 1 { format!(".v{count}") } else { String::new() };
        let read_only = buffer.space == Space::Global && !self.is_written(buffer);
        let path = if read_only { ".nc" } else { "" };
        format!("ld.{}{path}{vector}.{}", state_space(buffer), memory_type(buffer.dtype))
    }

    /// `bar.sync`
    pub(super) fn synchronise(&mut self) {
        self.unsynchronised = Unsynchronised::default();
        self.writer.line(format_args!("bar.sync 0"));
    }
}
