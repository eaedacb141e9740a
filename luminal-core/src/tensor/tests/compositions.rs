//! Movement and indexing as compositions of graphs, against loops over positions.

use super::*;
use crate::dtype::Dtype;
use crate::graph::{Dim as Size, NodeId};
use crate::tensor::{Padding, Scatter};

/// A graph with these inputs, named `0`, `1`, .., and what `build` makes of them.
fn compute(inputs: &[&Tensor], build: impl FnOnce(&mut Graph, &[NodeId]) -> Vec<NodeId>) -> Vec<Tensor> {
    let mut graph = Graph::default();
    let mut feeds = Feeds::new();
    let mut nodes = vec![];
    for (number, tensor) in inputs.iter().enumerate() {
        let shape: Vec<Size> = tensor.shape.iter().map(|n| Size::Fixed(*n)).collect();
        nodes.push(graph.input(&number.to_string(), &shape, tensor.dtype()));
        feeds.insert(number.to_string(), (*tensor).clone());
    }
    for (number, node) in build(&mut graph, &nodes).into_iter().enumerate() {
        graph.outputs.push((format!("y{number}"), node));
    }
    reference::run(&graph, &feeds, &[]).unwrap().outputs
}

fn one(inputs: &[&Tensor], build: impl FnOnce(&mut Graph, &[NodeId]) -> NodeId) -> Tensor {
    compute(inputs, |graph, nodes| vec![build(graph, nodes)]).remove(0)
}

/// Each element of the result by its position.
fn by_position(shape: &[usize], mut element: impl FnMut(&[usize]) -> f32) -> Tensor {
    let count: usize = shape.iter().product();
    let at = |mut number: usize| {
        let mut position = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            position[axis] = number % shape[axis];
            number /= shape[axis];
        }
        position
    };
    tensor(shape, (0..count).map(|number| element(&at(number))).collect::<Vec<_>>())
}

fn at(tensor: &Tensor, position: &[usize]) -> f32 {
    floats(tensor)[position.iter().zip(&tensor.shape).fold(0, |place, (i, n)| place * n + i)]
}

#[track_caller]
fn assert_same(expected: &Tensor, actual: &Tensor) {
    assert_close(expected, actual, 0.0);
}

fn ints(shape: &[usize], values: &[i32]) -> Tensor {
    tensor(shape, values.to_vec())
}

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn axes_move() {
    let x = counting(&[2, 3, 4]);
    let out = compute(&[&x], |g, x| {
        let moved = g.move_axis(x[0], 2, 0);
        let squeezed = g.unsqueeze(x[0], 1);
        let again = g.permute(squeezed, &[1, 0, 2, 3]);
        vec![g.transpose(x[0], 0, 2), moved, squeezed, g.squeeze(again, 0), g.flatten(x[0], 1, 2)]
    });
    assert_same(&by_position(&[4, 3, 2], |p| at(&x, &[p[2], p[1], p[0]])), &out[0]);
    assert_same(&by_position(&[4, 2, 3], |p| at(&x, &[p[1], p[2], p[0]])), &out[1]);
    assert_eq!(out[2].shape, [2, 1, 3, 4]);
    assert_same(&x, &out[3]);
    assert_same(&by_position(&[2, 12], |p| at(&x, &[p[0], p[1] / 4, p[1] % 4])), &out[4]);
}

#[test]
fn broadcasting_aligns_last_axes() {
    let x = counting(&[3, 1]);
    let shape = [2, 3, 4].map(Size::Fixed);
    let out = one(&[&x], |g, x| g.broadcast_to(x[0], &shape));
    assert_same(&by_position(&[2, 3, 4], |p| p[1] as f32), &out);
    let empty = one(&[&counting(&[1])], |g, x| g.broadcast_to(x[0], &[Size::Fixed(0)]));
    assert_eq!(empty.shape, [0]);
}

