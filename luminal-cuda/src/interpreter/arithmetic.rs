//! Arithmetic of the 32 lanes of a warp. Lanes that are off are computed too; the caller drops their results.

use super::instruction::{Binary, Compare, Comparison, Rounding, Type, Unary};
use luminal_core::dtype::{bf16, f16};
use std::cmp::Ordering;

/// One 32-bit value for each lane.
pub(super) type Words = [u32; 32];
/// One 64-bit value for each lane.
pub(super) type Longs = [u64; 32];

/// The NaN that the hardware makes.
const NAN: u32 = 0x7fff_ffff;

#[inline(always)]
fn map<T: Copy>(a: &[T; 32], f: impl Fn(T) -> T) -> [T; 32] {
    std::array::from_fn(|lane| f(a[lane]))
}

#[inline(always)]
fn zip<T: Copy>(a: &[T; 32], b: &[T; 32], f: impl Fn(T, T) -> T) -> [T; 32] {
    std::array::from_fn(|lane| f(a[lane], b[lane]))
}

#[inline(always)]
fn map_float(a: &Words, f: impl Fn(f32) -> f32) -> Words {
    map(a, |x| f(f32::from_bits(x)).to_bits())
}

#[inline(always)]
fn zip_float(a: &Words, b: &Words, f: impl Fn(f32, f32) -> f32) -> Words {
    zip(a, b, |x, y| f(f32::from_bits(x), f32::from_bits(y)).to_bits())
}

#[inline(always)]
fn zip_signed(a: &Words, b: &Words, f: impl Fn(i32, i32) -> i32) -> Words {
    zip(a, b, |x, y| f(x as i32, y as i32) as u32)
}

#[inline(always)]
fn zip_signed_long(a: &Longs, b: &Longs, f: impl Fn(i64, i64) -> i64) -> Longs {
    zip(a, b, |x, y| f(x as i64, y as i64) as u64)
}

/// `.ftz`: subnormal numbers become zeros of their sign.
fn flush_subnormal(x: f32) -> f32 {
    if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
}

pub(super) fn flush(a: &Words) -> Words {
    map_float(a, flush_subnormal)
}

fn undefined(what: impl std::fmt::Debug, ty: Type) -> String {
    format!("{what:?} of {ty:?} is not implemented")
}

pub(super) fn unary_word(function: Unary, ty: Type, a: &Words) -> Result<Words, String> {
    Ok(match (function, ty) {
        (Unary::Move, _) => *a,
        (Unary::Not, _) => map(a, |x| !x),
        (Unary::Negate, Type::F32) => map(a, |x| x ^ 0x8000_0000),
        (Unary::Absolute, Type::F32) => map(a, |x| x & 0x7fff_ffff),
        (Unary::Negate, Type::S32) => map(a, |x| x.wrapping_neg()),
        (Unary::Absolute, Type::S32) => map(a, |x| (x as i32).wrapping_abs() as u32),
        // The approximations of the hardware differ in the last bits; here they are the nearest number.
        (Unary::Exp2, _) => map_float(a, |x| f64::from(x).exp2() as f32),
        (Unary::Log2, _) => map_float(a, |x| f64::from(x).log2() as f32),
        (Unary::Sin, _) => map_float(a, |x| f64::from(x).sin() as f32),
        (Unary::Cos, _) => map_float(a, |x| f64::from(x).cos() as f32),
        (Unary::SquareRoot, _) => map_float(a, f32::sqrt),
        (Unary::Reciprocal, _) => map_float(a, |x| 1.0 / x),
        _ => return Err(undefined(function, ty)),
    })
}

pub(super) fn unary_long(function: Unary, ty: Type, a: &Longs) -> Result<Longs, String> {
    Ok(match function {
        Unary::Move => *a,
        Unary::Not => map(a, |x| !x),
        Unary::Negate => map(a, |x| x.wrapping_neg()),
        Unary::Absolute => map(a, |x| (x as i64).wrapping_abs() as u64),
        _ => return Err(undefined(function, ty)),
    })
}

/// Orders -0 below +0, as the hardware's minimum and maximum do.
fn total(x: f32, y: f32) -> Ordering {
    x.partial_cmp(&y).unwrap_or(Ordering::Equal).then(y.is_sign_negative().cmp(&x.is_sign_negative()))
}

/// The greater number (`greater`) or the smaller; of a number and a NaN the number, or NaN where it `propagates`.
fn extreme(x: f32, y: f32, greater: bool, propagates: bool) -> f32 {
    match (x.is_nan(), y.is_nan()) {
        (false, false) if (total(x, y) == Ordering::Greater) == greater => x,
        (false, false) => y,
        (false, true) if !propagates => x,
        (true, false) if !propagates => y,
        _ => f32::from_bits(NAN),
    }
}

