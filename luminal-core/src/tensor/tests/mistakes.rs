//! Every rule that is checked while tracing: the message, and a well-formed graph all the same.

use super::*;
use crate::axes;
use crate::tensor::{Axis, D, Order, Tensor as T, concat_all, input, output, stack, weights};

free_dim!(Batch, 8);
free_dim!(Seq, 16);

#[track_caller]
fn assert_mistake(model: impl FnOnce(), expected: &str) {
    assert_eq!(mistakes(model), [expected]);
}

#[test]
fn reshape() {
    assert_mistake(
        || output(&input::<T<(Batch, D<784>)>>("x").reshape::<(Batch, D<28>, D<27>)>()),
        "reshape: [Batch, 784] has 784 elements for each Batch, [Batch, 28, 27] has 756; with 28 in place of 27 it fits",
    );
    assert_mistake(
        || output(&input::<T<(D<4>, D<3>)>>("x").reshape::<(D<5>,)>()),
        "reshape: [4, 3] has 12 elements, [5] has 5; with 12 in place of 5 it fits",
    );
    assert_mistake(
        || output(&input::<T<(D<4>, D<3>)>>("x").reshape::<(D<5>, D<5>)>()),
        "reshape: [4, 3] has 12 elements, [5, 5] has 25",
    );
    assert_mistake(
        || output(&input::<T<(Batch, Seq)>>("x").reshape::<(Seq, Batch)>()),
        "reshape: [Batch, Seq] to [Seq, Batch]: both need the same free dimensions in the same order, here [Batch, Seq] \
         and [Seq, Batch]",
    );
    assert_mistake(
        || output(&input::<T<(D<2>, Batch, D<3>)>>("x").flatten::<(Batch, D<6>)>()),
        "flatten: [2, Batch, 3] to [Batch, 6] moves elements across the free dimension Batch: the sizes before it and \
         those behind it must keep their products; permute first",
    );
}

#[test]
fn permute() {
    assert_mistake(
        || output(&input::<T<(D<2>, D<3>)>>("x").permute(axes![1, -1])),
        "permute: axis 1 of [2, 3] is named twice and axis 0 is missing: name each axis once",
    );
}

#[test]
fn slice() {
    assert_mistake(
        || output(&input::<T<(Batch, D<784>)>>("x").slice::<D<10>, 1>(Axis::<1>, 780)),
        "slice: 10 elements from 780 do not fit into axis 1 of [Batch, 784], which has 784: at most 4 are left there",
    );
    assert_mistake(
        || output(&input::<T<(D<9>,)>>("x").slice_step::<D<4>, 0>(Axis::<0>, 0, 3)),
        "slice_step: 4 elements from 0 with step 3 do not fit into axis 0 of [9], which has 9: at most 3 are left there",
    );
    assert_mistake(
        || output(&input::<T<(D<9>,)>>("x").slice_step::<D<4>, 0>(Axis::<0>, isize::MAX, isize::MAX)),
        &format!(
            "slice_step: 4 elements from {max} with step {max} do not fit into axis 0 of [9], which has 9: at most 0 are \
             left there",
            max = isize::MAX
        ),
    );
    assert_mistake(
        || output(&input::<T<(D<9>,)>>("x").slice::<D<1>, 0>(Axis::<0>, usize::MAX)),
        &format!(
            "slice: 1 elements from {} do not fit into axis 0 of [9], which has 9: at most 0 are left there",
            isize::MAX
        ),
    );
    assert_mistake(
        || output(&input::<T<(D<5>,)>>("x").slice_step::<D<4>, 0>(Axis::<0>, -1, -2)),
        "slice_step: 4 elements from -1 with step -2 do not fit into axis 0 of [5], which has 5: at most 3 are left there",
    );
    assert_mistake(
        || output(&input::<T<(D<9>,)>>("x").slice_step::<D<4>, 0>(Axis::<0>, 0, 0)),
        "slice_step: the step is 0; it must not be",
    );
    assert_mistake(
        || output(&input::<T<(Batch, D<2>)>>("x").slice::<D<9>, 0>(Axis::<0>, 0)),
        "slice: 9 elements from 0 do not fit into axis 0 of [Batch, 2], which has at most 8: at most 8 are left there",
    );
    assert_mistake(
        || output(&input::<T<(D<7>, Batch)>>("x").slice::<Batch, 0>(Axis::<0>, 0)),
        "slice: up to 8 elements from 0 do not fit into axis 0 of [7, Batch], which has 7: at most 7 are left there",
    );
    assert_mistake(
        || output(&input::<T<(Batch,)>>("x").slice_step::<D<2>, 0>(Axis::<0>, -2, 1)),
        "slice_step: a start from the end needs a fixed size, but axis 0 of [Batch] is the free dimension Batch: use \
         `last` or `flip`",
    );
    assert_mistake(
        || output(&input::<T<(Batch,)>>("x").slice::<Batch, 0>(Axis::<0>, 1)),
        "slice: all of Batch is from 0 with step 1; name another dimension for a part of it",
    );
    assert_mistake(
        || output(&input::<T<(D<3>,)>>("x").last::<D<4>, 0>(Axis::<0>)),
        "last: 4 elements from 0 do not fit into axis 0 of [3], which has 3: at most 3 are left there",
    );
    assert_mistake(
        || {
            let (values, positions) = input::<T<(D<3>,)>>("x").topk::<D<4>, 0>(Axis::<0>, Order::Ascending);
            output(&(values, positions));
        },
        "topk: 4 elements from 0 do not fit into axis 0 of [3], which has 3: at most 3 are left there",
    );
}

