//! Pooling against loops.

use super::grids::{at, from_fn, places};
use super::*;
use crate::tensor::{D, Tensor as T, Window, input, output, pool};

/// The elements of a window; none for each one of the padding. `x` is `[batch, channels, ..]`.
fn seen(x: &Tensor, windows: &[Window], index: &[usize]) -> Vec<Option<f64>> {
    let lead = [index[0] as isize, index[1] as isize];
    let place = |(_, place): (_, Vec<isize>)| at(x, &[&lead[..], &place].concat());
    places(windows, &index[2..]).into_iter().map(place).collect()
}

fn greatest(x: &Tensor, windows: &[Window], shape: &[usize]) -> Tensor {
    from_fn(shape, |index| seen(x, windows, index).into_iter().flatten().fold(f64::NEG_INFINITY, f64::max))
}

#[test]
fn windows() {
    // All negative: padding of zeros would win.
    let x = mixed(&[2, 3, 6, 7], 1);
    let x = tensor(&[2, 3, 6, 7], floats(&x).iter().map(|x| x - 10.0).collect::<Vec<_>>());
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<6>, D<7>)> = input("x");
            let halved: T<(D<2>, D<3>, D<3>, D<3>)> = x.max_pool2d(pool(2));
            let uneven: T<(D<2>, D<3>, D<6>, D<4>)> = x.max_pool2d(
                pool([2, 3]).stride([1, 2]).pad_before([1, 0]).pad_after([0, 1]).dilation([1, 1]).ceil(),
            );
            let dilated: T<(D<2>, D<3>, D<2>, D<2>)> = x.max_pool2d(pool(2).dilation(3).stride(2));
            let counted: T<(D<2>, D<3>, D<3>, D<4>)> = x.avg_pool2d(pool(3).stride(2).padding(1));
            let not_counted: T<(D<2>, D<3>, D<3>, D<4>)> =
                x.avg_pool2d(pool(3).stride(2).padding(1).exclude_padding());
            output(&(halved, uneven, dilated, counted, not_counted));
        },
        &[("x", &x)],
    );
    let square = Window { stride: 2, ..Window::of(2) };
    assert_eq!(out[0], greatest(&x, &[square; 2], &[2, 3, 3, 3]));
    let uneven = [Window { before: 1, ..Window::of(2) }, Window { stride: 2, after: 1, ..Window::of(3) }];
    assert_eq!(out[1], greatest(&x, &uneven, &[2, 3, 6, 4]));
    assert_eq!(out[2], greatest(&x, &[Window { stride: 2, dilation: 3, ..Window::of(2) }; 2], &[2, 3, 2, 2]));
    let same = Window { stride: 2, before: 1, after: 1, ..Window::of(3) };
    let sum = |index: &[usize]| seen(&x, &[same; 2], index).into_iter().flatten().sum::<f64>();
    let count = |index: &[usize]| seen(&x, &[same; 2], index).into_iter().flatten().count() as f64;
    assert_close(&from_fn(&[2, 3, 3, 4], |index| sum(index) / 9.0), &out[3], 1e-5);
    assert_close(&from_fn(&[2, 3, 3, 4], |index| sum(index) / count(index)), &out[4], 1e-5);
}

#[test]
fn sizes_rounded_up() {
    let (three, five) =
        (tensor(&[1, 1, 3], vec![1f32, 2., 3.]), tensor(&[1, 1, 5], vec![1f32, 2., 3., 4., 5.]));
    let out = run(
        || {
            let three: T<(D<1>, D<1>, D<3>)> = input("three");
            let five: T<(D<1>, D<1>, D<5>)> = input("five");
            // A second window would start behind the end.
            let mean: T<(D<1>, D<1>, D<1>)> = three.avg_pool1d(pool(1).stride(4).ceil());
            let greatest: T<(D<1>, D<1>, D<1>)> = three.max_pool1d(pool(1).stride(4).ceil());
            let pairs: T<(D<1>, D<1>, D<3>)> = five.avg_pool1d(pool(2).ceil());
            // A window more would start in the padding behind the end.
            let padded: T<(D<1>, D<1>, D<3>)> = five.avg_pool1d(pool(2).pad_before(1).pad_after(1).ceil());
            output(&(mean, greatest, pairs, padded));
        },
        &[("three", &three), ("five", &five)],
    );
    assert_eq!(floats(&out[0]), [1.0]);
    assert_eq!(floats(&out[1]), [1.0]);
    assert_close(&tensor(&[1, 1, 3], vec![1.5f32, 3.5, 5.0]), &out[2], 1e-6);
    assert_close(&tensor(&[1, 1, 3], vec![0.5f32, 2.5, 4.5]), &out[3], 1e-6);
}

