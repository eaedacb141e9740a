//! Attention as users write it: each variant is one fold, streamed where the keys are many, and right.

use super::*;
use crate::search::partition::Form;
use crate::tensor::{
    Attention, D, Dim as TypedDim, DimInfo, Fits, One, Tensor as T, attention, input, output, trace,
};

#[derive(Clone, Copy)]
struct Past;
impl TypedDim for Past {
    const INFO: DimInfo = DimInfo::Free { name: "Past", module: module_path!(), max: 9 };
}
impl Fits<Past> for Past {}
impl Fits<One> for Past {}

type Queries = T<(D<2>, D<4>, D<3>, D<5>)>;

/// Of `Shared` heads of keys, of so many or a free number.
fn traced<Shared: TypedDim, K: TypedDim>(how: impl FnOnce() -> Attention) -> Graph {
    let traced = trace(|| {
        let query: Queries = input("q");
        let [key, value]: [T<(D<2>, Shared, K, D<5>)>; 2] = ["k", "v"].map(input);
        output(&query.attention(key, value, how()));
    });
    assert_eq!(traced.mistakes, []);
    traced.graph.verify().unwrap();
    traced.graph
}

fn variants() -> Vec<(&'static str, Graph)> {
    type Mask<M, E> = T<M, E>;
    let mask = || input::<Mask<(D<3>, D<7>), bool>>("mask");
    let padding = || input::<Mask<(D<2>, One, One, D<7>), bool>>("padding");
    let bias = || input::<Mask<(D<4>, D<3>, D<7>), f32>>("bias");
    let position = || input::<T<(), i32>>("position");
    let each = || input::<T<(D<2>, One, One, One), i32>>("each");
    let slopes = || T::<(D<4>,)>::alibi_slopes();
    vec![
        ("plain", traced::<D<4>, D<7>>(attention)),
        ("grouped", traced::<D<2>, D<7>>(attention)),
        ("multi-query", traced::<D<1>, D<7>>(attention)),
        ("causal", traced::<D<4>, D<7>>(|| attention().causal())),
        ("mask", traced::<D<4>, D<7>>(|| attention().mask(mask()))),
        ("padding", traced::<D<2>, D<7>>(|| attention().mask(padding()))),
        ("bias", traced::<D<2>, D<7>>(|| attention().bias(bias()))),
        ("alibi", traced::<D<4>, D<7>>(|| attention().causal().alibi(slopes()))),
        ("alibi of given slopes", traced::<D<2>, D<7>>(|| attention().alibi(input::<T<(D<4>,)>>("slopes")))),
        ("soft cap", traced::<D<4>, D<7>>(|| attention().soft_cap(2.0))),
        ("window", traced::<D<4>, D<7>>(|| attention().causal().window(3))),
        ("position", traced::<D<2>, D<7>>(|| attention().position(position()))),
        ("position of each", traced::<D<2>, D<7>>(|| attention().position(each()).window(4))),
        ("length", traced::<D<2>, D<7>>(|| attention().length(each()))),
        ("free keys", traced::<D<2>, Past>(attention)),
        ("free keys at a position", traced::<D<2>, Past>(|| attention().position(position()))),
        (
            "capped, in a window of a cache",
            traced::<D<2>, D<7>>(|| attention().scale(0.3).soft_cap(5.0).position(position()).window(5)),
        ),
        (
            "all masks and biases",
            traced::<D<2>, D<7>>(|| {
                let how = attention().position(position()).window(5).length(each());
                how.mask(mask()).bias(bias()).alibi(slopes())
            }),
        ),
    ]
}

#[test]
fn each_variant_is_one_fold() {
    for (name, graph) in variants() {
        let found = search(&graph, &SearchOptions::default()).unwrap();
        let kernels = found.kernels.len();
        assert!(kernels == 1, "{name}: {kernels} kernels\n{found}");
        assert_eq!(found.kernels[0].form, Form::Fold, "{name}\n{found}");
        let program = lower(&graph, &found, &Options { stream_over: 2 }).unwrap();
        let streams = |item: &Item| matches!(item, Item::Fold { .. });
        assert!(program.kernels[0].kernel.items.iter().any(streams), "{name}\n{}", program.kernels[0].kernel);
    }
}

#[test]
fn each_variant_agrees_with_the_reference() {
    for (name, graph) in variants() {
        for (fuse, stream_over) in [(true, 1024), (true, 2), (false, 1024)] {
            check(name, &graph, fuse, stream_over, 4);
        }
    }
}
