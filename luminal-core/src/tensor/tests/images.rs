//! Convolution against loops.

use super::*;
use crate::tensor::nn::Conv2d;
use crate::tensor::{D, One, Tensor as T, Window, conv, input, output, weights};

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
            let strided: T<(D<2>, D<4>, D<4>, D<3>)> = x.conv2d(w, conv().stride(2).padding(1));
            let dilated: T<(D<2>, D<4>, D<5>, D<4>)> = x.conv2d(w, conv().dilation(2).padding(1));
            let wide: T<(D<2>, D<4>, D<7>, D<2>)> = x.conv2d(flat, conv());
            let pointwise: T<(D<2>, D<4>, D<4>, D<3>)> = x.conv2d(point, conv().stride(2));
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
fn strides_paddings_dilations_and_groups_of_their_own() {
    let x = mixed(&[2, 4, 7, 6], 1);
    let (grouped, depthwise, many) =
        (mixed(&[6, 2, 3, 2], 2), mixed(&[4, 1, 3, 3], 3), mixed(&[12, 1, 2, 3], 4));
    let out = run(
        || {
            let x: T<(D<2>, D<4>, D<7>, D<6>)> = input("x");
            let how = conv().stride([2, 1]).pad_before([1, 2]).pad_after([0, 3]).dilation([1, 2]).groups(2);
            let grouped: T<(D<2>, D<6>, D<3>, D<9>)> =
                x.conv2d(input::<T<(D<6>, D<2>, D<3>, D<2>)>>("grouped"), how);
            let depthwise: T<(D<2>, D<4>, D<7>, D<6>)> =
                x.conv2d(input::<T<(D<4>, D<1>, D<3>, D<3>)>>("depthwise"), conv().padding(1).groups(4));
            let many: T<(D<2>, D<12>, D<6>, D<2>)> =
                x.conv2d(input::<T<(D<12>, One, D<2>, D<3>)>>("many"), conv().stride([1, 3]).groups(4));
            output(&(grouped, depthwise, many));
        },
        &[("x", &x), ("grouped", &grouped), ("depthwise", &depthwise), ("many", &many)],
    );
    let row = Window { stride: 2, before: 1, ..Window::of(3) };
    let column = Window { before: 2, after: 3, dilation: 2, ..Window::of(2) };
    assert_close(&grids::convolved(&x, &grouped, &[row, column], 2), &out[0], 1e-5);
    let same = Window { before: 1, after: 1, ..Window::of(3) };
    assert_close(&grids::convolved(&x, &depthwise, &[same, same], 4), &out[1], 1e-5);
    let windows = [Window::of(2), Window { stride: 3, ..Window::of(3) }];
    assert_close(&grids::convolved(&x, &many, &windows, 4), &out[2], 1e-5);
}

#[test]
fn sequences_and_volumes() {
    let (x, kernel) = (mixed(&[2, 3, 9], 1), mixed(&[4, 3, 3], 2));
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<9>)> = input("x");
            let y: T<(D<2>, D<4>, D<5>)> =
                x.conv1d(input::<T<(D<4>, D<3>, D<3>)>>("k"), conv().stride(2).padding(1));
            output(&y);
        },
        &[("x", &x), ("k", &kernel)],
    );
    let window = Window { stride: 2, before: 1, after: 1, ..Window::of(3) };
    assert_close(&grids::convolved(&x, &kernel, &[window], 1), &out[0], 1e-5);

    let (x, kernel) = (mixed(&[1, 4, 4, 5, 3], 1), mixed(&[2, 2, 2, 3, 2], 2));
    let windows = [
        Window::of(2),
        Window { stride: 2, before: 1, ..Window::of(3) },
        Window { after: 2, ..Window::of(2) },
    ];
    let maps = compose([&x, &kernel], |graph, [x, kernel]| graph.conv(x, kernel, &windows, 2));
    assert_close(&grids::convolved(&x, &kernel, &windows, 2), &maps, 1e-5);
}

#[test]
fn integers_are_convolved_exactly() {
    let x = tensor(&[1, 1, 3], vec![1 << 20, 3, -5]);
    let kernel = tensor(&[1, 1, 2], vec![1 << 10, 7]);
    let y = compose([&x, &kernel], |graph, [x, kernel]| graph.conv(x, kernel, &[Window::of(2)], 1));
    assert_eq!(y, tensor(&[1, 1, 2], vec![(1 << 30) + 21, 3 * (1 << 10) - 35]));
}

