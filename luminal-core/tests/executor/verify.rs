//! A plan that is not whole is refused, with the reason.

use super::plan::{MAX, plan};
use luminal::plan::*;
use luminal::rt::Dtype;

#[test]
fn the_plan_of_mix_is_whole() {
    plan().check().unwrap();
    super::model::PLAN.check().unwrap();
}

/// The reason that a plan is refused for, after a change.
fn refused(change: fn(&mut Plan)) -> String {
    let mut plan = plan();
    change(&mut plan);
    plan.check().expect_err("was not refused").to_string()
}

fn buffer(plan: &mut Plan, id: usize) -> &mut Buffer {
    &mut plan.buffers.to_mut()[id]
}

fn args(plan: &mut Plan, launch: usize) -> &mut Vec<usize> {
    plan.run.to_mut()[launch].args.to_mut()
}

type Case = (fn(&mut Plan), &'static str);

fn check(cases: &[Case]) {
    for (change, reason) in cases {
        let message = refused(*change);
        assert!(message.starts_with("the plan of `mix` is broken: "), "{message}");
        assert!(message.contains(reason), "{message}\nhas not: {reason}");
    }
}

#[test]
fn buffers() {
    check(&[
        (|p| buffer(p, 3).place = Place::Weights(130), "buffer 3 is not at a multiple of 64"),
        (
            |p| buffer(p, 4).place = Place::Weights(256),
            "buffer 4, 24 bytes at 256, is not inside its area of 256",
        ),
        (|p| buffer(p, 4).place = Place::Weights(usize::MAX - 63), "buffer 4, 24 bytes"),
        (|p| p.arena = 128, "buffer 7, 120 bytes at 64, is not inside its area of 128"),
        (|p| p.state = 64, "buffer 6, 24 bytes at 64, is not inside its area of 64"),
        (|p| buffer(p, 4).place = Place::Weights(128), "buffers 3 and 4 overlap"),
        (|p| buffer(p, 6).place = Place::State(0), "buffers 5 and 6 overlap"),
        (|p| buffer(p, 3).place = Place::Weights(64), "buffers 2 and 3 overlap"),
        (|p| buffer(p, 1).place = Place::Input(2), "buffer 1 is at Input(2) of 2"),
        (|p| buffer(p, 9).place = Place::Output(0), "buffer 9 is the second one at Output(0)"),
    ]);
}

#[test]
fn border() {
    check(&[
        (|p| p.inputs.to_mut()[0].buffer = 11, "input `x` is in buffer 11, which does not exist"),
        (|p| p.inputs.to_mut()[0].buffer = 8, "input `x` is number 0, but at Output(0)"),
        (|p| buffer(p, 0).bytes = 59, "input `x` does not fit in buffer 0 of 59 bytes"),
        (|p| buffer(p, 8).bytes = 119, "output `y` does not fit in buffer 8 of 119 bytes"),
        (|p| p.outputs.to_mut()[0].shape = vec![Dim::Fixed(usize::MAX); 2].into(), "output `y` does not fit"),
        (
            |p| {
                p.outputs.to_mut()[0].buffer = 9;
                p.outputs.to_mut()[1].buffer = 8;
            },
            "output 0, `y`, is in memory of output 1",
        ),
        (|p| p.outputs.to_mut()[3].dtype = Dtype::I32, "output `echo` is an input of another type or shape"),
        (|p| p.states.to_mut()[0].buffer = 10, "state `total` is at Arena(0)"),
        (|p| p.free.to_mut()[0].max = MAX + 1, "input `x`: free size 0 has the bound Some(6), not 5"),
        (
            |p| p.free.to_mut().push(Free { name: "Length".into(), max: 2 }),
            "no input determines the size `Length`",
        ),
    ]);
}

#[test]
fn params() {
    fn storage(plan: &mut Plan) -> &mut Vec<List<Digit>> {
        plan.params.to_mut()[0].packings.to_mut()[0].storage.to_mut()
    }
    const NO_FIT: &str = "weight `w` does not fit in buffer 2";
    check(&[
        (|p| p.params.to_mut()[1].name = "w".into(), "two weights named `w`"),
        (|p| buffer(p, 2).bytes = 95 - 4, NO_FIT),
        (|p| p.params.to_mut()[0].packings.to_mut()[0].buffer = 7, "weight `w` does not fit in buffer 7"),
        (|p| p.params.to_mut()[0].packings.to_mut()[0].buffer = 70, "weight `w` does not fit in buffer 70"),
        (|p| storage(p).truncate(1), NO_FIT),
        (|p| storage(p)[0].to_mut().clear(), NO_FIT),
        (|p| storage(p)[0].to_mut()[0].size = 3, NO_FIT),
        (|p| storage(p)[1].to_mut()[0].size = 0, NO_FIT),
        (|p| storage(p)[1].to_mut()[1].stride = usize::MAX, NO_FIT),
        (|p| storage(p)[1].to_mut()[1].stride = 8, NO_FIT),
        (|p| storage(p)[0].to_mut()[0].stride = 0, NO_FIT),
    ]);
}

#[test]
fn kernels() {
    check(&[
        (|p| p.kernels.to_mut()[1].name = "mix_squares".into(), "two kernels named `mix_squares`"),
        (
            |p| p.kernels.to_mut()[1].grid.to_mut()[0].block = 0,
            "kernel `mix_product`: a block of the grid has no",
        ),
        (
            |p| {
                p.kernels.to_mut()[2].grid =
                    vec![GridAxis { size: Dim::Fixed(usize::MAX), block: 1 }; 2].into()
            },
            "kernel `mix_finish`: its grid overflows",
        ),
        (
            |p| p.kernels.to_mut()[2].grid = vec![GridAxis { size: Dim::Fixed(usize::MAX), block: 1 }].into(),
            "kernel `mix_finish`: its grid overflows",
        ),
        (
            |p| p.kernels.to_mut()[2].grid.to_mut()[0].size = Dim::Free { index: 1, max: 5 },
            "kernel `mix_finish`: free size 1 has the bound None, not 5",
        ),
        (
            |p| p.kernels.to_mut()[1].cuda.as_mut().unwrap().grid.to_mut()[0].block = 0,
            "kernel `mix_product` on CUDA: a block",
        ),
    ]);
}

#[test]
fn order() {
    check(&[
        (|p| p.run.to_mut()[0].kernel = 3, "launch 0 names kernel 3, which does not exist"),
        (|p| args(p, 0).truncate(2), "launch 0 (`mix_product`) has 2 arguments, but its kernel takes 3"),
        (|p| args(p, 0)[1] = 11, "launch 0 (`mix_product`) names buffer 11, which does not exist"),
        (|p| p.run.to_mut().swap(0, 1), "launch 0 (`mix_finish`) reads buffer 7 before it is written"),
        (|p| p.load.to_mut().clear(), "launch 1 (`mix_finish`) reads buffer 4 before it is written"),
        (
            |p| p.params.to_mut().truncate(1),
            "launch at load 0 (`mix_squares`) reads buffer 3 before it is written",
        ),
        (
            |p| p.load.to_mut()[0].args.to_mut()[0] = 5,
            "launch at load 0 (`mix_squares`) must not read buffer 5",
        ),
        (|p| args(p, 0)[2] = 0, "launch 0 (`mix_product`) must not write buffer 0 at Input(0)"),
        (|p| args(p, 0)[2] = 2, "launch 0 (`mix_product`) must not write buffer 2 at Weights(0)"),
        (
            |p| args(p, 1)[4] = 9,
            "launch 1 (`mix_finish`) writes buffer 9, which is another of its arguments too",
        ),
        (
            |p| args(p, 1)[4] = 5,
            "launch 1 (`mix_finish`) writes buffer 5, which is another of its arguments too",
        ),
        (|p| p.kernels.to_mut()[1].args.to_mut()[2] = Access::Scratch, "reads buffer 7 before it is written"),
        (|p| p.run.to_mut().truncate(1), "output `y` is never written"),
        (|p| p.writes.to_mut()[1] = (10, 8), "buffer 10 cannot be written to 8"),
        (|p| p.writes.to_mut()[1] = (7, 5), "buffer 7 cannot be written to 5: not a state of the same size"),
        (|p| p.writes.to_mut()[1] = (10, 6), "buffer 6 is written twice"),
        (
            |p| p.writes.to_mut()[1] = (11, 6),
            "the write of buffer 11 to 6 names a buffer that does not exist",
        ),
        (
            |p| buffer(p, 10).place = Place::Arena(64),
            "buffers 7 and 10 share memory, but both are needed at launch 1",
        ),
        (|p| buffer(p, 10).place = Place::Arena(128), "buffers 7 and 10 share memory"),
    ]);
}

/// One more launch, after all others, that writes an intermediate at `offset`.
fn write_late(plan: &mut Plan, offset: usize) {
    plan.buffers.to_mut().push(Buffer { place: Place::Arena(offset), bytes: 64 });
    plan.run.to_mut().push(Launch { kernel: 1, args: vec![0, 2, 11].into() });
}

#[test]
fn what_is_taken_at_the_end_lives_to_the_end() {
    check(&[
        (|p| write_late(p, 0), "buffers 10 and 11 share memory, but both are needed at launch 2"),
        (
            |p| {
                p.outputs.to_mut()[2].buffer = 7;
                write_late(p, 64);
            },
            "buffers 7 and 11 share memory, but both are needed at launch 2",
        ),
    ]);
    let mut reused = plan();
    write_late(&mut reused, 64);
    reused.check().unwrap();
}

#[test]
fn relations() {
    let relation = |left, free, over| Relation {
        left,
        rule: Rule::Equal,
        terms: vec![Term { factor: 1, free }].into(),
        plus: 0,
        over,
        origin: None,
    };
    let mut right = plan();
    right.free.to_mut().push(Free { name: "Half".into(), max: 2 });
    let half = Dim::Free { index: 1, max: 2 };
    assert!(right.check().unwrap_err().to_string().ends_with("no input determines the size `Half`"));
    right.relations = vec![relation(half, 0, 2)].into();
    right.check().unwrap();
    for wrong in [relation(half, 2, 2), relation(half, 0, 0)] {
        right.relations = vec![wrong.clone()].into();
        let message = right.check().unwrap_err().to_string();
        assert!(
            message.contains(&format!("the relation `{wrong}` between 2 free sizes is not one")),
            "{message}"
        );
    }
    right.relations = vec![relation(Dim::Free { index: 1, max: 3 }, 0, 2)].into();
    assert!(right.check().unwrap_err().to_string().contains("free size 1 has the bound Some(2), not 3"));
}
