//! One allocation, made at load and kept to the end.

use crate::error::{Error, Result};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Every buffer starts at a multiple of this: a cache line, and the widest vector.
pub(crate) const ALIGNMENT: usize = 64;

/// From this size on an area is aligned for huge pages: fewer misses of the address cache when weights are streamed.
const HUGE_PAGE: usize = 2 << 20;

/// Zeroed memory of a fixed size, aligned to [`ALIGNMENT`].
///
/// Invariants: `start` is valid for reads and writes of `layout.size()` initialised bytes until the area is dropped
/// (dangling, but aligned, when the size is 0), and nothing else owns that memory. Raw pointers into it are handed to
/// kernels, which run only while `&mut Session`, the owner, is borrowed: so none of them is used while a slice from
/// [`Area::bytes`] or [`Area::bytes_mut`] is alive.
pub(crate) struct Area {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the area owns its memory and has no interior mutability behind `&self`; `bytes_mut` and the kernels need
// exclusive access to the owner.
unsafe impl Send for Area {}
// SAFETY: as above.
unsafe impl Sync for Area {}

impl Area {
    /// Allocates; `purpose` is for the error when memory is short.
    pub(crate) fn new(bytes: usize, purpose: &str) -> Result<Area> {
        let alignment = if bytes >= HUGE_PAGE { HUGE_PAGE } else { ALIGNMENT };
        let short = || Error::new(format!("cannot allocate {bytes} bytes of memory for {purpose}"));
        let layout = Layout::from_size_align(bytes, alignment).map_err(|_| short())?;
        if bytes == 0 {
            return Ok(Area { start: layout.dangling_ptr(), layout });
        }
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { std::alloc::alloc(layout) }).ok_or_else(short)?;
        if bytes >= HUGE_PAGE {
            advise_huge_pages(start, bytes);
        }
        // Writing the zeros here, instead of asking for zeroed memory, also takes the page faults at load, not in the
        // first run.
        // SAFETY: `start` is valid for writes of `bytes` bytes.
        unsafe { start.write_bytes(0, bytes) };
        Ok(Area { start, layout })
    }

    pub(crate) fn len(&self) -> usize {
        self.layout.size()
    }

    /// Pointer to the byte at `offset`, which is at most the length.
    pub(crate) fn pointer(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.len(), "offset {offset} in an area of {} bytes", self.len());
        // SAFETY: `offset` is inside the allocation, or just past its end.
        unsafe { self.start.add(offset).as_ptr() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: valid and initialised by the invariants; shared by the borrow of `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len()) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: valid and initialised by the invariants; exclusive by the borrow of `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len()) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: allocated in `new` with this layout, and not freed before.
            unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) }
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge_pages(start: NonNull<u8>, bytes: usize) {
    // Only whole huge pages, so that memory of others on the last page is not concerned. A refusal changes nothing
    // but speed, so the result does not matter.
    let whole = bytes / HUGE_PAGE * HUGE_PAGE;
    // SAFETY: the range is inside an allocation that we own, and the advice does not change its content.
    unsafe { libc::madvise(start.as_ptr().cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise_huge_pages(_start: NonNull<u8>, _bytes: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroed_aligned_and_writable() {
        for bytes in [0, 1, 63, 64, 1000, HUGE_PAGE + 5] {
            let mut area = Area::new(bytes, "a test").unwrap();
            assert_eq!(area.pointer(0) as usize % ALIGNMENT, 0);
            assert_eq!(area.bytes().len(), bytes);
            assert!(area.bytes().iter().all(|byte| *byte == 0));
            let last = area.pointer(bytes);
            area.bytes_mut().fill(7);
            assert_eq!(last as usize - area.pointer(0) as usize, bytes);
            assert!(area.bytes().iter().all(|byte| *byte == 7));
        }
    }

    #[test]
    fn too_much_is_an_error() {
        let message = Area::new(usize::MAX - 100, "a test").err().unwrap().to_string();
        assert!(message.contains("for a test"), "{message}");
        assert!(Area::new(1 << 60, "a test").is_err());
    }
}
