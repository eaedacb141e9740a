//! Attention and rotary embedding against loops in `f64`.

use super::*;
use crate::tensor::{Attention, D, One, RopeScaling, Tensor as T, attention, input, output, rope};

type Query = T<(D<2>, D<4>, D<3>, D<5>)>;
type Keys = T<(D<2>, D<2>, D<7>, D<5>)>;
type Values = T<(D<2>, D<2>, D<7>, D<6>)>;

/// What is added to a score, and None where the key is hidden: of batch, head, query and key.
type Change<'a> = &'a dyn Fn(usize, usize, usize, usize, f64) -> Option<f64>;

/// `[batch, heads, queries, width]`, keys and values with heads of their own.
fn expected(query: &Tensor, key: &Tensor, value: &Tensor, change: Change) -> Tensor {
    let [b, h, q, d] = query.shape[..] else { panic!("rank 4") };
    let [_, shared, k, v] = value.shape[..] else { panic!("rank 4") };
    let at = |x: &Tensor, place: [usize; 4]| {
        let index = place.iter().zip(&x.shape).fold(0, |index, (at, size)| index * size + at);
        f64::from(floats(x)[index])
    };
    let mut out = vec![];
    for (b, h, t) in (0..b).flat_map(|b| (0..h).flat_map(move |h| (0..q).map(move |t| (b, h, t)))) {
        let head = h / (query.shape[1] / shared);
        let weight = |j: usize| {
            let dot: f64 = (0..d).map(|i| at(query, [b, h, t, i]) * at(key, [b, head, j, i])).sum();
            change(b, h, t, j, dot).map_or(0.0, f64::exp)
        };
        let weights: Vec<f64> = (0..k).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        for i in 0..v {
            let total: f64 = weights.iter().enumerate().map(|(j, w)| w * at(value, [b, head, j, i])).sum();
            out.push(if sum > 0.0 { total / sum } else { 0.0 } as f32);
        }
    }
    tensor(&[b, h, q, v], out)
}

/// Runs attention with more inputs, and compares.
#[track_caller]
fn check(how: impl FnOnce() -> Attention, more: &[(&str, &Tensor)], change: Change) {
    let (query, key, value) = (mixed(&[2, 4, 3, 5], 1), mixed(&[2, 2, 7, 5], 2), mixed(&[2, 2, 7, 6], 3));
    let mut feeds = vec![("q", &query), ("k", &key), ("v", &value)];
    feeds.extend(more);
    let out = run(
        || {
            let (q, k, v): (Query, Keys, Values) = (input("q"), input("k"), input("v"));
            output(&q.attention(k, v, how()));
        },
        &feeds,
    );
    assert_close(&expected(&query, &key, &value, change), &out[0], 2e-6);
}

fn scale() -> f64 {
    5f64.sqrt().recip()
}

#[test]
fn attention_with_shared_heads() {
    check(attention, &[], &|_, _, _, _, s| Some(s * scale()));
    check(|| attention().scale(0.25), &[], &|_, _, _, _, s| Some(s * 0.25));
    check(|| attention().soft_cap(0.5), &[], &|_, _, _, _, s| Some(0.5 * (s * scale() / 0.5).tanh()));
}

/// The queries are the last of the keys: the first of 3 sees 5 of 7.
#[test]
fn causal_attention_and_windows() {
    let seen = |seen: bool, s: f64| seen.then_some(s * scale());
    check(|| attention().causal(), &[], &|_, _, t, j, s| seen(j <= t + 4, s));
    check(|| attention().causal().window(3), &[], &|_, _, t, j, s| seen(j <= t + 4 && j + 3 > t + 4, s));
    check(|| attention().window(1), &[], &|_, _, t, j, s| seen(j >= t + 4, s));
    // Wider than can be.
    check(|| attention().causal().window(usize::MAX), &[], &|_, _, t, j, s| seen(j <= t + 4, s));
}

