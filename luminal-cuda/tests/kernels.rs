//! Kernels of every form: the PTX of their GPU schedules, run by the interpreter, against their meaning.
#![cfg(all(feature = "interpreter", feature = "build"))]

use luminal_core::dtype::Dtype;
use luminal_core::error::Result;
use luminal_core::graph::Unary;
use luminal_core::kernel::interpret::{from_storage, to_storage};
use luminal_core::kernel::ir::{Binary, Digit, E, Expr, Kernel};
use luminal_core::kernel::lower::lower;
use luminal_core::kernel::meaning::{self, Rounding, Scalar, Values};
use luminal_core::kernel::testing::{self, Builder, Fill};
use luminal_core::kernel::tile::Program;
use luminal_core::reference::SplitMix64;
use luminal_cuda::interpreter::{Launch, Memory, Module, WarpOrder};
use luminal_cuda::ptx::render_module;
use luminal_cuda::schedule::{launch, schedule, schedules};
use std::rc::Rc;

fn program(name: &str, kernel: &Kernel) -> Program {
    let schedule = schedule(kernel).unwrap_or_else(|error| panic!("{name}: {error}"));
    lower(name, kernel, &schedule).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Runs a program's entry and returns its arguments afterwards.
fn try_run(
    module: &Module,
    program: &Program,
    args: &[Values],
    sizes: &[usize],
    order: WarpOrder,
) -> Result<Vec<Values>> {
    let name = &program.name;
    let buffers = &program.kernel.buffers[..program.kernel.args];
    let mut memory = Memory::new();
    let addresses: Vec<u64> = buffers
        .iter()
        .zip(args)
        .map(|(buffer, values)| memory.upload(&to_storage(buffer, values).to_bytes(buffer.dtype)))
        .collect();
    let kernel = module.kernel(name).unwrap();
    let mut arguments = addresses.clone();
    let free = kernel.parameters().len() - addresses.len();
    arguments.extend(sizes.iter().take(free).map(|size| *size as u64));
    let blocks = program.blocks(sizes);
    if blocks > 0 {
        Launch::new(kernel, launch(program).threads)
            .blocks(blocks)
            .order(order)
            .run(&mut memory, &arguments)?;
    }
    let results = buffers.iter().zip(&addresses).map(|(buffer, address)| {
        let length = buffer.len() * buffer.dtype.bytes();
        let bytes = if length == 0 { &[] } else { memory.download(*address, length).unwrap() };
        from_storage(buffer, &Values::from_bytes(buffer.dtype, bytes))
    });
    Ok(results.collect())
}

fn run(
    module: &Module,
    program: &Program,
    args: &[Values],
    sizes: &[usize],
    order: WarpOrder,
) -> Vec<Values> {
    try_run(module, program, args, sizes, order)
        .unwrap_or_else(|error| panic!("{} {sizes:?} {order:?}: {error}", program.name))
}

/// Equal up to rounding, by the size of the element and of the greatest one; NaN equals NaN.
fn check(what: &str, kernel: &Kernel, found: &[Values], expected: &[Values]) {
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        // A number of 16 bits may be rounded to the other side, if its sum was in another order.
        let step = testing::step(kernel.buffers[number].dtype);
        let (Values::Float(found), Values::Float(expected)) = (found, expected) else {
            assert_eq!(found, expected, "{what}, argument {number}");
            continue;
        };
        let scale = expected.iter().filter(|x| x.is_finite()).fold(0.0, |scale: f64, x| scale.max(x.abs()));
        for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
            let same = found.is_nan() && expected.is_nan()
                || found == expected
                || (found - expected).abs() <= (1e-5 + step) * expected.abs() + 2e-6 * scale;
            assert!(same, "{what}, argument {number}, element {place}: {found} instead of {expected}");
        }
    }
}

/// The text is kept in the folder that `LUMINAL_PTX_OUT` names, if it is set, to be assembled: see `scripts/ptxas.sh`.
fn keep(name: &str, text: &str) {
    if let Some(folder) = std::env::var_os("LUMINAL_PTX_OUT") {
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.ptx")), text).unwrap();
    }
}

fn check_program(
    what: &str,
    kernel: &Kernel,
    program: &Program,
    fill: Fill,
    sizes: &[usize],
    orders: &[WarpOrder],
) {
    let text = render_module(&[program]).unwrap_or_else(|error| panic!("{what}: {error}"));
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{what}: {error}\n{text}"));
    let args = testing::inputs(kernel, fill, 7);
    // what is cast to fewer values must be rounded to f32 before
    let casts = ["integers", "casts", "matmul_f16", "matmul_bf16"].iter().any(|name| what.starts_with(name));
    let rounding = if casts { Rounding::F32 } else { Rounding::Exact };
    let expected = meaning::run(kernel, &args, sizes, rounding).unwrap();
    for order in orders {
        let found = run(&module, program, &args, sizes, *order);
        check(&format!("{what} {sizes:?} {fill:?} {order:?}"), kernel, &found, &expected);
    }
}

