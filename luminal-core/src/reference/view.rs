//! Views as maps of positions: which element of the operand is this element of the result?
//!
//! A position is the number of an element in row-major order. All views but the permutation touch one axis only, so a
//! position is taken apart into `(outer, index on the axis, inner)` and put together again.

use crate::graph::Op;

/// For each position of the result the position in the operand, or none in the padding.
pub(super) fn operand_positions(
    op: &Op,
    operand: &[usize],
    result: &[usize],
    positions: &[usize],
) -> Vec<Option<usize>> {
    let along = |axis: usize, to_operand: &dyn Fn(usize) -> Option<usize>| {
        let inner: usize = operand[axis + 1..].iter().product();
        let (from, to) = (operand[axis], result[axis]);
        let map = |position: &usize| {
            let (outer, index, rest) = (position / inner / to, position / inner % to, position % inner);
            to_operand(index).map(|index| (outer * from + index) * inner + rest)
        };
        positions.iter().map(map).collect()
    };
    match op {
        // Row-major order does not change.
        Op::Split(..) | Op::Merge(..) => positions.iter().copied().map(Some).collect(),
        Op::Slice { axis, start, step, .. } => along(*axis, &|index| Some(start + index * step)),
        Op::Pad { axis, before, .. } => {
            along(*axis, &|index| index.checked_sub(*before).filter(|index| *index < operand[*axis]))
        }
        Op::Expand(_, axis) => {
            let inner: usize = operand[*axis..].iter().product();
            let repeated = result[*axis];
            let map = |position: &usize| Some(position / inner / repeated * inner + position % inner);
            positions.iter().map(map).collect()
        }
        Op::Window { axis, stride, dilation, .. } => {
            let inner: usize = operand[axis + 1..].iter().product();
            let (from, count, taps) = (operand[*axis], result[*axis], result[axis + 1]);
            let map = |position: &usize| {
                let tap = position / inner % taps;
                let window = position / inner / taps % count;
                let outer = position / inner / taps / count;
                Some((outer * from + window * stride + tap * dilation) * inner + position % inner)
            };
            positions.iter().map(map).collect()
        }
        Op::Permute(_, order) => {
            let operand_strides = strides(operand);
            // For each axis of the result its size and the distance of its elements in the operand.
            let axes: Vec<(usize, usize)> =
                order.iter().zip(result).map(|(axis, size)| (*size, operand_strides[*axis])).collect();
            let map = |position: &usize| {
                let mut left = *position;
                let mut mapped = 0;
                for (size, stride) in axes.iter().rev() {
                    mapped += left % size * stride;
                    left /= size;
                }
                Some(mapped)
            };
            positions.iter().map(map).collect()
        }
        _ => unreachable!("{} is not a view", op.name()),
    }
}

/// Distances of neighbours along each axis, in row-major order.
pub(super) fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis];
    }
    strides
}
