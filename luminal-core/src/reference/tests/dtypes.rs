//! Conversions between element types, against formulas on integers and binary64.

use super::*;
use half::{bf16, f16};

/// What 16 bits mean: 5 or 8 bits of exponent.
fn narrow(bits: u16, exponent_bits: u32) -> f64 {
    let fraction_bits = 15 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits & 0x7fff) >> fraction_bits;
    let fraction = f64::from(bits & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    sign * match exponent {
        0 => fraction * 2f64.powi(1 - bias),
        e if e == (1 << exponent_bits) - 1 && fraction == 0.0 => f64::INFINITY,
        e if e == (1 << exponent_bits) - 1 => f64::NAN,
        e => (1.0 + fraction) * 2f64.powi(e - bias),
    }
}

/// The nearest of these numbers, of two equally near ones the one whose last bit is 0; infinite from half a step beyond
/// the greatest finite one on.
fn rounded(x: f64, exponent_bits: u32) -> f64 {
    let fraction_bits = 15 - exponent_bits as i32;
    let bias = (1 << (exponent_bits - 1)) - 1;
    if !x.is_finite() || x == 0.0 {
        return x;
    }
    // The position of the last bit: that of the exponent of x, but not below that of subnormal numbers.
    let exponent = (((x.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(1 - bias);
    let step = 2f64.powi(exponent - fraction_bits);
    let result = (x / step).round_ties_even() * step;
    if result.abs() >= 2f64.powi(bias + 1) { f64::INFINITY.copysign(x) } else { result }
}

fn assert_same(x: f64, y: f64, what: impl std::fmt::Display) {
    assert!(x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(), "{what}: {x:e} is not {y:e}");
}

/// Every number of 16 bits, and `f32` beside it, half way to the next and beside that.
fn floats(exponent_bits: u32) -> Vec<f32> {
    let mut all =
        vec![f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), -1e-40, 65519.996, 65520.0, -3.3961e38];
    for bits in 0..=u16::MAX {
        let [x, next] = [bits, bits.wrapping_add(1)].map(|bits| narrow(bits, exponent_bits));
        let middle = ((x + next) / 2.0) as f32;
        let x = x as f32;
        all.extend([x, x.next_up(), x.next_down(), middle, middle.next_up(), middle.next_down()]);
    }
    all
}

#[test]
fn every_narrow_float_is_widened_exactly() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let halves: Vec<f16> = all.iter().map(|bits| f16::from_bits(*bits)).collect();
    let wide = of_vector(halves.clone(), "cast %0", "f32[65536]");
    for (bits, x) in all.iter().zip(wide.as_f32().unwrap()) {
        assert_same(f64::from(*x), narrow(*bits, 5), bits);
    }
    let brains: Vec<bf16> = all.iter().map(|bits| bf16::from_bits(*bits)).collect();
    let wide = of_vector(brains, "cast %0", "f32[65536]");
    for (bits, x) in all.iter().zip(wide.as_f32().unwrap()) {
        assert_same(f64::from(*x), narrow(*bits, 8), bits);
    }
    // And back; a NaN stays one.
    let back = result(
        "%0 = input \"x\" : f16[65536]\n%1 = cast %0 : f32[65536]\n%2 = cast %1 : f16[65536]",
        &[("x", Tensor::vector(halves.clone()))],
        &[],
    );
    for (x, y) in halves.iter().zip(back.unwrap().as_f16().unwrap()) {
        assert_same(x.to_f64(), y.to_f64(), x);
    }
}

#[test]
fn floats_are_rounded_to_the_nearest_and_ties_to_even() {
    let all = floats(5);
    let narrow = of_vector(all.clone(), "cast %0", &format!("f16[{}]", all.len()));
    for (x, y) in all.iter().zip(narrow.as_f16().unwrap()) {
        assert_same(y.to_f64(), rounded(f64::from(*x), 5), x);
    }
    let all = floats(8);
    let narrow = of_vector(all.clone(), "cast %0", &format!("bf16[{}]", all.len()));
    for (x, y) in all.iter().zip(narrow.as_bf16().unwrap()) {
        assert_same(y.to_f64(), rounded(f64::from(*x), 8), x);
    }
}

#[test]
fn a_rounding_in_the_middle_counts() {
    let lines = "%0 = input \"x\" : f32[1]\n%1 = cast %0 : f16[1]\n%2 = cast %1 : f32[1]";
    let rounded = result(lines, &[("x", Tensor::vector(vec![0.1f32]))], &[]).unwrap();
    assert_f32(rounded.data, &[0.099975586]);
}

#[test]
fn integers_of_all_sizes() {
    let x = vec![-3.0f32, -0.9, 0.0, 255.9, 256.0, 300.0, NAN, INF, -INF];
    assert_eq!(of_vector(x, "cast %0", "u8[9]"), Data::U8(vec![0, 0, 0, 255, 255, 255, 0, 255, 0]));
    let x = vec![-1, 255, 256, 300, i32::MIN];
    assert_eq!(of_vector(x.clone(), "cast %0", "u8[5]"), Data::U8(vec![255, 255, 0, 44, 0]));
    let wide = vec![-1, 255, 256, 300, i64::from(i32::MIN)];
    assert_eq!(of_vector(x, "cast %0", "i64[5]"), Data::I64(wide));
    let x = vec![i64::MIN, -1, 1 << 32, (5 << 32) - 7, i64::MAX];
    assert_eq!(of_vector(x.clone(), "cast %0", "i32[5]"), Data::I32(vec![0, -1, 0, -7, -1]));
    assert_eq!(of_vector(x.clone(), "cast %0", "u8[5]"), Data::U8(vec![0, 255, 0, 249, 255]));
    assert_eq!(of_vector(x, "cast %0", "bool[5]"), Data::Bool(vec![true; 5]));
    let two_to = |n: i32| 2f32.powi(n);
    let x = vec![two_to(62), two_to(63), two_to(64), -two_to(63), -two_to(70), -1.9, NAN, INF];
    let expected = vec![1 << 62, i64::MAX, i64::MAX, i64::MIN, i64::MIN, -1, 0, i64::MAX];
    assert_eq!(of_vector(x, "cast %0", "i64[8]"), Data::I64(expected));
    // Half way between two floats, one before and one behind it.
    let x = vec![(1i64 << 53) + (1 << 29), (1 << 53) + (1 << 29) - 1, (1 << 53) + (1 << 29) + 1, i64::MAX];
    let next = two_to(53) + two_to(30);
    assert_f32(of_vector(x, "cast %0", "f32[4]"), &[two_to(53), two_to(53), next, two_to(63)]);
    assert_f32(of_vector(vec![0u8, 7, 255], "cast %0", "f32[3]"), &[0.0, 7.0, 255.0]);
    assert_eq!(of_vector(vec![0u8, 7, 255], "cast %0", "i64[3]"), Data::I64(vec![0, 7, 255]));
    assert_eq!(of_vector(vec![0u8, 7, 255], "cast %0", "bool[3]"), Data::Bool(vec![false, true, true]));
    assert_eq!(of_vector(vec![true, false], "cast %0", "u8[2]"), Data::U8(vec![1, 0]));
    let halves = |x: &[f32]| x.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>();
    let x = halves(&[-2.5, 65504.0, INF, NAN, 1e-7]);
    assert_eq!(of_vector(x.clone(), "cast %0", "i32[5]"), Data::I32(vec![-2, 65504, i32::MAX, 0, 0]));
    assert_eq!(of_vector(x.clone(), "cast %0", "u8[5]"), Data::U8(vec![0, 255, 255, 0, 0]));
    assert_eq!(of_vector(x, "cast %0", "bool[5]"), Data::Bool(vec![true; 5]));
    assert_eq!(
        of_vector(vec![65519, 65520, -65520], "cast %0", "f16[3]"),
        Data::F16(halves(&[65504.0, INF, -INF]))
    );
}

#[test]
fn i64_wraps_and_has_its_own_least_number() {
    let x = vec![i64::MAX, i64::MIN, 1 << 32];
    assert_eq!(of_vector(x.clone(), "add %0 %0", "i64[3]"), Data::I64(vec![-2, 0, 1 << 33]));
    assert_eq!(of_vector(x.clone(), "mul %0 %0", "i64[3]"), Data::I64(vec![1, 0, 0]));
    assert_eq!(of_vector(x.clone(), "reduce_sum %0 axis 0", "i64[]"), Data::I64(vec![(1 << 32) - 1]));
    assert_eq!(of_vector(x, "reduce_max %0 axis 0", "i64[]"), Data::I64(vec![i64::MAX]));
    assert_eq!(of_vector(Vec::<i64>::new(), "reduce_max %0 axis 0", "i64[]"), Data::I64(vec![i64::MIN]));
    assert_eq!(of_vector(Vec::<i64>::new(), "reduce_sum %0 axis 0", "i64[]"), Data::I64(vec![0]));
    assert_eq!(of_vector(vec![-(1i64 << 40), 0, 9], "mod %0 %0", "i64[3]"), Data::I64(vec![0, 0, 0]));
}

#[test]
fn narrow_types_are_moved_and_padded() {
    let x = vec![1u8, 2, 3, 255];
    assert_eq!(
        of_vector(x.clone(), "pad %0 axis 0 before 1 fill 200", "u8[6]"),
        Data::U8(vec![200, 1, 2, 3, 255, 200])
    );
    assert_eq!(of_vector(x, "slice %0 axis 0 start 1 step 2", "u8[2]"), Data::U8(vec![2, 255]));
    let x: Vec<bf16> = [1.5, -2.0].map(bf16::from_f32).to_vec();
    let lines = "%0 = input \"x\" : bf16[2]\n%1 = const -inf : bf16[]\n%2 = expand %1 axis 0 : bf16[2]\n\
                 %3 = input \"c\" : bool[2]\n%4 = select %3 %0 %2 : bf16[2]";
    let feeds = [("x", Tensor::vector(x)), ("c", Tensor::vector(vec![true, false]))];
    let chosen = result(lines, &feeds, &[]).unwrap();
    assert_eq!(chosen.as_bf16().unwrap(), [bf16::from_f32(1.5), bf16::NEG_INFINITY]);
}