#[test]
fn all_forms() {
    for (name, kernel, sizes) in testing::all() {
        let program = program(&name, &kernel);
        for sizes in sizes {
            check_program(&name, &kernel, &program, Fill::Mixed, &sizes, &WarpOrder::ALL);
            for fill in [Fill::Negative, Fill::WithNan] {
                check_program(&name, &kernel, &program, fill, &sizes, &[WarpOrder::Rotating]);
            }
        }
    }
}

#[test]
fn all_schedules() {
    let mut programs = vec![];
    for (name, kernel, sizes) in testing::all() {
        let schedules = schedules(&kernel);
        assert_eq!(schedules[0], schedule(&kernel).unwrap(), "{name}");
        assert!(schedules.len() > 1, "{name} has one schedule only");
        for (number, schedule) in schedules.iter().enumerate() {
            let name = format!("{name}_{number}");
            let program = lower(&name, &kernel, schedule).unwrap_or_else(|error| panic!("{name}: {error}"));
            for sizes in &sizes {
                check_program(&name, &kernel, &program, Fill::Negative, sizes, &[WarpOrder::Descending]);
            }
            programs.push(program);
        }
    }
    keep("schedules", &render_module(&programs.iter().collect::<Vec<_>>()).unwrap());
}

/// Sizes at which threads get register tiles and wide accesses.
#[test]
fn large_kernels() {
    let cases = [
        ("large_matmul", testing::matmul(1024, 512, 10)),
        ("large_matmul_tails", testing::matmul(1023, 516, 7)),
        ("large_matmul_odd", testing::matmul(1027, 255, 5)),
        ("large_matmul_transposed", testing::matmul_transposed(130, 68, 196)),
        ("large_gemv", testing::matmul_transposed(1, 300, 1024)),
        ("large_gemv_columns", testing::matmul(1, 300, 1024)),
        ("large_conv", testing::conv(4, 3, 32, 28, 28)),
        ("large_conv_pool", testing::conv_pool(2, 4, 8, 28, 28)),
        ("large_map", testing::clamp(700, 500)),
        ("large_transpose", testing::transpose(300, 260)),
        ("large_softmax", testing::softmax(3, 4000)),
        ("large_layer_norm", testing::layer_norm(100, 768)),
        ("large_linear_softmax", testing::linear_softmax(64, 10, 784)),
        ("large_sum", testing::scalar_sum(10_000)),
    ];
    let programs: Vec<Program> = cases.iter().map(|(name, kernel)| program(name, kernel)).collect();
    keep("large", &render_module(&programs.iter().collect::<Vec<_>>()).unwrap());
    for ((name, kernel), program) in cases.iter().zip(&programs) {
        let name = *name;
        check_program(name, kernel, program, Fill::Mixed, &[], &[WarpOrder::Rotating]);
        if name == "large_matmul" || name == "large_conv" {
            let text = render_module(&[program]).unwrap();
            assert!(text.contains("R2") || text.contains("R4 L16"), "{name} has no register tile:\n{text}");
        }
        if ["large_matmul", "large_matmul_transposed", "large_map", "large_softmax"].contains(&name) {
            assert!(render_module(&[program]).unwrap().contains(".v4.f32"), "{name} has no wide access");
        }
    }
}

#[test]
fn one_module_holds_all_kernels() {
    let programs: Vec<Program> =
        testing::all().iter().map(|(name, kernel, _)| program(name, kernel)).collect();
    let text = render_module(&programs.iter().collect::<Vec<_>>()).unwrap();
    keep("all", &text);
    assert_eq!(text.matches(".version").count(), 1);
    assert_eq!(Module::parse(&text).unwrap().kernels().len(), programs.len());
    assert_eq!(
        text,
        render_module(&programs.iter().collect::<Vec<_>>()).unwrap(),
        "the text is deterministic"
    );
    let twice = render_module(&[&programs[0], &programs[0]]).unwrap_err().to_string();
    assert!(twice.contains("two kernels are named"), "{twice}");
}

/// Numbers at which functions are special, and others over a wide range.
fn special_numbers() -> Vec<f64> {
    let mut numbers: Vec<f32> = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
        1e-40,
        f32::MAX,
        f32::MIN,
        127.9,
        128.0,
        -126.5,
        -149.0,
        -150.5,
        0.999_999_9,
        1.000_000_1,
    ];
    let mut random = SplitMix64::new(3);
    for _ in 0..500 {
        let bits = random.unit() * 2.0 - 1.0;
        numbers.extend([bits, bits * 30.0, bits * 2000.0, bits * 90_000.0].map(|x| x as f32));
    }
    numbers.into_iter().map(f64::from).collect()
}

