//! Packed weights: the compositions on planes give the numbers that the authors' decoder gives, bit by bit, and layers
//! compute with them.

use half::f16;
use luminal_core::dtype::Dtype;
use luminal_core::graph::{Dim, Graph, Op};
use luminal_core::reference::{self, Data, Feeds, Tensor};
use luminal_core::tensor::nn::{
    Embedding, Linear, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0, WeightFormat,
};
use luminal_core::tensor::{self as t, D, input, output, trace, weights};
use luminal_core::weights::{BLOCK_FORMATS, BlockFormat, StoredDtype, Weights};
use serde::Deserialize;
use std::collections::BTreeMap;

const ROWS: usize = 3;
const COLUMNS: usize = 512;

fn data(name: &str) -> Weights {
    Weights::open(format!("{}/tests/data/weights/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The planes of packed bytes as tensors, under the names of their parameters.
fn planes(name: &str, format: &BlockFormat, shape: &[usize], bytes: &[u8]) -> Vec<(String, Tensor)> {
    let planes = format.planes.iter().map(|plane| {
        let bytes = format.plane_bytes(plane, bytes);
        let data: Data = match plane.dtype {
            StoredDtype::F16 => {
                bytes.as_chunks().0.iter().map(|x| f16::from_le_bytes(*x)).collect::<Vec<_>>().into()
            }
            StoredDtype::U8 => bytes.into(),
            other => panic!("{other}"),
        };
        (format.plane_name(name, plane), Tensor::new(&format.plane_shape(shape, plane), data).unwrap())
    });
    planes.collect()
}

/// What the composition makes of packed bytes.
fn composed(format: &BlockFormat, shape: &[usize], bytes: &[u8]) -> Vec<f32> {
    let planes = planes("w", format, shape, bytes);
    let mut graph = Graph::default();
    let nodes: Vec<_> = planes
        .iter()
        .map(|(name, tensor)| {
            let shape: Vec<_> = tensor.shape.iter().map(|size| Dim::Fixed(*size)).collect();
            graph.param(name, &shape, tensor.dtype())
        })
        .collect();
    let values = graph.dequantise(format, &nodes);
    graph.outputs.push(("values".into(), values));
    graph.verify().unwrap();
    let output = reference::run(&graph, &planes.into_iter().collect(), &[]).unwrap().outputs.remove(0);
    assert_eq!(output.shape, shape);
    output.as_f32().unwrap().to_vec()
}

#[track_caller]
fn assert_same_bits(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    // There is one NaN only; its bits mean nothing.
    let same = |x: &f32, y: &f32| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    let differs = found.iter().zip(expected).position(|(x, y)| !same(x, y));
    assert_eq!(differs, None, "{what}: {:?}", differs.map(|i| (found[i], expected[i])));
}

#[test]
fn compositions_are_the_formats() {
    let (packed, expected) = (data("formats.gguf"), data("formats-expected.safetensors"));
    for format in &BLOCK_FORMATS {
        let name = format.dtype.to_string();
        let bytes = packed.tensor(&name).unwrap().data;
        let expected = expected.values(&name).unwrap();
        assert_same_bits(&composed(format, &[ROWS, COLUMNS], bytes), &expected, &name);
        // With any number of axes in front, none included.
        let row = &bytes[..bytes.len() / ROWS];
        assert_same_bits(&composed(format, &[COLUMNS], row), &expected[..COLUMNS], &name);
        assert_same_bits(&composed(format, &[1, 1, COLUMNS], row), &expected[..COLUMNS], &name);
    }
}

/// Scales of every kind - subnormal, infinite, NaN, negative - against our own decoder, which is an independent one.
#[test]
fn compositions_agree_with_the_decoder_on_random_bytes() {
    let mut random = reference::SplitMix64::new(5);
    for format in &BLOCK_FORMATS {
        let name = format.dtype.to_string();
        let bytes: Vec<u8> = (0..4 * format.dtype.block().1).map(|_| (random.unit() * 256.0) as u8).collect();
        let sizes = [4 * format.dtype.block().0 as u64];
        let mut file =
            b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0w\x01\0\0\0".to_vec();
        let number = data("formats.gguf").tensor(&name).map(|_| gguf_number(format.dtype)).unwrap();
        file.extend(sizes[0].to_le_bytes());
        file.extend(u32::to_le_bytes(number));
        file.extend(u64::to_le_bytes(0));
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(&bytes);
        let decoded = Weights::from_bytes(file).unwrap().values("w").unwrap();
        assert_same_bits(&composed(format, &[sizes[0] as usize], &bytes), &decoded, &name);
    }
}

fn gguf_number(dtype: StoredDtype) -> u32 {
    match dtype {
        StoredDtype::Q4_0 => 2,
        StoredDtype::Q4_1 => 3,
        StoredDtype::Q5_0 => 6,
        StoredDtype::Q5_1 => 7,
        StoredDtype::Q8_0 => 8,
        StoredDtype::Q4_K => 12,
        StoredDtype::Q5_K => 13,
        StoredDtype::Q6_K => 14,
        other => panic!("{other}"),
    }
}

#[derive(Deserialize)]
struct Cases {
    numeric_cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    inputs: BTreeMap<String, Values>,
    graph: Vec<Step>,
    expected: BTreeMap<String, Values>,
}

#[derive(Deserialize)]
struct Values {
    shape: Vec<usize>,
    #[serde(default)]
    data: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Step {
    op: String,
    params: BTreeMap<String, serde_json::Value>,
}

/// Q01, Q03, Q05 and Q11 of the cases.
#[test]
fn cases_of_packed_weights() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/cases/cases.dev.json");
    let cases: Cases = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut seen = vec![];
    for case in cases.numeric_cases.iter().filter(|case| case.graph[0].op == "dequant") {
        let kind = case.graph[0].params["kind"].as_str().unwrap();
        let format = BLOCK_FORMATS.iter().find(|format| format.dtype.to_string() == kind).unwrap();
        let bytes: Vec<u8> = case.inputs["b"].data.iter().map(|x| x.as_u64().unwrap() as u8).collect();
        let elements = bytes.len() / format.dtype.block().1 * format.dtype.block().0;
        let mut found = composed(format, &[elements], &bytes);
        if let Some(x) = case.inputs.get("x") {
            // Q11: a product with the numbers.
            assert_eq!(case.graph.last().unwrap().op, "matmul");
            let x: Vec<f32> = x.data.iter().map(|x| x.as_f64().unwrap() as f32).collect();
            found = vec![x.iter().zip(&found).map(|(x, y)| x * y).sum()];
        }
        let expected = &case.expected["y"];
        assert_eq!(expected.shape.iter().product::<usize>(), found.len());
        let expected: Vec<f32> = expected.data.iter().map(|x| x.as_f64().unwrap() as f32).collect();
        assert_eq!(found, expected, "{}", case.id);
        seen.push(case.id.as_str());
    }
    assert_eq!(seen, ["Q01", "Q03", "Q05", "Q11"]);
}

/// A linear layer and a table of each format, with the weights of the file.
fn layers<F: WeightFormat<Vector = f32>>(name: &str) {
    let packed = data("formats.gguf").retain(|tensor| tensor == name).rename(|_| "weight".into()).unwrap();
    let expected = data("formats-expected.safetensors").values(name).unwrap();
    let format = BlockFormat::of(packed.tensor("weight").unwrap().dtype).unwrap();
    let mut feeds: Feeds = planes("weight", format, &[ROWS, COLUMNS], packed.tensor("weight").unwrap().data)
        .into_iter()
        .collect();

    let x: Vec<f32> = (0..2 * COLUMNS).map(|i| ((i * 37 % 101) as f32 - 50.0) / 64.0).collect();
    feeds.insert("x".into(), Tensor::new(&[2, COLUMNS], x.clone()).unwrap());
    let linear = trace(|| {
        let layer: Linear<COLUMNS, ROWS, F, false> = weights("layer");
        let x: t::Tensor<(D<2>, D<COLUMNS>)> = input("x");
        output(&layer.forward(x));
    });
    assert_eq!(linear.mistakes, [], "{name}");
    let result = reference::run(&linear.graph, &feeds, &[]).unwrap().outputs.remove(0);
    for (i, found) in result.as_f32().unwrap().iter().enumerate() {
        let (row, column) = (i / ROWS, i % ROWS);
        let terms =
            (0..COLUMNS).map(|k| f64::from(x[row * COLUMNS + k]) * f64::from(expected[column * COLUMNS + k]));
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        assert!((f64::from(*found) - sum).abs() <= 1e-6 * size, "{name} {i}: {found} {sum}");
    }

    // Indices out of range mean the first and the last row.
    let index = vec![2, 0, -5, 9];
    feeds.insert("index".into(), Tensor::new(&[4], index).unwrap());
    let table = trace(|| {
        let table: Embedding<ROWS, COLUMNS, F> = weights("table");
        let index: t::Tensor<(D<4>,), i32> = input("index");
        output(&table.forward(index));
    });
    assert_eq!(table.mistakes, [], "{name}");
    let result = reference::run(&table.graph, &feeds, &[]).unwrap().outputs.remove(0);
    let rows = [2, 0, 0, 2].iter().flat_map(|row| &expected[row * COLUMNS..(row + 1) * COLUMNS]);
    assert_same_bits(result.as_f32().unwrap(), &rows.copied().collect::<Vec<_>>(), name);
}

#[test]
fn layers_of_every_format() {
    layers::<Q4_0>("Q4_0");
    layers::<Q4_1>("Q4_1");
    layers::<Q5_0>("Q5_0");
    layers::<Q5_1>("Q5_1");
    layers::<Q8_0>("Q8_0");
    layers::<Q4_K>("Q4_K");
    layers::<Q5_K>("Q5_K");
    layers::<Q6_K>("Q6_K");
}

/// Q06 of the cases, as the model is built.
#[test]
fn rows_must_be_whole_blocks() {
    let traced = trace(|| {
        let layer: Linear<320, 2, Q4_K, false> = weights("layer");
        let other: [Linear<320, 2, Q8_0, false>; 1] = weights("other");
        let x: t::Tensor<(D<320>,)> = input("x");
        output(&(layer.forward(x), other[0].forward(x)));
    });
    traced.graph.verify().unwrap();
    let messages: Vec<_> = traced.mistakes.iter().map(|mistake| mistake.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "parameter: `layer.weight` has rows of 320 elements, but Q4_K stores blocks of 256 and a row must be whole \
             blocks: use another format, such as Q8_0, whose blocks are of 32, or a float type"
        ]
    );
}

#[test]
fn a_tied_head_is_the_table() {
    use luminal_core::tensor::{Module, weights_scope};
    let traced = trace(|| {
        let scope = weights_scope("net");
        let embed: Embedding<10, 64, Q8_0> = Module::build(&scope.field("embed", "embed"));
        let head: Linear<64, 10, Q8_0, false> = Module::build(&scope.tied("head", "embed"));
        let index: t::Tensor<(D<4>,), i32> = input("index");
        output(&head.forward(embed.forward(index)));
    });
    assert_eq!(traced.mistakes, []);
    let params = traced.graph.nodes.iter().filter_map(|node| match &node.op {
        Op::Param(name) => Some((name.as_str(), node.dtype)),
        _ => None,
    });
    assert!(params.eq([("embed.weight@Q8_0.d", Dtype::F16), ("embed.weight@Q8_0.qs", Dtype::U8)]));
    // A file may have it under the name of the head too.
    let tie = |plane: &str| (format!("head.weight@Q8_0.{plane}"), format!("embed.weight@Q8_0.{plane}"));
    assert_eq!(traced.graph.ties, [tie("d"), tie("qs")]);
    assert_eq!(Graph::parse(&traced.graph.to_string()).unwrap().ties, traced.graph.ties);
}
