//! Convolution and pooling against loops.

use super::*;
use crate::tensor::nn::Conv2d;
use crate::tensor::{D, One, Tensor as T, conv, input, output, pool, weights};

/// Stride, padding and dilation of a convolution.
struct Way {
    stride: usize,
    padding: usize,
    dilation: usize,
}

/// The pixel of an image `[batch, channels, height, width]` at a place that may be outside.
fn pixel(x: &Tensor, [b, c]: [usize; 2], [row, column]: [isize; 2]) -> Option<f32> {
    let [_, channels, height, width] = x.shape[..] else { panic!("rank 4") };
    let inside = |position: isize, size: usize| {
        (position >= 0 && position < size as isize).then_some(position as usize)
    };
    let (row, column) = (inside(row, height)?, inside(column, width)?);
    Some(floats(x)[((b * channels + c) * height + row) * width + column])
}

fn convolve(x: &Tensor, w: &Tensor, way: &Way, out: &[usize; 4]) -> Tensor {
    let [_, channels, rows, columns] = w.shape[..] else { panic!("rank 4") };
    let Way { stride, padding, dilation } = *way;
    let mut values = vec![];
    for b in 0..out[0] {
        for o in 0..out[1] {
            for i in 0..out[2] {
                for j in 0..out[3] {
                    let mut sum = 0.0;
                    for c in 0..channels {
                        for ki in 0..rows {
                            for kj in 0..columns {
                                let at = |position: usize, tap: usize| {
                                    (position * stride + tap * dilation) as isize - padding as isize
                                };
                                let x = pixel(x, [b, c], [at(i, ki), at(j, kj)]).unwrap_or(0.0);
                                let w = floats(w)[((o * channels + c) * rows + ki) * columns + kj];
                                sum += f64::from(x) * f64::from(w);
                            }
                        }
                    }
                    values.push(sum as f32);
                }
            }
        }
    }
    tensor(out, values)
}

#[test]
fn convolution() {
    let x = mixed(&[2, 3, 7, 6], 1);
    let (w, flat, point) = (mixed(&[4, 3, 3, 3], 2), mixed(&[4, 3, 1, 5], 3), mixed(&[4, 3, 1, 1], 4));
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<7>, D<6>)> = input("x");
            let w: T<(D<4>, D<3>, D<3>, D<3>)> = input("w");
            let flat: T<(D<4>, D<3>, D<1>, D<5>)> = input("flat");
            let point: T<(D<4>, D<3>, D<1>, D<1>)> = input("point");
            let plain: T<(D<2>, D<4>, D<5>, D<4>)> = x.conv2d(w, conv());
            let strided: T<(D<2>, D<4>, D<4>, D<3>)> = x.conv2d(w, conv().stride::<2>().padding::<1>());
            let dilated: T<(D<2>, D<4>, D<5>, D<4>)> = x.conv2d(w, conv().dilation::<2>().padding::<1>());
            let wide: T<(D<2>, D<4>, D<7>, D<2>)> = x.conv2d(flat, conv());
            let pointwise: T<(D<2>, D<4>, D<4>, D<3>)> = x.conv2d(point, conv().stride::<2>());
            output(&(plain, strided, dilated, wide, pointwise));
        },
        &[("x", &x), ("w", &w), ("flat", &flat), ("point", &point)],
    );
    let ways = [
        (&w, Way { stride: 1, padding: 0, dilation: 1 }, [2, 4, 5, 4]),
        (&w, Way { stride: 2, padding: 1, dilation: 1 }, [2, 4, 4, 3]),
        (&w, Way { stride: 1, padding: 1, dilation: 2 }, [2, 4, 5, 4]),
        (&flat, Way { stride: 1, padding: 0, dilation: 1 }, [2, 4, 7, 2]),
        (&point, Way { stride: 2, padding: 0, dilation: 1 }, [2, 4, 4, 3]),
    ];
    for ((w, way, sizes), out) in ways.iter().zip(&out) {
        assert_close(&convolve(&x, w, way, sizes), out, 1e-5);
    }
}