/// A kernel `y[i] = f(x[i])`, and the same on these numbers.
fn apply(name: &str, numbers: &[f64], f: impl Fn(&E) -> E) -> Vec<f64> {
    let mut builder = Builder::default();
    let i = builder.axis("i", numbers.len());
    let x = builder.input("x", Dtype::F32, &[numbers.len()]);
    let y = builder.output("y", Dtype::F32, &[numbers.len()]);
    builder.map(y, &[i], f(&testing::load(x, &[i])));
    let program = program(name, &builder.kernel);
    let text = render_module(&[&program]).unwrap();
    let args = [Values::Float(numbers.to_vec()), Values::zeros(Dtype::F32, numbers.len())];
    match run(&Module::parse(&text).unwrap(), &program, &args, &[], WarpOrder::Ascending).swap_remove(1) {
        Values::Float(result) => result,
        other => panic!("{name} gives {other:?}"),
    }
}

#[test]
fn functions_over_their_range() {
    let numbers = special_numbers();
    for op in [Unary::Exp2, Unary::Log2, Unary::Sin, Unary::Sqrt, Unary::Recip] {
        let found = apply("function", &numbers, |x| testing::unary(op, x));
        for (x, found) in numbers.iter().zip(found) {
            let Scalar::Float(expected) = meaning::unary(op, Scalar::Float(*x), Rounding::F32) else {
                panic!()
            };
            if op == Unary::Sin && x.is_finite() && x.abs() > 1e5 {
                // only the range is promised
                assert!(found.abs() <= 1.0, "sin({x}) = {found}");
                continue;
            }
            let ulp = (expected.abs() * 2f64.powi(-23)).max(2f64.powi(-149));
            // a sine near a multiple of pi is as exact as the reduced argument
            let allowed = if op == Unary::Sin { 2.0 * ulp + 1e-10 } else { ulp };
            let same = found == expected
                || (found.is_nan() && expected.is_nan())
                || (found - expected).abs() <= allowed;
            assert!(same, "{op:?}({x}) = {found} instead of {expected}");
        }
    }
}

#[test]
fn integers_divide_towards_minus_infinity() {
    let cast = |to, x: &E| Rc::new(Expr::Cast(to, x.clone()));
    let both: Vec<(i32, i32)> = (-9..9).flat_map(|x| [-7, -4, -1, 0, 1, 3, 8].map(|y| (x, y))).collect();
    let numbers: Vec<f64> = both.iter().map(|(x, _)| f64::from(*x)).collect();
    for op in [Binary::Mod, Binary::FloorDiv] {
        for y in [-7, -4, -1, 0, 1, 3, 8] {
            // a literal, and a value that is only known when the kernel runs
            for literal in [true, false] {
                let found = apply("division", &numbers, |x| {
                    let x = cast(Dtype::I32, x);
                    let zero = Rc::new(Expr::Binary(Binary::Sub, x.clone(), x.clone()));
                    let y: E = Rc::new(Expr::Int(y));
                    let y = if literal { y } else { Rc::new(Expr::Binary(Binary::Add, zero, y)) };
                    cast(Dtype::F32, &Rc::new(Expr::Binary(op, x, y)))
                });
                for (x, found) in numbers.iter().zip(found) {
                    let (x, y) = (Scalar::Int(*x as i32), Scalar::Int(y));
                    let Scalar::Int(expected) = meaning::binary(op, x, y, Rounding::F32) else { panic!() };
                    assert_eq!(found, f64::from(expected), "{op:?} of {x:?} and {y:?}");
                }
            }
        }
    }
}

/// Bit for bit: every float of 16 bits, and what is half way between two of them.
#[test]
fn conversions_between_all_types() {
    for from in Dtype::ALL {
        let given = testing::values_to_convert(from);
        for to in Dtype::ALL {
            let name = format!("{from}_to_{to}");
            let kernel = testing::conversion(from, to, given.len());
            let program = program(&name, &kernel);
            let text = render_module(&[&program]).unwrap_or_else(|error| panic!("{name}: {error}"));
            keep(&name, &text);
            let module = Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
            let args = [given.clone(), Values::zeros(to, given.len())];
            let expected = meaning::run(&kernel, &args, &[], Rounding::F32).unwrap().remove(1);
            let found = run(&module, &program, &args, &[], WarpOrder::Ascending).remove(1);
            for place in 0..given.len() {
                let same = match (found.get(place), expected.get(place)) {
                    (Scalar::Float(x), Scalar::Float(y)) => {
                        x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
                    }
                    (x, y) => x == y,
                };
                let (x, y, right) = (given.get(place), found.get(place), expected.get(place));
                assert!(same, "{name}: {x:?} becomes {y:?}, not {right:?}");
            }
        }
    }
}

