//! Compiled models against the reference interpreter: the code in this binary on the CPU, every instruction set that this
//! machine has; and the PTX in this binary, run by the interpreter.

mod models;

use luminal::graph::{Dim, Graph, Op};
use luminal::reference::{self, Data, DenseTensor as Tensor, Feeds, Tolerance, compare};
use luminal::rt::{Dtype, Executable, GridAxis, InputRef, Isa, Session};
use luminal::{Device, Weights};
use luminal_cuda::interpreter::{Launch, Memory, Module, WarpOrder};
use models::{blocks, classify, decoder, types, windows};

/// Of each element, in proportion to the greatest one where that is more than 1: sums of great terms round like these.
fn tolerance(expected: &Tensor) -> Tolerance {
    let greatest = match &expected.data {
        Data::F32(x) => x.iter().filter(|x| x.is_finite()).fold(1.0f32, |most, x| most.max(x.abs())),
        _ => 1.0,
    };
    Tolerance { absolute: 2e-5 * greatest, relative: 2e-5 }
}

struct Model {
    graph: Graph,
    plan: &'static Executable,
}

fn all() -> Vec<Model> {
    let model = |text: &str, plan| Model { graph: Graph::parse(text).unwrap(), plan };
    vec![
        model(classify::GRAPH, &classify::PLAN),
        model(blocks::attention::GRAPH, &blocks::attention::PLAN),
        model(blocks::long_attention::GRAPH, &blocks::long_attention::PLAN),
        model(blocks::cnn::GRAPH, &blocks::cnn::PLAN),
        model(blocks::step::GRAPH, &blocks::step::PLAN),
        model(blocks::words::GRAPH, &blocks::words::PLAN),
        model(types::mixed::GRAPH, &types::mixed::PLAN),
        model(decoder::decode::GRAPH, &decoder::decode::PLAN),
        model(decoder::summarise::GRAPH, &decoder::summarise::PLAN),
        model(decoder::compare::GRAPH, &decoder::compare::PLAN),
        model(decoder::encode::GRAPH, &decoder::encode::PLAN),
        model(windows::shapes::GRAPH, &windows::shapes::PLAN),
        model(windows::filters::GRAPH, &windows::filters::PLAN),
    ]
}

fn tensor(dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Tensor {
    Tensor { shape: shape.to_vec(), data: Data::from_bytes(dtype, bytes) }
}

impl Model {
    fn named<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        self.graph.nodes.iter().filter_map(move |node| match &node.op {
            Op::Input(name) | Op::Param(name) | Op::State(name) if node.op.name() == kind => {
                Some(name.as_str())
            }
            _ => None,
        })
    }

    /// Feeds of a first run: states are zero.
    fn feeds(&self, free: &[usize], seed: u64) -> Feeds {
        let mut feeds = reference::random_feeds(&self.graph, free, seed).unwrap();
        for name in self.named("state") {
            let zeros = Tensor::zeros(&feeds[name].shape, feeds[name].dtype());
            feeds.insert(name.into(), zeros);
        }
        feeds
    }

    fn free_sizes(&self) -> Vec<Vec<usize>> {
        let max: Vec<usize> = self.graph.free.iter().map(|d| d.max).collect();
        match max.is_empty() {
            true => vec![vec![]],
            false => {
                [1, 2, 7, usize::MAX].map(|n| self.graph.sizes_near(&vec![n; max.len()]).unwrap()).into()
            }
        }
    }
}

#[test]
fn cpu_code_agrees_with_the_reference() {
    for model in all() {
        let name = &model.plan.model;
        for isa in [Isa::X86V3, Isa::Baseline] {
            let bounds = model.graph.sizes_near(&vec![usize::MAX; model.graph.free.len()]).unwrap();
            let first = model.feeds(&bounds, 7);
            let weights = Weights::from_tensors(model.named("param").map(|name| {
                let tensor = &first[name];
                (name, tensor.dtype(), tensor.shape.clone(), tensor.data.to_bytes())
            }));
            let device = Device::cpu().limited_to(isa);
            let mut session = Session::new(model.plan, device, &weights.unwrap()).unwrap();
            let mut states: Feeds =
                model.named("state").map(|name| (name.into(), first[name].clone())).collect();
            for (number, free) in model.free_sizes().iter().enumerate() {
                let mut feeds = model.feeds(free, 100 + number as u64);
                let kept = model.named("param").map(|name| (name.to_string(), first[name].clone()));
                feeds.extend(kept.chain(states.clone()));
                let expected = reference::run(&model.graph, &feeds, free).unwrap();
                let inputs: Vec<_> = model
                    .named("input")
                    .map(|name| (feeds[name].data.to_bytes(), &feeds[name].shape))
                    .collect();
                let inputs: Vec<_> = inputs.iter().map(|(data, sizes)| InputRef { data, sizes }).collect();
                session.run(&inputs).unwrap();
                for (position, wanted) in expected.outputs.iter().enumerate() {
                    let output = session.output(position);
                    let computed = tensor(wanted.dtype(), output.sizes, output.data);
                    compare(wanted, &computed, tolerance(wanted)).unwrap_or_else(|e| {
                        panic!("{name}, output {position}, {device}, free {free:?}: {e}")
                    });
                }
                states = expected.states;
            }
        }
    }
}

