//! Which bytes of a memory were written.

/// One bit for each byte. Ranges are aligned to their length, a power of two up to 64.
#[derive(Clone, Debug, Default)]
pub(super) struct Bitmap(Vec<u64>);

impl Bitmap {
    pub fn resize(&mut self, bytes: usize) {
        self.0.resize(bytes.div_ceil(64), 0);
    }

    #[inline(always)]
    fn mask(offset: usize, length: usize) -> u64 {
        (u64::MAX >> (64 - length)) << (offset % 64)
    }

    #[inline(always)]
    pub fn set(&mut self, offset: usize, length: usize) {
        self.0[offset / 64] |= Self::mask(offset, length);
    }

    #[inline(always)]
    pub fn all(&self, offset: usize, length: usize) -> bool {
        let mask = Self::mask(offset, length);
        self.0[offset / 64] & mask == mask
    }
}
