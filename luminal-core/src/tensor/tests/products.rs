//! Matrix products and lookups.

use super::*;
use crate::tensor::nn::{Embedding, LayerNorm, Linear};
use crate::tensor::{Axis, D, EndsWith, One, Tensor as T, With, input, output, weights};

/// `[batch, m, k] x [batch or 1, k, n]`, accumulated in double precision.
fn product(left: &Tensor, right: &Tensor, batch: usize, m: usize, k: usize, n: usize) -> Vec<f32> {
    let (x, y) = (floats(left), floats(right));
    let shared = y.len() == k * n;
    let mut out = vec![];
    for b in 0..batch {
        let y = if shared { y } else { &y[b * k * n..] };
        for i in 0..m {
            for j in 0..n {
                let terms = (0..k).map(|l| f64::from(x[(b * m + i) * k + l]) * f64::from(y[l * n + j]));
                out.push(terms.sum::<f64>() as f32);
            }
        }
    }
    out
}

#[test]
fn matrices() {
    let (x, w) = (mixed(&[3, 4], 1), mixed(&[4, 5], 2));
    let out = run(
        || output(&input::<T<(D<3>, D<4>)>>("x").matmul(input::<T<(D<4>, D<5>)>>("w"))),
        &[("x", &x), ("w", &w)],
    );
    assert_close(&tensor(&[3, 5], product(&x, &w, 1, 3, 4, 5)), &out[0], 1e-5);
}

#[test]
fn rows_and_columns() {
    let (x, w, v) = (mixed(&[4], 1), mixed(&[4, 5], 2), mixed(&[5], 3));
    let out = run(
        || {
            let x: T<(D<4>,)> = input("x");
            let w: T<(D<4>, D<5>)> = input("w");
            let v: T<(D<5>,)> = input("v");
            output(&(x.matmul(w), w.matmul(v), x.matmul(x)));
        },
        &[("x", &x), ("w", &w), ("v", &v)],
    );
    assert_close(&tensor(&[5], product(&x, &w, 1, 1, 4, 5)), &out[0], 1e-5);
    assert_close(&tensor(&[4], product(&w, &v, 1, 4, 5, 1)), &out[1], 1e-5);
    assert_close(&tensor(&[], product(&x, &x, 1, 1, 4, 1)), &out[2], 1e-5);
}

#[test]
fn batches() {
    let x = mixed(&[2, 3, 4, 5], 1);
    let each = mixed(&[2, 3, 5, 6], 2);
    let shared = mixed(&[5, 6], 3);
    let heads = mixed(&[2, 1, 5, 6], 4);
    let out = run(
        || {
            let x: T<(D<2>, D<3>, D<4>, D<5>)> = input("x");
            let each: T<(D<2>, D<3>, D<5>, D<6>)> = input("each");
            let shared: T<(D<5>, D<6>)> = input("shared");
            let heads: T<(D<2>, One, D<5>, D<6>)> = input("heads");
            output(&(x.matmul(each), x.matmul(shared), x.matmul(heads)));
        },
        &[("x", &x), ("each", &each), ("shared", &shared), ("heads", &heads)],
    );
    assert_close(&tensor(&[2, 3, 4, 6], product(&x, &each, 6, 4, 5, 6)), &out[0], 1e-5);
    assert_close(&tensor(&[2, 3, 4, 6], product(&x, &shared, 6, 4, 5, 6)), &out[1], 1e-5);
    let repeated: Vec<f32> = floats(&heads).chunks(30).flat_map(|matrix| matrix.repeat(3)).collect();
    let repeated = tensor(&[2, 3, 5, 6], repeated);
    assert_close(&tensor(&[2, 3, 4, 6], product(&x, &repeated, 6, 4, 5, 6)), &out[2], 1e-5);
}

#[test]
fn inner_dimension_of_one() {
    let (x, y) = (mixed(&[3, 1], 1), mixed(&[1, 4], 2));
    let out = run(
        || {
            let x: T<(D<3>, One)> = input("x");
            let y: T<(One, D<4>)> = input("y");
            output(&x.matmul(y));
        },
        &[("x", &x), ("y", &y)],
    );
    assert_close(&tensor(&[3, 4], product(&x, &y, 1, 3, 1, 4)), &out[0], 0.0);
}

/// One layer for every rank.
fn apply<S: EndsWith<D<4>>>(layer: &Linear<4, 3>, x: T<S>) -> T<With<S, D<3>>> {
    layer.forward(x)
}

