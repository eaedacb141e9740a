//! The PTX interpreter on text written by hand: what it computes, and which faults it reports.
#![cfg(feature = "interpreter")]

use luminal_core::error::Result;
use luminal_cuda::interpreter::{Launch, Memory, Module, WarpOrder};

/// A module with one entry `k`, registers of each class declared.
fn module(parameters: &str, body: &str) -> Result<Module> {
    Module::parse(&format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k({parameters})\n{{\n\
         .reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .f32 %f<16>;\n.reg .b64 %d<16>;\n{body}\nret;\n}}\n"
    ))
}

/// `%r0` is the thread, `%d1` the address of its element of `out`.
const HEAD: &str = "ld.param.u64 %d0, [out]; cvta.to.global.u64 %d0, %d0; mov.u32 %r0, %tid.x;
                    mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;";

/// Runs a block whose threads each store one word, in every warp order.
fn run(threads: usize, body: &str) -> Result<Vec<u32>> {
    let module = module(".param .u64 out", &format!("{HEAD}\n{body}"))?;
    let mut results = vec![];
    for order in WarpOrder::ALL {
        let mut memory = Memory::new();
        let out = memory.allocate(threads * 4);
        Launch::new(module.kernel("k")?, threads).order(order).run(&mut memory, &[out])?;
        let bytes = memory.download(out, threads * 4)?;
        results.push(bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect::<Vec<_>>());
    }
    assert!(results.iter().all(|result| *result == results[0]), "results depend on the order of warps");
    Ok(results.swap_remove(0))
}

fn fault(threads: usize, body: &str) -> String {
    run(threads, body).map_or_else(|error| error.to_string(), |_| "none".into())
}

/// The word that a single thread stores from `%r1`.
fn word(body: &str) -> u32 {
    run(1, &format!("{body} st.global.b32 [%d1], %r1;")).unwrap()[0]
}

/// The number that a single thread stores from `%f0`, with `%f1` and `%f2` set to operands.
fn float(a: f32, b: f32, body: &str) -> f32 {
    let (a, b) = (a.to_bits(), b.to_bits());
    let body = format!("mov.f32 %f1, 0f{a:08X}; mov.f32 %f2, 0f{b:08X}; {body} st.global.f32 [%d1], %f0;");
    f32::from_bits(run(1, &body).unwrap()[0])
}

/// The truth of a comparison of two numbers.
fn truth(a: f32, b: f32, comparison: &str) -> bool {
    let body = format!("setp.{comparison}.f32 %p0, %f1, %f2; selp.f32 %f0, 0f3F800000, 0f00000000, %p0;");
    float(a, b, &body) == 1.0
}

#[test]
fn vectors_are_added_in_many_blocks() {
    let text = module(
        ".param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n",
        "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c]; ld.param.u32 %r9, [n];
         mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
         mad.lo.s32 %r3, %r0, %r1, %r2;
         setp.ge.s32 %p0, %r3, %r9;
         @%p0 bra DONE;
         mul.wide.s32 %d3, %r3, 16;
         add.s64 %d0, %d0, %d3; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
         ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d0];
         ld.global.nc.v4.f32 {%f4, %f5, %f6, %f7}, [%d1];
         add.rn.f32 %f0, %f0, %f4; add.rn.f32 %f1, %f1, %f5;
         add.rn.f32 %f2, %f2, %f6; add.rn.f32 %f3, %f3, %f7;
         st.global.v4.f32 [%d2], {%f0, %f1, %f2, %f3};
         DONE:",
    )
    .unwrap();
    let n = 1000;
    let values: Vec<f32> = (0..4 * n).map(|i| i as f32).collect();
    for order in WarpOrder::ALL {
        let mut memory = Memory::new();
        let (a, b) = (memory.upload_f32(&values), memory.upload_f32(&values));
        let c = memory.allocate(16 * n);
        let launch = Launch::new(text.kernel("k").unwrap(), 96).blocks(n.div_ceil(96)).order(order);
        let statistics = launch.run(&mut memory, &[a, b, c, n as u64]).unwrap();
        let doubled: Vec<f32> = values.iter().map(|x| 2.0 * x).collect();
        assert_eq!(memory.download_f32(c, 4 * n).unwrap(), doubled);
        assert!(statistics.thread_instructions > 14 * n as u64);
    }
}

