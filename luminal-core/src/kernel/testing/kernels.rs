//! Contractions, convolutions, maps and gathers.

use super::build::{acc, binary, load_at, select};
use super::{Builder, add, load, max, mul, number, sub, unary};
use crate::dtype::Dtype;
use crate::graph::{Reduce, Unary};
use crate::kernel::ir::{Affine, Binary, Expr, Guard, Index, Kernel};
use std::rc::Rc;

const F32: Dtype = Dtype::F32;

/// `C = max(A B + bias, 0)`
pub fn matmul(m: usize, n: usize, k: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j, l) = (b.axis("i", m), b.axis("j", n), b.axis("k", k));
    matmul_over(b, (i, m), (j, n), (l, k))
}

/// The same with a free number of rows.
pub fn free_matmul(max_rows: usize, n: usize, k: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j, l) = (b.free("i", max_rows, 0), b.axis("j", n), b.axis("k", k));
    matmul_over(b, (i, max_rows), (j, n), (l, k))
}

fn matmul_over(
    mut b: Builder,
    (i, m): (usize, usize),
    (j, n): (usize, usize),
    (l, k): (usize, usize),
) -> Kernel {
    let x = b.input("A", F32, &[m, k]);
    let w = b.weight("B", &[k, n]);
    let bias = b.weight("bias", &[n]);
    let y = b.output("C", F32, &[m, n]);
    let product = mul(&load(x, &[i, l]), &load(w, &[l, j]));
    let def = b.reduce(y, &[i, j], Reduce::Sum, &[l], product);
    def.epilogue = Some(max(&add(&acc(), &load(bias, &[j])), &number(0.0)));
    b.kernel
}

/// `y[i, j] = sum over k of x[i, k] W[j, k]`: a linear layer as weight files hold it.
pub fn matmul_transposed(m: usize, n: usize, k: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j, l) = (b.axis("i", m), b.axis("j", n), b.axis("k", k));
    let x = b.input("x", F32, &[m, k]);
    let w = b.weight("W", &[n, k]);
    let y = b.output("y", F32, &[m, n]);
    b.reduce(y, &[i, j], Reduce::Sum, &[l], mul(&load(x, &[i, l]), &load(w, &[j, l])));
    b.kernel
}

fn plus(terms: &[(usize, i64)], offset: i64) -> Affine {
    Affine::new(terms.iter().copied(), offset)
}

/// 3 x 3, same padding by guards, bias and relu; channels first.
pub fn conv(batch: usize, input: usize, output: usize, height: usize, width: usize) -> Kernel {
    let mut b = Builder::default();
    let (n, o) = (b.axis("n", batch), b.axis("o", output));
    let (y, x) = (b.axis("y", height), b.axis("x", width));
    let (c, r, s) = (b.axis("c", input), b.axis("r", 3), b.axis("s", 3));
    let image = b.input("image", F32, &[batch, input, height, width]);
    let w = b.weight("W", &[output, input, 3, 3]);
    let bias = b.weight("bias", &[output]);
    let out = b.output("out", F32, &[batch, output, height, width]);
    let (row, column) = (plus(&[(y, 1), (r, 1)], -1), plus(&[(x, 1), (s, 1)], -1));
    let index = [Affine::axis(n), Affine::axis(c), row.clone(), column.clone()];
    let pixel = load_at(image, &index, &[(row, height), (column, width)]);
    let product = mul(&pixel, &load(w, &[o, c, r, s]));
    let def = b.reduce(out, &[n, o, y, x], Reduce::Sum, &[c, r, s], product);
    def.epilogue = Some(max(&add(&acc(), &load(bias, &[o])), &number(0.0)));
    b.kernel
}