free_dim!(Batch, 4);

#[test]
fn layer_over_a_free_batch() {
    let (x, w, b) = (mixed(&[3, 1, 5, 5], 1), mixed(&[2, 1, 3, 3], 2), mixed(&[2], 3));
    let out = run_free(
        || {
            let layer: Conv2d<1, 2, 3, 2, 1> = weights("layer");
            let maps: T<(Batch, D<2>, D<3>, D<3>)> =
                layer.forward(input::<T<(Batch, D<1>, D<5>, D<5>)>>("x"));
            output(&maps);
        },
        &[("x", &x), ("weight", &w), ("bias", &b)],
        &[3],
    );
    let expected = convolve(&x, &w, &Way { stride: 2, padding: 1, dilation: 1 }, &[3, 2, 3, 3]);
    let biased: Vec<f32> =
        floats(&expected).iter().enumerate().map(|(i, x)| x + floats(&b)[i / 9 % 2]).collect();
    assert_close(&tensor(&[3, 2, 3, 3], biased), &out[0], 1e-5);
}

#[test]
fn channels_of_one() {
    let (x, w) = (mixed(&[1, 1, 4, 4], 1), mixed(&[2, 1, 3, 3], 2));
    let out = run(
        || {
            let x: T<(One, One, D<4>, D<4>)> = input("x");
            let w: T<(D<2>, One, D<3>, D<3>)> = input("w");
            let maps: T<(One, D<2>, D<2>, D<2>)> = x.conv2d(w, conv());
            output(&maps);
        },
        &[("x", &x), ("w", &w)],
    );
    assert_close(
        &convolve(&x, &w, &Way { stride: 1, padding: 0, dilation: 1 }, &[1, 2, 2, 2]),
        &out[0],
        1e-5,
    );
}

#[test]
fn pooling() {
    // All negative: padding of zeros would win.
    let x = mixed(&[2, 3, 6, 6], 1);
    let x = tensor(&[2, 3, 6, 6], floats(&x).iter().map(|x| x - 10.0).collect::<Vec<_>>());
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<6>, D<6>)> = input("x");
            let halved: T<(D<2>, D<3>, D<3>, D<3>)> = x.max_pool2d(pool::<2>());
            let overlapping: T<(D<2>, D<3>, D<3>, D<3>)> =
                x.max_pool2d(pool::<3>().stride::<2>().padding::<1>());
            let mean: T<(D<2>, D<3>, D<3>, D<3>)> = x.avg_pool2d(pool::<3>().stride::<2>().padding::<1>());
            output(&(halved, overlapping, mean));
        },
        &[("x", &x)],
    );
    let mut expected = [vec![], vec![], vec![]];
    for image in 0..6 {
        for place in 0..9 {
            let window = |kernel: usize, padding: usize| {
                let start = |position: usize| (position * 2) as isize - padding as isize;
                let taps = (0..kernel * kernel).map(move |tap| {
                    let (row, column) = (start(place / 3), start(place % 3));
                    [row + (tap / kernel) as isize, column + (tap % kernel) as isize]
                });
                taps.map(|at| pixel(&x, [image / 3, image % 3], at)).collect::<Vec<_>>()
            };
            let greatest =
                |window: Vec<Option<f32>>| window.into_iter().flatten().fold(f32::NEG_INFINITY, f32::max);
            expected[0].push(greatest(window(2, 0)));
            expected[1].push(greatest(window(3, 1)));
            expected[2].push(window(3, 1).into_iter().flatten().sum::<f32>() / 9.0);
        }
    }
    let [halved, overlapping, mean] = expected.map(|values| tensor(&[2, 3, 3, 3], values));
    assert_eq!(out[0], halved);
    assert_eq!(out[1], overlapping);
    assert_close(&mean, &out[2], 1e-5);
}