#[test]
fn diverged_lanes_join_again() {
    // each thread counts to its own number, odd ones store the double
    let body = "mov.u32 %r1, 0;
        LOOP: setp.ge.u32 %p0, %r1, %r0; @%p0 bra OUT; add.u32 %r1, %r1, 1; bra LOOP;
        OUT: and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;
        shl.b32 %r1, %r1, 1; bra JOIN;
        EVEN: mov.u32 %r1, %r1;
        JOIN: bar.sync 0; st.global.u32 [%d1], %r1;";
    let expected: Vec<u32> = (0..50).map(|t| if t % 2 == 1 { 2 * t } else { t }).collect();
    assert_eq!(run(50, body).unwrap(), expected);
}

#[test]
fn lanes_exchange_values() {
    let store = "st.global.b32 [%d1], %r1;";
    let all = |mode: &str, b: &str| {
        run(32, &format!("shfl.sync.{mode}.b32 %r1, %r0, {b}, 0xffffffff; {store}")).unwrap()
    };
    assert_eq!(all("bfly", "16, 31"), (0..32).map(|l| l ^ 16).collect::<Vec<u32>>());
    assert_eq!(
        all("down", "3, 31"),
        (0..32).map(|l| if l + 3 < 32 { l + 3 } else { l }).collect::<Vec<u32>>()
    );
    assert_eq!(all("up", "1, 0"), (0..32).map(|l: u32| l.saturating_sub(1)).collect::<Vec<u32>>());
    // segments of 8 lanes
    assert_eq!(all("idx", "2, 0x181f"), (0..32).map(|l| l / 8 * 8 + 2).collect::<Vec<u32>>());
}

#[test]
fn a_block_is_reduced_through_shared_memory() {
    let body = ".shared .align 4 .b8 buffer[512];
        mov.u32 %r2, buffer; shl.b32 %r3, %r0, 2; add.u32 %r2, %r2, %r3;
        st.shared.u32 [%r2], %r0;
        mov.u32 %r4, 64;
        HALVE: bar.sync 0;
        setp.lt.u32 %p0, %r0, %r4; shl.b32 %r5, %r4, 2; add.u32 %r5, %r2, %r5;
        @%p0 ld.shared.u32 %r6, [%r2]; @%p0 ld.shared.u32 %r7, [%r5]; @%p0 add.u32 %r6, %r6, %r7;
        @%p0 st.shared.u32 [%r2], %r6;
        shr.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra.uni HALVE;
        bar.sync 0; mov.u32 %r2, buffer; ld.shared.u32 %r1, [%r2]; st.global.u32 [%d1], %r1;";
    assert_eq!(run(128, body).unwrap(), [127 * 128 / 2; 128]);
    let racing = body.replace("bar.sync 0; mov.u32 %r2, buffer; ld", "mov.u32 %r2, buffer; ld");
    assert!(fault(128, &racing).contains("race"), "{}", fault(128, &racing));
}

#[test]
fn dynamic_shared_memory_follows_the_declared() {
    let text = ".version 7.0 .target sm_80 .address_size 64
        .extern .shared .align 16 .b8 more[];
        .visible .entry k(.param .u64 out) .maxntid 32, 1, 1 {
            .reg .b32 %r<4>; .reg .b64 %d<2>;
            .shared .align 4 .b8 fixed[8];
            mov.u32 %r0, more; st.shared.u32 [%r0+4], %r0; ld.shared.u32 %r1, [%r0+4];
            ld.param.u64 %d0, [out]; st.global.u32 [%d0], %r1; ret;
        }";
    let module = Module::parse(text).unwrap();
    let kernel = module.kernel("k").unwrap();
    assert_eq!((kernel.max_threads(), kernel.parameters().len()), (Some(32), 1));
    let mut memory = Memory::new();
    let out = memory.allocate(4);
    Launch::new(kernel, 1).dynamic_shared(8).run(&mut memory, &[out]).unwrap();
    assert_eq!(memory.download(out, 4).unwrap(), 16_u32.to_le_bytes());
    assert!(Launch::new(kernel, 1).dynamic_shared(4).run(&mut memory, &[out]).is_err());
    assert!(Launch::new(kernel, 64).dynamic_shared(8).run(&mut memory, &[out]).is_err(), "bound of threads");
}