#[test]
fn masks_of_both_kinds() {
    // Query 1 sees nothing; query 0 only the end of the keys.
    let rows = [[false, false, false, false, false, true, true], [false; 7], [true; 7]];
    let mask = tensor(&[3, 7], rows.concat());
    let masked = || attention().mask(input::<T<(D<3>, D<7>), bool>>("mask"));
    check(masked, &[("mask", &mask)], &|_, _, t, j, s| rows[t][j].then_some(s * scale()));
    let seen = tensor(&[2, 1, 1, 7], [[true, true, false, true, false, false, true], [true; 7]].concat());
    let padding = || attention().mask(input::<T<(D<2>, One, One, D<7>), bool>>("mask"));
    let is_seen = |b: usize, j: usize| seen.data.as_bool().unwrap()[b * 7 + j];
    check(padding, &[("mask", &seen)], &|b, _, _, j, s| is_seen(b, j).then_some(s * scale()));

    let mut numbers = floats(&mixed(&[4, 3, 7], 4)).to_vec();
    numbers[..7].fill(f32::NEG_INFINITY);
    numbers[9] = f32::NEG_INFINITY;
    let bias = tensor(&[4, 3, 7], numbers.clone());
    let biased = || attention().bias(input::<T<(D<4>, D<3>, D<7>)>>("bias"));
    check(biased, &[("bias", &bias)], &|_, h, t, j, s| {
        let bias = numbers[(h * 3 + t) * 7 + j];
        bias.is_finite().then(|| s * scale() + f64::from(bias))
    });
}

#[test]
fn linear_biases() {
    let exact = [0.25, 0.0625, 0.015625, 0.00390625];
    let biased = || attention().causal().alibi(T::<(D<4>,)>::alibi_slopes());
    check(biased, &[], &|_, h, t, j, s| (j <= t + 4).then(|| s * scale() - exact[h] * (t + 4 - j) as f64));
    let both_ways = || attention().alibi(input::<T<(D<4>,)>>("slopes"));
    let slopes = tensor(&[4], vec![0.5, -0.25, 0.0, 3.0]);
    check(both_ways, &[("slopes", &slopes)], &|_, h, t, j, s| {
        Some(s * scale() - f64::from(floats(&slopes)[h]) * (t as f64 + 4.0 - j as f64).abs())
    });
}

/// The slopes that the authors' function gives for 12 heads: eight of 2^-1 .. 2^-8, then 2^-0.5, 2^-1.5, ..
#[test]
fn slopes_of_heads_that_are_no_power_of_two() {
    let out = run(|| output(&(T::<(D<12>,)>::alibi_slopes(), T::<(D<1>,)>::alibi_slopes())), &[]);
    let exponents = [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -0.5, -1.5, -2.5, -3.5];
    assert_close(&tensor(&[12], exponents.map(|x: f64| x.exp2() as f32).to_vec()), &out[0], 1e-6);
    assert_close(&tensor(&[1], vec![2f32.powi(-8)]), &out[1], 1e-6);
}

/// A cache of 7 in which the first query is the fourth token, for all sequences or each.
#[test]
fn positions_and_lengths_at_run_time() {
    for position in [0, 3, 4, 6, 100] {
        let place = tensor(&[], vec![position]);
        let how = || attention().position(input::<T<(), i32>>("position")).window(4);
        check(how, &[("position", &place)], &|_, _, t, j, s| {
            let place = t as i32 + position;
            (j as i32 <= place && j as i32 > place - 4).then_some(s * scale())
        });
    }
    let places = tensor(&[2, 1, 1, 1], vec![1, 4]);
    let each = || attention().position(input::<T<(D<2>, One, One, One), i32>>("position"));
    check(each, &[("position", &places)], &|b, _, t, j, s| (j <= t + [1, 4][b]).then_some(s * scale()));
    let lengths = tensor(&[2, 1, 1, 1], vec![0, 5]);
    let lengthy = || attention().length(input::<T<(D<2>, One, One, One), i32>>("length"));
    check(lengthy, &[("length", &lengths)], &|b, _, _, j, s| (j < [0, 5][b]).then_some(s * scale()));
}

free_dim!(Tokens, 6);
free_dim!(Past, 9);

/// With free sizes the last query is at the last key too; a free size may be 0.
#[test]
fn free_numbers_of_queries_and_keys() {
    for (q, k) in [(1, 1), (2, 5), (6, 9), (3, 3), (0, 4), (2, 0)] {
        let (query, key) = (mixed(&[1, 2, q, 4], 5), mixed(&[1, 1, k, 4], 6));
        let out = run_free(
            || {
                let query: T<(D<2>, Tokens, D<4>)> = input("q");
                let key: T<(One, Past, D<4>)> = input("k");
                output(&query.attention(key, key, attention().causal()));
            },
            &[
                ("q", &tensor(&[2, q, 4], floats(&query).to_vec())),
                ("k", &tensor(&[1, k, 4], floats(&key).to_vec())),
            ],
            &[q, k],
        );
        let want = expected(&query, &key, &key, &|_, _, t, j, s| (j + q <= t + k).then_some(s * 0.5));
        assert_close(&tensor(&[2, q, 4], floats(&want).to_vec()), &out[0], 2e-6);
    }
}

