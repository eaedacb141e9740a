//! Kernels over every element type, and conversions between all of them.

use super::build::{Builder, add, binary, load, load_at, max, mul, number, select};
use crate::dtype::{Dtype, bf16, f16};
use crate::graph::Reduce;
use crate::kernel::ir::{Affine, Binary, E, Expr, Kernel};
use crate::kernel::meaning::Values;
use crate::reference::SplitMix64;
use std::rc::Rc;

fn cast(to: Dtype, x: &E) -> E {
    Rc::new(Expr::Cast(to, x.clone()))
}

/// The distance of neighbours of a float type of 16 bits, relative to them; 0 for all other types.
pub fn step(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F16 => 2f64.powi(-10),
        Dtype::BF16 => 2f64.powi(-7),
        _ => 0.0,
    }
}

/// `y = x` converted, element by element.
pub fn conversion(from: Dtype, to: Dtype, count: usize) -> Kernel {
    let mut b = Builder::default();
    let i = b.axis("i", count);
    let x = b.input("x", from, &[count]);
    let y = b.output("y", to, &[count]);
    b.map(y, &[i], cast(to, &load(x, &[i])));
    b.kernel
}

/// Floats converted to every type, with a tail of rows and columns.
pub fn casts(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", Dtype::F32, &[rows, columns]);
    let scaled = mul(&load(x, &[i, j]), &number(300.0));
    let results = Dtype::ALL.map(|to| b.output(&format!("y_{to}"), to, &[rows, columns]));
    for (to, y) in Dtype::ALL.into_iter().zip(results) {
        b.map(y, &[i, j], cast(to, &scaled));
    }
    b.kernel
}

/// The sum of an element of each type, and of the sum of a row of each.
pub fn loads_of_every_type(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let given = Dtype::ALL.map(|dtype| b.input(&format!("x_{dtype}"), dtype, &[rows, columns]));
    let y = b.output("y", Dtype::F32, &[rows, columns]);
    let sums = b.output("sums", Dtype::F32, &[rows]);
    // An i64 beyond 32 bits would hide all others.
    let small = |x: E| binary(Binary::Mod, &x, &Rc::new(Expr::Long(100)));
    let value = |(dtype, x): (&Dtype, &usize)| {
        let x = load(*x, &[i, j]);
        cast(Dtype::F32, &if *dtype == Dtype::I64 { small(x) } else { x })
    };
    let values: Vec<E> = Dtype::ALL.iter().zip(&given).map(value).collect();
    let sum = values[1..].iter().fold(values[0].clone(), |sum, x| add(&sum, x));
    b.map(y, &[i, j], sum.clone());
    b.reduce(sums, &[i], Reduce::Sum, &[j], sum);
    b.kernel
}

/// A product of matrices of floats of 16 bits, summed in 32 bits and rounded once.
pub fn narrow_matmul(dtype: Dtype, m: usize, n: usize, k: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j, l) = (b.axis("i", m), b.axis("j", n), b.axis("l", k));
    let x = b.input("x", dtype, &[m, k]);
    let w = b.input("w", dtype, &[k, n]);
    let y = b.output("y", dtype, &[m, n]);
    let product = mul(&cast(Dtype::F32, &load(x, &[i, l])), &cast(Dtype::F32, &load(w, &[l, j])));
    b.reduce(y, &[i, j], Reduce::Sum, &[l], product).epilogue = Some(cast(dtype, &Rc::new(Expr::Acc)));
    b.kernel
}

/// A product with weights in bytes: `sum (w - 128) * scale * x`.
pub fn quantised(m: usize, n: usize, k: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j, l) = (b.axis("i", m), b.axis("j", n), b.axis("l", k));
    let x = b.input("x", Dtype::F32, &[m, k]);
    let w = b.input("w", Dtype::U8, &[n, k]);
    let scale = b.input("scale", Dtype::F16, &[n]);
    let y = b.output("y", Dtype::F32, &[m, n]);
    let centred = add(&cast(Dtype::I32, &load(w, &[j, l])), &Rc::new(Expr::Int(-128)));
    let weight = mul(&cast(Dtype::F32, &centred), &cast(Dtype::F32, &load(scale, &[j])));
    b.reduce(y, &[i, j], Reduce::Sum, &[l], mul(&weight, &load(x, &[i, l])));
    b.kernel
}

