//! Transposed convolution against the scattering loop that defines it.

use super::grids::{at, indices, places};
use super::*;
use crate::tensor::{D, One, Tensor as T, Window, conv_transpose, input, output};

/// Adds each element, times the kernel, to where the convolution would have looked.
fn scattered(x: &Tensor, kernel: &Tensor, windows: &[Window], added: &[usize], groups: usize) -> Tensor {
    let (channels, each) = (kernel.shape[0], kernel.shape[1]);
    let sizes = windows.iter().zip(&x.shape[2..]).zip(added).map(|((w, size), added)| {
        (size - 1) * w.stride + w.dilation * (w.taps - 1) + 1 + added - w.before - w.after
    });
    let shape: Vec<usize> = [x.shape[0], each * groups].into_iter().chain(sizes).collect();
    let mut sums = vec![0.0; shape.iter().product()];
    for index in indices(&x.shape) {
        let (b, c) = (index[0], index[1]);
        let group = c / (channels / groups);
        let signed: Vec<isize> = index.iter().map(|i| *i as isize).collect();
        let value = at(x, &signed).unwrap();
        for (tap, place) in places(windows, &index[2..]) {
            for o in 0..each {
                let k_index: Vec<isize> = [c, o].into_iter().chain(tap.clone()).map(|i| i as isize).collect();
                let mut target = b * shape[1] + group * each + o;
                let inside = place.iter().zip(&shape[2..]).all(|(place, size)| {
                    let inside = *place >= 0 && (*place as usize) < *size;
                    target = target * size + if inside { *place as usize } else { 0 };
                    inside
                });
                if inside {
                    sums[target] += value * at(kernel, &k_index).unwrap();
                }
            }
        }
    }
    tensor(&shape, sums.into_iter().map(|sum| sum as f32).collect::<Vec<_>>())
}

#[test]
fn images() {
    let x = mixed(&[2, 4, 3, 5], 1);
    let (plain, grouped) = (mixed(&[4, 3, 4, 4], 2), mixed(&[4, 3, 3, 2], 3));
    let out = run(
        || {
            let x: T<(D<2>, D<4>, D<3>, D<5>)> = input("x");
            let plain: T<(D<2>, D<3>, D<6>, D<10>)> = x.conv_transpose2d(
                input::<T<(D<4>, D<3>, D<4>, D<4>)>>("plain"),
                conv_transpose().stride(2).padding(1),
            );
            let how = conv_transpose()
                .stride([3, 1])
                .pad_before([1, 0])
                .pad_after([0, 2])
                .output_padding([2, 1])
                .dilation([1, 2])
                .groups(2);
            let grouped: T<(D<2>, D<6>, D<10>, D<6>)> =
                x.conv_transpose2d(input::<T<(D<4>, D<3>, D<3>, D<2>)>>("grouped"), how);
            output(&(plain, grouped));
        },
        &[("x", &x), ("plain", &plain), ("grouped", &grouped)],
    );
    let window = Window { stride: 2, before: 1, after: 1, ..Window::of(4) };
    assert_close(&scattered(&x, &plain, &[window, window], &[0, 0], 1), &out[0], 1e-5);
    let row = Window { stride: 3, before: 1, ..Window::of(3) };
    let column = Window { after: 2, dilation: 2, ..Window::of(2) };
    assert_close(&scattered(&x, &grouped, &[row, column], &[2, 1], 2), &out[1], 1e-5);
}

#[test]
fn sequences() {
    let x = tensor(&[1, 1, 3], vec![1f32, 2., 3.]);
    let (three, two) = (tensor(&[1, 1, 3], vec![1f32, 10., 100.]), tensor(&[1, 1, 2], vec![1f32, 10.]));
    let out = run(
        || {
            let x: T<(One, D<1>, D<3>)> = input("x");
            let three: T<(D<1>, D<1>, D<3>)> = input("three");
            let two: T<(D<1>, D<1>, D<2>)> = input("two");
            let a: T<(One, D<1>, D<6>)> =
                x.conv_transpose1d(three, conv_transpose().stride(2).padding(1).output_padding(1));
            let b: T<(One, D<1>, D<8>)> = x.conv_transpose1d(two, conv_transpose().stride(3));
            let c: T<(One, D<1>, D<7>)> = x.conv_transpose1d(three, conv_transpose().dilation(2));
            output(&(a, b, c));
        },
        &[("x", &x), ("three", &three), ("two", &two)],
    );
    assert_eq!(out[0], tensor(&[1, 1, 6], vec![10f32, 102., 20., 203., 30., 300.]));
    assert_eq!(out[1], tensor(&[1, 1, 8], vec![1f32, 10., 0., 2., 20., 0., 3., 30.]));
    assert_eq!(out[2], tensor(&[1, 1, 7], vec![1f32, 2., 13., 20., 130., 200., 300.]));
}

#[test]
fn every_small_geometry() {
    let (x, mut seen) = (mixed(&[1, 2, 3], 1), 0);
    for taps in 1..4 {
        let kernel = mixed(&[2, 2, taps], 2);
        for stride in 1..4 {
            for (before, after, added) in [(0, 0, 0), (1, 0, 0), (0, 2, 1), (3, 1, 2), (4, 4, 2), (2, 0, 2)] {
                for dilation in 1..3 {
                    let window = Window { stride, before, after, dilation, ..Window::of(taps) };
                    if window.transposed(3, added).is_none_or(|size| size == 0) {
                        continue;
                    }
                    let y = compose([&x, &kernel], |graph, [x, kernel]| {
                        graph.conv_transpose(x, kernel, &[window], &[added], 1)
                    });
                    assert_close(&scattered(&x, &kernel, &[window], &[added], 1), &y, 1e-5);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn infinities_stay_in_their_windows() {
    let x = tensor(&[1, 1, 3], vec![1f32, f32::INFINITY, f32::NAN]);
    let kernel = tensor(&[1, 1, 2], vec![1f32, 2.]);
    let window = Window { stride: 3, ..Window::of(2) };
    let y = compose([&x, &kernel], |graph, [x, kernel]| graph.conv_transpose(x, kernel, &[window], &[0], 1));
    let inf = f32::INFINITY;
    assert_close(&tensor(&[1, 1, 8], vec![1., 2., 0., inf, inf, 0., f32::NAN, f32::NAN]), &y, 0.0);
}

#[test]
fn nothing_to_convolve() {
    let run = |kernel: &[usize], groups: usize| {
        compose([&counting(&[1, kernel[0], 2]), &counting(kernel)], |graph, [x, kernel]| {
            graph.conv_transpose(x, kernel, &[Window { stride: 2, ..Window::of(3) }], &[0], groups)
        })
    };
    assert_eq!(run(&[0, 2, 3], 1), tensor(&[1, 2, 5], vec![0f32; 10]));
    assert_eq!(run(&[0, 2, 3], 2), tensor(&[1, 4, 5], vec![0f32; 20]));
}
