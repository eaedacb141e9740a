//! Random inputs, params and states for tests: typed, and in the range that the graph needs.

use super::Feeds;
use super::random::SplitMix64;
use super::ranges::{Range, Reason, required};
use super::tensor::{Data, Tensor};
use crate::dtype::{Dtype, nearest_bf16, nearest_f16};
use crate::error::{Error, Result};
use crate::graph::hash::stable_hash;
use crate::graph::{Graph, Op};

/// What is drawn where the graph asks for nothing else.
#[derive(Clone, Copy, Debug)]
struct Defaults {
    float: Range,
    int: Range,
    byte: Range,
}

/// Not symmetric around 0, so that means are not near 0 and a wrong sign cannot cancel out.
const MIXED: Defaults =
    Defaults { float: Range::new(-0.75, 1.0), int: Range::new(-60.0, 100.0), byte: Range::new(0.0, 255.0) };

/// All below 0, so that a maximum which starts from 0, or takes in padding, is wrong. Bytes, which have no sign, are
/// those that a signed byte would hold as negative.
const NEGATIVE: Defaults = Defaults {
    float: Range::new(-1.0, -0.125),
    int: Range::new(-100.0, -1.0),
    byte: Range::new(128.0, 255.0),
};

/// What a `u8` can be.
const BYTES: Range = Range::new(0.0, 255.0);

/// Random tensors for all inputs, params and states: the same for the same seed, on every platform. A tensor depends on
/// its name and the seed only, not on the rest of the graph.
///
/// Floats are in -0.75..=1, integers in -60..=100 (of `i64` one in eight is far beyond 32 bits), bytes are all,
/// `bool` are false and true; but indices of a gather are rows of its
/// table, and what a square root or a logarithm is taken of is positive, as far as that can be worked out backwards
/// through views, selections, maxima, casts and arithmetic with constants.
pub fn random_feeds(graph: &Graph, free: &[usize], seed: u64) -> Result<Feeds> {
    draw_all(graph, free, seed, MIXED)
}

/// As [`random_feeds`], but floats and integers are negative wherever the graph permits.
pub fn random_negative_feeds(graph: &Graph, free: &[usize], seed: u64) -> Result<Feeds> {
    draw_all(graph, free, seed, NEGATIVE)
}

fn draw_all(graph: &Graph, free: &[usize], seed: u64, defaults: Defaults) -> Result<Feeds> {
    graph.verify()?;
    graph.check_sizes(free)?;
    let indices = required(graph, free, Reason::Index);
    let domains = required(graph, free, Reason::Domain);
    let mut feeds = Feeds::new();
    for (id, node) in graph.nodes.iter().enumerate() {
        let (Op::Input(name) | Op::Param(name) | Op::State(name)) = &node.op else { continue };
        let shape = graph.sizes(id, free);
        let len: usize = shape.iter().product();
        let mut range = indices[id];
        if node.dtype == Dtype::U8 {
            range = range.intersection(BYTES);
        }
        if matches!(node.dtype, Dtype::I32 | Dtype::I64 | Dtype::U8) {
            range = Range::new(range.low.ceil(), range.high.floor());
        }
        if range.is_empty() && len > 0 {
            let (low, high) = (range.low, range.high);
            let kind = node.op.name();
            return Err(Error::new(format!(
                "{kind} {name:?} is used as an index, but no index is in range: at least {low} and at most {high}"
            )));
        }
        let preferred = range.intersection(domains[id]);
        if !preferred.is_empty() {
            range = preferred;
        }
        let mut random = SplitMix64::new(seed ^ stable_hash(name.as_bytes()) as u64);
        let data = draw(&mut random, node.dtype, len, range, defaults);
        feeds.insert(name.clone(), Tensor { shape, data });
    }
    Ok(feeds)
}

