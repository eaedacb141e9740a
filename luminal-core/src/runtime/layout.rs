//! The two orders of a tensor with free sizes. *Compact*: as the caller has it, row-major in its actual sizes.
//! *Spread*: as kernels have it, row-major in the bounds, so that strides are constants.

/// Do both orders agree for these sizes? So it is when free sizes are outermost, or have reached their bounds.
pub(crate) fn is_compact(sizes: &[usize], bounds: &[usize]) -> bool {
    // Strides of an axis matter only where a second position is reached along it.
    let first = sizes.iter().position(|size| *size != 1).unwrap_or(sizes.len());
    sizes.iter().zip(bounds).skip(first + 1).all(|(size, bound)| size == bound)
}

/// Copies from compact to spread order. What lies between is left as it is.
pub(crate) fn spread(
    compact: &[u8],
    spread_out: &mut [u8],
    sizes: &[usize],
    bounds: &[usize],
    element: usize,
) {
    if sizes.contains(&0) {
        return;
    }
    if is_compact(sizes, bounds) {
        spread_out[..compact.len()].copy_from_slice(compact);
        return;
    }
    let row = element * sizes[1..].iter().product::<usize>();
    let spread_row = element * bounds[1..].iter().product::<usize>();
    for (from, to) in compact.chunks_exact(row).zip(spread_out.chunks_mut(spread_row)) {
        spread(from, to, &sizes[1..], &bounds[1..], element);
    }
}

/// Moves elements from spread to compact order within one buffer. Returns the length of the result in bytes.
pub(crate) fn compact_in_place(bytes: &mut [u8], sizes: &[usize], bounds: &[usize], element: usize) -> usize {
    let length = element * sizes.iter().product::<usize>();
    if length != 0 {
        gather(bytes, 0, 0, sizes, bounds, element);
    }
    length
}

/// Elements only move towards the front, and in ascending order, so none is overwritten before it has moved.
fn gather(bytes: &mut [u8], from: usize, to: usize, sizes: &[usize], bounds: &[usize], element: usize) {
    if is_compact(sizes, bounds) {
        let length = element * sizes.iter().product::<usize>();
        bytes.copy_within(from..from + length, to);
        return;
    }
    let row = element * sizes[1..].iter().product::<usize>();
    let spread_row = element * bounds[1..].iter().product::<usize>();
    for i in 0..sizes[0] {
        gather(bytes, from + i * spread_row, to + i * row, &sizes[1..], &bounds[1..], element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets by their definition, to compare with.
    fn positions(sizes: &[usize]) -> Vec<Vec<usize>> {
        sizes.iter().fold(vec![vec![]], |all, size| {
            all.iter().flat_map(|p| (0..*size).map(move |i| [&p[..], &[i]].concat())).collect()
        })
    }

    fn offset(position: &[usize], sizes: &[usize]) -> usize {
        position.iter().zip(sizes).fold(0, |sum, (at, size)| sum * size + at)
    }

    #[test]
    fn spread_and_back() {
        let bounds_of_rank = [vec![], vec![5], vec![3, 4], vec![1, 3, 2], vec![2, 3, 2, 3]];
        for bounds in bounds_of_rank {
            let larger: Vec<usize> = bounds.iter().map(|bound| bound + 1).collect();
            for sizes in positions(&larger) {
                for element in [1, 4] {
                    check(&sizes, &bounds, element);
                }
            }
        }
    }

    fn check(sizes: &[usize], bounds: &[usize], element: usize) {
        let length = element * sizes.iter().product::<usize>();
        let compact: Vec<u8> = (0..length).map(|i| i as u8 + 1).collect();
        let mut buffer = vec![0; element * bounds.iter().product::<usize>()];
        spread(&compact, &mut buffer, sizes, bounds, element);
        for position in positions(sizes) {
            let from = element * offset(&position, sizes);
            let to = element * offset(&position, bounds);
            assert_eq!(
                compact[from..from + element],
                buffer[to..to + element],
                "{sizes:?} {bounds:?} {position:?}"
            );
        }
        if is_compact(sizes, bounds) {
            assert_eq!(compact, buffer[..length]);
        }
        assert_eq!(compact_in_place(&mut buffer, sizes, bounds, element), length);
        assert_eq!(compact, buffer[..length], "{sizes:?} {bounds:?}");
    }

    #[test]
    fn compact_when_only_the_outermost_size_is_free() {
        assert!(is_compact(&[2, 7, 3], &[9, 7, 3]));
        assert!(is_compact(&[1, 2, 3], &[1, 7, 3]));
        assert!(is_compact(&[9, 7, 3], &[9, 7, 3]));
        assert!(!is_compact(&[2, 6, 3], &[9, 7, 3]));
        assert!(is_compact(&[], &[]));
    }
}
