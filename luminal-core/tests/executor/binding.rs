//! Inputs that do not fit are refused, by name, before anything is touched.

use super::mix::*;
use luminal::plan::{Dim, Free, Origin, Relation, Rule, Term};
use luminal::runtime::{Device, InputRef, Session};

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

/// The size of `Batch` plus a number, related to `left`.
fn rule(left: Dim, rule: Rule, plus: i64) -> Relation {
    let origin = Origin { op: "slice".into(), file: "src/model.rs".into(), line: 7, column: 9 };
    Relation {
        left,
        rule,
        terms: vec![Term { factor: 1, free: 0 }].into(),
        plus,
        over: 1,
        origin: Some(origin),
    }
}

#[test]
fn sizes_that_break_a_rule_are_named() {
    let plan = changed(|plan| plan.relations = vec![rule(Dim::Fixed(2), Rule::AtMost, -1)].into());
    let mut session = Session::new(plan, Device::cpu(), &weights()).unwrap();
    let inputs = Inputs::new(3, 1);
    inputs.run(&mut session).unwrap();
    let mut expected = Expected::default();
    expected.run(&inputs);
    let message = Inputs::new(2, 1).run(&mut session).unwrap_err().to_string();
    assert_eq!(message, "slice: `Batch` is 2, but it must be at least 3; from src/model.rs:7:9");
    expected.check(&session, 3);
}

#[test]
fn sizes_that_are_in_no_input_are_computed() {
    let plan = changed(|plan| {
        plan.free.to_mut().push(Free { name: "More".into(), max: 4 });
        plan.relations = vec![rule(Dim::Free { index: 1, max: 4 }, Rule::Equal, 1)].into();
    });
    let mut session = Session::new(plan, Device::cpu(), &weights()).unwrap();
    Inputs::new(3, 1).run(&mut session).unwrap();
    let message = Inputs::new(4, 1).run(&mut session).unwrap_err().to_string();
    assert_eq!(message, "`More` is 5 by `More = Batch + 1`, but its bound is 4");
}