fn draw(random: &mut SplitMix64, dtype: Dtype, len: usize, required: Range, defaults: Defaults) -> Data {
    let default = match dtype {
        Dtype::U8 => defaults.byte,
        Dtype::F32 | Dtype::F16 | Dtype::BF16 => defaults.float,
        Dtype::I32 | Dtype::I64 | Dtype::Bool => defaults.int,
    };
    let Range { low, high } =
        if dtype == Dtype::U8 && required == BYTES { default } else { range_to_draw(required, default) };
    let float = |random: &mut SplitMix64| (low + random.unit() * (high - low)).clamp(low, high);
    let integer = |random: &mut SplitMix64| random.between(low as i64, high as i64);
    match dtype {
        Dtype::F32 => Data::F32((0..len).map(|_| float(random) as f32).collect()),
        Dtype::F16 => {
            let number =
                |random: &mut SplitMix64| rounded(float(random), low, high, |x| nearest_f16(x).to_f64());
            Data::F16((0..len).map(|_| nearest_f16(number(random))).collect())
        }
        Dtype::BF16 => {
            let number =
                |random: &mut SplitMix64| rounded(float(random), low, high, |x| nearest_bf16(x).to_f64());
            Data::BF16((0..len).map(|_| nearest_bf16(number(random))).collect())
        }
        Dtype::I32 => Data::I32((0..len).map(|_| integer(random) as i32).collect()),
        Dtype::I64 => {
            // Some are so large that 32 bits do not hold them, where the range permits.
            let direction = match (required.low.is_finite(), required.high.is_finite()) {
                (true, true) => 0,
                (false, true) => -1,
                (true, false) => 1,
                // As the default: mixed, or negative.
                (false, false) => default.high.signum() as i64,
            };
            let number = |random: &mut SplitMix64| {
                let near = integer(random);
                let far = if random.below(8) == 0 { 1 + random.below(1 << 10) as i64 } else { 0 };
                near + direction * (far << 33)
            };
            Data::I64((0..len).map(|_| number(random)).collect())
        }
        Dtype::U8 => Data::U8((0..len).map(|_| integer(random) as u8).collect()),
        Dtype::Bool => Data::Bool((0..len).map(|_| random.coin()).collect()),
    }
}

/// A number in the range, rounded by `round`, whose results have at least 8 bits.
fn rounded(x: f64, low: f64, high: f64, round: impl Fn(f64) -> f64) -> f64 {
    let inside = |x: &f64| (low..=high).contains(x);
    let step = x.abs() / 128.0;
    [x, x - step, x + step].map(round).into_iter().find(inside).unwrap_or(x)
}

