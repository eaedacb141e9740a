//! The cache of keys and values.

use super::*;
use crate::tensor::nn::{CacheFull, CachePositions, KvCache};
use crate::tensor::{D, Module, One, Tensor as T, attention, before, input, output, state_scope, write_back};

type Cache = KvCache<One, D<2>, D<6>, D<3>>;
free_dim!(Tokens, 4);

fn step<N: crate::tensor::Dim>() {
    let mut cache: Cache = Module::build(&state_scope("cache"));
    let old = before(&cache);
    let position: T<(), i32> = input("position");
    let [q, k, v]: [T<(One, D<2>, N, D<3>)>; 3] = ["q", "k", "v"].map(input);
    output(&cache.attend(q, k, v, position, attention()));
    write_back("cache", &cache, old);
}

fn part(x: &Tensor, from: usize, to: usize) -> Tensor {
    let rows: Vec<f32> = floats(x).chunks(6 * 3).flat_map(|head| head[from * 3..to * 3].to_vec()).collect();
    tensor(&[1, 2, to - from, 3], rows)
}

/// 6 tokens at once, and as 3 + 1 + 2, give the same; what was in the cache before does not matter.
#[test]
fn tokens_in_parts_are_the_tokens_at_once() {
    let graph = graph(step::<Tokens>);
    let [q, k, v] = [1, 2, 3].map(|seed| mixed(&[1, 2, 6, 3], seed));
    let mut states: Feeds = ["cache.keys", "cache.values"]
        .iter()
        .map(|name| (name.to_string(), mixed(&[1, 2, 6, 3], 99)))
        .collect();
    let whole = run(
        || {
            let [q, k, v]: [T<(One, D<2>, D<6>, D<3>)>; 3] = ["q", "k", "v"].map(input);
            output(&q.attention(k, v, attention().causal()));
        },
        &[("q", &q), ("k", &k), ("v", &v)],
    );
    for (from, to) in [(0, 3), (3, 4), (4, 6)] {
        let mut feeds = states.clone();
        feeds.insert("position".into(), tensor(&[], vec![from as i32]));
        for (name, x) in [("q", &q), ("k", &k), ("v", &v)] {
            feeds.insert(name.into(), part(x, from, to));
        }
        // The second is one more than the number of tokens; see `index_select`.
        let result = reference::run(&graph, &feeds, &[to - from, to - from + 1]).unwrap();
        assert_close(&part(&whole[0], from, to), &result.outputs[0], 1e-6);
        states = result.states;
    }
    assert_eq!((&states["cache.keys"], &states["cache.values"]), (&k, &v));
}

/// Only what is inside is written, and nothing fails.
#[test]
fn what_falls_outside_of_a_cache_is_not_written() {
    let graph = graph(step::<D<2>>);
    let old = mixed(&[1, 2, 6, 3], 5);
    let new = mixed(&[1, 2, 2, 3], 6);
    for position in [-3, -2, -1, 0, 4, 5, 6, 100, i32::MAX, i32::MIN] {
        let mut feeds: Feeds = ["q", "k", "v"].map(|name| (name.to_string(), new.clone())).into();
        for name in ["cache.keys", "cache.values"] {
            feeds.insert(name.into(), old.clone());
        }
        feeds.insert("position".into(), tensor(&[], vec![position]));
        let states = reference::run(&graph, &feeds, &[]).unwrap().states;
        let mut expected = floats(&old).to_vec();
        for (head, t) in (0..2).flat_map(|head| (0..2).map(move |t| (head, t))) {
            let place = i64::from(position) + t;
            if (0..6).contains(&place) {
                let (to, from) = (head * 18 + place as usize * 3, head * 6 + t as usize * 3);
                expected[to..to + 3].copy_from_slice(&floats(&new)[from..from + 3]);
            }
        }
        assert_eq!(states["cache.keys"], tensor(&[1, 2, 6, 3], expected), "position {position}");
    }
}

/// A cache of 16, fed 10 and then 7.
#[test]
fn a_prompt_that_is_too_long_is_refused_before_anything_is_written() {
    assert_eq!(Cache::CAPACITY, 6);
    let mut positions = CachePositions::new(16);
    assert_eq!(positions.take(10), Ok(0));
    let full = positions.take(7).unwrap_err();
    assert_eq!(full, CacheFull { needs: 17, has: 16 });
    assert!(full.to_string().starts_with("the cache needs room for 17 tokens, has 16"), "{full}");
    assert_eq!((positions.used(), positions.capacity()), (10, 16));
    assert_eq!(positions.take(6), Ok(10));
    assert_eq!(positions.take(0), Ok(16));
    assert!(positions.take(usize::MAX).is_err());
    positions.truncate(11);
    assert_eq!(positions.take(5), Ok(11));
    positions.truncate(0);
    assert_eq!(positions.take(16), Ok(0));
    let found = mistakes(step::<D<7>>);
    assert_eq!(found, ["kv_cache: 7 tokens do not fit into a cache of 6"]);
}