#[test]
fn integers() {
    let two = |a: i64, b: i64, rest: &str| word(&format!("mov.s32 %r2, {a}; mov.s32 %r3, {b}; {rest}"));
    assert_eq!(two(-7, 2, "div.s32 %r1, %r2, %r3;") as i32, -3);
    assert_eq!(two(-7, 2, "rem.s32 %r1, %r2, %r3;") as i32, -1);
    assert_eq!(two(-1, 2, "div.u32 %r1, %r2, %r3;"), u32::MAX / 2);
    assert_eq!(two(-8, 1, "shr.s32 %r1, %r2, %r3;") as i32, -4);
    assert_eq!(two(-8, 40, "shr.s32 %r1, %r2, %r3;") as i32, -1, "shifts clamp");
    assert_eq!(two(-8, 40, "shl.b32 %r1, %r2, %r3;"), 0, "shifts clamp");
    assert_eq!(two(-8, 32, "shr.u32 %r1, %r2, %r3;"), 0, "shifts clamp");
    assert_eq!(two(-8, 3, "max.s32 %r1, %r2, %r3;"), 3);
    assert_eq!(two(-8, 3, "max.u32 %r1, %r2, %r3;") as i32, -8);
    assert_eq!(two(-8, 3, "mad.lo.s32 %r1, %r2, %r3, 5;") as i32, -19);
    assert_eq!(
        two(-8, 3, "mul.wide.s32 %d5, %r2, %r3; shr.s64 %d5, %d5, 3; cvt.u32.u64 %r1, %d5;") as i32,
        -3
    );
    assert_eq!(two(-8, 3, "mul.wide.u32 %d5, %r2, %r3; shr.u64 %d5, %d5, 32; cvt.u32.u64 %r1, %d5;"), 2);
    assert_eq!(two(-8, 3, "xor.b32 %r1, %r2, %r3; not.b32 %r1, %r1; neg.s32 %r1, %r1;"), u32::MAX - 3);
    assert_eq!(two(-8, 3, "cvt.s64.s32 %d5, %r2; abs.s64 %d5, %d5; cvt.u32.u64 %r1, %d5;"), 8);
    assert_eq!(two(300, 0, "cvt.u8.u32 %r1, %r2;"), 300 % 256);
}

#[test]
fn floats() {
    let nan = f32::NAN;
    assert_eq!(float(1.0, 2.0, "max.f32 %f0, %f1, %f2;"), 2.0);
    assert_eq!(float(1.0, nan, "max.f32 %f0, %f1, %f2;"), 1.0, "NaN is dropped");
    assert!(float(1.0, nan, "max.NaN.f32 %f0, %f1, %f2;").is_nan());
    assert!(float(nan, 1.0, "min.NaN.f32 %f0, %f1, %f2;").is_nan());
    assert_eq!(float(-0.0, 0.0, "max.f32 %f0, %f1, %f2;").to_bits(), 0, "+0 is greater");
    assert_eq!(float(3.0, 7.0, "div.rn.f32 %f0, %f1, %f2;"), 3.0 / 7.0);
    assert_eq!(float(3.0, 0.0, "rcp.rn.f32 %f0, %f1;"), 1.0 / 3.0);
    assert_eq!(float(3.0, 0.0, "ex2.approx.f32 %f0, %f1;"), 8.0);
    assert_eq!(float(f32::NEG_INFINITY, 0.0, "ex2.approx.f32 %f0, %f1;"), 0.0);
    assert_eq!(float(-130.0, 0.0, "ex2.approx.f32 %f0, %f1;"), 2.0_f32.powi(-130));
    assert_eq!(float(-130.0, 0.0, "ex2.approx.ftz.f32 %f0, %f1;"), 0.0, "flushed");
    assert_eq!(float(0.0, 0.0, "lg2.approx.f32 %f0, %f1;"), f32::NEG_INFINITY);
    assert!(float(-1.0, 0.0, "sqrt.rn.f32 %f0, %f1;").is_nan());
    let x = 1.1_f32;
    assert_eq!(float(x, -1.0, "fma.rn.f32 %f0, %f1, %f1, %f2;"), x.mul_add(x, -1.0));
    assert_eq!(float(x, -1.0, "mul.rn.f32 %f0, %f1, %f1; add.rn.f32 %f0, %f0, %f2;"), x * x - 1.0);
    assert_ne!(x.mul_add(x, -1.0), x * x - 1.0);
    assert_eq!(float(2.5, 0.0, "cvt.rni.f32.f32 %f0, %f1;"), 2.0, "to even");
    assert_eq!(float(-2.5, 0.0, "cvt.rmi.f32.f32 %f0, %f1;"), -3.0);
    assert_eq!(float(-2.5, 0.0, "cvt.rzi.s32.f32 %r1, %f1; cvt.rn.f32.s32 %f0, %r1;"), -2.0);
    let saturated = "cvt.rzi.s32.f32 %r1, %f1; cvt.rn.f32.s32 %f0, %r1;";
    assert_eq!(float(1e20, 0.0, saturated), i32::MAX as f32);
    assert_eq!(float(nan, 0.0, saturated), 0.0);
}