/// Blocks of a grid for these free sizes.
fn blocks_of(grid: &[GridAxis], free: &[usize]) -> usize {
    let size = |dim: Dim| match dim {
        Dim::Fixed(n) => n,
        Dim::Free { index, .. } => free[index],
    };
    grid.iter().map(|axis| size(axis.size).div_ceil(axis.block)).product()
}

/// Row-major at the bounds of free sizes: how tensors lie on a GPU.
fn spread(tensor: &Tensor, bounds: &[usize]) -> Vec<u8> {
    let element = tensor.dtype().bytes();
    let mut memory = vec![0; bounds.iter().product::<usize>() * element];
    let compact = tensor.data.to_bytes();
    each(&tensor.shape, bounds, |number, place| {
        memory[place * element..][..element].copy_from_slice(&compact[number * element..][..element]);
    });
    memory
}

fn each(shape: &[usize], bounds: &[usize], mut visit: impl FnMut(usize, usize)) {
    for number in 0..shape.iter().product() {
        let (mut left, mut place, mut stride) = (number, 0, 1);
        for (size, bound) in shape.iter().zip(bounds).rev() {
            place += left % size * stride;
            left /= size;
            stride *= bound;
        }
        visit(number, place);
    }
}

#[test]
fn ptx_agrees_with_the_reference() {
    for model in all() {
        for order in [WarpOrder::Ascending, WarpOrder::Descending] {
            for free in model.free_sizes() {
                run_ptx(&model, &free, order);
            }
        }
    }
}

/// Launches every kernel of a plan, as a GPU's runtime will.
fn run_ptx(model: &Model, free: &[usize], order: WarpOrder) {
    let plan = model.plan;
    let feeds = model.feeds(free, 3);
    let expected = reference::run(&model.graph, &feeds, free).unwrap();
    let module = Module::parse(&plan.ptx).unwrap();
    let mut memory = Memory::new();
    let mut addresses: Vec<u64> =
        plan.buffers.iter().map(|buffer| memory.allocate(buffer.bytes.max(4))).collect();
    for port in plan.inputs.iter().chain(&*plan.states) {
        let bounds: Vec<usize> = port.shape.iter().map(|&d| d.max()).collect();
        addresses[port.buffer] = memory.upload(&spread(&feeds[&*port.name], &bounds));
    }
    for param in &*plan.params {
        let address = memory.upload(&feeds[&*param.name].data.to_bytes());
        for packing in &*param.packings {
            addresses[packing.buffer] = address; // on a GPU a weight lies as it is in the file
        }
    }
    for launch in plan.load.iter().chain(&*plan.run) {
        let kernel = &plan.kernels[launch.kernel];
        let cuda = kernel.cuda.as_ref().expect("every kernel has PTX");
        let blocks = blocks_of(&cuda.grid, free);
        if blocks == 0 {
            continue;
        }
        let entry = module.kernel(&kernel.name).unwrap();
        // A kernel takes the free sizes up to the last one that it needs.
        let sizes = free.iter().map(|n| *n as u64);
        let arguments = launch.args.iter().map(|buffer| addresses[*buffer]).chain(sizes);
        let arguments: Vec<u64> = arguments.take(entry.parameters().len()).collect();
        Launch::new(entry, cuda.threads)
            .blocks(blocks)
            .order(order)
            .run(&mut memory, &arguments)
            .unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
    }
    for (port, wanted) in plan.outputs.iter().zip(&expected.outputs) {
        let bounds: Vec<usize> = port.shape.iter().map(|&d| d.max()).collect();
        // Beyond the free sizes nothing is written, and reading it is an error: each element is taken alone.
        let element = port.dtype.bytes();
        let mut compact = vec![];
        each(&wanted.shape, &bounds, |_, place| {
            let address = addresses[port.buffer] + (place * element) as u64;
            compact.extend(memory.download(address, element).unwrap());
        });
        let computed = tensor(port.dtype, &wanted.shape, &compact);
        compare(wanted, &computed, tolerance(wanted))
            .unwrap_or_else(|e| panic!("{}, output {}, free {free:?}: {e}", plan.model, port.name));
    }
}
