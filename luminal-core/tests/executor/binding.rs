//! Inputs that do not fit are refused, by name, before anything is touched.

use super::mix::*;
use luminal::runtime::InputRef;

const X: [f32; 15] = [1.0; 15];
const MASK: [u8; 10] = [1; 10];

/// `x` and `mask` with these lengths (floats, bools) and sizes.
fn error(x: (usize, &[usize]), mask: (usize, &[usize])) -> String {
    let mut session = session();
    let inputs = Inputs::new(3, 1);
    inputs.run(&mut session).unwrap();
    let mut expected = Expected::default();
    expected.run(&inputs);

    let x_longer = [&X[..], &X[..]].concat();
    let mask_longer = [&MASK[..], &MASK[..]].concat();
    let refs = [
        InputRef { data: &bytes(&x_longer)[..x.0 * 4], sizes: x.1 },
        InputRef { data: &mask_longer[..mask.0], sizes: mask.1 },
    ];
    let message = session.run(&refs).unwrap_err().to_string();
    // Outputs are still those of the run before, and so are the states.
    expected.check(&session, 3);
    inputs.run(&mut session).unwrap();
    expected.run(&inputs);
    expected.check(&session, 3);
    message
}

#[test]
fn what_does_not_fit_is_named() {
    let x: (usize, &[usize]) = (6, &[2, 3]);
    let mask: (usize, &[usize]) = (4, &[2, 2]);
    type Case<'a> = ((usize, &'a [usize]), (usize, &'a [usize]), &'a str);
    let cases: [Case<'_>; 8] = [
        ((6, &[6]), mask, "input `x`: 1 sizes given, but [Batch <= 5, 3] has 2 axes"),
        ((8, &[2, 4]), mask, "input `x`, axis 1: the size is 4, but `mix` takes 3"),
        ((18, &[6, 3]), mask, "input `x`, axis 0: `Batch` is 6, but its bound is 5"),
        ((5, &[2, 3]), mask, "input `x`: 20 bytes given, but f32 [2, 3] has 24"),
        ((7, &[2, 3]), mask, "input `x`: 28 bytes given, but f32 [2, 3] has 24"),
        (x, (6, &[2, 3]), "`Batch` is 2 in input `x`, but 3 in input `mask`"),
        (x, (0, &[2, 0]), "`Batch` is 2 in input `x`, but 0 in input `mask`"),
        ((0, &[usize::MAX, 3]), mask, "`Batch` is 18446744073709551615, but its bound is 5"),
    ];
    for (x, mask, message) in cases {
        assert!(error(x, mask).contains(message), "{}\nhas not: {message}", error(x, mask));
    }
}

#[test]
fn number_of_inputs() {
    let mut session = session();
    let message = session.run(&[]).unwrap_err().to_string();
    assert_eq!(message, "`mix` takes 2 inputs (`x`, `mask`), but 0 were given");
}

#[test]
fn bools_are_0_or_1() {
    let mut session = session();
    let x = InputRef { data: bytes(&X[..6]), sizes: &[2, 3] };
    let message =
        session.run(&[x, InputRef { data: &[0, 1, 2, 0], sizes: &[2, 2] }]).unwrap_err().to_string();
    assert_eq!(message, "input `mask`: a bool is 0 or 1, but byte 2 is 2");
}
