//! Resizing against positions computed in double precision.

use super::*;
use crate::tensor::{Axis, D, Nearest, One, Positions, Resize, Tensor as T, Weights, input, output};

/// Positions that the fractions stand for.
fn half_pixel(o: usize, from: usize, to: usize) -> f64 {
    (o as f64 + 0.5) * from as f64 / to as f64 - 0.5
}

fn align_corners(o: usize, from: usize, to: usize) -> f64 {
    if to == 1 { 0.0 } else { o as f64 * (from - 1) as f64 / (to - 1) as f64 }
}

fn asymmetric(o: usize, from: usize, to: usize) -> f64 {
    o as f64 * from as f64 / to as f64
}

/// Keys' cubic convolution with coefficient `a`.
fn keys(distance: f64, a: f64) -> f64 {
    let d = distance.abs();
    match d {
        d if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
        d if d < 2.0 => ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a,
        _ => 0.0,
    }
}

/// A weighted mean of the neighbours of a position, the first and last element repeated.
fn weighted(x: &[f32], position: f64, taps: i64, weight: impl Fn(f64) -> f64) -> f64 {
    let front = position.floor() as i64 - taps / 2 + 1;
    let neighbours = (front..front + taps).map(|place| {
        let inside = place.clamp(0, x.len() as i64 - 1) as usize;
        f64::from(x[inside]) * weight(position - place as f64)
    });
    neighbours.sum()
}

#[test]
fn every_small_size() {
    for from in 1..8 {
        let x = mixed(&[from], from as u64);
        for to in 1..14 {
            let linear = |distance: f64| 1.0 - distance.abs();
            let ways = [
                (Positions::half_pixel(from, to), half_pixel as fn(usize, usize, usize) -> f64),
                (Positions::align_corners(from, to), align_corners),
                (Positions::asymmetric(from, to), asymmetric),
            ];
            for (positions, position) in ways {
                let resized = |weights: Weights| {
                    compose([&x], |graph, [x]| graph.resize_weighted(x, 0, to, positions, weights, false))
                };
                let expect = |taps: i64, weight: &dyn Fn(f64) -> f64| {
                    let value = |o| weighted(floats(&x), position(o, from, to), taps, weight) as f32;
                    tensor(&[to], (0..to).map(value).collect::<Vec<_>>())
                };
                assert_close(&expect(2, &linear), &resized(Weights::Linear), 1e-5);
                assert_close(&expect(4, &|d| keys(d, -0.75)), &resized(Weights::Cubic { a: -0.75 }), 1e-5);
            }
        }
    }
}

#[test]
fn nearest_elements_by_every_rule() {
    type Rule = fn(f64) -> f64;
    let rules: [(Nearest, Rule); 4] = [
        (Nearest::Floor, f64::floor),
        (Nearest::Ceil, f64::ceil),
        (Nearest::PreferFloor, |x| (x - 0.5).ceil()),
        (Nearest::PreferCeil, |x| (x + 0.5).floor()),
    ];
    for from in 1..8 {
        let x = counting(&[from]);
        for to in 1..20 {
            // With numerators and denominators up to 160, doubles tell whole numbers and halves from others if they are
            // rounded to ten digits.
            let exact = |x: f64| (x * 1e10).round() / 1e10;
            let ways = [
                (Positions::half_pixel(from, to), half_pixel as fn(usize, usize, usize) -> f64),
                (Positions::align_corners(from, to), align_corners),
                (Positions::asymmetric(from, to), asymmetric),
            ];
            for (positions, position) in ways {
                for (nearest, rule) in rules {
                    let resized =
                        compose([&x], |graph, [x]| graph.resize_nearest(x, 0, to, positions, nearest));
                    let place = |o| rule(exact(position(o, from, to))).clamp(0.0, (from - 1) as f64) as f32;
                    let expected = tensor(&[to], (0..to).map(place).collect::<Vec<_>>());
                    assert_eq!(resized, expected, "{from} to {to}, {nearest:?}, {positions:?}");
                }
            }
        }
    }
}

#[test]
fn large_sizes_are_exact() {
    let x = counting(&[2000]);
    for to in [1999, 2001, 1500] {
        let positions = Positions::asymmetric(2000, to);
        let resized = compose([&x], |graph, [x]| graph.resize_nearest(x, 0, to, positions, Nearest::Floor));
        let expected: Vec<f32> = (0..to).map(|o| (o * 2000 / to) as f32).collect();
        assert_eq!(resized, tensor(&[to], expected));
    }
}