#[test]
fn linear_has_the_layout_of_pytorch_and_any_leading_dimensions() {
    let (w, b) = (mixed(&[3, 4], 1), mixed(&[3], 2));
    let (x1, x2, x3) = (mixed(&[4], 3), mixed(&[5, 4], 4), mixed(&[2, 5, 4], 5));
    let feeds = [("weight", &w), ("bias", &b), ("x1", &x1), ("x2", &x2), ("x3", &x3)];
    let out = run(
        || {
            let layer: Linear<4, 3> = weights("layer");
            let x1: T<(D<4>,)> = input("x1");
            let x2: T<(D<5>, D<4>)> = input("x2");
            let x3: T<(D<2>, D<5>, D<4>)> = input("x3");
            output(&(apply(&layer, x1), apply(&layer, x2), apply(&layer, x3)));
        },
        &feeds,
    );
    for (x, out) in [&x1, &x2, &x3].into_iter().zip(&out) {
        let expected: Vec<f32> = floats(x)
            .chunks(4)
            .flat_map(|x| {
                let (w, b) = (floats(&w), floats(&b));
                (0..3).map(move |o| (0..4).map(|i| w[o * 4 + i] * x[i]).sum::<f32>() + b[o])
            })
            .collect();
        assert_close(&tensor(&out.shape, expected), out, 1e-5);
    }
}

#[test]
fn layer_norm() {
    let (x, w, b) = (mixed(&[3, 8], 1), mixed(&[8], 2), mixed(&[8], 3));
    let out = run(
        || output(&weights::<LayerNorm<8>>("norm").forward(input::<T<(D<3>, D<8>)>>("x"))),
        &[("x", &x), ("weight", &w), ("bias", &b)],
    );
    let rows = floats(&x).chunks(8).flat_map(|row| {
        let mean = row.iter().sum::<f32>() / 8.0;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 8.0;
        let (w, b) = (floats(&w), floats(&b));
        row.iter().enumerate().map(move |(i, x)| (x - mean) / (variance + 1e-5).sqrt() * w[i] + b[i])
    });
    assert_close(&tensor(&[3, 8], rows.collect::<Vec<_>>()), &out[0], 1e-5);
}

#[test]
fn gather_stays_inside_of_the_table() {
    let table = counting(&[4, 3]);
    let index = tensor(&[2, 3], vec![0, 3, 1, -5, 4, i32::MAX]);
    let out = run(
        || {
            let index: T<(D<2>, D<3>), i32> = input("index");
            let table: Embedding<4, 3> = weights("table");
            let column = table.weight.sum(Axis::<1>);
            output(&(table.forward(index), column.gather(index)));
        },
        &[("weight", &table), ("index", &index)],
    );
    let rows = [0, 3, 1, 0, 3, 3];
    let expected: Vec<f32> = rows.iter().flat_map(|row| (0..3).map(move |i| (row * 3 + i) as f32)).collect();
    assert_eq!(out[0], tensor(&[2, 3, 3], expected));
    let expected: Vec<f32> = rows.iter().map(|row| (row * 9 + 3) as f32).collect();
    assert_eq!(out[1], tensor(&[2, 3], expected));
}

#[test]
fn products_need_no_permutation() {
    let graph = graph(|| {
        let layer: Linear<4, 3> = weights("layer");
        output(&layer.forward(input::<T<(D<5>, D<4>)>>("x")).matmul(input::<T<(D<3>, D<2>)>>("w")));
    });
    let names: Vec<_> = graph.nodes.iter().map(|node| node.op.name()).collect();
    assert!(!names.contains(&"permute"), "{graph}");
}

/// A matrix product with operands of any ranks, from the definition of each element: leading axes aligned at the last.
fn broadcast_product(x: &Tensor, y: &Tensor, batch: &[usize]) -> Tensor {
    let (m, k) = (x.shape[x.shape.len() - 2], x.shape[x.shape.len() - 1]);
    let n = y.shape[y.shape.len() - 1];
    let shape: Vec<usize> = batch.iter().copied().chain([m, n]).collect();
    let element = |tensor: &Tensor, index: &[usize], row: usize, column: usize| {
        let lead = &tensor.shape[..tensor.shape.len() - 2];
        let skipped = index.len() - lead.len();
        let lead = lead.iter().zip(&index[skipped..]).map(|(size, i)| if *size == 1 { 0 } else { *i });
        let all: Vec<isize> = lead.chain([row, column]).map(|i| i as isize).collect();
        grids::at(tensor, &all).unwrap()
    };
    grids::from_fn(&shape, |index| {
        let (lead, last) = index.split_at(batch.len());
        (0..k).map(|l| element(x, lead, last[0], l) * element(y, lead, l, last[1])).sum()
    })
}

