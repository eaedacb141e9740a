//! Memory for the arguments of a compiled kernel, with guards behind each.

use crate::error::{Error, Result};
use crate::kernel::interpret::{from_storage, to_storage};
use crate::kernel::ir::{Buffer, Kernel};
use crate::kernel::meaning::Values;

/// Bytes behind each argument that a kernel must leave alone.
const GUARD: usize = 256;
const PATTERN: u8 = 0xa5;

/// Arguments in the order of their storage. Aligned as the runtime aligns them.
pub struct Memory {
    /// Blocks of 64 bytes, so that the alignment is that of a cache line.
    blocks: Vec<Vec<Line>>,
    bytes: Vec<usize>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Memory {
    pub fn new(kernel: &Kernel, args: &[Values]) -> Memory {
        let mut memory = Memory { blocks: vec![], bytes: vec![] };
        for (buffer, values) in kernel.buffers.iter().zip(args) {
            let content = to_storage(buffer, values).to_bytes(buffer.dtype);
            let mut block = vec![Line([PATTERN; 64]); (content.len() + GUARD).div_ceil(64)];
            for (line, chunk) in block.iter_mut().zip(content.chunks(64)) {
                line.0[..chunk.len()].copy_from_slice(chunk);
            }
            memory.bytes.push(content.len());
            memory.blocks.push(block);
        }
        memory
    }

    /// Pointers to the arguments, valid while the memory is.
    pub fn pointers(&mut self) -> Vec<*mut u8> {
        self.blocks.iter_mut().map(|block| block.as_mut_ptr().cast()).collect()
    }

    /// What an argument holds now.
    pub fn values(&self, argument: usize, buffer: &Buffer) -> Result<Values> {
        let flat: Vec<u8> = self.blocks[argument].iter().flat_map(|line| line.0).collect();
        let (content, guard) = flat.split_at(self.bytes[argument]);
        if let Some(position) = guard.iter().position(|byte| *byte != PATTERN) {
            return Err(Error::new(format!(
                "it writes {position} bytes behind the end of `{}`",
                buffer.name
            )));
        }
        Ok(from_storage(buffer, &Values::from_bytes(buffer.dtype, content)))
    }
}
