//! What can be passed to a model.

use crate::tensor::{D, Feed, One, Tensor, View, feed};

free_dim!(Batch, 3);
free_dim!(Seq, 4);
use super::free_dim;

type Matrix = Tensor<(Batch, D<2>)>;

fn error<T: std::fmt::Debug>(result: crate::error::Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn memory_is_not_copied() {
    let rows = vec![[1.0f32, 2.0], [3.0, 4.0]];
    let flat = [1.0f32, 2.0, 3.0, 4.0];
    let vec = flat.to_vec();
    let views = [
        feed::<Matrix>("x", &rows).unwrap(),
        feed::<Matrix>("x", &rows[..]).unwrap(),
        feed::<Matrix>("x", &[[1.0, 2.0], [3.0, 4.0]]).unwrap(),
        feed::<Matrix>("x", &flat[..]).unwrap(),
        feed::<Matrix>("x", &vec).unwrap(),
        feed::<Matrix>("x", View::new(&flat, [2, 2]).unwrap()).unwrap(),
    ];
    for view in &views {
        assert_eq!(view.sizes(), [2, 2]);
        assert_eq!(view.rows(), [[1.0, 2.0], [3.0, 4.0]]);
    }
    assert_eq!(views[0].as_slice().as_ptr(), rows.as_ptr().cast());
    assert_eq!(feed::<Tensor<(), i32>>("n", &7).unwrap().value(), 7);
    assert_eq!(feed::<Tensor<(One, D<3>), bool>>("mask", &[true, false, true][..]).unwrap().sizes(), [1, 3]);
    assert_eq!(feed::<Tensor<(Batch,)>>("x", &[1.0, 2.0]).unwrap().sizes(), [2]);
}

#[test]
fn bytes_are_those_of_the_elements() {
    let mask = [true, false];
    let view: View<'_, (D<2>,), bool> = (&mask).feed().unwrap();
    assert_eq!((view.as_input().data, view.as_input().sizes), (&[1u8, 0][..], &[2usize][..]));
    let numbers = [1i32, -1];
    let view: View<'_, (D<2>,), i32> = (&numbers).feed().unwrap();
    assert_eq!(view.as_input().data, [1i32.to_ne_bytes(), (-1i32).to_ne_bytes()].as_flattened());
}

#[test]
fn empty_inputs() {
    let none: Vec<[f32; 2]> = vec![];
    assert_eq!(feed::<Matrix>("x", &none).unwrap().sizes(), [0, 2]);
    assert_eq!(feed::<Matrix>("x", &[0.0f32; 0][..]).unwrap().sizes(), [0, 2]);
    let rows = [[0.0f32; 0]; 2];
    assert_eq!(feed::<Tensor<(Batch, D<0>)>>("x", &rows).unwrap().sizes(), [2, 0]);
}

#[test]
fn wrong_sizes_name_input_and_rule() {
    assert_eq!(
        error(feed::<Matrix>("x", &[0.0; 3][..])),
        "input `x`: 3 elements given, but [Batch, 2] needs a multiple of 2"
    );
    assert_eq!(
        error(feed::<Matrix>("x", &[[0.0; 2]; 4])),
        "input `x`: Batch is 4, but its greatest size is 3"
    );
    assert_eq!(
        error(feed::<Tensor<(D<3>,)>>("x", &[0.0; 2])),
        "input `x`: axis 0 has size 2, but [3] needs 3"
    );
    assert_eq!(
        error(feed::<Tensor<(D<3>,)>>("x", &[0.0; 2][..])),
        "input `x`: 2 elements given, but [3] needs 3"
    );
    assert_eq!(
        error(View::<(Batch, Seq)>::flat(&[0.0; 4])),
        "[Batch, Seq] has several free dimensions, so their sizes cannot be told from the number of elements: pass \
         `View::new(data, sizes)`"
    );
    assert_eq!(
        error(View::<(Batch, Seq)>::new(&[0.0; 4], [2, 3])),
        "4 elements given, but the sizes [2, 3] need 6"
    );
}