#[test]
fn comparisons_with_nan() {
    let nan = f32::NAN;
    for (name, numbers, with_nan) in [
        ("lt", true, false),
        ("ltu", true, true),
        ("ge", false, false),
        ("geu", false, true),
        ("eq", false, false),
        ("equ", false, true),
        ("ne", true, false),
        ("neu", true, true),
        ("num", true, false),
        ("nan", false, true),
    ] {
        assert_eq!(truth(1.0, 2.0, name), numbers, "{name}");
        assert_eq!(truth(nan, 2.0, name), with_nan, "{name} with NaN");
        assert_eq!(truth(1.0, nan, name), with_nan, "{name} with NaN");
    }
}

#[test]
fn predicates() {
    let body = "setp.lt.u32 %p0, %r0, 5; setp.ge.u32 %p1, %r0, 3; and.pred %p2, %p0, %p1; not.pred %p3, %p2;
        setp.eq.and.s32 %p4, %r0, 7, %p3; or.pred %p2, %p2, %p4; mov.pred %p5, %p2;
        selp.b32 %r1, 1, 0, %p5; @!%p5 add.u32 %r1, %r1, 10; st.global.b32 [%d1], %r1;";
    let expected: Vec<u32> = (0..9).map(|t| if t == 3 || t == 4 || t == 7 { 1 } else { 10 }).collect();
    assert_eq!(run(9, body).unwrap(), expected);
}

#[test]
fn faults_that_an_assembler_accepts() {
    let cases = [
        // a register that only some lanes wrote
        (
            "setp.lt.u32 %p0, %r0, 40; @%p0 mov.u32 %r1, 1; st.global.u32 [%d1], %r1;",
            "thread 40: reads register %r1",
        ),
        ("st.global.f32 [%d1], %f3;", "reads register %f3, which was never written"),
        ("@%p7 mov.u32 %r1, 1;", "register %p7"),
        ("st.global.u32 [%d1+4], %r0;", "offset 256 of buffer 0, which has 256 bytes"),
        ("st.global.u32 [%d1+-4], %r0;", "outside every buffer"),
        ("ld.global.u32 %r1, [%d1];", "never written"),
        ("st.global.v4.u32 [%d1], {%r0, %r0, %r0, %r0};", "is not a multiple of 16"),
        (".shared .align 16 .b8 s[64]; mov.u32 %r2, s; ld.shared.u32 %r1, [%r2];", "never written"),
        (".shared .align 16 .b8 s[64]; shl.b32 %r2, %r0, 2; st.shared.u32 [%r2], %r0;", "which has 64 bytes"),
        (".shared .align 16 .b8 s[64]; mov.u32 %r2, s; st.shared.u32 [%r2+2], %r0;", "not a multiple of 4"),
        (".shared .align 16 .b8 s[64]; mov.u32 %r2, s; st.shared.u32 [%r2], %r0;", "race"),
        ("setp.lt.u32 %p0, %r0, 8; @%p0 bra S; bar.sync 0; S: bar.sync 0;", "barrier"),
        ("setp.lt.u32 %p0, %r0, 32; @%p0 ret; bar.sync 0;", "returned while others wait"),
        (
            "setp.lt.u32 %p0, %r0, 8; @%p0 shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffffffff;",
            "the shuffle names the lanes",
        ),
        ("setp.lt.u32 %p0, %r0, 8; @%p0 bra.uni S; mov.u32 %r1, 1; S: mov.u32 %r1, 2;", "disagree"),
    ];
    for (body, message) in cases {
        let found = fault(64, body);
        assert!(found.contains(message), "{body}\n  expected: {message}\n  found: {found}");
    }
    let partial = fault(40, "shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffffffff;");
    assert!(partial.contains("the shuffle names the lanes"), "a partial warp: {partial}");
}

