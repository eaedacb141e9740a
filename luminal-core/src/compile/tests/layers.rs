//! Layers and a decoder with a cache on the whole road.

use super::*;
use crate::graph::Op;
use crate::reference::{self, Data, Tensor as Dense, Tolerance, compare};
use crate::runtime::{InputRef, Session};
use crate::tensor::nn::{
    Bidirectional, Embedding, GroupNorm, GruKind, KvCache, LayerNorm, Linear, LstmKind, MultiHeadAttention,
    Recurrent, RecurrentState, RmsNorm, SwiGlu,
};
use crate::tensor::{
    D, Dim as TypedDim, DimInfo, Fits, Module, One, Scope, Tensor, attention, before, input, output, rope,
    state_scope, trace, weights, write_back,
};
use crate::weights::Weights;
use crate::{axes, graph::NodeId};

fn traced(model: impl FnOnce()) -> Graph {
    let traced = trace(model);
    assert_eq!(traced.mistakes, []);
    traced.graph
}

#[track_caller]
fn road(name: &str, model: impl FnOnce()) {
    let graph = traced(model);
    check(name, &graph, true);
    check(name, &graph, false);
}

#[test]
fn norms() {
    road("norms", || {
        let x: Tensor<(D<3>, D<8>, D<5>)> = input("x");
        let (rows, root): (LayerNorm<5>, [RmsNorm<5>; 1]) = (weights("rows"), weights("root"));
        let groups: [GroupNorm<2, 8>; 1] = weights("groups");
        output(&(rows.forward(x), root[0].unit_offset().forward(x), groups[0].forward(x)));
    });
}

#[test]
fn layers_in_front_of_a_norm() {
    road("product and norm", || {
        let x: Tensor<(D<3>, D<8>)> = input("x");
        let (layer, norm): (Linear<8, 6>, [LayerNorm<6>; 1]) = (weights("layer"), weights("norm"));
        output(&norm[0].forward(layer.forward(x)));
    });
}

#[test]
fn attention_layers() {
    road("attention of several heads", || {
        let layer: MultiHeadAttention<8, 2> = weights("layer");
        let x: Tensor<(D<2>, D<5>, D<8>)> = input("x");
        let mask: Tensor<(D<5>, D<5>), bool> = input("mask");
        let slopes = Tensor::<(D<2>,)>::alibi_slopes();
        output(&layer.forward(x, x, x, attention().causal().window(3).alibi(slopes).mask(mask)));
    });
    road("rotated", || {
        let x: Tensor<(D<2>, D<5>, D<8>)> = input("x");
        let positions = Tensor::<(D<5>,), i32>::iota() + 3;
        output(&(x.rope(positions, rope()), x.rope(positions, rope().interleaved().dims(4))));
    });
}

#[test]
fn recurrent_networks() {
    road("lstm", || {
        let net: Recurrent<LstmKind, 3, 4> = weights("net");
        output(&net.forward(input::<Tensor<(D<2>, D<3>, D<3>)>>("x")));
    });
    road("gru in both directions", || {
        let net: Bidirectional<GruKind, 3, 4> = weights("net");
        let both: Tensor<(D<2>, D<3>, D<8>)> = net.forward(input::<Tensor<(D<2>, D<3>, D<3>)>>("x"));
        output(&both);
    });
    road("lstm step", || {
        let net: Recurrent<LstmKind, 3, 4, 2> = weights("net");
        let mut state: RecurrentState<LstmKind, D<2>, 4, 2> = Module::build(&state_scope("state"));
        let old = before(&state);
        output(&net.step(input::<Tensor<(D<2>, D<3>)>>("x"), &mut state));
        write_back("state", &state, old);
    });
}

/// A block of a decoder: 2 heads of 8 elements, which share keys and values.
struct Block {
    input_layernorm: RmsNorm<16>,
    q_proj: Linear<16, 16, f32, false>,
    k_proj: Linear<16, 8, f32, false>,
    v_proj: Linear<16, 8, f32, false>,
    o_proj: Linear<16, 16, f32, false>,
    mlp: SwiGlu<16, 20>,
}

type Cache = KvCache<One, D<1>, D<9>, D<8>>;

impl Module for Block {
    fn build(scope: &Scope) -> Self {
        fn field<M: Module>(scope: &Scope, name: &str) -> M {
            M::build(&scope.field(name, name))
        }
        Block {
            input_layernorm: field(scope, "input_layernorm"),
            q_proj: field(scope, "q_proj"),
            k_proj: field(scope, "k_proj"),
            v_proj: field(scope, "v_proj"),
            o_proj: field(scope, "o_proj"),
            mlp: field(scope, "mlp"),
        }
    }

    fn visit(&self, _: &mut dyn FnMut(NodeId)) {}
}

