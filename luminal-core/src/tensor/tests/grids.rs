//! Loops over indices of any rank, in double precision: what convolutions and pools are compared with.

use super::*;
use crate::tensor::Window;

/// All indices of a shape in row-major order.
pub(super) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for size in shape {
        all = all.iter().flat_map(|front| (0..*size).map(|i| [front.clone(), vec![i]].concat())).collect();
    }
    all
}

/// An element of a tensor; none outside of it.
pub(super) fn at(x: &Tensor, index: &[isize]) -> Option<f64> {
    let mut place = 0;
    for (size, index) in x.shape.iter().zip(index) {
        let index = usize::try_from(*index).ok().filter(|index| index < size)?;
        place = place * size + index;
    }
    Some(f64::from(floats(x)[place]))
}

/// A tensor of these elements.
pub(super) fn from_fn(shape: &[usize], value: impl Fn(&[usize]) -> f64) -> Tensor {
    tensor(shape, indices(shape).iter().map(|index| value(index) as f32).collect::<Vec<_>>())
}

/// Where the taps of a window are: for each of them its number and its place in the input.
pub(super) fn places(windows: &[Window], position: &[usize]) -> Vec<(Vec<usize>, Vec<isize>)> {
    let taps: Vec<usize> = windows.iter().map(|window| window.taps).collect();
    let place = |tap: Vec<usize>| {
        let place = windows.iter().zip(position).zip(&tap).map(|((window, position), tap)| {
            (position * window.stride + tap * window.dilation) as isize - window.before as isize
        });
        (tap.clone(), place.collect())
    };
    indices(&taps).into_iter().map(place).collect()
}

/// Convolution from its definition.
pub(super) fn convolved(x: &Tensor, kernel: &Tensor, windows: &[Window], groups: usize) -> Tensor {
    let (out, channels) = (kernel.shape[0], kernel.shape[1]);
    let sizes = windows
        .iter()
        .zip(&x.shape[2..])
        .map(|(w, size)| (size + w.before + w.after - (w.taps - 1) * w.dilation - 1) / w.stride + 1);
    let shape: Vec<usize> = [x.shape[0], out].into_iter().chain(sizes).collect();
    from_fn(&shape, |index| {
        let (b, o) = (index[0], index[1]);
        let group = o / (out / groups);
        let mut sum = 0.0;
        for c in 0..channels {
            for (tap, place) in places(windows, &index[2..]) {
                let x_index: Vec<isize> =
                    [b as isize, (group * channels + c) as isize].into_iter().chain(place).collect();
                let k_index: Vec<isize> = [o, c].into_iter().chain(tap).map(|i| i as isize).collect();
                sum += at(x, &x_index).unwrap_or(0.0) * at(kernel, &k_index).unwrap();
            }
        }
        sum
    })
}
