//! State leaves a session and comes back.

use super::mix::{session as new_session, *};
use luminal::dtype::Dtype;
use luminal::weights::Weights;

/// One session goes on, another one from what was saved: both give the same.
#[test]
fn a_restored_session_goes_on_like_the_saved_one() {
    let mut session = new_session();
    let mut expected = Expected::default();
    for seed in 0..3 {
        let inputs = Inputs::new(4, seed);
        inputs.run(&mut session).unwrap();
        expected.run(&inputs);
    }
    let saved = session.save_state();
    // The session itself goes elsewhere meanwhile, and back.
    Inputs::new(5, 9).run(&mut session).unwrap();
    let file = Weights::from_bytes(saved.clone()).unwrap();
    let mut other = new_session();
    for session in [&mut session, &mut other] {
        session.restore_state(&file).unwrap();
        assert_eq!(session.save_state(), saved);
    }
    for seed in 3..6 {
        let inputs = Inputs::new(2, seed);
        expected.run(&inputs);
        for session in [&mut session, &mut other] {
            inputs.run(session).unwrap();
            expected.check(session, 2);
        }
    }
}

#[test]
fn a_saved_state_is_a_safetensors_file_with_the_names_of_the_model() {
    let mut session = new_session();
    let inputs = Inputs::new(4, 1);
    inputs.run(&mut session).unwrap();
    let mut expected = Expected::default();
    expected.run(&inputs);
    let file = Weights::from_bytes(session.save_state()).unwrap();
    assert_eq!(file.names().collect::<Vec<_>>(), ["previous", "total"]);
    let total = file.tensor("total").unwrap();
    assert_eq!(total.shape, [6]);
    assert_eq!(floats_of(total.data), expected.total);
}

#[test]
fn everything_that_does_not_fit_is_listed_and_nothing_is_changed() {
    let mut session = new_session();
    Inputs::new(4, 1).run(&mut session).unwrap();
    let before = session.save_state();
    let wrong = Weights::from_tensors([
        ("total", Dtype::I32, vec![2, 3], vec![0; 24]),
        ("perivous", Dtype::F32, vec![6], vec![0; 24]),
    ]);
    let error = session.restore_state(&wrong.unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the state in `in memory` is not one of the model `mix`:\n  \
         `total`: the model has shape [6], the file [2, 3]; the model has type F32, the file I32\n  \
         `previous` is missing: f32 [6]\n  \
         `perivous` is no state of the model"
    );
    assert_eq!(session.save_state(), before);
}
