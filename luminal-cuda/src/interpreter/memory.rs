//! Global memory: an arena of buffers with gaps between them.

use super::bitmap::Bitmap;
use luminal_core::error::{Error, Result};
use std::ops::Range;

/// Where the arena begins: far from 0, so that an offset taken for an address is outside.
const BASE: u64 = 0x7f00_0000_0000;
/// Alignment of buffers, as cudaMalloc gives it.
const ALIGN: usize = 256;
/// How far behind a buffer an address is reported as beyond it.
const NEAR: usize = 1 << 20;
/// What unwritten memory holds.
const POISON: u8 = 0xA5;

/// Global memory of the simulated device. Unwritten bytes cannot be read.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    bytes: Vec<u8>,
    written: Bitmap,
    /// In ascending order, with gaps.
    buffers: Vec<Range<usize>>,
}

impl Memory {
    /// An empty memory.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// A new buffer whose contents must be written before they are read. Returns its address.
    pub fn allocate(&mut self, bytes: usize) -> u64 {
        let start = (self.bytes.len() + ALIGN).next_multiple_of(ALIGN);
        self.bytes.resize((start + bytes).next_multiple_of(ALIGN), POISON);
        self.written.resize(self.bytes.len());
        self.buffers.push(start..start + bytes);
        BASE + start as u64
    }

    /// A new buffer with these bytes.
    pub fn upload(&mut self, bytes: &[u8]) -> u64 {
        let address = self.allocate(bytes.len());
        let start = (address - BASE) as usize;
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        for offset in start..start + bytes.len() {
            self.written.set(offset, 1);
        }
        address
    }

    /// A new buffer with these numbers.
    pub fn upload_f32(&mut self, values: &[f32]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.upload(&bytes)
    }

    /// `length` bytes at an address, all of which were written.
    pub fn download(&self, address: u64, length: usize) -> Result<&[u8]> {
        let start = address.wrapping_sub(BASE) as usize;
        let inside = self.buffers.iter().any(|buffer| buffer.start <= start && start + length <= buffer.end);
        if !inside {
            return Err(Error::new(format!("no buffer of {length} bytes at {address:#x}")));
        }
        match (start..start + length).find(|offset| !self.written.all(*offset, 1)) {
            None => Ok(&self.bytes[start..start + length]),
            Some(offset) => Err(Error::new(format!(
                "byte {} of the {length} bytes at {address:#x} was never written",
                offset - start
            ))),
        }
    }

    /// `count` numbers at an address.
    pub fn download_f32(&self, address: u64, count: usize) -> Result<Vec<f32>> {
        let bytes = self.download(address, count * 4)?;
        Ok(bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four"))).collect())
    }

    /// Position of an access in the arena. `hint` remembers the buffer that the last access was in.
    #[inline(always)]
    fn locate(&self, address: u64, length: usize, hint: &mut usize) -> Result<usize, String> {
        let start = address.wrapping_sub(BASE) as usize;
        let inside =
            |buffer: &Range<usize>| buffer.start <= start && start.saturating_add(length) <= buffer.end;
        if !self.buffers.get(*hint).is_some_and(inside) {
            *hint =
                self.buffers.iter().position(inside).ok_or_else(|| self.outside(start, address, length))?;
        }
        if !start.is_multiple_of(length) {
            return Err(format!("the address {address:#x} is not a multiple of {length}"));
        }
        Ok(start)
    }

    #[inline(always)]
    pub(super) fn load(&self, address: u64, length: usize, hint: &mut usize) -> Result<&[u8], String> {
        let start = self.locate(address, length, hint)?;
        if !self.written.all(start, length) {
            return Err(format!("reads {length} bytes at {address:#x} that were never written"));
        }
        Ok(&self.bytes[start..start + length])
    }

    #[inline(always)]
    pub(super) fn store(
        &mut self,
        address: u64,
        length: usize,
        hint: &mut usize,
    ) -> Result<&mut [u8], String> {
        let start = self.locate(address, length, hint)?;
        self.written.set(start, length);
        Ok(&mut self.bytes[start..start + length])
    }

    /// Says which buffer the address missed.
    fn outside(&self, start: usize, address: u64, length: usize) -> String {
        let before = self.buffers.iter().enumerate().rev().find(|(_, buffer)| buffer.start <= start);
        match before {
            Some((number, buffer)) if start < buffer.end + NEAR => format!(
                "{length} bytes at offset {} of buffer {number}, which has {} bytes",
                start - buffer.start,
                buffer.len()
            ),
            _ => format!("{length} bytes at {address:#x}, outside every buffer"),
        }
    }
}
