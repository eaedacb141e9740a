//! Runs give what they must.

use super::kernels::{LAUNCHES, V3_LAUNCHES};
use super::mix::*;
use luminal::dtype::Dtype;
use luminal::plan::*;
use luminal::runtime::{Device, InputRef, Session};
use luminal::weights::Weights;

#[test]
fn all_batches_in_any_order() {
    let mut session = session();
    let mut expected = Expected::default();
    for (seed, batch) in [3, 5, 1, 0, 2, 4, 5, 0, 1].into_iter().enumerate() {
        let inputs = Inputs::new(batch, seed);
        inputs.run(&mut session).unwrap();
        expected.run(&inputs);
        expected.check(&session, batch);
    }
}

#[test]
fn outputs_before_the_first_run() {
    let session = session();
    assert_eq!(session.output(0).sizes, [0, 6]);
    assert_eq!(session.output(0).data.len(), 0);
    assert_eq!(floats_of(session.output(2).data), [0.0; 6]);
}

#[test]
fn an_empty_grid_is_not_launched() {
    let mut session = session();
    LAUNCHES.set(0);
    Inputs::new(0, 1).run(&mut session).unwrap();
    assert_eq!(LAUNCHES.get(), 1, "the product has no block, the other kernel has two");
}

#[test]
fn unaligned_inputs_are_copied() {
    let inputs = Inputs::new(4, 2);
    for shift in 1..4 {
        let mut storage = vec![0.0f32; inputs.x.len() + 1];
        // SAFETY: every byte pattern is a float.
        let memory =
            unsafe { std::slice::from_raw_parts_mut(storage.as_mut_ptr().cast::<u8>(), storage.len() * 4) };
        let length = inputs.x.len() * 4;
        memory[shift..shift + length].copy_from_slice(bytes(&inputs.x));
        let mut session = session();
        let x = InputRef { data: &memory[shift..shift + length], sizes: &[4, 3] };
        session.run(&[x, InputRef { data: &inputs.mask, sizes: &[2, 4] }]).unwrap();
        let mut expected = Expected::default();
        expected.run(&inputs);
        expected.check(&session, 4);
    }
}

#[test]
fn states_are_kept_and_reset() {
    // `previous` is no output of `mix`; here it takes the place of `total`.
    let plan = changed(|plan| plan.outputs.to_mut()[2].buffer = 6);
    let mut session = Session::new(plan, Device::cpu(), &weights()).unwrap();
    let mut expected = Expected::default();
    let inputs = Inputs::new(3, 1);
    for run in 0..6 {
        if run == 4 {
            session.reset_state();
            expected = Expected::default();
        }
        let before = expected.previous.to_vec();
        inputs.run(&mut session).unwrap();
        expected.run(&inputs);
        expected.total_output = before;
        expected.check(&session, 3);
    }
}

#[test]
fn a_state_may_take_the_old_value_of_another() {
    // Although the other is written first.
    let plan = changed(|plan| {
        plan.writes = vec![(10, 5), (5, 6)].into();
        plan.outputs.to_mut()[2].buffer = 6;
    });
    let mut session = Session::new(plan, Device::cpu(), &weights()).unwrap();
    let inputs = Inputs::new(2, 3);
    let mut expected = Expected::default();
    for _ in 0..3 {
        let before = expected.previous.to_vec();
        inputs.run(&mut session).unwrap();
        expected.run(&inputs);
        expected.total_output = before;
        expected.check(&session, 2);
    }
}

#[test]
fn a_kernel_may_write_a_state_and_states_may_be_swapped() {
    // The new total goes into `previous`, and the two states are exchanged at the end: the same model.
    let plan = changed(|plan| {
        plan.run.to_mut()[1].args.to_mut()[6] = 6;
        plan.writes = vec![(5, 6), (6, 5)].into();
    });
    let mut session = Session::new(plan, Device::cpu(), &weights()).unwrap();
    let mut expected = Expected::default();
    for batch in [2, 5, 1] {
        let inputs = Inputs::new(batch, 3);
        inputs.run(&mut session).unwrap();
        expected.run(&inputs);
        expected.check(&session, batch);
    }
}

#[test]
fn outputs_may_share_a_buffer_or_lie_anywhere() {
    let plan = changed(|plan| {
        let outputs = plan.outputs.to_mut();
        // The transposed output twice: it must be put into order once for each.
        outputs[0] = Port { name: "again".into(), ..outputs[1].clone() };
        outputs[0].buffer = 9;
        // An intermediate, and a weight computed at load.
        outputs[2].buffer = 10;
        outputs[3] = Port {
            name: "squares".into(),
            shape: vec![Dim::Fixed(6)].into(),
            buffer: 4,
            ..outputs[3].clone()
        };
    });
    let mut session = Session::new(plan, Device::cpu(), &weights()).unwrap();
    let mut expected = Expected::default();
    for batch in [3, 1, 5, 2] {
        let inputs = Inputs::new(batch, batch);
        inputs.run(&mut session).unwrap();
        expected.run(&inputs);
        assert_eq!(floats_of(session.output(0).data), expected.z);
        assert_eq!(floats_of(session.output(1).data), expected.z);
        assert_eq!(floats_of(session.output(2).data), expected.total);
        assert_eq!(floats_of(session.output(3).data), s().iter().map(|s| s * s).collect::<Vec<_>>());
    }
}

