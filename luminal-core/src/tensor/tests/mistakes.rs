//! Every rule that is checked while tracing: the message, and a well-formed graph all the same.

use super::*;
use crate::axes;
use crate::tensor::{Axis, D, Tensor as T, input, output, weights};

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
        || output(&input::<T<(D<9>,)>>("x").slice_step::<D<4>, 0>(Axis::<0>, usize::MAX, usize::MAX)),
        &format!(
            "slice_step: 4 elements from {max} with step {max} do not fit into axis 0 of [9], which has 9: at most 0 are \
             left there",
            max = usize::MAX
        ),
    );
    assert_mistake(
        || output(&input::<T<(D<9>,)>>("x").slice_step::<D<4>, 0>(Axis::<0>, 0, 0)),
        "slice_step: the step is 0; it must be at least 1",
    );
    assert_mistake(
        || output(&input::<T<(Batch, D<2>)>>("x").slice::<D<4>, 0>(Axis::<0>, 0)),
        "slice: axis 0 of [Batch, 2] is the free dimension Batch; this operation needs a fixed size there",
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
}

#[test]
fn tables() {
    assert_mistake(
        || output(&input::<T<(Seq, D<2>)>>("table").gather(input::<T<(D<3>,), i32>>("index"))),
        "gather: axis 0 of [Seq, 2] is the free dimension Seq; this operation needs a fixed size there",
    );
    assert_mistake(
        || output(&input::<T<(D<0>, D<2>)>>("table").gather(input::<T<(D<3>,), i32>>("index"))),
        "gather: the table [0, 2] has 0 rows; it must have at least 1 and fewer than 2^31",
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