fn binary_float(function: Binary, a: &Words, b: &Words) -> Result<Words, String> {
    Ok(match function {
        Binary::Add => zip_float(a, b, |x, y| x + y),
        Binary::Subtract => zip_float(a, b, |x, y| x - y),
        Binary::Multiply => zip_float(a, b, |x, y| x * y),
        Binary::Divide => zip_float(a, b, |x, y| x / y),
        Binary::Minimum => zip_float(a, b, |x, y| extreme(x, y, false, false)),
        Binary::Maximum => zip_float(a, b, |x, y| extreme(x, y, true, false)),
        Binary::MinimumNan => zip_float(a, b, |x, y| extreme(x, y, false, true)),
        Binary::MaximumNan => zip_float(a, b, |x, y| extreme(x, y, true, true)),
        _ => return Err(undefined(function, Type::F32)),
    })
}

pub(super) fn binary_word(function: Binary, ty: Type, a: &Words, b: &Words) -> Result<Words, String> {
    if ty == Type::F32 {
        return binary_float(function, a, b);
    }
    let signed = ty == Type::S32;
    Ok(match function {
        Binary::Add => zip(a, b, u32::wrapping_add),
        Binary::Subtract => zip(a, b, u32::wrapping_sub),
        Binary::Multiply => zip(a, b, u32::wrapping_mul),
        // the result of a division by zero is unspecified
        Binary::Divide if signed => zip_signed(a, b, |x, y| if y == 0 { -1 } else { x.wrapping_div(y) }),
        Binary::Divide => zip(a, b, |x, y| x.checked_div(y).unwrap_or(u32::MAX)),
        Binary::Remainder if signed => zip_signed(a, b, |x, y| if y == 0 { -1 } else { x.wrapping_rem(y) }),
        Binary::Remainder => zip(a, b, |x, y| x.checked_rem(y).unwrap_or(u32::MAX)),
        Binary::Minimum if signed => zip_signed(a, b, i32::min),
        Binary::Minimum => zip(a, b, u32::min),
        Binary::Maximum if signed => zip_signed(a, b, i32::max),
        Binary::Maximum => zip(a, b, u32::max),
        Binary::And => zip(a, b, |x, y| x & y),
        Binary::Or => zip(a, b, |x, y| x | y),
        Binary::Xor => zip(a, b, |x, y| x ^ y),
        // distances clamp at the width, they do not wrap
        Binary::ShiftLeft => zip(a, b, |x, y| x.checked_shl(y).unwrap_or(0)),
        Binary::ShiftRight if signed => zip(a, b, |x, y| (x as i32 >> y.min(31)) as u32),
        Binary::ShiftRight => zip(a, b, |x, y| x.checked_shr(y).unwrap_or(0)),
        Binary::MinimumNan | Binary::MaximumNan => return Err(undefined(function, ty)),
    })
}

/// The second operand of a shift is 32 bits wide; here it comes widened.
pub(super) fn binary_long(function: Binary, ty: Type, a: &Longs, b: &Longs) -> Result<Longs, String> {
    let signed = ty == Type::S64;
    Ok(match function {
        Binary::Add => zip(a, b, u64::wrapping_add),
        Binary::Subtract => zip(a, b, u64::wrapping_sub),
        Binary::Multiply => zip(a, b, u64::wrapping_mul),
        Binary::Divide if signed => zip_signed_long(a, b, |x, y| if y == 0 { -1 } else { x.wrapping_div(y) }),
        Binary::Divide => zip(a, b, |x, y| x.checked_div(y).unwrap_or(u64::MAX)),
        Binary::Remainder if signed => {
            zip_signed_long(a, b, |x, y| if y == 0 { -1 } else { x.wrapping_rem(y) })
        }
        Binary::Remainder => zip(a, b, |x, y| x.checked_rem(y).unwrap_or(u64::MAX)),
        Binary::Minimum if signed => zip_signed_long(a, b, i64::min),
        Binary::Minimum => zip(a, b, u64::min),
        Binary::Maximum if signed => zip_signed_long(a, b, i64::max),
        Binary::Maximum => zip(a, b, u64::max),
        Binary::And => zip(a, b, |x, y| x & y),
        Binary::Or => zip(a, b, |x, y| x | y),
        Binary::Xor => zip(a, b, |x, y| x ^ y),
        Binary::ShiftLeft => zip(a, b, |x, y| if y > 63 { 0 } else { x << y }),
        Binary::ShiftRight if signed => zip(a, b, |x, y| (x as i64 >> y.min(63)) as u64),
        Binary::ShiftRight => zip(a, b, |x, y| if y > 63 { 0 } else { x >> y }),
        Binary::MinimumNan | Binary::MaximumNan => return Err(undefined(function, ty)),
    })
}

/// On predicates, one bit a lane.
pub(super) fn binary_bits(function: Binary, a: u32, b: u32) -> Result<u32, String> {
    match function {
        Binary::And => Ok(a & b),
        Binary::Or => Ok(a | b),
        Binary::Xor => Ok(a ^ b),
        _ => Err(undefined(function, Type::Predicate)),
    }
}

