//! A run does not allocate.

use super::mix::*;
use luminal::runtime::InputRef;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting for each thread.
struct Counting;

// SAFETY: all work is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's conditions are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's conditions are the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_run_does_not_allocate() {
    let mut session = session();
    let inputs: Vec<Inputs> = (0..6).map(|batch| Inputs::new(batch, 1)).collect();
    let before = ALLOCATIONS.get();
    let probe = std::hint::black_box(Box::new(1));
    assert_eq!(ALLOCATIONS.get(), before + 1, "the counter does not count");
    drop(probe);
    let before = ALLOCATIONS.get();
    let mut sum = 0;
    for inputs in inputs.iter().cycle().take(1000) {
        inputs.run(&mut session).unwrap();
        sum += session.output(1).data.len();
        session.reset_state();
    }
    // With a copy, too.
    let unaligned = [0u8; 16 * 4];
    let start = unaligned.as_ptr().align_offset(4) + 1;
    let x = InputRef { data: &unaligned[start..start + 36], sizes: &[3, 3] };
    session.run(&[x, InputRef { data: &[0; 6], sizes: &[2, 3] }]).unwrap();
    assert_eq!(ALLOCATIONS.get(), before);
    assert!(sum > 0);
}