#[test]
fn messages_name_the_place() {
    let found = fault(64, "bar.sync 0;\nst.global.u32 [%d1+4096], %r0;");
    for part in ["kernel k", "line 13", "`st.global.u32 [%d1+4096], %r0`", "block [0, 0, 0]", "thread 0"] {
        assert!(found.contains(part), "{part} in {found}");
    }
}

#[test]
fn endless_loops_end() {
    let module = module("", "L: bra.uni L;").unwrap();
    let launch = Launch::new(module.kernel("k").unwrap(), 32).limit(1000);
    assert!(launch.run(&mut Memory::new(), &[]).unwrap_err().to_string().contains("endless"));
}

#[test]
fn text_outside_the_subset_is_refused_with_its_line() {
    let cases = [
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0}, {%r0}, {%r0}, {%f0};", "mma"),
        ("add.rz.f32 %f0, %f1, %f2;", "not supported"),
        ("add.f16 %f0, %f1, %f2;", "not supported"),
        ("add.f24 %f0, %f1, %f2;", "type"),
        ("mov.u32 %x0, 1;", "unknown name `%x0`"),
        ("add.s64 %d0, %r0, %d1;", "a 32-bit register where a 64-bit one is needed"),
        ("ld.global.f32 %f0, [%r0];", "cannot be an address"),
        ("ld.global.v2.f32 {%f0, %f1, %f2}, [%d0];", "3 registers for 2"),
        ("bra NOWHERE;", "unknown name `NOWHERE`"),
        ("add.s32 %r0, %r1;", "too few operands"),
        ("add.s32 %r0, %r1, %r2, %r3;", "too many operands"),
        ("setp.ltu.s32 %p0, %r0, %r1;", "NaN"),
        ("ex2.approx.u32 %r0, %r1;", "not supported"),
    ];
    for (body, message) in cases {
        let found = module("", body).expect_err(body).to_string();
        assert!(found.contains(message) && found.contains("PTX line 10"), "{body}: {found}");
    }
}

#[test]
fn launches_are_checked() {
    let module = module(".param .u64 a, .param .u32 n", "mov.u32 %r0, 0;").unwrap();
    let kernel = module.kernel("k").unwrap();
    let mut memory = Memory::new();
    let error = |launch: Launch, arguments: &[u64]| {
        launch.run(&mut Memory::new(), arguments).map_or_else(|error| error.to_string(), |_| "none".into())
    };
    assert!(error(Launch::new(kernel, 32), &[1]).contains("1 arguments for 2 parameters"));
    assert!(error(Launch::new(kernel, 32), &[1, 1 << 40]).contains("does not fit `n`"));
    assert!(error(Launch::new(kernel, 2048), &[1, 1]).contains("2048 threads"));
    assert!(error(Launch::new(kernel, 32).blocks(0), &[1, 1]).contains("grid"));
    assert!(error(Launch::new(kernel, 32).grid([1, 70_000, 1]), &[1, 1]).contains("grid"));
    assert!(module.kernel("other").unwrap_err().to_string().contains("there are: k"));
    Launch::new(kernel, 32).run(&mut memory, &[1, 1]).unwrap();
}
