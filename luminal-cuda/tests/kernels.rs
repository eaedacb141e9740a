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
use luminal_cuda::schedule::{launch, schedule};

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

fn check_kernel(name: &str, kernel: &Kernel, sizes: &[Vec<usize>]) {
    let program = program(name, kernel);
    let text = render_module(&[&program]).unwrap_or_else(|error| panic!("{name}: {error}"));
    if let Some(folder) = std::env::var_os("LUMINAL_PTX_OUT") {
        let path = std::path::Path::new(&folder).join(format!("{name}.ptx"));
        std::fs::write(path, &text).unwrap();
    }
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    for sizes in sizes {
        for fill in [Fill::Mixed, Fill::Negative, Fill::WithNan] {
            let args = testing::inputs(kernel, fill, 7);
            let rounding = if name == "integers" { Rounding::F32 } else { Rounding::Exact };
            let expected = meaning::run(kernel, &args, sizes, rounding).unwrap();
            let orders: &[WarpOrder] =
                if fill == Fill::Mixed { &WarpOrder::ALL } else { &[WarpOrder::Rotating] };
            for order in orders {
                let found = run(&module, &program, &args, sizes, *order);
                check(&format!("{name} {sizes:?} {fill:?} {order:?}"), &found, &expected);
            }
        }
    }
}

#[test]
fn all_forms() {
    let only = std::env::var("KERNEL").ok();
    for (name, kernel, sizes) in testing::all() {
        if only.as_ref().is_none_or(|only| *only == name) {
            check_kernel(&name, &kernel, &sizes);
        }
    }
}