#[test]
fn every_rank() {
    let (x, y) = (mixed(&[2, 1, 2, 3, 4, 5], 1), mixed(&[1, 2, 3, 5, 2], 2));
    let (flat, row) = (mixed(&[3, 4], 3), mixed(&[5], 4));
    let out = run(
        || {
            let x: T<(D<2>, D<1>, D<2>, D<3>, D<4>, D<5>)> = input("x");
            let y: T<(D<1>, D<2>, D<3>, D<5>, D<2>)> = input("y");
            let flat: T<(D<3>, D<4>)> = input("flat");
            let row: T<(D<5>,)> = input("row");
            let each: T<(D<2>, D<1>, D<2>, D<3>, D<4>, D<2>)> = x.matmul(y);
            let shared_left: T<(D<2>, D<1>, D<2>, D<3>, D<3>, D<5>)> = flat.matmul(x);
            let column: T<(D<2>, D<1>, D<2>, D<3>, D<4>)> = x.matmul(row);
            let rows: T<(D<1>, D<2>, D<3>, D<2>)> = row.matmul(y);
            output(&(each, shared_left, column, rows));
        },
        &[("x", &x), ("y", &y), ("flat", &flat), ("row", &row)],
    );
    assert_close(&broadcast_product(&x, &y, &[2, 1, 2, 3]), &out[0], 1e-5);
    assert_close(&broadcast_product(&flat, &x, &[2, 1, 2, 3]), &out[1], 1e-5);
    let column = broadcast_product(&x, &tensor(&[5, 1], floats(&row).to_vec()), &[2, 1, 2, 3]);
    assert_close(&tensor(&[2, 1, 2, 3, 4], floats(&column).to_vec()), &out[2], 1e-5);
    let rows = broadcast_product(&tensor(&[1, 5], floats(&row).to_vec()), &y, &[1, 2, 3]);
    assert_close(&tensor(&[1, 2, 3, 2], floats(&rows).to_vec()), &out[3], 1e-5);
}

#[test]
fn graphs_broadcast_as_numpy_does() {
    let check = |x: &[usize], y: &[usize], batch: &[usize]| {
        let (x, y) = (mixed(x, 1), mixed(y, 2));
        let product = compose([&x, &y], |graph, [x, y]| graph.matmul(x, y));
        assert_close(&broadcast_product(&x, &y, batch), &product, 1e-5);
    };
    check(&[1, 2, 3], &[4, 3, 2], &[4]);
    check(&[5, 1, 2, 3], &[4, 3, 2], &[5, 4]);
    check(&[2, 3], &[6, 3, 1], &[6]);
    check(&[1, 1], &[1, 1], &[]);
    check(&[3, 1, 2, 0], &[0, 4], &[3, 1]);
    check(&[0, 2], &[2, 3], &[]);
}

#[test]
fn vectors() {
    let (x, y, z) = (mixed(&[3], 1), mixed(&[3], 2), mixed(&[2], 3));
    let out = run(
        || {
            let x: T<(D<3>,)> = input("x");
            output(&(x.dot(input("y")), x.outer(input::<T<(D<2>,)>>("z"))));
        },
        &[("x", &x), ("y", &y), ("z", &z)],
    );
    let dot: f32 = floats(&x).iter().zip(floats(&y)).map(|(x, y)| x * y).sum();
    assert_close(&tensor(&[], vec![dot]), &out[0], 1e-6);
    let outer: Vec<f32> = floats(&x).iter().flat_map(|x| floats(&z).iter().map(move |z| x * z)).collect();
    assert_eq!(out[1], tensor(&[3, 2], outer));
}

#[test]
fn integers_are_multiplied_exactly() {
    let x = tensor(&[1, 3], vec![1 << 24, 1, -1]);
    let y = tensor(&[3, 1], vec![64, 1, 1]);
    let product = compose([&x, &y], |graph, [x, y]| graph.matmul(x, y));
    assert_eq!(product, tensor(&[1, 1], vec![1 << 30]));
}

/// Products of `f16` that are rounded before they are added give 0 here.
#[test]
fn narrow_floats_are_widened_before_they_are_multiplied() {
    use half::f16;
    let narrow = |shape: &[usize], values: &[f32]| {
        tensor(shape, values.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>())
    };
    let (x, y) = (narrow(&[1, 2], &[33.0, -32.0]), narrow(&[2, 1], &[63.0, 65.0]));
    let out = run(
        || {
            let x: T<(D<1>, D<2>), f16> = input("x");
            let y: T<(D<2>, D<1>), f16> = input("y");
            let equation: T<(D<1>, D<1>), f16> = crate::einsum!("ij,jk->ik", x, y);
            let image: T<(D<1>, D<1>, D<2>), f16> = x.reshape();
            let kernel: T<(D<1>, D<1>, D<2>), f16> = y.reshape();
            let convolved: T<(D<1>, D<1>, D<1>), f16> = image.conv1d(kernel, crate::tensor::conv());
            output(&(x.matmul(y), x.linear(y.t()), equation, convolved));
        },
        &[("x", &x), ("y", &y)],
    );
    for result in &out {
        assert_eq!(*result, narrow(&result.shape, &[-1.0]));
    }
}