#[test]
fn what_padding_counts() {
    let ones = tensor(&[1, 1, 2, 2], vec![1f32; 4]);
    let means = |count: bool| {
        let window = Window { after: 1, ..Window::of(2) };
        compose([&ones], |graph, [x]| graph.avg_pool(x, &[window; 2], count))
    };
    assert_close(&tensor(&[1, 1, 2, 2], vec![1., 0.5, 0.5, 0.25]), &means(true), 1e-6);
    assert_close(&tensor(&[1, 1, 2, 2], vec![1f32; 4]), &means(false), 1e-6);
    // Both padding and a window that reaches over it: 6 elements, padding of 1, windows of 3 at 0, 3, 6 of 8.
    let six = counting(&[1, 1, 6]);
    let window = Window { stride: 3, before: 1, after: 1, ceil: true, ..Window::of(3) };
    let mean = |count: bool| compose([&six], |graph, [x]| graph.avg_pool(x, &[window], count));
    assert_close(&tensor(&[1, 1, 3], vec![1.0 / 3.0, 9.0 / 3.0, 5.0 / 2.0]), &mean(true), 1e-6);
    assert_close(&tensor(&[1, 1, 3], vec![1.0 / 2.0, 9.0 / 3.0, 5.0]), &mean(false), 1e-6);
}

#[test]
fn special_values() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = tensor(&[1, 1, 6], vec![-1., nan, -inf, -inf, inf, -2.]);
    let out = run(
        || {
            let x: T<(D<1>, D<1>, D<6>)> = input("x");
            let greatest: T<(D<1>, D<1>, D<3>)> = x.max_pool1d(pool(2));
            let padded: T<(D<1>, D<1>, D<6>)> = x.max_pool1d(pool(3).stride(1).padding(1));
            output(&(greatest, padded));
        },
        &[("x", &x)],
    );
    assert_close(&tensor(&[1, 1, 3], vec![nan, -inf, inf]), &out[0], 0.0);
    assert_close(&tensor(&[1, 1, 6], vec![nan, nan, nan, inf, inf, inf]), &out[1], 0.0);
    let integers = tensor(&[1, 3], vec![i32::MIN, -7, -9]);
    let window = Window { before: 1, ..Window::of(2) };
    let greatest = compose([&integers], |graph, [x]| graph.max_pool(x, &[window]));
    assert_eq!(greatest, tensor(&[1, 3], vec![i32::MIN, -7, -7]));
}

#[test]
fn norms() {
    let x = tensor(&[1, 4], vec![3f32, -4., 0., 2.]);
    let norm = |p: f64| compose([&x], |graph, [x]| graph.lp_pool(x, &[Window::of(2)], p));
    assert_close(&tensor(&[1, 3], vec![7f32, 4., 2.]), &norm(1.0), 1e-6);
    assert_close(&tensor(&[1, 3], vec![5f32, 4., 2.]), &norm(2.0), 1e-6);
    assert_close(&tensor(&[1, 3], vec![91f32.powf(1.0 / 3.0), 4., 2.]), &norm(3.0), 1e-5);
}

/// Window `i` of `n` from its definition.
fn adaptive(values: &[f32], n: usize) -> Vec<Vec<f32>> {
    let length = values.len();
    (0..n).map(|i| values[i * length / n..((i + 1) * length).div_ceil(n)].to_vec()).collect()
}