/// The convolution above, then the maximum of 2 x 2 windows: a local value feeds the second definition.
pub fn conv_pool(batch: usize, input: usize, output: usize, height: usize, width: usize) -> Kernel {
    let mut b = Builder::default();
    let (n, o) = (b.axis("n", batch), b.axis("o", output));
    let (y, x) = (b.axis("y", height), b.axis("x", width));
    let (c, r, s) = (b.axis("c", input), b.axis("r", 3), b.axis("s", 3));
    let (py, px) = (b.axis("py", height / 2), b.axis("px", width / 2));
    let (wy, wx) = (b.axis("wy", 2), b.axis("wx", 2));
    let image = b.input("image", F32, &[batch, input, height, width]);
    let w = b.weight("W", &[output, input, 3, 3]);
    let bias = b.weight("bias", &[output]);
    let out = b.output("out", F32, &[batch, output, height / 2, width / 2]);
    let full = b.local("full", F32, &[batch, output, height, width]);
    let (row, column) = (plus(&[(y, 1), (r, 1)], -1), plus(&[(x, 1), (s, 1)], -1));
    let index = [Affine::axis(n), Affine::axis(c), row.clone(), column.clone()];
    let pixel = load_at(image, &index, &[(row, height), (column, width)]);
    let product = mul(&pixel, &load(w, &[o, c, r, s]));
    let def = b.reduce(full, &[n, o, y, x], Reduce::Sum, &[c, r, s], product);
    def.epilogue = Some(max(&add(&acc(), &load(bias, &[o])), &number(0.0)));
    let window =
        [Affine::axis(n), Affine::axis(o), plus(&[(py, 2), (wy, 1)], 0), plus(&[(px, 2), (wx, 1)], 0)];
    b.reduce(out, &[n, o, py, px], Reduce::Max, &[wy, wx], load_at(full, &window, &[]));
    b.kernel
}

/// 3 x 3, each channel by itself; no padding.
pub fn depthwise(channels: usize, height: usize, width: usize) -> Kernel {
    let mut b = Builder::default();
    let (c, y, x) = (b.axis("c", channels), b.axis("y", height - 2), b.axis("x", width - 2));
    let (r, s) = (b.axis("r", 3), b.axis("s", 3));
    let image = b.input("image", F32, &[channels, height, width]);
    let w = b.weight("W", &[channels, 3, 3]);
    let out = b.output("out", F32, &[channels, height - 2, width - 2]);
    let pixel =
        load_at(image, &[Affine::axis(c), plus(&[(y, 1), (r, 1)], 0), plus(&[(x, 1), (s, 1)], 0)], &[]);
    b.reduce(out, &[c, y, x], Reduce::Sum, &[r, s], mul(&pixel, &load(w, &[c, r, s])));
    b.kernel
}

/// Rows of a table, scaled: `out[i, j] = table[index[i], j] * 2 + position[i, j]`
pub fn embedding(rows: usize, table_rows: usize, width: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", width));
    let table = b.input("table", F32, &[table_rows, width]);
    let index = b.input("index", Dtype::I32, &[rows]);
    let out = b.output("out", F32, &[rows, width]);
    let place = vec![Index::Value(load(index, &[i])), Index::Affine(Affine::axis(j))];
    let row = Rc::new(Expr::Load { buffer: table, index: place, guards: vec![] });
    let position = Rc::new(Expr::Cast(F32, Rc::new(Expr::Position(plus(&[(i, 3), (j, -1)], 1)))));
    b.map(out, &[i, j], add(&mul(&row, &number(2.0)), &position));
    b.kernel
}

/// `out[j, i] = in[i, j]`, an output in given order.
pub fn transpose(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", F32, &[rows, columns]);
    let y = b.input("y", F32, &[columns, rows]);
    b.map(y, &[j, i], load(x, &[i, j]));
    b.kernel
}

/// Every second element from the end, behind one zero: strided loads, guards and stores.
pub fn reverse_every_second(size: usize) -> Kernel {
    let mut b = Builder::default();
    let i = b.axis("i", size / 2);
    let x = b.input("x", F32, &[size]);
    let y = b.input("y", F32, &[size]);
    let z = b.input("z", F32, &[size / 2]);
    let from = plus(&[(i, -2)], size as i64 - 1);
    let def = b.map(y, &[i], load_at(x, std::slice::from_ref(&from), &[]));
    def.at = vec![plus(&[(i, 2)], 1)];
    let shifted = plus(&[(i, 1)], -1);
    b.map(z, &[i], load_at(x, std::slice::from_ref(&shifted), &[(shifted.clone(), size)]));
    b.kernel
}

/// All elements to one.
pub fn scalar_sum(size: usize) -> Kernel {
    let mut b = Builder::default();
    let i = b.axis("i", size);
    let x = b.input("x", F32, &[size]);
    let y = b.output("y", F32, &[]);
    b.reduce(y, &[], Reduce::Sum, &[i], load(x, &[i]));
    b.kernel
}

/// `mask ? x : -1` above the diagonal, `x mod 0.3` below; and where `x < 0`.
pub fn masked_select(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", F32, &[rows, columns]);
    let mask = b.input("mask", Dtype::Bool, &[rows, columns]);
    let y = b.output("y", F32, &[rows, columns]);
    let less = b.output("less", Dtype::Bool, &[rows, columns]);
    let value = load(x, &[i, j]);
    let above = Rc::new(Expr::NotNegative(plus(&[(j, 1), (i, -1)], 0)));
    let keep = select(&load(mask, &[i, j]), &value, &number(-1.0));
    let rest = binary(Binary::Mod, &value, &number(0.3));
    b.map(y, &[i, j], select(&above, &keep, &rest));
    let negative = binary(Binary::LessThan, &value, &number(0.0));
    b.map(less, &[i, j], binary(Binary::Or, &negative, &binary(Binary::And, &load(mask, &[i, j]), &above)));
    b.kernel
}