/// Arithmetic of 64 bits: all operations, constants that 32 bits do not hold, sums and maxima of rows and columns.
pub fn longs(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", Dtype::I64, &[rows, columns]);
    let y = b.input("y", Dtype::I64, &[columns]);
    let mixed = b.output("mixed", Dtype::I64, &[rows, columns]);
    let less = b.output("less", Dtype::Bool, &[rows, columns]);
    let sums = b.output("sums", Dtype::I64, &[rows]);
    let greatest = b.output("greatest", Dtype::I64, &[columns]);
    let (x, y) = (load(x, &[i, j]), load(y, &[j]));
    let far: E = Rc::new(Expr::Long(-(1 << 40) + 7));
    let product = mul(&add(&x, &far), &x);
    let condition = binary(Binary::LessThan, &x, &y);
    let chosen = select(&condition, &binary(Binary::Mod, &product, &y), &max(&x, &y));
    let quotient = binary(Binary::FloorDiv, &x, &Rc::new(Expr::Long(10)));
    b.map(mixed, &[i, j], binary(Binary::Sub, &chosen, &quotient));
    b.map(less, &[i, j], condition);
    b.reduce(sums, &[i], Reduce::Sum, &[j], product.clone());
    b.reduce(greatest, &[j], Reduce::Max, &[i], product);
    b.kernel
}

/// Elements of a narrow type that are not adjacent, behind guards, chosen, and padded with a constant.
pub fn narrow_moves(dtype: Dtype, rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", dtype, &[columns, rows]);
    let c = b.input("c", Dtype::Bool, &[rows, columns]);
    let y = b.output("y", dtype, &[rows, columns]);
    let turned = load(x, &[j, i]);
    let shifted = Affine::new([(j, 1)], -2);
    let back = load_at(x, &[shifted.clone(), Affine::axis(i)], &[(shifted, columns)]);
    b.map(y, &[i, j], select(&load(c, &[i, j]), &turned, &back));
    b.kernel
}

/// Values of a type that conversions treat differently: for floats every one of 16 bits, what is half way between two
/// of them, and the floats beside those; for integers powers of two and what is beside them; and random bits.
pub fn values_to_convert(dtype: Dtype) -> Values {
    let mut random = SplitMix64::new(7);
    let halves = || (0..=u16::MAX).map(f16::from_bits).map(f64::from);
    let brains = || (0..=u16::MAX).map(bf16::from_bits).map(f64::from);
    let integers = |bits: u32| {
        let powers = (0..bits).map(|n| 1i64 << n).flat_map(|x| [x - 1, x, x + 1, -x - 1, -x, -x + 1]);
        // Half way between two floats, and beside that.
        let ties = (25..bits).map(|n| (1i64 << (n - 1)) | 1 << (n - 25)).flat_map(|x| [x - 1, x, x + 1, -x]);
        powers.chain(ties).collect::<Vec<i64>>()
    };
    match dtype {
        Dtype::F16 => Values::Float(halves().collect()),
        Dtype::BF16 => Values::Float(brains().collect()),
        Dtype::F32 => {
            let mut all: Vec<f32> =
                vec![65519.996, 65520.0, 3.3961e38, -0.0, 2147483600.0, 2147483648.0, 9.3e18, -9.3e18];
            for numbers in [halves().collect::<Vec<_>>(), brains().collect()] {
                for pair in numbers.windows(2) {
                    let middle = ((pair[0] + pair[1]) / 2.0) as f32;
                    all.extend([pair[0] as f32, middle, middle.next_up(), middle.next_down()]);
                }
            }
            all.extend((0..20_000).map(|_| f32::from_bits(random.next_u64() as u32)));
            all.extend((-300..600).map(|n| n as f32 * 0.5));
            Values::Float(all.into_iter().map(f64::from).collect())
        }
        Dtype::I32 => {
            let random: Vec<i64> = (0..2000).map(|_| random.next_u64() as i64).collect();
            Values::Int(integers(32).into_iter().chain(random).map(|x| x as i32).collect())
        }
        Dtype::I64 => {
            let random = (0..2000).map(|n| random.next_u64() as i64 >> (n % 40)).collect::<Vec<_>>();
            Values::Long(integers(63).into_iter().chain(random).chain([i64::MIN, i64::MAX]).collect())
        }
        Dtype::U8 => Values::Int((0..256).collect()),
        Dtype::Bool => Values::Bool(vec![true, false, true, true, false, false, true, false, true]),
    }
}