#[test]
fn windows_as_even_as_they_can_be() {
    for length in 1..12 {
        let x = mixed(&[2, length, 1], length as u64);
        for n in 1..9 {
            let mean = compose([&x], |graph, [x]| graph.adaptive_avg_pool(x, 1, n));
            let greatest = compose([&x], |graph, [x]| graph.adaptive_max_pool(x, 1, n));
            let rows: Vec<_> = floats(&x).chunks(length).flat_map(|row| adaptive(row, n)).collect();
            let means = rows.iter().map(|row| row.iter().sum::<f32>() / row.len() as f32);
            assert_close(&tensor(&[2, n, 1], means.collect::<Vec<_>>()), &mean, 1e-5);
            let maxima = rows.iter().map(|row| row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            assert_eq!(tensor(&[2, n, 1], maxima.collect::<Vec<_>>()), greatest);
        }
    }
}

#[test]
fn adaptive_images() {
    let x = mixed(&[2, 3, 5, 6], 1);
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<5>, D<6>)> = input("x");
            let mean: T<(D<2>, D<3>, D<3>, D<4>)> = x.adaptive_avg_pool2d();
            let greatest: T<(D<2>, D<3>, D<3>, D<4>)> = x.adaptive_max_pool2d();
            let global: T<(D<2>, D<3>, D<1>, D<1>)> = x.adaptive_avg_pool2d();
            output(&(mean, greatest, global));
        },
        &[("x", &x)],
    );
    let window = |index: &[usize], sizes: [usize; 2]| {
        let range = |i: usize, length: usize, n: usize| i * length / n..((i + 1) * length).div_ceil(n);
        let rows = range(index[2], 5, sizes[0]);
        let element = |row: usize, column: usize| {
            at(&x, &[index[0] as isize, index[1] as isize, row as isize, column as isize]).unwrap()
        };
        rows.flat_map(|row| {
            range(index[3], 6, sizes[1]).map(move |column| element(row, column)).collect::<Vec<_>>()
        })
        .collect::<Vec<f64>>()
    };
    let mean = |sizes: [usize; 2]| {
        from_fn(&[2, 3, sizes[0], sizes[1]], |index| {
            let window = window(index, sizes);
            window.iter().sum::<f64>() / window.len() as f64
        })
    };
    assert_close(&mean([3, 4]), &out[0], 1e-5);
    assert_close(&mean([1, 1]), &out[2], 1e-5);
    let greatest =
        from_fn(&[2, 3, 3, 4], |index| window(index, [3, 4]).into_iter().fold(f64::NEG_INFINITY, f64::max));
    assert_eq!(out[1], greatest);
}

#[test]
fn adaptive_windows_do_not_see_each_other() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = tensor(&[5], vec![1., 2., 3., inf, nan]);
    // Windows 0..2, 1..4, 3..5.
    let mean = compose([&x], |graph, [x]| graph.adaptive_avg_pool(x, 0, 3));
    assert_close(&tensor(&[3], vec![1.5, inf, nan]), &mean, 1e-6);
}

free_dim!(Length, 9);
free_dim!(Up, 5);
free_dim!(Same, 9);

#[test]
fn axes_of_free_size() {
    for length in [1, 2, 5, 8, 9] {
        let x = mixed(&[1, 2, length], 1);
        let up = length.div_ceil(2);
        let graph = graph(|| {
            let x: T<(D<1>, D<2>, Length)> = input("x");
            let greatest: T<(D<1>, D<2>, Up)> = x.max_pool1d(pool(2).ceil());
            let mean: T<(D<1>, D<2>, Up)> = x.avg_pool1d(pool(2).ceil());
            let padded: T<(D<1>, D<2>, Same)> = x.avg_pool1d(pool(3).stride(1).padding(1));
            let not_counted: T<(D<1>, D<2>, Same)> =
                x.avg_pool1d(pool(3).stride(1).padding(1).exclude_padding());
            output(&(greatest, mean, padded, not_counted));
        });
        let wanted: Vec<usize> =
            graph.free.iter().map(|free| if free.name == "Length" { length } else { free.max }).collect();
        let sizes = graph.sizes_near(&wanted).unwrap();
        let feeds = [("x".to_string(), x.clone())].into_iter().collect();
        let out = reference::run(&graph, &feeds, &sizes).unwrap().outputs;
        let pairs = [Window { stride: 2, ceil: true, ..Window::of(2) }];
        assert_eq!(out[0], greatest(&x, &pairs, &[1, 2, up]));
        let mean = |windows: &[Window], size: usize, count: Option<f64>| {
            from_fn(&[1, 2, size], |index| {
                let seen: Vec<f64> = seen(&x, windows, index).into_iter().flatten().collect();
                seen.iter().sum::<f64>() / count.unwrap_or(seen.len() as f64)
            })
        };
        assert_close(&mean(&pairs, up, None), &out[1], 1e-5);
        let same = [Window { before: 1, after: 1, ..Window::of(3) }];
        assert_close(&mean(&same, length, Some(3.0)), &out[2], 1e-5);
        assert_close(&mean(&same, length, None), &out[3], 1e-5);
    }
}
