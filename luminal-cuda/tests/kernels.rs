//! Kernels of every form: the PTX of their GPU schedules, run by the interpreter, against their meaning.
#![cfg(all(feature = "interpreter", feature = "build"))]

use luminal_core::dtype::Dtype;
use luminal_core::kernel::interpret::{from_storage, to_storage};
use luminal_core::kernel::ir::Kernel;
use luminal_core::kernel::lower::lower;
use luminal_core::kernel::meaning::{self, Rounding, Values};
use luminal_core::kernel::testing::{self, Fill};
use luminal_core::kernel::tile::Program;
use luminal_cuda::interpreter::{Launch, Memory, Module, WarpOrder};
use luminal_cuda::ptx::render_module;
use luminal_cuda::schedule::{launch, schedule, schedules};

fn to_bytes(values: &Values) -> Vec<u8> {
    match values {
        Values::Float(values) => values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect(),
        Values::Int(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::Bool(values) => values.iter().map(|value| u8::from(*value)).collect(),
    }
}

fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Values {
    let words = || bytes.chunks_exact(4).map(|word| <[u8; 4]>::try_from(word).unwrap());
    match dtype {
        Dtype::F32 => Values::Float(words().map(|word| f64::from(f32::from_le_bytes(word))).collect()),
        Dtype::I32 => Values::Int(words().map(i32::from_le_bytes).collect()),
        Dtype::Bool => Values::Bool(bytes.iter().map(|byte| *byte != 0).collect()),
    }
}

fn program(name: &str, kernel: &Kernel) -> Program {
    let schedule = schedule(kernel).unwrap_or_else(|error| panic!("{name}: {error}"));
    lower(name, kernel, &schedule).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Runs a program's entry and returns its arguments afterwards.
fn run(
    module: &Module,
    program: &Program,
    args: &[Values],
    sizes: &[usize],
    order: WarpOrder,
) -> Vec<Values> {
    let name = &program.name;
    let buffers = &program.kernel.buffers[..program.kernel.args];
    let mut memory = Memory::new();
    let addresses: Vec<u64> = buffers
        .iter()
        .zip(args)
        .map(|(buffer, values)| memory.upload(&to_bytes(&to_storage(buffer, values))))
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
            .run(&mut memory, &arguments)
            .unwrap_or_else(|error| panic!("{name} {sizes:?} {order:?}: {error}"));
    }
    let results = buffers.iter().zip(&addresses).map(|(buffer, address)| {
        let length = buffer.len() * buffer.dtype.bytes();
        let bytes = if length == 0 { &[] } else { memory.download(*address, length).unwrap() };
        from_storage(buffer, &from_bytes(buffer.dtype, bytes))
    });
    results.collect()
}

/// Equal up to rounding, by the size of the element and of the greatest one; NaN equals NaN.
fn check(what: &str, found: &[Values], expected: &[Values]) {
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        let (Values::Float(found), Values::Float(expected)) = (found, expected) else {
            assert_eq!(found, expected, "{what}, argument {number}");
            continue;
        };
        let scale = expected.iter().filter(|x| x.is_finite()).fold(0.0, |scale: f64, x| scale.max(x.abs()));
        for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
            let same = found.is_nan() && expected.is_nan()
                || found == expected
                || (found - expected).abs() <= 1e-5 * expected.abs() + 2e-6 * scale;
            assert!(same, "{what}, argument {number}, element {place}: {found} instead of {expected}");
        }
    }
}

/// Where `LUMINAL_PTX_OUT` asks for it, the text is kept, to be assembled.
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
    keep(&program.name, &text);
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{what}: {error}\n{text}"));
    let args = testing::inputs(kernel, fill, 7);
    // what is cast to i32 must be rounded to f32 before
    let rounding = if what.starts_with("integers") { Rounding::F32 } else { Rounding::Exact };
    let expected = meaning::run(kernel, &args, sizes, rounding).unwrap();
    for order in orders {
        let found = run(&module, program, &args, sizes, *order);
        check(&format!("{what} {sizes:?} {fill:?} {order:?}"), &found, &expected);
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
    for (name, kernel, sizes) in testing::all() {
        let schedules = schedules(&kernel);
        assert!(schedules.len() > 1, "{name} has one schedule only");
        for (number, schedule) in schedules.iter().enumerate() {
            let name = format!("{name}_{number}");
            let program = lower(&name, &kernel, schedule).unwrap_or_else(|error| panic!("{name}: {error}"));
            for sizes in &sizes {
                check_program(&name, &kernel, &program, Fill::Negative, sizes, &[WarpOrder::Descending]);
            }
        }
    }
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
    for (name, kernel) in cases {
        let program = program(name, &kernel);
        check_program(name, &kernel, &program, Fill::Mixed, &[], &[WarpOrder::Rotating]);
        if name == "large_matmul" || name == "large_conv" {
            let text = render_module(&[&program]).unwrap();
            assert!(text.contains("R2") || text.contains("R4 L16"), "{name} has no register tile:\n{text}");
        }
        if ["large_matmul", "large_matmul_transposed", "large_map", "large_softmax"].contains(&name) {
            assert!(render_module(&[&program]).unwrap().contains(".v4.f32"), "{name} has no wide access");
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
