//! Equations against loops over all their letters.

use super::*;
use crate::einsum;
use crate::tensor::{D, One, Tensor as T, input, output};
use std::collections::BTreeMap;

/// The equation computed from its definition: letters only, no `...`, no broadcasting.
fn looped(equation: &str, operands: &[&Tensor]) -> Tensor {
    let (inputs, result) = equation.split_once("->").unwrap();
    let mut sizes = BTreeMap::new();
    for (term, operand) in inputs.split(',').zip(operands) {
        sizes.extend(term.chars().zip(operand.shape.iter().copied()));
    }
    let shape: Vec<usize> = result.chars().map(|letter| sizes[&letter]).collect();
    let mut sums = vec![0.0; shape.iter().product()];
    let letters: Vec<char> = sizes.keys().copied().collect();
    let all: Vec<usize> = sizes.values().copied().collect();
    for index in grids::indices(&all) {
        let place = |term: &str| {
            term.chars().fold(0, |place, letter| {
                let number = letters.iter().position(|other| *other == letter).unwrap();
                place * sizes[&letter] + index[number]
            })
        };
        let product: f64 =
            inputs.split(',').zip(operands).map(|(term, x)| f64::from(floats(x)[place(term)])).product();
        sums[place(result)] += product;
    }
    tensor(&shape, sums.into_iter().map(|sum| sum as f32).collect::<Vec<_>>())
}

#[track_caller]
fn check<const N: usize>(equation: &str, shapes: [&[usize]; N]) {
    let mut seed = 0;
    let operands = shapes.map(|shape| {
        seed += 1;
        mixed(shape, seed)
    });
    let operands: [&Tensor; N] = operands.each_ref();
    let result = compose(operands, |graph, nodes| graph.einsum(equation, &nodes).unwrap());
    assert_close(&looped(equation, &operands), &result, 1e-5);
}

#[test]
fn equations() {
    check("ij,jk->ik", [&[2, 3], &[3, 4]]);
    check("ij,jk->ki", [&[2, 3], &[3, 4]]);
    check("bhqd,bhkd->bhqk", [&[2, 3, 4, 5], &[2, 3, 6, 5]]);
    check("i,i->", [&[4], &[4]]);
    check("i,j->ji", [&[4], &[3]]);
    check("ij->", [&[4, 3]]);
    check("ij->ji", [&[4, 3]]);
    check("ijk->kj", [&[2, 3, 4]]);
    check("ij,ij->ij", [&[2, 3], &[2, 3]]);
    check("ij,kl->jl", [&[2, 3], &[4, 5]]);
    check("bij,jk,bkl->bil", [&[2, 3, 4], &[4, 5], &[2, 5, 3]]);
    check("ij,ji,i->j", [&[3, 4], &[4, 3], &[3]]);
    check("ij,jk->ik", [&[2, 0], &[0, 3]]);
    check("a,ab,abc->c", [&[1], &[1, 2], &[1, 2, 3]]);
}

#[test]
fn diagonals() {
    check("ii->i", [&[4, 4]]);
    check("ii->", [&[4, 4]]);
    check("iij->ji", [&[3, 3, 2]]);
    check("iji->j", [&[3, 2, 3]]);
    check("iii->i", [&[3, 3, 3]]);
    check("ijij->ij", [&[2, 3, 2, 3]]);
    check("ii,ij->j", [&[3, 3], &[3, 2]]);
    check("ii->i", [&[0, 0]]);
}

#[test]
fn any_axes() {
    let (x, y) = (mixed(&[2, 1, 3, 4], 1), mixed(&[5, 4, 6], 2));
    let product =
        |equation: &str| compose([&x, &y], |graph, [x, y]| graph.einsum(equation, &[x, y]).unwrap());
    let stretched =
        tensor(&[2, 5, 3, 4], floats(&x).chunks(12).flat_map(|rows| rows.repeat(5)).collect::<Vec<_>>());
    let expected = looped("abij,bjk->abik", &[&stretched, &y]);
    assert_close(&expected, &product("...ij,...jk->...ik"), 1e-5);
    assert_close(&expected, &product("...ij,...jk"), 1e-5);
    let flat = looped("abij,bjk->ik", &[&stretched, &y]);
    assert_close(&flat, &product("...ij,...jk->ik"), 1e-5);
    let alphabetical = compose([&x], |graph, [x]| graph.einsum("dcba", &[x]).unwrap());
    assert_close(&looped("dcba->abcd", &[&x]), &alphabetical, 0.0);
}

