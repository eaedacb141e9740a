//! The plan of `mix` as the build would make it: kernels without entries.

use luminal::plan::*;
use luminal::rt::{Cow, Dtype};

pub const MAX: usize = 5;
const BATCH: Dim = Dim::Free { index: 0, max: MAX };
const REST: usize = usize::MAX;

fn port(name: &'static str, dtype: Dtype, shape: &[Dim], buffer: usize) -> Port {
    Port { name: name.into(), dtype, shape: shape.to_vec().into(), buffer }
}

fn digit(size: usize, stride: usize) -> Digit {
    Digit { size, stride }
}

fn param(name: &'static str, shape: &[usize], buffer: usize, storage: &[&[Digit]]) -> Param {
    let storage = storage.iter().map(|digits| Cow::Owned(digits.to_vec())).collect();
    let packing = Packing { buffer, storage };
    Param {
        name: name.into(),
        aliases: vec![].into(),
        dtype: Dtype::F32,
        shape: shape.to_vec().into(),
        packings: vec![packing].into(),
    }
}

fn kernel(name: &'static str, form: &'static str, shape: &'static str, fused: &[&'static str]) -> Kernel {
    Kernel {
        name: name.into(),
        form: form.into(),
        shape: shape.into(),
        fused: fused.iter().map(|name| Cow::Borrowed(*name)).collect(),
        args: Cow::Borrowed(&[]),
        entries: Cow::Borrowed(&[]),
        grid: Cow::Borrowed(&[]),
        flops: 0.0,
        bytes: 0.0,
        cuda: None,
    }
}

fn launch(kernel: usize, args: &[usize]) -> Launch {
    Launch { kernel, args: args.to_vec().into() }
}

pub fn plan() -> Plan {
    use Access::{Read, Write};
    let fixed = Dim::Fixed;
    let buffers = [
        (Place::Input(0), 60),     // 0: x
        (Place::Input(1), 10),     // 1: mask
        (Place::Weights(0), 96),   // 2: w in panels
        (Place::Weights(128), 24), // 3: s
        (Place::Weights(192), 24), // 4: s squared
        (Place::State(0), 24),     // 5: total
        (Place::State(64), 24),    // 6: previous
        (Place::Arena(64), 120),   // 7: product
        (Place::Output(0), 120),   // 8: y
        (Place::Output(1), 120),   // 9: z
        (Place::Arena(0), 24),     // 10: new total
    ];
    let squares = Kernel {
        args: vec![Read, Write].into(),
        flops: 6.0,
        bytes: 48.0,
        ..kernel("mix_squares", "map", "[6]", &["square"])
    };
    let product = Kernel {
        args: vec![Read, Read, Write].into(),
        grid: vec![GridAxis { size: BATCH, block: 2 }].into(),
        flops: 180.0,
        bytes: 276.0,
        cuda: Some(CudaLaunch { threads: 32, grid: vec![GridAxis { size: BATCH, block: 4 }].into() }),
        ..kernel("mix_product", "contraction", "[Batch, 6] over 3", &["matmul"])
    };
    let finish = Kernel {
        args: vec![Read, Read, Read, Read, Write, Write, Write].into(),
        grid: vec![GridAxis { size: fixed(6), block: 4 }].into(),
        flops: 1234.0,
        bytes: 5678.0,
        ..kernel("mix_finish", "row", "[6]", &["relu", "add", "select"])
    };
    Plan {
        model: "mix".into(),
        free: vec![Free { name: "Batch".into(), max: MAX }].into(),
        relations: vec![].into(),
        inputs: vec![
            port("x", Dtype::F32, &[BATCH, fixed(3)], 0),
            port("mask", Dtype::Bool, &[fixed(2), BATCH], 1),
        ]
        .into(),
        outputs: vec![
            port("y", Dtype::F32, &[BATCH, fixed(6)], 8),
            port("z", Dtype::F32, &[fixed(6), BATCH], 9),
            port("total", Dtype::F32, &[fixed(6)], 5),
            port("echo", Dtype::F32, &[BATCH, fixed(3)], 0),
        ]
        .into(),
        states: vec![port("total", Dtype::F32, &[fixed(6)], 5), port("previous", Dtype::F32, &[fixed(6)], 6)]
            .into(),
        params: vec![
            param("w", &[3, 6], 2, &[&[digit(REST, 4)], &[digit(4, 1), digit(REST, 12)]]),
            param("s", &[6], 3, &[&[digit(REST, 1)]]),
        ]
        .into(),
        buffers: buffers.map(|(place, bytes)| Buffer { place, bytes }).to_vec().into(),
        kernels: vec![squares, product, finish].into(),
        load: vec![launch(0, &[3, 4])].into(),
        run: vec![launch(1, &[0, 2, 7]), launch(2, &[7, 4, 1, 5, 8, 9, 10])].into(),
        writes: vec![(5, 6), (10, 5)].into(),
        arena: 192,
        weights: 256,
        state: 128,
        ptx: "".into(),
        sources: vec![Source { name: "mix.c".into(), text: include_str!("../data/plan/mix.c").into() }]
            .into(),
    }
}
