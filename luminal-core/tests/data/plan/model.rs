// Written by the build of the model `mix`. Do not edit.
::luminal::rt::embed_plan! {
    kernels: [mix_squares, mix_product_v3, mix_product, mix_finish],
    kept: [
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plan/mix.ptx")),
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plan/mix.c")),
    ],
    plan: Plan {
        model: Cow::Borrowed("mix"),
        free: Cow::Borrowed(&[
            Free { name: Cow::Borrowed("Batch"), max: 5 },
        ]),
        relations: Cow::Borrowed(&[]),
        inputs: Cow::Borrowed(&[
            Port { name: Cow::Borrowed("x"), dtype: Dtype::F32, shape: Cow::Borrowed(&[Dim::Free { index: 0, max: 5 }, Dim::Fixed(3)]), buffer: 0 },
            Port { name: Cow::Borrowed("mask"), dtype: Dtype::Bool, shape: Cow::Borrowed(&[Dim::Fixed(2), Dim::Free { index: 0, max: 5 }]), buffer: 1 },
        ]),
        outputs: Cow::Borrowed(&[
            Port { name: Cow::Borrowed("y"), dtype: Dtype::F32, shape: Cow::Borrowed(&[Dim::Free { index: 0, max: 5 }, Dim::Fixed(6)]), buffer: 8 },
            Port { name: Cow::Borrowed("z"), dtype: Dtype::F32, shape: Cow::Borrowed(&[Dim::Fixed(6), Dim::Free { index: 0, max: 5 }]), buffer: 9 },
            Port { name: Cow::Borrowed("total"), dtype: Dtype::F32, shape: Cow::Borrowed(&[Dim::Fixed(6)]), buffer: 5 },
            Port { name: Cow::Borrowed("echo"), dtype: Dtype::F32, shape: Cow::Borrowed(&[Dim::Free { index: 0, max: 5 }, Dim::Fixed(3)]), buffer: 0 },
        ]),
        states: Cow::Borrowed(&[
            Port { name: Cow::Borrowed("total"), dtype: Dtype::F32, shape: Cow::Borrowed(&[Dim::Fixed(6)]), buffer: 5 },
            Port { name: Cow::Borrowed("previous"), dtype: Dtype::F32, shape: Cow::Borrowed(&[Dim::Fixed(6)]), buffer: 6 },
        ]),
        params: Cow::Borrowed(&[
            Param { name: Cow::Borrowed("w"), aliases: Cow::Borrowed(&[]), dtype: Dtype::F32, shape: Cow::Borrowed(&[3, 6]), packings: Cow::Borrowed(&[Packing { buffer: 2, storage: Cow::Borrowed(&[Cow::Borrowed(&[Digit { size: usize::MAX, stride: 4 }]), Cow::Borrowed(&[Digit { size: 4, stride: 1 }, Digit { size: usize::MAX, stride: 12 }])]) }]) },
            Param { name: Cow::Borrowed("s"), aliases: Cow::Borrowed(&[]), dtype: Dtype::F32, shape: Cow::Borrowed(&[6]), packings: Cow::Borrowed(&[Packing { buffer: 3, storage: Cow::Borrowed(&[Cow::Borrowed(&[Digit { size: usize::MAX, stride: 1 }])]) }]) },
        ]),
        buffers: Cow::Borrowed(&[
            Buffer { place: Place::Input(0), bytes: 60 },
            Buffer { place: Place::Input(1), bytes: 10 },
            Buffer { place: Place::Weights(0), bytes: 96 },
            Buffer { place: Place::Weights(128), bytes: 24 },
            Buffer { place: Place::Weights(192), bytes: 24 },
            Buffer { place: Place::State(0), bytes: 24 },
            Buffer { place: Place::State(64), bytes: 24 },
            Buffer { place: Place::Arena(64), bytes: 120 },
            Buffer { place: Place::Output(0), bytes: 120 },
            Buffer { place: Place::Output(1), bytes: 120 },
            Buffer { place: Place::Arena(0), bytes: 24 },
        ]),
        kernels: Cow::Borrowed(&[
            Kernel { name: Cow::Borrowed("mix_squares"), form: Cow::Borrowed("map"), shape: Cow::Borrowed("[6]"), fused: Cow::Borrowed(&[Cow::Borrowed("square")]), args: Cow::Borrowed(&[Access::Read, Access::Write]), entries: Cow::Borrowed(&[(Isa::Baseline, mix_squares)]), grid: Cow::Borrowed(&[]), flops: 6.0, bytes: 48.0, cuda: None },
            Kernel { name: Cow::Borrowed("mix_product"), form: Cow::Borrowed("contraction"), shape: Cow::Borrowed("[Batch, 6] over 3"), fused: Cow::Borrowed(&[Cow::Borrowed("matmul")]), args: Cow::Borrowed(&[Access::Read, Access::Read, Access::Write]), entries: Cow::Borrowed(&[(Isa::X86V3, mix_product_v3), (Isa::Baseline, mix_product)]), grid: Cow::Borrowed(&[GridAxis { size: Dim::Free { index: 0, max: 5 }, block: 2 }]), flops: 180.0, bytes: 276.0, cuda: Some(CudaLaunch { threads: 32, grid: Cow::Borrowed(&[GridAxis { size: Dim::Free { index: 0, max: 5 }, block: 4 }]) }) },
            Kernel { name: Cow::Borrowed("mix_finish"), form: Cow::Borrowed("row"), shape: Cow::Borrowed("[6]"), fused: Cow::Borrowed(&[Cow::Borrowed("relu"), Cow::Borrowed("add"), Cow::Borrowed("select")]), args: Cow::Borrowed(&[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write, Access::Write, Access::Write]), entries: Cow::Borrowed(&[(Isa::Baseline, mix_finish)]), grid: Cow::Borrowed(&[GridAxis { size: Dim::Fixed(6), block: 4 }]), flops: 1234.0, bytes: 5678.0, cuda: None },
        ]),
        load: Cow::Borrowed(&[
            Launch { kernel: 0, args: Cow::Borrowed(&[3, 4]) },
        ]),
        run: Cow::Borrowed(&[
            Launch { kernel: 1, args: Cow::Borrowed(&[0, 2, 7]) },
            Launch { kernel: 2, args: Cow::Borrowed(&[7, 4, 1, 5, 8, 9, 10]) },
        ]),
        writes: Cow::Borrowed(&[
            (5, 6),
            (10, 5),
        ]),
        arena: 192,
        weights: 256,
        state: 128,
        ptx: Cow::Borrowed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plan/mix.ptx"))),
        sources: Cow::Borrowed(&[
            Source { name: Cow::Borrowed("mix.c"), text: Cow::Borrowed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plan/mix.c"))) },
        ]),
    },
}