#[test]
fn attention_without_batch_and_with_axes_of_one() {
    let (query, key) = (mixed(&[1, 1, 1, 4], 7), mixed(&[1, 1, 3, 4], 8));
    let out = run(
        || {
            let query: T<(One, One, One, D<4>)> = input("q");
            let key: T<(One, One, D<3>, D<4>)> = input("k");
            let single: T<(One, One, D<4>)> = query.reshape();
            let keys: T<(One, D<3>, D<4>)> = key.reshape();
            output(&(query.attention(key, key, attention()), single.attention(keys, keys, attention())));
        },
        &[("q", &query), ("k", &key)],
    );
    let want = expected(&query, &key, &key, &|_, _, _, _, s| Some(s * 0.5));
    assert_close(&want, &out[0], 2e-6);
    assert_close(&tensor(&[1, 1, 4], floats(&want).to_vec()), &out[1], 2e-6);
}

/// NaN is not taken for a masked row, and what is masked has no influence.
#[test]
fn nan_stays_and_masked_scores_have_no_influence() {
    let nan = f32::NAN;
    let query = tensor(&[1, 2, 1], vec![1.0, nan]);
    let key = tensor(&[1, 3, 1], vec![0.5, nan, f32::INFINITY]);
    let value = tensor(&[1, 3, 1], vec![3.0, 4.0, 5.0]);
    let mask = tensor(&[3], vec![true, false, false]);
    let out = run(
        || {
            let (q, k, v): (T<(D<1>, D<2>, D<1>)>, T<(D<1>, D<3>, D<1>)>, T<(D<1>, D<3>, D<1>)>) =
                (input("q"), input("k"), input("v"));
            output(&q.attention(k, v, attention().mask(input::<T<(D<3>,), bool>>("mask"))));
        },
        &[("q", &query), ("k", &key), ("v", &value), ("mask", &mask)],
    );
    assert_close(&tensor(&[1, 2, 1], vec![3.0, nan]), &out[0], 1e-6);
}

/// `(a cos - b sin, b cos + a sin)` of each pair, in `f64`.
fn rotated(x: &Tensor, positions: &[i32], pair: impl Fn(usize) -> (usize, usize, f64)) -> Tensor {
    let width = *x.shape.last().unwrap();
    let mut out = floats(x).to_vec();
    for (row, position) in out.chunks_mut(width).zip(positions.iter().cycle()) {
        let old = row.to_vec();
        for (first, second, frequency) in (0..).map(&pair).take_while(|pair| pair.1 < width) {
            let (sine, cosine) = (f64::from(*position) * frequency).sin_cos();
            let (a, b) = (f64::from(old[first]), f64::from(old[second]));
            row[first] = (a * cosine - b * sine) as f32;
            row[second] = (b * cosine + a * sine) as f32;
        }
    }
    tensor(&x.shape, out)
}

fn frequency(i: usize, dims: f64, theta: f64) -> f64 {
    theta.powf(-2.0 * i as f64 / dims)
}

#[test]
fn rotary_embedding_in_both_layouts() {
    let positions = [0, 1, 3];
    let x = tensor(&[2, 3, 8], (0..48).map(|i| i as f32 / 7.0 - 2.0).collect::<Vec<_>>());
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<8>)> = input("x");
            let at = input::<T<(D<3>,), i32>>("at");
            let partial = rope().dims(4).theta(100.0);
            output(&(
                (x.rope(at, rope()), x.rope(at, rope().interleaved())),
                (x.rope(at, partial), x.rope(at, partial.interleaved())),
            ));
        },
        &[("x", &x), ("at", &tensor(&[3], positions.to_vec()))],
    );
    let f = |i| frequency(i, 8.0, 10000.0);
    assert_close(&rotated(&x, &positions, |i| (i, if i < 4 { i + 4 } else { 8 }, f(i))), &out[0], 2e-6);
    assert_close(&rotated(&x, &positions, |i| (2 * i, 2 * i + 1, f(i))), &out[1], 2e-6);
    let f = |i| frequency(i, 4.0, 100.0);
    assert_close(&rotated(&x, &positions, |i| (i, if i < 2 { i + 2 } else { 8 }, f(i))), &out[2], 2e-6);
    let neighbours = |i| (2 * i, if i < 2 { 2 * i + 1 } else { 8 }, f(i));
    assert_close(&rotated(&x, &positions, neighbours), &out[3], 2e-6);
}