#[test]
fn weights_in_panels() {
    // B[k, j] as [j / 16][k][16]
    let rest = Digit::REST;
    for (m, n, k) in [(70, 48, 9), (5, 37, 12), (512, 512, 4)] {
        let mut kernel = testing::matmul(m, n, k);
        let panel = Digit { size: 16, stride: 1 };
        let panels = Digit { size: rest, stride: 16 * k };
        kernel.buffers[1].storage = vec![vec![Digit { size: rest, stride: 16 }], vec![panel, panels]];
        let name = format!("panels_{m}_{n}_{k}");
        let program = program(&name, &kernel);
        check_program(&name, &kernel, &program, Fill::Mixed, &[], &[WarpOrder::Rotating]);
    }
}

/// Kernels whose threads exchange values lose their meaning without any one barrier, and the interpreter says so.
#[test]
fn each_barrier_is_needed() {
    let cases = [
        ("softmax", testing::softmax(3, 4000), 3),
        ("layer_norm", testing::layer_norm(4, 2000), 3),
        ("conv_pool", testing::conv_pool(2, 1, 16, 8, 8), 1),
        ("column_statistics", testing::column_statistics(12, 20), 1),
        ("gemv", testing::matmul_transposed(1, 300, 1024), 1),
    ];
    for (name, kernel, barriers) in cases {
        let program = program(name, &kernel);
        let text = render_module(&[&program]).unwrap();
        let args = testing::inputs(&kernel, Fill::Mixed, 1);
        let barrier = "    bar.sync 0;\n";
        assert_eq!(text.matches(barrier).count(), barriers, "{name}\n{text}");
        for (place, _) in text.match_indices(barrier) {
            let broken = format!("{}{}", &text[..place], &text[place + barrier.len()..]);
            let module = Module::parse(&broken).unwrap();
            let errors: Vec<String> = WarpOrder::ALL
                .iter()
                .filter_map(|order| try_run(&module, &program, &args, &[], *order).err())
                .map(|error| error.to_string())
                .collect();
            let found = errors.iter().any(|error| error.contains("race") || error.contains("never written"));
            assert!(found, "{name}: nobody misses a barrier: {errors:?}\n{broken}");
        }
    }
}

/// The text of some kernels, to be read when it changes; `UPDATE_GOLDENS=1` writes it anew.
#[test]
fn texts_are_as_they_were() {
    let cases =
        [("linear_softmax", testing::linear_softmax(6, 10, 33)), ("matmul", testing::matmul(64, 32, 33))];
    for (name, kernel) in cases {
        let text = render_module(&[&program(name, &kernel)]).unwrap();
        let path = format!("{}/tests/golden/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == known, "{path} differs; UPDATE_GOLDENS=1 cargo test writes this:\n{text}");
    }
}

/// The layers of a small network for images, with a batch that is known only when they run.
#[test]
fn layers_with_a_free_batch() {
    let free_batch = |mut kernel: Kernel, max: usize| {
        kernel.axes[0].max = max;
        kernel.axes[0].free = Some(0);
        kernel
    };
    let cases = [
        ("batch_conv", free_batch(testing::conv(6, 3, 20, 8, 8), 6)),
        ("batch_conv_pool", free_batch(testing::conv_pool(6, 1, 16, 8, 8), 6)),
        ("batch_linear_softmax", free_batch(testing::linear_softmax(20, 10, 128), 20)),
        ("batch_linear", free_batch(testing::matmul(20, 64, 96), 20)),
    ];
    let mut programs = vec![];
    for (name, kernel) in cases {
        let program = program(name, &kernel);
        for batch in [0, 1, 2, 5, 6] {
            check_program(name, &kernel, &program, Fill::Mixed, &[batch], &[WarpOrder::Rotating]);
        }
        let geometry = launch(&program);
        assert!(geometry.threads >= 32 && !geometry.grid.is_empty(), "{name} runs in one block");
        programs.push(program);
    }
    keep("batch", &render_module(&programs.iter().collect::<Vec<_>>()).unwrap());
}

#[test]
fn a_kernel_without_room_is_refused() {
    // the mean of each column is needed by every block
    let error = schedule(&testing::column_statistics(4, 20_000)).unwrap_err().to_string();
    assert!(error.contains("bytes of shared memory"), "{error}");
    assert!(schedules(&testing::column_statistics(4, 20_000)).is_empty());
    assert!(schedule(&testing::column_statistics(4, 8_000)).is_ok(), "32 KB are there");
}