#[test]
fn repeated_and_skipped_elements_are_views() {
    let mut graph = Graph::default();
    let x = graph.input("x", &[Dim::Fixed(6)], crate::dtype::Dtype::F32);
    let twice = graph.resize_nearest(x, 0, 12, Positions::half_pixel(6, 12), Nearest::PreferFloor);
    let third = graph.resize_nearest(x, 0, 2, Positions::asymmetric(6, 2), Nearest::Floor);
    graph.outputs.extend([("twice".to_string(), twice), ("third".to_string(), third)]);
    assert!(graph.nodes[1..].iter().all(|node| node.op.is_view()), "{graph}");
}

#[test]
fn axes_of_tensors() {
    let x = mixed(&[2, 3, 4, 5], 1);
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<4>, D<5>)> = input("x");
            let bilinear: T<(D<2>, D<3>, D<7>, D<3>)> = x.resize2d(Resize::Linear);
            let nearest: T<(D<2>, D<3>, D<3>, D<10>)> = x.resize2d(Resize::Nearest);
            let channels: T<(D<2>, D<5>, D<4>, D<5>)> = x.resize(Axis::<1>, Resize::LinearAlignCorners);
            let one: T<(D<2>, D<3>, D<4>, One)> = x.resize(Axis::<-1>, Resize::Linear);
            output(&(bilinear, nearest, channels, one));
        },
        &[("x", &x)],
    );
    let element = |b: usize, c: usize, i: usize, j: usize| floats(&x)[((b * 3 + c) * 4 + i) * 5 + j];
    let linear = |distance: f64| 1.0 - distance.abs();
    let bilinear = grids::from_fn(&[2, 3, 7, 3], |at| {
        let row = |i: usize| {
            let row: Vec<f32> = (0..5).map(|j| element(at[0], at[1], i, j)).collect();
            weighted(&row, half_pixel(at[3], 5, 3), 2, linear) as f32
        };
        weighted(&(0..4).map(row).collect::<Vec<_>>(), half_pixel(at[2], 4, 7), 2, linear)
    });
    assert_close(&bilinear, &out[0], 1e-5);
    let nearest =
        grids::from_fn(&[2, 3, 3, 10], |at| f64::from(element(at[0], at[1], at[2] * 4 / 3, at[3] / 2)));
    assert_eq!(out[1], nearest);
    let channels = grids::from_fn(&[2, 5, 4, 5], |at| {
        let all: Vec<f32> = (0..3).map(|c| element(at[0], c, at[2], at[3])).collect();
        weighted(&all, align_corners(at[1], 3, 5), 2, linear)
    });
    assert_close(&channels, &out[2], 1e-5);
    let one = grids::from_fn(&[2, 3, 4, 1], |at| f64::from(element(at[0], at[1], at[2], 2)));
    assert_close(&one, &out[3], 1e-5);
}

#[test]
fn elements_without_weight_have_no_influence() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = tensor(&[3], vec![1f32, inf, nan]);
    let same = compose([&x], |graph, [x]| {
        graph.resize_weighted(x, 0, 3, Positions::align_corners(3, 3), Weights::Linear, false)
    });
    assert_close(&x, &same, 0.0);
}

#[test]
fn neighbours_outside_may_be_left_out() {
    let x = tensor(&[4], vec![1f32, 2., 4., 8.]);
    let resized = compose([&x], |graph, [x]| {
        graph.resize_weighted(x, 0, 8, Positions::half_pixel(4, 8), Weights::Cubic { a: -0.5 }, true)
    });
    let expected = (0..8).map(|o| {
        let position = half_pixel(o, 4, 8);
        let front = position.floor() as i64 - 1;
        let (mut sum, mut all) = (0.0, 0.0);
        for place in (front..front + 4).filter(|place| (0..4).contains(place)) {
            let weight = keys(position - place as f64, -0.5);
            sum += weight * f64::from(floats(&x)[place as usize]);
            all += weight;
        }
        (sum / all) as f32
    });
    assert_close(&tensor(&[8], expected.collect::<Vec<_>>()), &resized, 1e-5);
}