/// Rows padded by one in front and to a longer free size behind: where the operand ends is known at run time.
pub fn free_pad(max_rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.free("i", max_rows + 3, 1), b.axis("j", columns));
    let x = b.input("x", F32, &[max_rows, columns]);
    let y = b.output("y", F32, &[max_rows + 3, columns]);
    let row = plus(&[(i, 1)], -1);
    let at = Rc::new(Expr::Position(row.clone()));
    let below = binary(Binary::LessThan, &at, &Rc::new(Expr::Size(0)));
    let inside = binary(Binary::And, &Rc::new(Expr::NotNegative(row.clone())), &below);
    let index = [row.clone(), plus(&[(j, 1)], 0)].map(Index::Affine).to_vec();
    let guards = vec![Guard { at: row, extent: max_rows, free: Some(0) }];
    let value = Rc::new(Expr::Load { buffer: x, index, guards });
    b.map(y, &[i, j], select(&inside, &value, &number(0.5)));
    b.kernel
}

/// Arithmetic of `i32`, with casts in both directions.
pub fn integers(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", Dtype::I32, &[rows, columns]);
    let f = b.input("f", F32, &[rows, columns]);
    let y = b.output("y", Dtype::I32, &[rows, columns]);
    let total = b.output("total", Dtype::I32, &[rows]);
    let greatest = b.output("greatest", Dtype::I32, &[rows]);
    let number = |n: i32| Rc::new(Expr::Int(n));
    let value = sub(&mul(&load(x, &[i, j]), &number(7)), &number(11));
    let scaled = Rc::new(Expr::Cast(Dtype::I32, mul(&load(f, &[i, j]), &super::number(1e10))));
    let modulo = binary(Binary::Mod, &value, &number(5));
    let quotient = binary(Binary::FloorDiv, &value, &number(4));
    b.map(y, &[i, j], add(&max(&modulo, &quotient), &scaled));
    b.reduce(total, &[i], Reduce::Sum, &[j], value.clone());
    b.reduce(greatest, &[i], Reduce::Max, &[j], sub(&value, &number(100)));
    b.kernel
}

/// Whether a row has a positive element.
pub fn any_true(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", F32, &[rows, columns]);
    let y = b.output("y", Dtype::Bool, &[rows]);
    b.reduce(y, &[i], Reduce::Max, &[j], binary(Binary::LessThan, &number(0.9), &load(x, &[i, j])));
    b.kernel
}

/// A map and a reduction over one input, both arguments.
pub fn two_outputs(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", F32, &[rows, columns]);
    let y = b.output("y", F32, &[rows, columns]);
    let greatest = b.output("greatest", F32, &[rows]);
    b.map(y, &[i, j], max(&load(x, &[i, j]), &number(0.25)));
    b.reduce(greatest, &[i], Reduce::Max, &[j], load(x, &[i, j]));
    b.kernel
}

/// Two inputs side by side in one output.
pub fn concat(rows: usize, left: usize, right: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j, k) = (b.axis("i", rows), b.axis("j", left), b.axis("k", right));
    let x = b.input("x", F32, &[rows, left]);
    let y = b.input("y", F32, &[rows, right]);
    let out = b.output("out", F32, &[rows, left + right]);
    b.map(out, &[i, j], load(x, &[i, j]));
    let def = b.map(out, &[i, k], load(y, &[i, k]));
    def.at[1] = plus(&[(k, 1)], left as i64);
    b.kernel
}

/// Each function of one float.
pub fn math(rows: usize, columns: usize) -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", rows), b.axis("j", columns));
    let x = b.input("x", F32, &[rows, columns]);
    let y = b.output("y", F32, &[rows, columns]);
    let value = load(x, &[i, j]);
    let positive = add(&mul(&value, &value), &number(0.5));
    let sum = [Unary::Exp2, Unary::Sin]
        .iter()
        .map(|op| unary(*op, &value))
        .chain([Unary::Log2, Unary::Sqrt, Unary::Recip].iter().map(|op| unary(*op, &positive)))
        .reduce(|x, y| add(&x, &y))
        .expect("there are five");
    b.map(y, &[i, j], sum);
    b.kernel
}
