//! A language model with a cache, as a program uses it: the tokens of a prompt in one run or in several.

mod models;

use luminal::graph::{Graph, Op};
use luminal::nn::CachePositions;
use luminal::reference::{self, Data};
use luminal::rt::Isa;
use luminal::{Device, Weights};
use models::decoder::{Cache, decode};

const TOKENS: [i32; 8] = [3, 1, 4, 1, 5, 9, 2, 6];

/// Weights of the decoder, the same each time.
fn weights() -> Weights {
    let graph = Graph::parse(decode::GRAPH).unwrap();
    let sizes = graph.sizes_near(&vec![8; graph.free.len()]).unwrap();
    let feeds = reference::random_feeds(&graph, &sizes, 5).unwrap();
    let params = graph.nodes.iter().filter_map(|node| match &node.op {
        Op::Param(name) => Some((name.as_str(), &feeds[name])),
        _ => None,
    });
    let tensors = params.map(|(name, tensor)| {
        let Data::F32(values) = &tensor.data else { panic!("weights are f32") };
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
        (name, tensor.dtype(), tensor.shape.clone(), bytes)
    });
    Weights::from_tensors(tensors).unwrap()
}

/// The logits of all tokens, passed in parts of these sizes.
fn logits(isa: Isa, parts: &[usize]) -> Vec<[f32; 11]> {
    let mut session = decode::load(Device::cpu().limited_to(isa), &weights()).unwrap();
    let mut positions = CachePositions::new(Cache::CAPACITY);
    let mut logits = vec![];
    for part in parts {
        let position = positions.take(*part).unwrap();
        let tokens = &TOKENS[position as usize..positions.used()];
        logits.extend_from_slice(session.run(tokens, &position).unwrap().rows());
    }
    logits
}

#[test]
fn a_prompt_in_parts_is_the_prompt_at_once() {
    for isa in [Isa::X86V3, Isa::Baseline] {
        let whole = logits(isa, &[8]);
        let greatest = whole.as_flattened().iter().fold(0.0f32, |most, x| most.max(x.abs()));
        for parts in [&[5, 1, 2][..], &[1; 8], &[7, 1]] {
            let parted = logits(isa, parts);
            assert_eq!(parted.len(), whole.len());
            for (whole, parted) in whole.as_flattened().iter().zip(parted.as_flattened()) {
                assert!((whole - parted).abs() <= 1e-5 * greatest, "{parts:?}: {whole} {parted}");
            }
        }
    }
}

/// What the program does about a prompt that is too long: an error before the model runs.
#[test]
fn a_prompt_that_is_too_long_is_an_error_of_its_own() {
    let mut session = decode::load(Device::cpu(), &weights()).unwrap();
    let mut positions = CachePositions::new(Cache::CAPACITY);
    let mut run = |tokens: &[i32]| -> luminal::Result<usize> {
        let position = positions.take(tokens.len())?;
        Ok(session.run(tokens, &position)?.rows().len())
    };
    assert_eq!(run(&TOKENS).unwrap(), 8);
    let error = run(&TOKENS).unwrap_err().to_string();
    assert!(error.starts_with("the cache needs room for 16 tokens, has 9"), "{error}");
    assert_eq!(run(&TOKENS[..1]).unwrap(), 1);
}