#[test]
fn the_graph_checks_sizes() {
    let mut graph = Graph::default();
    let float = crate::dtype::Dtype::F32;
    let [x, y] =
        [("x", [2, 3]), ("y", [4, 5])].map(|(name, shape)| graph.input(name, &shape.map(Dim::Fixed), float));
    assert_eq!(graph.einsum("ij,jk->ik", &[x, y]).unwrap_err(), "`j` is 3 and 4");
    assert_eq!(graph.einsum("ii->i", &[x]).unwrap_err(), "`i` is 2 and 3");
    assert_eq!(graph.einsum("...,...->...", &[x, y]).unwrap_err(), "`...` is 2 and 4");
}

free_dim!(Seq, 8);

#[test]
fn typed() {
    let (q, k, square) = (mixed(&[2, 5, 4], 1), mixed(&[2, 5, 4], 2), mixed(&[5, 5], 3));
    let out = run_free(
        || {
            let q: T<(D<2>, Seq, D<4>)> = input("q");
            let k: T<(D<2>, Seq, D<4>)> = input("k");
            let square: T<(Seq, Seq)> = input("square");
            let scores: T<(Seq, Seq, D<2>)> = einsum!("bqd,bkd->qkb", q, k);
            let diagonal: T<(Seq,)> = einsum!("ii->i", square);
            let lead: T<(D<4>, D<2>)> = einsum!("b...d,b...d->db", q, k);
            let one: T<(D<2>, Seq, One)> = q.sum_keep(crate::tensor::Axis::<2>);
            let stretched: T<(D<2>, Seq, D<4>)> = einsum!("ijk,ijk->ijk", one, k);
            let kept: T<(D<2>, One)> = einsum!("ijk->ik", one);
            output(&(scores, diagonal, lead, stretched, kept));
        },
        &[("q", &q), ("k", &k), ("square", &square)],
        &[5],
    );
    assert_close(&looped("bqd,bkd->qkb", &[&q, &k]), &out[0], 1e-5);
    assert_close(&looped("ii->i", &[&square]), &out[1], 0.0);
    assert_close(&looped("bsd,bsd->db", &[&q, &k]), &out[2], 1e-5);
    let sums = looped("bsd->bs", &[&q]);
    assert_close(&looped("bs,bsd->bsd", &[&sums, &k]), &out[3], 1e-5);
    let total = looped("bsd->b", &[&q]);
    assert_close(&tensor(&[2, 1], floats(&total).to_vec()), &out[4], 1e-5);
}

#[test]
fn a_diagonal_passes_infinities_by() {
    let inf = f32::INFINITY;
    let x = tensor(&[2, 2], vec![1., inf, f32::NAN, 2.]);
    let out =
        run_free(|| output(&einsum!("ii->i", input::<T<(Seq, Seq)>>("x")) as &T<(Seq,)>), &[("x", &x)], &[2]);
    assert_eq!(floats(&out[0]), [1.0, 2.0]);
    let fixed = compose([&x], |graph, [x]| graph.einsum("ii->i", &[x]).unwrap());
    assert_eq!(floats(&fixed), [1.0, 2.0]);
}

#[track_caller]
fn assert_mistake(model: impl FnOnce(), expected: &str) {
    assert_eq!(mistakes(model), [expected]);
}

#[test]
fn messages() {
    type A = T<(D<2>, D<3>)>;
    type B = T<(D<4>, D<5>)>;
    assert_mistake(
        || {
            let y: T<(D<2>, D<5>)> = einsum!("ij,jk->ik", input::<A>("a"), input::<B>("b"));
            output(&y);
        },
        "einsum: `ij,jk->ik` of [2, 3], [4, 5]: `j` is 3 in operand 1 and 4 in operand 2",
    );
    assert_mistake(
        || {
            let y: T<(D<3>, D<2>)> = einsum!("ij->ij", input::<A>("a"));
            output(&y);
        },
        "einsum: `ij->ij` of [2, 3]: the result is [2, 3], but its type names [3, 2]",
    );
    assert_mistake(
        || {
            let y: T<(D<2>,)> = einsum!("ijk->i", input::<A>("a"));
            output(&y);
        },
        "einsum: `ijk->i` of [2, 3]: operand 1, `ijk`, names 3 axes, but has 2 axes",
    );
    let line = line!() + 2;
    let traced = trace(|| {
        let y: T<()> = einsum!("i->", input::<A>("a"));
        output(&y);
    });
    assert_eq!(traced.mistakes[0].place.as_ref().unwrap().line, line);
}
