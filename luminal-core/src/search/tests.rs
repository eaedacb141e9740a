//! Whole searches: plans against the reference interpreter, and the plans of traced models.

use super::partition::When;
use super::term::{Buffers, Precision};
use super::testing::{Random, buffers, cases, difference, evaluate, models, random_inputs, windows};
use super::*;
use crate::dtype::{bf16, f16, nearest_bf16, nearest_f16};
use crate::graph::Op;
use crate::reference::{self, Data, Tensor, Tolerance, compare};
use crate::tensor::nn::{Conv2d, Linear};
use crate::tensor::{Axis, D, Dim, DimInfo, Module, Scope, input, output, pool, trace, weights};

fn all_small() -> Vec<(String, Graph)> {
    let all = models::small().into_iter().map(|(name, g)| (name.to_string(), g));
    all.chain(cases::folds())
        .chain(cases::traps())
        .chain(cases::separate())
        .chain(cases::views())
        .chain(windows())
        .collect()
}

#[test]
fn test_graphs_are_well_formed() {
    for (name, g) in all_small().into_iter().chain(models::real().into_iter().map(|(n, g)| (n.into(), g))) {
        g.verify().unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// In `f64`, so that only the rounding of folded literals is left.
#[test]
fn plans_have_the_values_of_the_graph() {
    for (name, g) in all_small() {
        let free = g.sizes_near(&vec![4; g.free.len()]).unwrap();
        let inputs = random_inputs(&g, &free, &mut Random(11));
        let values = evaluate(&g, &inputs, &free);
        for fuse in [true, false] {
            let found = search(&g, &Options { fuse, ..Options::default() }).unwrap();
            let given = buffers(&g, &values, &free);
            let out =
                found.execute(&g, given, &free, Precision::Double).unwrap_or_else(|e| panic!("{name}: {e}"));
            for root in &found.dag.roots {
                let worst = difference(&out[&root.node].1, &values[root.node]);
                assert!(worst < 1e-5, "{name}, fuse = {fuse}, node {}: {worst:e}\n{found}", root.node);
            }
        }
    }
}

fn numbers(data: &Data) -> Vec<f64> {
    match data {
        Data::F32(x) => x.iter().map(|x| f64::from(*x)).collect(),
        Data::F16(x) => x.iter().map(|x| x.to_f64()).collect(),
        Data::BF16(x) => x.iter().map(|x| x.to_f64()).collect(),
        Data::I32(x) => x.iter().map(|x| f64::from(*x)).collect(),
        Data::I64(x) => x.iter().map(|x| *x as f64).collect(),
        Data::U8(x) => x.iter().map(|x| f64::from(*x)).collect(),
        Data::Bool(x) => x.iter().map(|x| f64::from(u8::from(*x))).collect(),
    }
}

fn tensor(like: &Tensor, values: &[f64]) -> Tensor {
    let data = match &like.data {
        Data::F32(_) => Data::from(values.iter().map(|x| *x as f32).collect::<Vec<f32>>()),
        Data::F16(_) => Data::from(values.iter().map(|x| nearest_f16(*x)).collect::<Vec<f16>>()),
        Data::BF16(_) => Data::from(values.iter().map(|x| nearest_bf16(*x)).collect::<Vec<bf16>>()),
        Data::I64(_) => Data::from(values.iter().map(|x| *x as i64).collect::<Vec<i64>>()),
        Data::U8(_) => Data::from(values.iter().map(|x| *x as u8).collect::<Vec<u8>>()),
        Data::I32(_) => Data::from(values.iter().map(|x| *x as i32).collect::<Vec<i32>>()),
        Data::Bool(_) => Data::from(values.iter().map(|x| *x != 0.0).collect::<Vec<bool>>()),
    };
    Tensor::new(&like.shape, data).unwrap()
}

/// In `f32` as the program computes.
#[test]
fn plans_agree_with_the_reference_interpreter() {
    for (name, g) in all_small() {
        for free in [1, 3] {
            let free = g.sizes_near(&vec![free; g.free.len()]).unwrap();
            let feeds = reference::random_feeds(&g, &free, 3).unwrap();
            let right = reference::run(&g, &feeds, &free).unwrap();
            let mut given = Buffers::new();
            for (id, node) in g.nodes.iter().enumerate() {
                if let Op::Input(name) | Op::Param(name) | Op::State(name) = &node.op {
                    given.insert(id, (feeds[name].shape.clone(), numbers(&feeds[name].data)));
                }
            }
            let found = search(&g, &Options::default()).unwrap();
            let out = found.execute(&g, given, &free, Precision::Single).unwrap();
            for (output, expected) in g.outputs.iter().zip(&right.outputs) {
                let actual = tensor(expected, &out[&output.1].1);
                compare(expected, &actual, Tolerance { absolute: 1e-4, relative: 1e-4 })
                    .unwrap_or_else(|e| panic!("{name}: {e}\n{found}"));
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_run() {
    for (name, g) in models::real() {
        let text = || search(&g, &Options::default()).unwrap().to_string();
        assert_eq!(text(), text(), "{name}");
    }
}

#[derive(Clone, Copy)]
struct Batch;
impl Dim for Batch {
    const INFO: DimInfo = DimInfo::Free { name: "Batch", module: module_path!(), max: 32 };
}
impl crate::tensor::Fits<Batch> for Batch {}
impl crate::tensor::Fits<crate::tensor::One> for Batch {}

type T<S> = crate::tensor::Tensor<S>;
type Conv3x3<const I: usize, const O: usize> = Conv2d<I, O, 3, 1, 1>;

struct Digits {
    conv1: Conv3x3<1, 16>,
    conv2: Conv3x3<16, 32>,
    conv3: Conv3x3<32, 64>,
    fc1: Linear<256, 128>,
    fc2: Linear<128, 10>,
}

impl Module for Digits {
    fn build(scope: &Scope) -> Self {
        Digits {
            conv1: Module::build(&scope.field("conv1", "conv1")),
            conv2: Module::build(&scope.field("conv2", "conv2")),
            conv3: Module::build(&scope.field("conv3", "conv3")),
            fc1: Module::build(&scope.field("fc1", "fc1")),
            fc2: Module::build(&scope.field("fc2", "fc2")),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(crate::graph::NodeId)) {
        self.conv1.visit(f);
        self.conv2.visit(f);
        self.conv3.visit(f);
        self.fc1.visit(f);
        self.fc2.visit(f);
    }
}

/// Three convolutions, two poolings, two dense layers over 8 x 8 images.
fn digits<B: Dim>() -> Graph {
    let traced = trace(|| {
        let image: T<(B, D<1>, D<8>, D<8>)> = input("image");
        let net: Digits = weights("net");
        let x: T<(B, D<16>, D<8>, D<8>)> = net.conv1.forward(image).relu();
        let x: T<(B, D<32>, D<8>, D<8>)> = net.conv2.forward(x).relu();
        let x: T<(B, D<32>, D<4>, D<4>)> = x.max_pool2d(pool(2));
        let x: T<(B, D<64>, D<4>, D<4>)> = net.conv3.forward(x).relu();
        let x: T<(B, D<64>, D<2>, D<2>)> = x.max_pool2d(pool(2));
        let x: T<(B, D<256>)> = x.reshape();
        output(&net.fc2.forward(net.fc1.forward(x).relu()).softmax(Axis::<1>));
    });
    assert_eq!(traced.mistakes, []);
    traced.graph
}

/// Compares with a file beside this one; `UPDATE_GOLDENS=1` writes it.
fn golden(name: &str, text: &str) {
    let path = format!("{}/src/search/goldens/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == text,
        "{path} differs; look at the change, then run with UPDATE_GOLDENS=1. Now:\n{text}"
    );
}

#[test]
fn plan_of_a_small_convolutional_network() {
    let found = search(&digits::<D<1>>(), &Options::default()).unwrap();
    assert_eq!(found.kernels.len(), 5, "{found}");
    golden("digits", &found.to_string());
}

#[test]
fn plan_of_a_batch_of_free_size() {
    let g = digits::<Batch>();
    let found = search(&g, &Options::default()).unwrap();
    assert_eq!(found.kernels.len(), 5, "{found}");
    assert!(found.kernels.iter().all(|kernel| kernel.when == When::Run));
    golden("digits_batch", &found.to_string());
}