#[test]
fn an_input_can_become_a_state() {
    // A state of the shape of `x`, once from the caller's memory, once from a copy, once from one with strides.
    let plan = changed(|plan| {
        plan.buffers.to_mut().push(Buffer { place: Place::State(128), bytes: 60 });
        plan.buffers.to_mut().push(Buffer { place: Place::State(192), bytes: 10 });
        plan.state = 256;
        plan.writes = vec![(0, 11), (1, 12)].into();
        let outputs = plan.outputs.to_mut();
        outputs[2] =
            Port { name: "old x".into(), shape: outputs[3].shape.clone(), buffer: 11, ..outputs[2].clone() };
        outputs[3] = Port {
            name: "old mask".into(),
            dtype: Dtype::Bool,
            shape: plan.inputs[1].shape.clone(),
            buffer: 12,
        };
    });
    let mut session = Session::new(plan, Device::cpu(), &weights()).unwrap();
    let first = Inputs::new(4, 1);
    let second = Inputs::new(4, 2);
    first.run(&mut session).unwrap();
    assert_eq!(floats_of(session.output(2).data), [0.0; 12]);
    second.run(&mut session).unwrap();
    assert_eq!(floats_of(session.output(2).data), first.x);
    assert_eq!(session.output(3).data, first.mask);
    first.run(&mut session).unwrap();
    assert_eq!(floats_of(session.output(2).data), second.x);
    assert_eq!(session.output(3).data, second.mask);
}

#[test]
fn the_best_version_that_the_device_has_is_used() {
    let inputs = Inputs::new(5, 3);
    let mut expected = Expected::default();
    expected.run(&inputs);
    for isa in [Isa::Baseline, Isa::X86V3] {
        let device = Device::cpu().limited_to(isa);
        V3_LAUNCHES.set(0);
        let mut session = Session::new(&super::model::PLAN, device, &weights()).unwrap();
        inputs.run(&mut session).unwrap();
        expected.check(&session, 5);
        assert_eq!(V3_LAUNCHES.get(), (device.isa() == Isa::X86V3) as usize);
    }
}

#[test]
fn no_version_for_the_device() {
    let plan = changed(|plan| plan.kernels.to_mut()[1].entries.to_mut().truncate(1));
    let device = Device::cpu().limited_to(Isa::Baseline);
    let message = Session::new(plan, device, &weights()).unwrap_err().to_string();
    assert!(message.contains("`mix_product`") && message.contains("cpu (baseline)"), "{message}");
}

#[test]
fn half_weights_and_wrong_weights() {
    let header = r#"{"w":{"dtype":"F16","shape":[3,6],"data_offsets":[0,36]},"s":{"dtype":"BF16","shape":[6],"data_offsets":[36,48]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(w().iter().flat_map(|x| half::f16::from_f32(*x).to_le_bytes()));
    file.extend(s().iter().flat_map(|x| half::bf16::from_f32(*x).to_le_bytes()));
    let weights = Weights::from_bytes(file).unwrap();
    let mut session = Session::new(&super::model::PLAN, Device::best().unwrap(), &weights).unwrap();
    let inputs = Inputs::new(3, 7);
    inputs.run(&mut session).unwrap();
    let mut expected = Expected::default();
    expected.run(&inputs);
    // All these numbers are exact in both half types.
    expected.check(&session, 3);

    let other = Weights::from_tensors([("w", Dtype::I32, vec![3, 6], vec![0; 72])]).unwrap();
    let message = Session::new(&super::model::PLAN, Device::cpu(), &other).unwrap_err().to_string();
    assert!(message.contains("missing: `s`") && message.contains("the file has I32"), "{message}");
}

#[test]
fn too_much_memory_is_an_error() {
    let plan = changed(|plan| plan.arena = 1 << 60);
    let message = Session::new(plan, Device::cpu(), &weights()).unwrap_err().to_string();
    assert!(
        message.contains("1152921504606846976 bytes of memory for the intermediates of `mix`"),
        "{message}"
    );
}

#[test]
fn a_broken_plan_is_not_run() {
    let plan = changed(|plan| plan.run.to_mut()[0].args.to_mut()[1] = 99);
    let message = Session::new(plan, Device::cpu(), &weights()).unwrap_err().to_string();
    assert!(message.contains("the plan of `mix` is broken"), "{message}");
}

#[test]
fn a_profile_measures_every_launch_and_leaves_the_states() {
    let mut session = session();
    let inputs = Inputs::new(4, 4);
    let mut expected = Expected::default();
    inputs.run(&mut session).unwrap();
    expected.run(&inputs);
    let refs = [
        InputRef { data: bytes(&inputs.x), sizes: &[4, 3] },
        InputRef { data: &inputs.mask, sizes: &[2, 4] },
    ];
    LAUNCHES.set(0);
    let times = session.profile(&refs, 7).unwrap();
    assert_eq!(LAUNCHES.get(), 2 * 7);
    let names: Vec<&str> = times.iter().map(|time| &*time.kernel.name).collect();
    assert_eq!(names, ["mix_product", "mix_finish"]);
    assert_eq!(times.iter().map(|time| time.launch).collect::<Vec<_>>(), [0, 1]);
    inputs.run(&mut session).unwrap();
    expected.run(&inputs);
    expected.check(&session, 4);
}

#[test]
fn sessions_move_between_threads_and_outlive_their_weights() {
    let workers = (0..4).map(|seed| {
        let mut session = session();
        std::thread::spawn(move || {
            let mut expected = Expected::default();
            for run in 0..50 {
                let inputs = Inputs::new((run + seed) % 6, seed);
                inputs.run(&mut session).unwrap();
                expected.run(&inputs);
                expected.check(&session, inputs.batch);
            }
        })
    });
    workers.collect::<Vec<_>>().into_iter().for_each(|worker| worker.join().unwrap());
}
