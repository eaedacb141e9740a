//! An allocator that knows how much is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Counts bytes that are allocated now, and the most there were.
pub struct Counting {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Counting {
    pub const fn new() -> Counting {
        Counting { now: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    /// How many more bytes than before there were at most while this ran. No other thread may allocate meanwhile.
    pub fn peak_of<T>(&self, work: impl FnOnce() -> T) -> (T, usize) {
        let before = self.now.load(SeqCst);
        self.most.store(before, SeqCst);
        let result = work();
        (result, self.most.load(SeqCst) - before)
    }

    fn grown(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes, SeqCst) + bytes;
        self.most.fetch_max(now, SeqCst);
    }
}

// SAFETY: everything is passed on to the system's allocator; the counters own no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.grown(layout.size());
        // SAFETY: as the caller promised us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.now.fetch_sub(layout.size(), SeqCst);
        // SAFETY: as the caller promised us.
        unsafe { System.dealloc(pointer, layout) }
    }
}