pub(super) fn multiply_add_word(ty: Type, a: &Words, b: &Words, c: &Words) -> Words {
    if ty == Type::F32 {
        std::array::from_fn(|lane| {
            f32::from_bits(a[lane]).mul_add(f32::from_bits(b[lane]), f32::from_bits(c[lane])).to_bits()
        })
    } else {
        std::array::from_fn(|lane| a[lane].wrapping_mul(b[lane]).wrapping_add(c[lane]))
    }
}

pub(super) fn multiply_add_long(a: &Longs, b: &Longs, c: &Longs) -> Longs {
    std::array::from_fn(|lane| a[lane].wrapping_mul(b[lane]).wrapping_add(c[lane]))
}

pub(super) fn multiply_wide(ty: Type, a: &Words, b: &Words, c: &Longs) -> Longs {
    std::array::from_fn(|lane| {
        let product = if ty == Type::S32 {
            (i64::from(a[lane] as i32) * i64::from(b[lane] as i32)) as u64
        } else {
            u64::from(a[lane]) * u64::from(b[lane])
        };
        product.wrapping_add(c[lane])
    })
}

/// The numbers that lanes hold, as wide integers or as floats.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f32),
}

fn number(ty: Type, bits: u64) -> Number {
    match ty {
        Type::F32 => Number::Float(f32::from_bits(bits as u32)),
        Type::U8 => Number::Integer((bits as u8).into()),
        Type::B16 | Type::U16 => Number::Integer((bits as u16).into()),
        Type::F16 => Number::Float(f16::from_bits(bits as u16).to_f32()),
        Type::BF16 => Number::Float(bf16::from_bits(bits as u16).to_f32()),
        Type::S32 => Number::Integer((bits as i32).into()),
        Type::B32 | Type::U32 => Number::Integer((bits as u32).into()),
        Type::S64 => Number::Integer((bits as i64).into()),
        Type::B64 | Type::U64 | Type::Predicate => Number::Integer(bits.into()),
    }
}

/// `cvt`: between integers the low bits stay; to an integer type the value saturates and NaN becomes 0, in
/// 64 bits with sign the least number.
pub(super) fn convert(to: Type, from: Type, rounding: Rounding, a: &Longs) -> Longs {
    map(a, |bits| match (number(from, bits), to) {
        (Number::Integer(value), Type::F32) => u64::from((value as f32).to_bits()),
        (Number::Float(value), Type::F32) => u64::from(round(value, rounding).to_bits()),
        (Number::Float(value), Type::F16) if value.is_nan() => 0x7fff,
        (Number::Float(value), Type::BF16) if value.is_nan() => 0x7fff,
        (Number::Float(value), Type::F16) => u64::from(f16::from_f32(value).to_bits()),
        (Number::Float(value), Type::BF16) => u64::from(bf16::from_f32(value).to_bits()),
        (Number::Float(value), to) => saturate(round(value, rounding), to),
        (Number::Integer(value), Type::U8) => u64::from(value as u8),
        (Number::Integer(value), Type::B16 | Type::U16) => u64::from(value as u16),
        (Number::Integer(value), Type::B32 | Type::U32 | Type::S32) => u64::from(value as u32),
        (Number::Integer(value), _) => value as u64,
    })
}

fn round(value: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::None => value,
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

fn saturate(value: f32, to: Type) -> u64 {
    match to {
        Type::U8 => u64::from(value as u8),
        Type::S32 => u64::from(value as i32 as u32),
        Type::B32 | Type::U32 => u64::from(value as u32),
        // As the hardware: the least number.
        Type::S64 if value.is_nan() => i64::MIN as u64,
        Type::S64 => value as i64 as u64,
        _ => value as u64,
    }
}

/// One bit a lane.
#[inline(always)]
fn test<T: Copy>(a: &[T; 32], b: &[T; 32], holds: impl Fn(T, T) -> bool) -> u32 {
    (0..32).fold(0, |bits, lane| bits | u32::from(holds(a[lane], b[lane])) << lane)
}

fn ordered(compare: Compare, order: Option<Ordering>) -> bool {
    let Some(order) = order else { return compare.unordered };
    match compare.comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterEqual => order.is_ge(),
        Comparison::BothNumbers => true,
        Comparison::EitherNan => false,
    }
}

pub(super) fn compare_word(compare: Compare, ty: Type, a: &Words, b: &Words) -> u32 {
    match ty {
        Type::F32 => test(a, b, |x, y| ordered(compare, f32::from_bits(x).partial_cmp(&f32::from_bits(y)))),
        Type::S32 => test(a, b, |x, y| ordered(compare, Some((x as i32).cmp(&(y as i32))))),
        _ => test(a, b, |x, y| ordered(compare, Some(x.cmp(&y)))),
    }
}

pub(super) fn compare_long(compare: Compare, ty: Type, a: &Longs, b: &Longs) -> u32 {
    match ty {
        Type::S64 => test(a, b, |x, y| ordered(compare, Some((x as i64).cmp(&(y as i64))))),
        _ => test(a, b, |x, y| ordered(compare, Some(x.cmp(&y)))),
    }
}
