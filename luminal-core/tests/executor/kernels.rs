//! The kernels of `mix`, as the C compiler would make them: foreign functions over raw pointers.

use super::plan::MAX;
use std::cell::Cell;

thread_local! {
    /// Launches of the product's version for `x86-64-v3` on this thread.
    pub static V3_LAUNCHES: Cell<usize> = const { Cell::new(0) };
    /// Launches of anything on this thread.
    pub static LAUNCHES: Cell<usize> = const { Cell::new(0) };
}

/// Argument `number`, an array of `length` elements.
///
/// # Safety
/// That is what the argument is.
unsafe fn read<'a, T>(buffers: *const *mut u8, number: usize, length: usize) -> &'a [T] {
    // SAFETY: the condition of this function.
    unsafe { std::slice::from_raw_parts((*buffers.add(number)).cast(), length) }
}

/// # Safety
/// As [`read`], and nobody else uses the memory meanwhile.
unsafe fn write<'a, T>(buffers: *const *mut u8, number: usize, length: usize) -> &'a mut [T] {
    // SAFETY: the condition of this function.
    unsafe { std::slice::from_raw_parts_mut((*buffers.add(number)).cast(), length) }
}

fn count() {
    LAUNCHES.set(LAUNCHES.get() + 1);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mix_squares(buffers: *const *mut u8, _sizes: *const i64, begin: i64, end: i64) {
    assert_eq!((begin, end), (0, 1));
    count();
    // SAFETY: as the plan says.
    let (s, squares) = unsafe { (read::<f32>(buffers, 0, 6), write::<f32>(buffers, 1, 6)) };
    for (square, s) in squares.iter_mut().zip(s) {
        *square = s * s;
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mix_product(buffers: *const *mut u8, sizes: *const i64, begin: i64, end: i64) {
    count();
    // SAFETY: as the plan says; the caller's array ends with the last row.
    let (batch, x, w, product) = unsafe {
        let batch = *sizes as usize;
        (
            batch,
            read::<f32>(buffers, 0, batch * 3),
            read::<f32>(buffers, 1, 24),
            write::<f32>(buffers, 2, batch * 6),
        )
    };
    for b in begin as usize * 2..(end as usize * 2).min(batch) {
        for j in 0..6 {
            product[b * 6 + j] = (0..3).map(|k| x[b * 3 + k] * w[j / 4 * 12 + k * 4 + j % 4]).sum();
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mix_product_v3(buffers: *const *mut u8, sizes: *const i64, begin: i64, end: i64) {
    V3_LAUNCHES.set(V3_LAUNCHES.get() + 1);
    // SAFETY: the same kernel.
    unsafe { mix_product(buffers, sizes, begin, end) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mix_finish(buffers: *const *mut u8, sizes: *const i64, begin: i64, end: i64) {
    count();
    // SAFETY: as the plan says; what has the free size inside has the strides of its bound.
    let (batch, product, squares, mask, total, y, z, new_total) = unsafe {
        let batch = *sizes as usize;
        (
            batch,
            read::<f32>(buffers, 0, batch * 6),
            read::<f32>(buffers, 1, 6),
            read::<u8>(buffers, 2, 2 * MAX),
            read::<f32>(buffers, 3, 6),
            write::<f32>(buffers, 4, batch * 6),
            write::<f32>(buffers, 5, 6 * MAX),
            write::<f32>(buffers, 6, 6),
        )
    };
    for j in begin as usize * 4..(end as usize * 4).min(6) {
        new_total[j] = total[j];
        for b in 0..batch {
            let value = product[b * 6 + j];
            y[b * 6 + j] = value.max(0.0) + squares[j] + total[j];
            z[j * MAX + b] = if mask[b] != mask[MAX + b] { value } else { -1.0 };
            new_total[j] += value;
        }
    }
}