#[test]
fn nothing_to_convolve() {
    let run = |x: &[usize], kernel: &[usize], groups: usize| {
        compose([&counting(x), &counting(kernel)], |graph, [x, kernel]| {
            graph.conv(x, kernel, &[Window::of(2)], groups)
        })
    };
    assert_eq!(run(&[0, 2, 4], &[3, 2, 2], 1), tensor(&[0, 3, 3], Vec::<f32>::new()));
    assert_eq!(run(&[1, 0, 4], &[2, 0, 2], 1), tensor(&[1, 2, 3], vec![0f32; 6]));
    assert_eq!(run(&[1, 0, 4], &[2, 0, 2], 2), tensor(&[1, 2, 3], vec![0f32; 6]));
    assert_eq!(run(&[1, 2, 4], &[0, 1, 2], 2), tensor(&[1, 0, 3], Vec::<f32>::new()));
}

#[test]
fn same_sizes_of_onnx() {
    let (x, kernel) = (tensor(&[1, 1, 4], vec![1f32, 2., 3., 4.]), tensor(&[1, 1, 3], vec![1f32, 10., 100.]));
    let same = |upper: bool| {
        let window = Window { stride: 2, ..Window::of(3) }.same(4, upper);
        compose([&x, &kernel], |graph, [x, kernel]| graph.conv(x, kernel, &[window], 1))
    };
    assert_eq!(same(true), tensor(&[1, 1, 2], vec![321f32, 43.]));
    assert_eq!(same(false), tensor(&[1, 1, 2], vec![210f32, 432.]));
    // A stride above the window: nothing is padded, and the last window need not see the end.
    let window = Window { stride: 3, ..Window::of(2) }.same(8, true);
    assert_eq!((window.before, window.after, window.positions(8)), (0, 0, 3));
}

free_dim!(Length, 12);
free_dim!(Half, 6);

#[test]
fn axes_of_free_size() {
    let kernel = mixed(&[2, 3, 3], 2);
    for length in [1, 2, 5, 12] {
        let x = mixed(&[1, 3, length], 1);
        let halves = length.div_ceil(2);
        let out = run_free(
            || {
                let x: T<(D<1>, D<3>, Length)> = input("x");
                let kernel: T<(D<2>, D<3>, D<3>)> = input("k");
                let same: T<(D<1>, D<2>, Length)> = x.conv1d(kernel, conv().padding(1));
                let halved: T<(D<1>, D<2>, Half)> = x.conv1d(kernel, conv().stride(2).padding(1));
                output(&(same, halved));
            },
            &[("x", &x), ("k", &kernel)],
            &[length, length + 2, halves],
        );
        let same = Window { before: 1, after: 1, ..Window::of(3) };
        assert_close(&grids::convolved(&x, &kernel, &[same], 1), &out[0], 1e-5);
        assert_close(&grids::convolved(&x, &kernel, &[Window { stride: 2, ..same }], 1), &out[1], 1e-5);
    }
}

#[test]
fn graphs_name_sizes_themselves() {
    let mut graph = Graph::default();
    let float = crate::dtype::Dtype::F32;
    let length = graph.free_dim("length", 9);
    let x = graph.input("x", &[Dim::Fixed(1), Dim::Fixed(2), length], float);
    let kernel = graph.param("kernel", &[Dim::Fixed(3), Dim::Fixed(2), Dim::Fixed(2)], float);
    let maps = graph.conv(x, kernel, &[Window { stride: 3, after: 1, ..Window::of(2) }], 1);
    graph.outputs.push(("maps".into(), maps));
    graph.verify().unwrap();
    let (x, kernel) = (mixed(&[1, 2, 7], 1), mixed(&[3, 2, 2], 2));
    let feeds: Feeds =
        [("x".to_string(), x.clone()), ("kernel".to_string(), kernel.clone())].into_iter().collect();
    let sizes: Vec<usize> =
        graph.free.iter().map(|free| if free.name == "length" { 7 } else { free.max }).collect();
    let sizes = graph.sizes_near(&sizes).unwrap();
    assert_eq!(sizes[0], 7);
    let out = reference::run(&graph, &feeds, &sizes).unwrap();
    let window = Window { stride: 3, after: 1, ..Window::of(2) };
    assert_close(&grids::convolved(&x, &kernel, &[window], 1), &out.outputs[0], 1e-5);
}