impl Block {
    fn forward<T: TypedDim>(
        &self,
        x: Tensor<(T, D<16>)>,
        position: Tensor<(), i32>,
        cache: &mut Cache,
    ) -> Tensor<(T, D<16>)> {
        let positions = Tensor::<(T,), i32>::iota() + position;
        let normed = self.input_layernorm.forward(x);
        let query = self.q_proj.forward(normed).reshape::<(One, T, D<2>, D<8>)>().permute(axes![0, 2, 1, 3]);
        let key = self.k_proj.forward(normed).reshape::<(One, T, D<1>, D<8>)>().permute(axes![0, 2, 1, 3]);
        let value = self.v_proj.forward(normed).reshape::<(One, T, D<1>, D<8>)>().permute(axes![0, 2, 1, 3]);
        let (query, key) = (query.rope(positions, rope()), key.rope(positions, rope()));
        let seen = cache.attend(query, key, value, position, attention());
        let x = x + self.o_proj.forward(seen.permute(axes![0, 2, 1, 3]).reshape::<(T, D<16>)>());
        x + self.mlp.forward(x.rms_norm(crate::tensor::Axis::<-1>, 1e-5))
    }
}

#[derive(Clone, Copy)]
struct Tokens;
impl TypedDim for Tokens {
    const INFO: DimInfo = DimInfo::Free { name: "Tokens", module: module_path!(), max: 8 };
}
impl Fits<Tokens> for Tokens {}
impl Fits<One> for Tokens {}

fn decoder() {
    let tokens: Tensor<(Tokens,), i32> = input("tokens");
    let position: Tensor<(), i32> = input("position");
    let table: Embedding<11, 16> = weights("table");
    let blocks: [Block; 2] = weights("blocks");
    let mut caches: [Cache; 2] = Module::build(&state_scope("caches"));
    let old = before(&caches);
    let mut x = table.forward(tokens);
    for (block, cache) in blocks.iter().zip(&mut caches) {
        x = block.forward(x, position, cache);
    }
    output(&table.logits(x));
    write_back("caches", &caches, old);
}

/// 8 tokens in one run, and as 5, 1 and 2 with the cache, give the logits of the reference, with the search and without.
#[test]
fn tokens_in_parts_are_the_tokens_at_once() {
    let graph = traced(decoder);
    let sizes = |tokens: usize| graph.sizes_near(&vec![tokens; graph.free.len()]).unwrap();
    let tokens: Vec<i32> = vec![3, 1, 4, 1, 5, 9, 2, 6];
    let mut given = reference::random_feeds(&graph, &sizes(8), 3).unwrap();
    given.insert("tokens".into(), Dense::new(&[8], tokens.clone()).unwrap());
    given.insert("position".into(), Dense::new(&[], vec![0i32]).unwrap());
    let states = graph.nodes.iter().filter_map(|node| match &node.op {
        Op::State(name) => Some(name.clone()),
        _ => None,
    });
    for name in states {
        let zeros = Dense::zeros(&given[&name].shape, Dtype::F32);
        given.insert(name, zeros);
    }
    let expected = reference::run(&graph, &given, &sizes(8)).unwrap().outputs.remove(0);
    let Data::F32(expected) = &expected.data else { panic!("logits are f32") };
    let spread = expected.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    assert!(spread > 0.5, "logits that say something: {spread}");

    let weights = Weights::from_tensors(graph.nodes.iter().filter_map(|node| match &node.op {
        Op::Param(name) => {
            let tensor = &given[name];
            Some((name.as_str(), tensor.dtype(), tensor.shape.clone(), tensor.data.to_bytes()))
        }
        _ => None,
    }));
    let weights = weights.unwrap();
    for fuse in [true, false] {
        with_plan("decoder", &graph, fuse, |plan| {
            for parts in [&[8][..], &[5, 1, 2], &[1; 8]] {
                let mut session = Session::new(plan, Device::cpu(), &weights).unwrap();
                let mut position = 0;
                for part in parts {
                    let ids: Vec<u8> =
                        tokens[position..position + part].iter().flat_map(|id| id.to_ne_bytes()).collect();
                    let place = (position as i32).to_ne_bytes();
                    let inputs =
                        [InputRef { data: &ids, sizes: &[*part] }, InputRef { data: &place, sizes: &[] }];
                    session.run(&inputs).unwrap();
                    let logits = session.output(0);
                    let logits =
                        logits.data.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
                    let shape = [*part, 11];
                    let computed = Dense::new(&shape, logits.collect::<Vec<_>>()).unwrap();
                    let wanted = expected[position * 11..(position + part) * 11].to_vec();
                    let wanted = Dense::new(&shape, wanted).unwrap();
                    let tolerance = Tolerance { absolute: 1e-5 * spread, relative: 2e-5 };
                    compare(&wanted, &computed, tolerance)
                        .unwrap_or_else(|e| panic!("fuse {fuse}, parts {parts:?}, from {position}: {e}"));
                    position += part;
                }
            }
        });
    }
    check("decoder", &graph, true);
}