#[test]
fn slices_are_those_of_python() {
    // Start, end and step on five elements, and what Python gives.
    type Case = (Option<i64>, Option<i64>, i64, &'static [f32]);
    let cases: [Case; 14] = [
        (Some(0), Some(5), -1, &[]),
        (None, None, -1, &[4.0, 3.0, 2.0, 1.0, 0.0]),
        (Some(-1), Some(-4), -2, &[4.0, 2.0]),
        (Some(1), Some(5), 2, &[1.0, 3.0]),
        (None, None, 1, &[0.0, 1.0, 2.0, 3.0, 4.0]),
        (Some(-100), Some(100), 1, &[0.0, 1.0, 2.0, 3.0, 4.0]),
        (Some(100), Some(-100), -1, &[4.0, 3.0, 2.0, 1.0, 0.0]),
        (Some(100), None, -3, &[4.0, 1.0]),
        (Some(3), Some(3), 1, &[]),
        (Some(4), Some(1), 1, &[]),
        (None, Some(-2), 1, &[0.0, 1.0, 2.0]),
        (Some(2), None, i64::MAX, &[2.0]),
        (Some(2), None, i64::MIN, &[2.0]),
        (Some(i64::MIN), Some(i64::MAX), 4, &[0.0, 4.0]),
    ];
    let x = counting(&[5]);
    for (start, end, step, expected) in cases {
        let out = one(&[&x], |g, x| g.slice_range(x[0], 0, start, end, step));
        assert_same(&tensor(&[expected.len()], expected.to_vec()), &out);
    }
    let empty = one(&[&counting(&[2, 0])], |g, x| g.slice_range(x[0], 1, None, None, -1));
    assert_eq!(empty.shape, [2, 0]);
}

#[test]
fn slices_from_the_end_and_at_run_time() {
    let x = counting(&[2, 6]);
    let last = one(&[&x], |g, x| g.slice_last(x[0], 1, Size::Fixed(2)));
    assert_same(&by_position(&[2, 2], |p| at(&x, &[p[0], p[1] + 4])), &last);
    for (position, start) in [(1, 1), (4, 3), (-2, 0), (i32::MAX, 3), (i32::MIN, 0)] {
        let out = one(&[&x, &ints(&[], &[position])], |g, x| g.slice_at(x[0], 1, x[1], Size::Fixed(3)));
        assert_same(&by_position(&[2, 3], |p| at(&x, &[p[0], p[1] + start])), &out);
    }
}

#[test]
fn flip_and_roll() {
    let x = counting(&[2, 5, 3]);
    for (shift, back) in [(0, 0), (2, 3), (-1, 1), (7, 3), (i32::MIN, 3), (i32::MAX, 3)] {
        assert_eq!((5 - i64::from(shift).rem_euclid(5)) % 5, back, "{shift}");
        let out = one(&[&x], |g, x| g.roll(x[0], 1, shift));
        assert_same(&by_position(&[2, 5, 3], |p| at(&x, &[p[0], (p[1] + back as usize) % 5, p[2]])), &out);
    }
    let out = one(&[&x], |g, x| g.flip(x[0], 1));
    assert_same(&by_position(&[2, 5, 3], |p| at(&x, &[p[0], 4 - p[1], p[2]])), &out);
    for shape in [[0, 3], [1, 3]] {
        let x = counting(&shape);
        let out = compute(&[&x], |g, x| vec![g.flip(x[0], 0), g.roll(x[0], 0, 4)]);
        assert_eq!(out, [x.clone(), x]);
    }
}

#[test]
fn padding() {
    let x = tensor(&[3], vec![1.0, 2.0, 3.0]);
    let cases: [(Padding, usize, usize, &[f32]); 7] = [
        (Padding::Reflect, 2, 1, &[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]),
        (Padding::Reflect, 5, 6, &[2.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]),
        (Padding::Edge, 2, 1, &[1.0, 1.0, 1.0, 2.0, 3.0, 3.0]),
        (Padding::Edge, 0, 0, &[1.0, 2.0, 3.0]),
        (Padding::Wrap, 2, 1, &[2.0, 3.0, 1.0, 2.0, 3.0, 1.0]),
        (Padding::Wrap, 4, 4, &[3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]),
        (Padding::Reflect, 0, 1, &[1.0, 2.0, 3.0, 2.0]),
    ];
    for (mode, before, after, expected) in cases {
        let out = one(&[&x], |g, x| g.pad_with(x[0], 0, before, after, mode));
        assert_same(&tensor(&[expected.len()], expected.to_vec()), &out);
    }
    // One element is its own mirror image.
    for mode in [Padding::Reflect, Padding::Edge, Padding::Wrap] {
        let out = one(&[&tensor(&[1, 2], vec![5.0, NAN])], |g, x| g.pad_with(x[0], 0, 1, 2, mode));
        assert_same(&by_position(&[4, 2], |p| if p[1] == 0 { 5.0 } else { NAN }), &out);
    }
    let out = compute(&[&x], |g, x| {
        vec![
            g.pad_constant(x[0], 0, 1, 2, f64::NEG_INFINITY),
            g.pad_constant(x[0], 0, -1, 1, 7.0),
            g.pad_constant(x[0], 0, 0, -5, 7.0),
            g.pad_constant(x[0], 0, 0, 0, 7.0),
        ]
    });
    assert_same(&tensor(&[6], vec![-INF, 1.0, 2.0, 3.0, -INF, -INF]), &out[0]);
    assert_same(&tensor(&[3], vec![2.0, 3.0, 7.0]), &out[1]);
    assert_eq!(out[2].shape, [0]);
    assert_same(&x, &out[3]);
}

#[test]
fn joining() {
    let (a, e, b) = (tensor(&[2, 2], vec![INF, 1.0, NAN, 2.0]), counting(&[2, 0]), counting(&[2, 1]));
    let out = compute(&[&a, &e, &b], |g, x| {
        let nothing = g.concat(&[x[1], x[1]], 1);
        vec![
            g.concat(&[x[0], x[1], x[2], x[1], x[0]], 1),
            g.concat(&[x[1], x[2]], 1),
            nothing,
            g.concat(&[x[0]], 0),
        ]
    });
    assert_same(&tensor(&[2, 5], vec![INF, 1.0, 0.0, INF, 1.0, NAN, 2.0, 1.0, NAN, 2.0]), &out[0]);
    assert_same(&b, &out[1]);
    assert_eq!(out[2].shape, [2, 0]);
    assert_same(&a, &out[3]);
    let x = counting(&[2, 3]);
    let stacked = compute(&[&x, &x, &x], |g, x| vec![g.stack(x, 0), g.stack(x, 1), g.stack(x, 2)]);
    assert_same(&by_position(&[3, 2, 3], |p| at(&x, &[p[1], p[2]])), &stacked[0]);
    assert_same(&by_position(&[2, 3, 3], |p| at(&x, &[p[0], p[2]])), &stacked[1]);
    assert_same(&by_position(&[2, 3, 3], |p| at(&x, &[p[0], p[1]])), &stacked[2]);
}

#[test]
fn cutting_and_repeating() {
    let x = counting(&[2, 7]);
    let parts = compute(&[&x], |g, x| g.split_sizes(x[0], 1, &[2, 0, 5].map(Size::Fixed)));
    assert_same(&by_position(&[2, 2], |p| at(&x, p)), &parts[0]);
    assert_eq!(parts[1].shape, [2, 0]);
    assert_same(&by_position(&[2, 5], |p| at(&x, &[p[0], p[1] + 2])), &parts[2]);
    let sizes = |chunks: usize| {
        compute(&[&x], |g, x| g.chunk(x[0], 1, chunks)).iter().map(|t| t.shape[1]).collect::<Vec<_>>()
    };
    assert_eq!(sizes(3), [3, 3, 1]);
    assert_eq!(sizes(5), [2, 2, 2, 1]);
    assert_eq!(sizes(1), [7]);
    assert_eq!(sizes(100), [1; 7]);
    let out = compute(&[&x], |g, x| {
        vec![
            g.repeat(x[0], 1, 3),
            g.repeat_interleave(x[0], 1, 3),
            g.repeat(x[0], 0, 0),
            g.repeat(x[0], 0, 1),
        ]
    });
    assert_same(&by_position(&[2, 21], |p| at(&x, &[p[0], p[1] % 7])), &out[0]);
    assert_same(&by_position(&[2, 21], |p| at(&x, &[p[0], p[1] / 3])), &out[1]);
    assert_eq!(out[2].shape, [0, 7]);
    assert_same(&x, &out[3]);
}

#[test]
fn triangles_select() {
    let x = tensor(&[2, 3], vec![INF, NAN, 1.0, NAN, 2.0, INF]);
    for diagonal in [-4, -1, 0, 1, 5, i32::MIN, i32::MAX] {
        let out = compute(&[&x], |g, x| vec![g.tril(x[0], diagonal), g.triu(x[0], diagonal)]);
        let behind = |p: &[usize]| p[1] as i64 - p[0] as i64 - i64::from(diagonal);
        assert_same(&by_position(&[2, 3], |p| if behind(p) <= 0 { at(&x, p) } else { 0.0 }), &out[0]);
        assert_same(&by_position(&[2, 3], |p| if behind(p) >= 0 { at(&x, p) } else { 0.0 }), &out[1]);
    }
    let out = compute(&[], |g, _| {
        vec![
            g.eye(Size::Fixed(2), Size::Fixed(3), 1, Dtype::F32),
            g.arange(Size::Fixed(4), 2.0, -0.5, Dtype::F32),
            g.arange(Size::Fixed(3), -7.0, 5.0, Dtype::I32),
        ]
    });
    assert_same(&tensor(&[2, 3], vec![0.0, 1.0, 0.0, 0.0, 0.0, 1.0]), &out[0]);
    assert_same(&tensor(&[4], vec![2.0, 1.5, 1.0, 0.5]), &out[1]);
    assert_eq!(out[2], ints(&[3], &[-7, -2, 3]));
}

#[test]
fn index_select() {
    let x = counting(&[2, 4, 3]);
    let index = ints(&[2, 2], &[3, -5, i32::MAX, 1]);
    let clamped = [3, 0, 3, 1];
    let out = one(&[&x, &index], |g, x| g.index_select(x[0], 1, x[1]));
    assert_same(&by_position(&[2, 2, 2, 3], |p| at(&x, &[p[0], clamped[p[1] * 2 + p[2]], p[3]])), &out);
    // What is not asked for does no harm.
    let x = tensor(&[3], vec![INF, NAN, 2.0]);
    let out = one(&[&x, &ints(&[3], &[2, 2, 0])], |g, x| g.index_select(x[0], 0, x[1]));
    assert_same(&tensor(&[3], vec![2.0, 2.0, INF]), &out);
    let out = one(&[&counting(&[0, 2]), &ints(&[3], &[0, 1, 2])], |g, x| g.index_select(x[0], 0, x[1]));
    assert_same(&tensor(&[3, 2], vec![0.0; 6]), &out);
    let wrapped = one(&[&ints(&[4], &[-1, 0, 3, -4])], |g, x| g.wrapped_index(x[0], Size::Fixed(4)));
    assert_eq!(wrapped, ints(&[4], &[3, 0, 3, 0]));
}

/// The index of `index` at a position, moved into an axis of `n`.
fn indexed(index: &Tensor, position: &[usize], n: usize) -> usize {
    let place = position.iter().zip(&index.shape).fold(0, |place, (i, n)| place * n + i);
    index.as_i32().unwrap()[place].clamp(0, n as i32 - 1) as usize
}

#[test]
fn gather_along() {
    let x = mixed(&[3, 4, 2], 1);
    let mut random = reference::SplitMix64::new(3);
    for axis in 0..3 {
        let mut shape = [2, 3, 2];
        shape[axis] = 5;
        let count: usize = shape.iter().product();
        let values: Vec<i32> = (0..count).map(|_| random.between(-2, 6) as i32).collect();
        let index = ints(&shape, &values);
        let expected = by_position(&shape, |p| {
            let mut from = p.to_vec();
            from[axis] = indexed(&index, p, x.shape[axis]);
            at(&x, &from)
        });
        let out = compute(&[&x, &index], |g, x| vec![g.gather_along(x[0], axis, x[1])]);
        assert_same(&expected, &out[0]);
    }
}

#[test]
fn gather_nd() {
    let x = counting(&[2, 3, 4]);
    let index = ints(&[2, 2], &[1, 2, 0, -7]);
    let out = compute(&[&x, &index], |g, x| vec![g.gather_nd(x[0], x[1], 0), g.gather_nd(x[0], x[1], 1)]);
    assert_same(&by_position(&[2, 4], |p| at(&x, &[[1, 0][p[0]], [2, 0][p[0]], p[1]])), &out[0]);
    assert_same(&tensor(&[2], vec![at(&x, &[0, 1, 2]), at(&x, &[1, 0, 0])]), &out[1]);
}

#[test]
fn one_hot() {
    let out = compute(&[&ints(&[2, 2], &[1, 3, -1, 0])], |g, x| {
        vec![g.one_hot(x[0], 2, Size::Fixed(3), Dtype::F32), g.one_hot(x[0], 0, Size::Fixed(3), Dtype::F32)]
    });
    let hot = [[1, 3], [-1, 0]];
    assert_same(&by_position(&[2, 2, 3], |p| f32::from(hot[p[0]][p[1]] == p[2] as i32)), &out[0]);
    assert_same(&by_position(&[3, 2, 2], |p| f32::from(hot[p[1]][p[2]] == p[0] as i32)), &out[1]);
}

/// Elements in the order of the index, one after the other.
fn scattered(x: &Tensor, axis: usize, index: &Tensor, new: &Tensor, how: Scatter) -> Tensor {
    let mut result = floats(x).to_vec();
    by_position(&new.shape, |p| {
        let place = p.iter().zip(&index.shape).fold(0, |place, (i, n)| place * n + i);
        let to = index.as_i32().unwrap()[place];
        if (0..x.shape[axis] as i32).contains(&to) {
            let mut q = p.to_vec();
            q[axis] = to as usize;
            let target = &mut result[q.iter().zip(&x.shape).fold(0, |place, (i, n)| place * n + i)];
            let value = at(new, p);
            *target = match how {
                Scatter::Set => value,
                Scatter::Add => *target + value,
                Scatter::Mul => *target * value,
                Scatter::Max => target.max(value),
                Scatter::Min => target.min(value),
            };
        }
        0.0
    });
    tensor(&x.shape, result)
}

#[test]
fn scatter_along() {
    let mut random = reference::SplitMix64::new(5);
    let x = mixed(&[3, 4], 2);
    for how in [Scatter::Set, Scatter::Add, Scatter::Mul, Scatter::Max, Scatter::Min] {
        for (axis, shape) in [(0, [5, 4]), (1, [3, 6]), (0, [2, 3]), (1, [0, 2]), (0, [0, 4])] {
            let count: usize = shape.iter().product();
            let values: Vec<i32> = (0..count).map(|_| random.between(-1, 4) as i32).collect();
            let (index, new) = (ints(&shape, &values), mixed(&shape, 7));
            let out = one(&[&x, &index, &new], |g, x| g.scatter_along(x[0], axis, x[1], x[2], how));
            assert_close(&scattered(&x, axis, &index, &new, how), &out, 1e-6);
        }
    }
}

#[test]
fn index_put() {
    let x = mixed(&[2, 4, 3], 2);
    let new = mixed(&[2, 5, 3], 3);
    let index = [3, 0, 3, 9, -1];
    let same: Vec<i32> = (0..30).map(|i| index[i / 3 % 5]).collect();
    for how in [Scatter::Set, Scatter::Add, Scatter::Mul, Scatter::Max, Scatter::Min] {
        let out = one(&[&x, &ints(&[5], &index), &new], |g, x| g.index_put(x[0], 1, x[1], x[2], how));
        assert_close(&scattered(&x, 1, &ints(&[2, 5, 3], &same), &new, how), &out, 1e-6);
    }
    // Values elsewhere are not touched, and do not touch.
    let x = tensor(&[3], vec![INF, NAN, 1.0]);
    let new = tensor(&[2], vec![NAN, INF]);
    for (how, expected) in [(Scatter::Set, [INF, NAN, INF]), (Scatter::Add, [INF, NAN, INF])] {
        let out = one(&[&x, &ints(&[2], &[7, 2]), &new], |g, x| g.index_put(x[0], 0, x[1], x[2], how));
        assert_same(&tensor(&[3], expected.to_vec()), &out);
    }
    let unchanged =
        one(&[&x, &ints(&[0], &[]), &counting(&[0])], |g, x| g.index_put(x[0], 0, x[1], x[2], Scatter::Set));
    assert_same(&x, &unchanged);
}

#[test]
fn scatter_nd() {
    let x = counting(&[2, 3, 2]);
    let new = tensor(&[2, 2], vec![-1.0, -2.0, -3.0, -4.0]);
    let index = ints(&[2, 2], &[1, 2, 0, 3]);
    let out = compute(&[&x, &index, &new], |g, x| {
        vec![g.scatter_nd(x[0], x[1], x[2], Scatter::Set), g.scatter_nd(x[0], x[1], x[2], Scatter::Add)]
    });
    let mut expected = floats(&x).to_vec();
    expected[10..12].copy_from_slice(&[-1.0, -2.0]);
    assert_same(&tensor(&[2, 3, 2], expected.clone()), &out[0]);
    expected[10..12].copy_from_slice(&[9.0, 9.0]);
    assert_same(&tensor(&[2, 3, 2], expected), &out[1]);
}

#[test]
fn writes_at_run_time() {
    let (x, new) = (counting(&[2, 5]), mixed(&[2, 3], 1));
    for position in [0, 1, 2, 3, 4, 5, 6, -1, -2, -3, -4, i32::MAX, i32::MIN] {
        let out = one(&[&x, &ints(&[], &[position]), &new], |g, x| g.write_at(x[0], 1, x[1], x[2]));
        let expected = by_position(&[2, 5], |p| match p[1] as i64 - i64::from(position) {
            offset @ 0..3 => at(&new, &[p[0], offset as usize]),
            _ => at(&x, p),
        });
        assert_same(&expected, &out);
    }
    let nothing = one(&[&x, &ints(&[], &[1]), &counting(&[2, 0])], |g, x| g.write_at(x[0], 1, x[1], x[2]));
    assert_same(&x, &nothing);
    for (start, step) in [(0, 1), (1, 1), (0, 2), (2, 1)] {
        let out = one(&[&x, &new], |g, x| g.slice_scatter(x[0], 1, start, step, x[1]));
        let expected = by_position(&[2, 5], |p| {
            let steps = p[1].checked_sub(start).filter(|far| far % step == 0 && far / step < 3);
            steps.map_or(at(&x, p), |far| at(&new, &[p[0], far / step]))
        });
        assert_same(&expected, &out);
    }
}

#[test]
fn sorting() {
    let x = tensor(&[7], vec![NAN, INF, 3.0, -INF, NAN, 1.0, 3.0]);
    let ascending = [3, 5, 2, 6, 1, 0, 4];
    let descending = [0, 4, 1, 2, 6, 5, 3];
    for (down, order) in [(false, ascending), (true, descending)] {
        for count in [7, 3, 0] {
            let out = compute(&[&x], |g, x| {
                let (values, positions) = g.sort(x[0], 0, down, Size::Fixed(count));
                vec![values, positions]
            });
            assert_eq!(out[1], ints(&[count], &order[..count]));
            assert_same(&by_position(&[count], |p| floats(&x)[order[p[0]] as usize]), &out[0]);
        }
    }
    let x = mixed(&[2, 6, 3], 9);
    let out = one(&[&x], |g, x| g.sort(x[0], 1, false, Size::Fixed(6)).0);
    let expected = by_position(&[2, 6, 3], |p| {
        let mut column: Vec<f32> = (0..6).map(|i| at(&x, &[p[0], i, p[2]])).collect();
        column.sort_by(f32::total_cmp);
        column[p[1]]
    });
    assert_same(&expected, &out);
    let out = compute(
        &[&ints(&[5], &[3, i32::MIN, 3, i32::MAX, 0]), &tensor(&[3], vec![true, false, true])],
        |g, x| {
            let (values, positions) = g.sort(x[0], 0, true, Size::Fixed(5));
            vec![values, positions, g.sort(x[1], 0, false, Size::Fixed(3)).0]
        },
    );
    assert_eq!(out[0], ints(&[5], &[i32::MAX, 3, 3, 0, i32::MIN]));
    assert_eq!(out[1], ints(&[5], &[3, 0, 2, 4, 1]));
    assert_eq!(out[2], tensor(&[3], vec![false, true, true]));
    let empty = compute(&[&counting(&[2, 0])], |g, x| {
        let (values, positions) = g.sort(x[0], 1, true, Size::Fixed(0));
        vec![values, positions]
    });
    assert_eq!((&empty[0].shape[..], &empty[1].shape[..]), (&[2, 0][..], &[2, 0][..]));
}