#[test]
fn concat_and_pad() {
    assert_mistake(
        || {
            let x: T<(Batch, D<4>)> = input("x");
            let y: T<(Batch, D<5>)> = input("y");
            output(&x.concat::<D<10>, _, 1>(Axis::<1>, y));
        },
        "concat: [Batch, 4] and [Batch, 5] along axis 1 give 9, but the result [Batch, 10] names 10",
    );
    assert_mistake(
        || output(&input::<T<(D<4>,)>>("x").pad::<D<5>, 0>(Axis::<0>, 2, 0.0)),
        "pad: axis 0 of [4] with 2 in front needs at least 6, but the result [5] names 5",
    );
    assert_mistake(
        || output(&input::<T<(Batch,)>>("x").pad::<D<9>, 0>(Axis::<0>, 2, 0.0)),
        "pad: axis 0 of [Batch] with 2 in front needs at least up to 10, but the result [9] names 9",
    );
    assert_mistake(
        || output(&input::<T<(D<4>,)>>("x").pad_reflect::<D<8>, 0>(Axis::<0>, 1, 2)),
        "pad_reflect: axis 0 of [4] with 1 in front and 2 behind is 7, but the result [8] names 8",
    );
    assert_mistake(
        || output(&input::<T<(D<0>,)>>("x").pad_edge::<D<2>, 0>(Axis::<0>, 1, 1)),
        "pad_edge: axis 0 of [0] is empty: there is nothing to pad it with",
    );
}

#[test]
fn parts() {
    assert_mistake(
        || {
            let [a, b]: [T<(D<3>,)>; 2] = input::<T<(D<7>,)>>("x").chunk(Axis::<0>);
            output(&(a, b));
        },
        "chunk: the parts [3, 3] along axis 0 of [7] are 6 together, but the axis has 7",
    );
    assert_mistake(
        || {
            let (a, b): (T<(D<2>, D<3>)>, T<(D<2>, D<3>)>) = input::<T<(D<2>, D<7>)>>("x").split(Axis::<1>);
            output(&(a, b));
        },
        "split: the parts [3, 3] along axis 1 of [2, 7] are 6 together, but the axis has 7",
    );
    assert_mistake(
        || output(&concat_all::<_, D<9>, _, 3, 0>(["a", "b", "c"].map(input::<T<(D<2>,)>>), Axis::<0>)),
        "concat_all: 3 times [2] along axis 0 give 6, but the result [9] names 9",
    );
    assert_mistake(
        || output(&input::<T<(D<2>,)>>("x").repeat::<D<5>, 0>(Axis::<0>, 3)),
        "repeat: 3 times axis 0 of [2] is 6, but the result [5] names 5",
    );
    assert_mistake(
        || output(&stack([] as [T<(D<2>,)>; 0], Axis::<0>)),
        "stack: there are no tensors to stack",
    );
}

