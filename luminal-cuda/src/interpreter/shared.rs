//! Shared memory of one block.

use super::bitmap::Bitmap;
use super::shadow::Shadow;

/// Bytes, which of them were written, and who touched them since the last barrier.
pub(super) struct Shared {
    bytes: Vec<u8>,
    written: Bitmap,
    shadow: Shadow,
}

impl Shared {
    pub fn new(bytes: usize, granule: usize) -> Shared {
        let mut written = Bitmap::default();
        written.resize(bytes);
        Shared { bytes: vec![0xA5; bytes], written, shadow: Shadow::new(bytes, granule) }
    }

    pub fn barrier(&mut self) {
        self.shadow.barrier();
    }

    #[inline(always)]
    fn check(&self, offset: usize, length: usize) -> Result<(), String> {
        if offset + length > self.bytes.len() {
            return Err(format!(
                "{length} bytes at offset {offset} of shared memory, which has {} bytes",
                self.bytes.len()
            ));
        }
        if !offset.is_multiple_of(length) {
            return Err(format!("the shared address {offset} is not a multiple of {length}"));
        }
        Ok(())
    }

    #[inline(always)]
    pub fn load(&mut self, offset: usize, length: usize, thread: u32) -> Result<&[u8], String> {
        self.check(offset, length)?;
        if !self.written.all(offset, length) {
            return Err(format!(
                "reads {length} bytes at offset {offset} of shared memory that were never written"
            ));
        }
        self.shadow.read(offset, length, thread)?;
        Ok(&self.bytes[offset..offset + length])
    }

    #[inline(always)]
    pub fn store(&mut self, offset: usize, length: usize, thread: u32) -> Result<&mut [u8], String> {
        self.check(offset, length)?;
        self.shadow.write(offset, length, thread)?;
        self.written.set(offset, length);
        Ok(&mut self.bytes[offset..offset + length])
    }
}