/// Each sequence and head at its own places; far from the start the error is that of an angle in `f32`.
#[test]
fn rotary_embedding_far_from_the_start() {
    let positions = [0, 17, 131_071, 1, 1000, 4096];
    let x = mixed(&[2, 3, 64], 9);
    let out = run(
        || {
            let x: T<(D<2>, One, D<3>, D<64>)> = input("x");
            let at = input::<T<(D<2>, One, D<3>), i32>>("at");
            output(&x.rope(at, rope().theta(500_000.0)));
        },
        &[("x", &tensor(&[2, 1, 3, 64], x.data.clone())), ("at", &tensor(&[2, 1, 3], positions.to_vec()))],
    );
    let f = |i| frequency(i, 64.0, 500_000.0);
    let want = rotated(&x, &positions, |i| (i, if i < 32 { i + 32 } else { 64 }, f(i)));
    for (row, position) in positions.iter().enumerate() {
        let range = row * 64..(row + 1) * 64;
        let pairs = floats(&want)[range.clone()].iter().zip(&floats(&out[0])[range]);
        let worst = pairs.map(|(want, is)| (want - is).abs()).fold(0.0, f32::max);
        // Four units of 2^-24 in an angle, times the length of a pair, less than 3.
        let bound = (*position as f32).mul_add(4.0 * 2f32.powi(-24), 1e-6) * 3.0;
        assert!(worst <= bound, "position {position}: {worst:e} > {bound:e}");
    }
}

#[test]
fn scaled_frequencies() {
    let x = mixed(&[1, 16], 10);
    let at = tensor(&[1], vec![300]);
    let llama = RopeScaling::Llama3 { factor: 8.0, low: 1.0, high: 4.0, original: 256.0 };
    let out = run(
        || {
            let x: T<(D<1>, D<16>)> = input("x");
            let at = input::<T<(D<1>,), i32>>("at");
            let with = |scaling| x.rope(at, rope().scaling(scaling));
            output(&(with(RopeScaling::Linear(4.0)), with(llama)));
        },
        &[("x", &x), ("at", &at)],
    );
    let f = |i| frequency(i, 16.0, 10000.0);
    let half = |i, f| (i, if i < 8 { i + 8 } else { 16 }, f);
    assert_close(&rotated(&x, &[300], |i| half(i, f(i) / 4.0)), &out[0], 1e-4);
    // As the reference code of Llama 3.1 says it, by wave lengths.
    let scaled = |i| {
        let wave = std::f64::consts::TAU / f(i);
        let smooth = (256.0 / wave - 1.0) / (4.0 - 1.0);
        match wave {
            wave if wave < 256.0 / 4.0 => f(i),
            wave if wave > 256.0 / 1.0 => f(i) / 8.0,
            _ => (1.0 - smooth) * f(i) / 8.0 + smooth * f(i),
        }
    };
    assert!((0..8).any(|i| scaled(i) == f(i)) && (0..8).any(|i| scaled(i) == f(i) / 8.0));
    assert!((0..8).any(|i| scaled(i) < f(i) && scaled(i) > f(i) / 8.0));
    assert_close(&rotated(&x, &[300], |i| half(i, scaled(i))), &out[1], 1e-4);
}

#[test]
fn what_is_wrong_is_said() {
    let found = mistakes(|| {
        let (q, k, v): (Query, Keys, Values) = (input("q"), input("k"), input("v"));
        let three: T<(D<2>, D<3>, D<3>, D<5>)> = input("three");
        let at = input::<T<(D<3>,), i32>>("at");
        let mask = input::<T<(D<2>, D<7>), bool>>("mask");
        let slopes = T::<(D<2>,)>::alibi_slopes();
        let three = three.attention(k, v, attention());
        let others = [
            q.attention(k, v, attention().mask(mask)),
            q.attention(k, v, attention().alibi(slopes)),
            q.attention(k, v, attention().window(0)),
            q.attention(k, v, attention().soft_cap(0.0)),
        ];
        let [a, b, c, d] = others;
        output(&(three, a, b, c, d, q.rope(at, rope().dims(5)), q.rope(at, rope().dims(2).theta(0.0))));
    });
    let wanted = [
        "attention: query [2, 3, 3, 5] has 3 heads and key [2, 2, 7, 5] has 2: those of the query must be the same or a \
         multiple",
        "attention: the mask has the shape [2, 7], which does not broadcast to the scores [2, 4, 3, 7]: it must have these \
         sizes, or `One` in their place, or lack the first of them",
        "attention: the slopes have the shape [2]; one for each head is [4]",
        "attention: the window is 0, so that no key is seen; it must be at least 1",
        "attention: the soft cap is 0; it must be positive and finite",
        "rope: 5 elements of the last axis of [2, 4, 3, 5] cannot be rotated in pairs: their number must be even and from 2 \
         to 5",
        "rope: theta is 0; it must be positive and finite",
    ];
    assert_eq!(found, wanted);
}