#[test]
fn sizes_that_never_fit() {
    assert_mistake(
        || {
            let (x, y): (T<(Batch,)>, T<(D<9>,)>) = (input("x"), input("y"));
            output(&x.concat::<Batch, _, 0>(Axis::<0>, y));
        },
        "concat: no sizes fulfil `Batch = Batch + 9` within their bounds: Batch <= 8",
    );
    assert_mistake(
        || {
            let (x, y): (T<(D<3>,)>, T<(D<4>,)>) = (input("x"), input("y"));
            output(&(x.concat::<Batch, _, 0>(Axis::<0>, y), input::<T<(Batch,)>>("z")));
        },
        "concat: the size is always 7: name `D<7>` in place of Batch",
    );
    assert_mistake(
        || {
            let (x, y): (T<(Seq,)>, T<(Batch,)>) = (input("x"), input("y"));
            output(&x.concat::<D<12>, _, 0>(Axis::<0>, y));
        },
        "concat: Seq is up to 16, which makes 16, but the whole is 12",
    );
    assert_mistake(
        || output(&(input::<T<(Seq,)>>("x").repeat::<Batch, 0>(Axis::<0>, 0), input::<T<(Batch,)>>("y"))),
        "repeat: the size is always 0: name `D<0>` in place of Batch",
    );
    assert_mistake(
        || output(&input::<T<(Seq,)>>("x").pad_constant::<D<10>, 0>(Axis::<0>, 1, 1, 0.0)),
        "pad_constant: axis 0 of [Seq] with 1 in front and 1 behind is up to 18, but the result [10] names 10: give Seq a \
         bound of 8",
    );
}

#[test]
fn a_size_that_nothing_determines() {
    assert_mistake(
        || {
            let x: T<(Seq,)> = input("x");
            output(&x.slice::<Batch, 0>(Axis::<0>, 0));
        },
        "the free dimension `Batch` is in the shape of no input, so its size is not known when the model runs: use it in \
         an input or replace it by `D<N>`",
    );
}

#[test]
fn tables() {
    assert_mistake(
        || output(&input::<T<(D<0>, D<2>)>>("table").gather(input::<T<(D<3>,), i32>>("index"))),
        "gather: the table [0, 2] has 0 rows; it must have at least 1 and fewer than 2^31",
    );
    assert_mistake(
        || {
            let index: T<(D<3>,), i32> = input("index");
            output(&input::<T<(D<2>, D<0>)>>("x").index_select(Axis::<1>, index));
        },
        "index_select: the table [2, 0] has 0 elements along axis 1; it must have at least 1 and fewer than 2^31",
    );
}

mod other {
    use crate::tensor::tests::free_dim;
    free_dim!(Batch, 4);
}

#[test]
fn free_dimensions() {
    assert_mistake(
        || output(&(input::<T<(Batch,)>>("x"), input::<T<(other::Batch,)>>("y"))),
        "input: two free dimensions are named `Batch`, one in `crate::tensor::tests::mistakes` and one in \
         `crate::tensor::tests::mistakes::other`: rename one, or use one type for both",
    );
    assert_mistake(
        || output(&T::<(Batch,)>::full(1.0)),
        "the free dimension `Batch` is in the shape of no input, so its size is not known when the model runs: use it in an \
         input or replace it by `D<N>`",
    );
    assert_mistake(
        || {
            let table: T<(Batch,)> = weights("table");
            output(&(input::<T<(Batch,)>>("x") + table));
        },
        "parameter: `table` has the shape [Batch], but the free dimension `Batch` has no size when weights are loaded: use a \
         fixed size, `D<N>`",
    );
}

#[test]
fn a_model_does_something() {
    assert_mistake(
        || {
            let _: T<(D<2>,)> = input("x");
        },
        "the model returns nothing and changes no state (`&mut T`), so there is nothing to run",
    );
}

#[test]
fn each_mistake_is_reported_once_at_its_line() {
    let line = line!() + 4;
    let traced = trace(|| {
        let x: T<(D<9>,)> = input("x");
        for start in [7, 7, 8] {
            output(&x.slice::<D<3>, 0>(Axis::<0>, start));
        }
        output(&x.reshape::<(D<2>,)>());
    });
    let places: Vec<_> = traced.mistakes.iter().map(|mistake| mistake.place.clone().unwrap()).collect();
    let lines: Vec<_> = places.iter().map(|place| place.line).collect();
    assert_eq!(lines, [line, line, line + 2]);
    assert!(places.iter().all(|place| place.file == file!()));
    // The caret is on the name of the method.
    let source = include_str!("mistakes.rs").lines().nth(line as usize - 1).unwrap();
    assert!(source[places[0].column as usize - 1..].starts_with("slice"), "{source}");
}