/// All of a bounded range; of an unbounded one the default part, or as much as that, at the end that it has.
fn range_to_draw(required: Range, default: Range) -> Range {
    let width = default.high - default.low;
    let common = required.intersection(default);
    if required.low.is_finite() && required.high.is_finite() {
        required
    } else if !common.is_empty() {
        common
    } else if required.low.is_finite() {
        Range::new(required.low, required.low + width)
    } else {
        Range::new(required.high - width, required.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Binary, Dim, NodeId, Reduce, Unary};
    use crate::reference::run;

    fn f32s(feeds: &Feeds, name: &str) -> Vec<f32> {
        feeds[name].as_f32().unwrap().to_vec()
    }

    fn i32s(feeds: &Feeds, name: &str) -> Vec<i32> {
        feeds[name].as_i32().unwrap().to_vec()
    }

    fn expanded(graph: &mut Graph, value: f64, dtype: Dtype, shape: &[Dim]) -> NodeId {
        let mut node = graph.constant(value, dtype);
        for (axis, size) in shape.iter().enumerate() {
            node = graph.expand(node, axis, *size);
        }
        node
    }

    #[test]
    fn feeds_are_typed_seeded_and_not_symmetric() {
        let mut graph = Graph::default();
        let n = graph.free_dim("N", 100);
        graph.input("x", &[n, Dim::Fixed(50)], Dtype::F32);
        graph.param("w", &[Dim::Fixed(500)], Dtype::I32);
        graph.state("s", &[Dim::Fixed(500)], Dtype::Bool);
        let feeds = random_feeds(&graph, &[40], 1).unwrap();
        assert_eq!(feeds["x"].shape, [40, 50]);
        let x = f32s(&feeds, "x");
        assert!(x.iter().all(|x| (-0.75..=1.0).contains(x)));
        let mean = x.iter().sum::<f32>() / x.len() as f32;
        assert!((0.05..0.2).contains(&mean), "{mean}");
        let w = i32s(&feeds, "w");
        assert!(w.iter().all(|w| (-60..=100).contains(w)) && w.iter().any(|w| *w < 0));
        let s = feeds["s"].as_bool().unwrap();
        assert!(s.contains(&true) && s.contains(&false));
        assert_eq!(feeds, random_feeds(&graph, &[40], 1).unwrap());
        assert_ne!(feeds, random_feeds(&graph, &[40], 2).unwrap());

        let negative = random_negative_feeds(&graph, &[40], 1).unwrap();
        assert!(f32s(&negative, "x").iter().all(|x| (-1.0..=-0.125).contains(x)));
        assert!(i32s(&negative, "w").iter().all(|w| (-100..=-1).contains(w)));
    }

    #[test]
    fn feeds_of_every_type() {
        let mut graph = Graph::default();
        for dtype in Dtype::ALL {
            graph.input(dtype.name(), &[Dim::Fixed(300)], dtype);
        }
        for (feeds, byte) in [
            (random_feeds(&graph, &[], 1).unwrap(), 0),
            (random_negative_feeds(&graph, &[], 1).unwrap(), 128),
        ] {
            for dtype in Dtype::ALL {
                assert_eq!(feeds[dtype.name()].dtype(), dtype);
            }
            let half = feeds["f16"].as_f16().unwrap();
            assert!(half.iter().all(|x| (-1.0..=1.0).contains(&x.to_f32())));
            let bytes = feeds["u8"].as_u8().unwrap();
            assert!(bytes.iter().all(|x| *x >= byte) && bytes.iter().any(|x| *x > 200));
            let long = feeds["i64"].as_i64().unwrap();
            assert!(long.iter().any(|x| x.unsigned_abs() > 1 << 33) && long.iter().any(|x| x.abs() < 100));
        }
    }

    #[test]
    fn narrow_types_stay_in_range() {
        // f16 has no odd numbers beyond 2,048, and bf16 none beyond 256.
        for (dtype, rows) in [(Dtype::F16, 3000), (Dtype::BF16, 300), (Dtype::U8, 9), (Dtype::I64, 300)] {
            let graph = gather_from(rows, |g, x| g.cast(x, Dtype::I32), dtype);
            for seed in 0..4 {
                run(&graph, &random_feeds(&graph, &[], seed).unwrap(), &[]).unwrap();
                run(&graph, &random_negative_feeds(&graph, &[], seed).unwrap(), &[]).unwrap();
            }
        }
    }

    #[test]
    fn numbers_are_pinned() {
        let mut graph = Graph::default();
        graph.input("x", &[Dim::Fixed(3)], Dtype::F32);
        graph.input("i", &[Dim::Fixed(3)], Dtype::I32);
        let feeds = random_feeds(&graph, &[], 0).unwrap();
        assert_eq!(f32s(&feeds, "x"), [0.8996665, -0.2791429, 0.024765968]);
        assert_eq!(i32s(&feeds, "i"), [82, 45, 62]);
    }

    #[test]
    fn a_tensor_does_not_depend_on_the_rest_of_the_graph() {
        let mut graph = Graph::default();
        graph.input("x", &[Dim::Fixed(3)], Dtype::F32);
        let alone = random_feeds(&graph, &[], 5).unwrap();
        let mut larger = Graph::default();
        larger.input("y", &[Dim::Fixed(9)], Dtype::F32);
        larger.input("x", &[Dim::Fixed(3)], Dtype::F32);
        let feeds = random_feeds(&larger, &[], 5).unwrap();
        assert_eq!(alone["x"], feeds["x"]);
        assert_ne!(f32s(&feeds, "y")[..3], f32s(&feeds, "x")[..]);
    }

    /// A gather whose index is computed from an input by everything that is seen through.
    fn gather_from(rows: usize, index: impl Fn(&mut Graph, NodeId) -> NodeId, dtype: Dtype) -> Graph {
        let mut graph = Graph::default();
        let shape = [Dim::Fixed(8), Dim::Fixed(100)];
        let x = graph.input("index", &shape, dtype);
        let index = index(&mut graph, x);
        let table = graph.param("table", &[Dim::Fixed(rows), Dim::Fixed(2)], Dtype::F32);
        let y = graph.gather(table, index);
        graph.outputs.push(("y".into(), y));
        graph
    }

    #[test]
    fn indices_are_in_range_and_reach_every_row() {
        let graph = gather_from(7, |_, x| x, Dtype::I32);
        for feeds in [random_feeds(&graph, &[], 1).unwrap(), random_negative_feeds(&graph, &[], 1).unwrap()] {
            let mut index = i32s(&feeds, "index");
            run(&graph, &feeds, &[]).unwrap();
            index.sort_unstable();
            index.dedup();
            assert_eq!(index, [0, 1, 2, 3, 4, 5, 6]);
        }
    }

    #[test]
    fn indices_are_found_through_arithmetic_views_and_casts() {
        let shape = [Dim::Fixed(8), Dim::Fixed(100)];
        type Step = fn(&mut Graph, NodeId) -> NodeId;
        let steps: [(Step, Dtype); 9] = [
            (|g, x| g.permute(x, &[1, 0]), Dtype::I32),
            (|g, x| g.window(x, 1, 3, 2, 1), Dtype::I32),
            (|g, x| g.merge(x, 0), Dtype::I32),
            (|g, x| g.reduce(Reduce::Max, x, 1), Dtype::I32),
            (|g, x| g.cast(x, Dtype::I32), Dtype::F32),
            (
                |g, x| {
                    let less = g.binary(Binary::LessThan, x, x);
                    g.select(less, x, x)
                },
                Dtype::I32,
            ),
            (
                |g, x| {
                    let shape = g.nodes[x].shape.clone();
                    let three = expanded(g, 3.0, Dtype::I32, &shape);
                    g.binary(Binary::Add, three, x)
                },
                Dtype::I32,
            ),
            (
                |g, x| {
                    let shape = g.nodes[x].shape.clone();
                    let factor = expanded(g, -2.0, Dtype::I32, &shape);
                    g.binary(Binary::Mul, x, factor)
                },
                Dtype::I32,
            ),
            (
                |g, x| {
                    let shape = g.nodes[x].shape.clone();
                    let zero = expanded(g, 0.0, Dtype::I32, &shape);
                    g.binary(Binary::Max, x, zero)
                },
                Dtype::I32,
            ),
        ];
        assert_eq!(shape.len(), 2);
        for (number, (step, dtype)) in steps.into_iter().enumerate() {
            let graph = gather_from(5, step, dtype);
            for seed in 0..20 {
                let feeds = random_feeds(&graph, &[], seed).unwrap();
                run(&graph, &feeds, &[]).unwrap_or_else(|error| panic!("step {number}: {error}"));
                let feeds = random_negative_feeds(&graph, &[], seed).unwrap();
                run(&graph, &feeds, &[]).unwrap_or_else(|error| panic!("step {number}: {error}"));
            }
        }
    }

    #[test]
    fn the_smallest_table_decides() {
        let mut graph = gather_from(7, |_, x| x, Dtype::I32);
        let small = graph.param("small", &[Dim::Fixed(2)], Dtype::F32);
        graph.gather(small, 0);
        let feeds = random_feeds(&graph, &[], 1).unwrap();
        assert!(i32s(&feeds, "index").iter().all(|index| (0..2).contains(index)));
    }

    #[test]
    fn free_tables_have_their_run_time_size() {
        let mut graph = Graph::default();
        let rows = graph.free_dim("Rows", 100);
        let index = graph.input("index", &[Dim::Fixed(50)], Dtype::I32);
        let table = graph.input("table", &[rows], Dtype::F32);
        graph.gather(table, index);
        let feeds = random_feeds(&graph, &[3], 1).unwrap();
        assert!(i32s(&feeds, "index").iter().all(|index| (0..3).contains(index)));
        let error = random_feeds(&graph, &[0], 1).unwrap_err().to_string();
        assert!(error.contains("input \"index\" is used as an index, but no index is in range"), "{error}");
        assert!(random_feeds(&graph, &[101], 1).is_err());
        assert!(random_feeds(&graph, &[], 1).is_err());
    }

    #[test]
    fn operands_of_roots_and_logarithms_are_positive() {
        let mut graph = Graph::default();
        let shape = [Dim::Fixed(200)];
        let variance = graph.param("variance", &shape, Dtype::F32);
        let epsilon = expanded(&mut graph, 1e-5f32 as f64, Dtype::F32, &shape);
        let sum = graph.binary(Binary::Add, variance, epsilon);
        graph.unary(Unary::Sqrt, sum);
        let scale = graph.param("scale", &shape, Dtype::F32);
        let factor = expanded(&mut graph, -1.0, Dtype::F32, &shape);
        let negated = graph.binary(Binary::Mul, scale, factor);
        graph.unary(Unary::Log2, negated);
        let feeds = random_negative_feeds(&graph, &[], 1).unwrap();
        assert!(f32s(&feeds, "variance").iter().all(|x| (0.05..=1.0).contains(x)));
        let feeds = random_feeds(&graph, &[], 1).unwrap();
        assert!(f32s(&feeds, "variance").iter().all(|x| (0.05..=1.0).contains(x)));
        assert!(f32s(&feeds, "scale").iter().all(|x| (-0.75..=-0.05).contains(x)));
    }
}
