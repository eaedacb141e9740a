//! Planted bugs, each on the smallest model where it bites: the checks of a build find every one, and nothing without it.

use super::*;
use crate::graph::{Binary, NodeId, Reduce, Unary};
use crate::mutant::{self, Mutant};
use crate::search::testing::build::*;
use Dtype::{BF16, Bool, F32, I32};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What notices that something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// An assertion while the search runs: the build reports a panic of the compiler.
    Assertion,
    /// The check of the plan, before any code is made.
    Plan,
    /// The check of each kernel against its meaning.
    Kernel,
    /// The check of the whole plan against the reference.
    Model,
}

/// Compiles and checks a model as a build does. An error says what noticed that it is wrong, and how.
fn road(name: &str, graph: &Graph) -> std::result::Result<(), (By, String)> {
    let compiled = catch_unwind(AssertUnwindSafe(|| compile(graph, &options(true))));
    let compiled = compiled.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        (By::Assertion, text.or(panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default())
    })?;
    let compiled = compiled.map_err(|error| (By::Plan, error.to_string()))?;
    let library = Library::of(name, &c_text(&compiled));
    let mut plan = compiled.plan.clone();
    for (unit, kernel) in compiled.units.list.iter().zip(plan.kernels.to_mut()) {
        let function = library.kernel(&kernel.name);
        // SAFETY: compiled from this unit's program; a planted bug stays within the guards of the arguments.
        unsafe { check_kernel(unit, function, graph, 9) }.map_err(|error| (By::Kernel, error.to_string()))?;
        kernel.entries = vec![(Isa::Baseline, function)].into();
    }
    // SAFETY: every kernel of the plan was just compiled for it.
    let plan: &'static Executable = Box::leak(Box::new(unsafe { Executable::new(plan) }));
    match check_model(graph, plan, Device::cpu(), 9) {
        Ok(compared) => assert!(compared.is_some(), "{name} is too large to be compared as a whole"),
        Err(error) => return Err((By::Model, error.to_string())),
    }
    Ok(())
}

fn caught(mutant: Mutant, by: By, graph: Graph) {
    let name = mutant.name();
    graph.verify().unwrap();
    mutant::with(None, || road(name, &graph)).unwrap_or_else(|(by, error)| {
        panic!("the model of {name} is wrong without the planted bug: {by:?}: {error}")
    });
    match mutant::with(Some(mutant), || road(name, &graph)) {
        Ok(()) => panic!("nothing notices {name}: {}\n{graph}", mutant.what()),
        Err((found, error)) => assert_eq!(found, by, "{name}: {error}"),
    }
}

macro_rules! planted_bugs {
    ($($test:ident: $mutant:ident by $by:ident in $graph:expr;)*) => {
        $(#[test] fn $test() { caught(Mutant::$mutant, By::$by, $graph); })*

        const TESTED: &[Mutant] = &[$(Mutant::$mutant,)*];
    };
}

planted_bugs! {
    rule_factor: RuleFactor by Model in common_factor();
    rule_guard: RuleGuard by Assertion in product(4, 6, 5);
    rule_nan: RuleNan by Model in never_greater();
    weight_lost: WeightLost by Model in scaled_product();
    pairing_unchecked: PairingUnchecked by Kernel in scores_of(1500, different_masks);
    defer_stream: DeferStream by Model in scores_of(1100, mixed_factor);
    state_not_reset: StateNotReset by Kernel in scores_of(1100, exponential_sum);
    repair_missing: RepairMissing by Kernel in scores_of(1100, exponential_sum);
    repair_inverted: RepairInverted by Kernel in scores_of(1100, exponential_sum);
    repair_stale: RepairStale by Kernel in scores_of(1100, exponential_sum);
    empty_repaired: EmptyRepaired by Kernel in scores_of(1100, exponential_sum);
    empty_unguarded: EmptyUnguarded by Kernel in scores_of(1100, exponential_sum);
    transposed_load: TransposedLoad by Model in square();
    guard_missing: GuardMissing by Kernel in padded();
    guard_taken: GuardTaken by Model in part();
    select_product: SelectProduct by Model in selected();
    order_reversed: OrderReversed by Plan in block();
    max_from_zero: MaxFromZero by Kernel in rows_of(11, greatest);
    tail_unmasked: TailUnmasked by Kernel in rows_of(11, greatest);
    tail_lost: TailLost by Kernel in rows_of(11, greatest);
    panel_overlap: PanelOverlap by Plan in product(4, 6, 40);
    last_tile_lost: LastTileLost by Kernel in rows_of(64, exp);
    block_misplaced: BlockMisplaced by Kernel in product(100, 64, 200);
    max_loses_nan: MaxLosesNan by Kernel in rows_of(11, relu);
    cast_wraps: CastWraps by Kernel in rows_of(64, |g, x| g.cast(x, I32));
    rounding_down: RoundingDown by Kernel in rows_of(64, |g, x| g.cast(x, BF16));
    mod_truncated: ModTruncated by Kernel in remainder();
    order_ignored: OrderIgnored by Plan in reordered();
    life_short: LifeShort by Plan in block();
    state_early: StateEarly by Model in state();
    regions_alike: RegionsAlike by Model in layers();
}

#[test]
fn every_planted_bug_is_tested_and_documented() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("../docs/mutants.md")).unwrap();
    assert!(Mutant::ALL.len() >= 12);
    for mutant in Mutant::ALL {
        let (name, file) = (mutant.name(), mutant.file());
        assert!(TESTED.contains(mutant), "{name} has no test");
        let row = table.lines().find(|line| line.starts_with(&format!("| `{name}` | `{file}` | ")));
        let row = row.unwrap_or_else(|| panic!("docs/mutants.md has no row of `{name}` in `{file}`"));
        assert!(row.contains(mutant.what()), "docs/mutants.md: `{name}` is not: {}", mutant.what());
        let code = std::fs::read_to_string(root.join("src").join(file)).unwrap();
        assert!(code.contains(&format!("planted!({mutant:?})")), "{name} is not in {file}");
    }
    let rows = table.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, Mutant::ALL.len(), "docs/mutants.md lists bugs that are gone");
}

/// A function of two rows of this length.
fn rows_of(length: usize, f: impl Fn(&mut Graph, NodeId) -> NodeId) -> Graph {
    let mut g = Graph::default();
    let x = g.input("x", &[fixed(2), fixed(length)], F32);
    let y = f(&mut g, x);
    output(g, y)
}

/// A function of rows of scores: products of vectors with each of `count` others.
fn scores_of(count: usize, f: impl Fn(&mut Graph, NodeId) -> NodeId) -> Graph {
    let mut g = Graph::default();
    let [q, k] = [4, count].map(|n| g.input(&format!("x{n}"), &[fixed(1), fixed(n), fixed(3)], F32));
    let y = scores(&mut g, q, k);
    let y = squeeze(&mut g, y);
    let y = f(&mut g, y);
    output(g, y)
}

fn common_factor() -> Graph {
    let mut g = Graph::default();
    let [x, y] = ["x", "y"].map(|name| g.input(name, &[fixed(4), fixed(11)], F32));
    let [x, y] = [x, y].map(|n| scale(&mut g, n, 2.5));
    let sum = add(&mut g, x, y);
    output(g, sum)
}

fn product(rows: usize, inner: usize, columns: usize) -> Graph {
    let mut g = Graph::default();
    let x = g.input("x", &[fixed(rows), fixed(inner)], F32);
    let y = linear(&mut g, x, "linear", columns, true);
    output(g, y)
}

/// A sine is at most 1, and `2^y + 1` at least; but the sine of what is not finite is NaN.
fn never_greater() -> Graph {
    let mut g = Graph::default();
    let [x, y] = ["x", "y"].map(|name| g.input(name, &[fixed(4), fixed(11)], F32));
    let low = g.unary(Unary::Sin, x);
    let high = g.unary(Unary::Exp2, y);
    let high = offset(&mut g, high, 1.0);
    let most = g.binary(Binary::Max, low, high);
    output(g, most)
}

fn scaled_product() -> Graph {
    let mut g = Graph::default();
    let x = g.input("x", &[fixed(4), fixed(6)], F32);
    let y = linear(&mut g, x, "linear", 5, false);
    let factor = g.param("factor", &[fixed(5)], F32);
    let y = mul(&mut g, y, factor);
    output(g, y)
}

/// The sum of `e^(x - max x)`.
fn exponential_sum(g: &mut Graph, x: NodeId) -> NodeId {
    let m = greatest(g, x);
    let m = along_last(g, m, x);
    let d = sub(g, x, m);
    let e = exp(g, d);
    g.reduce(Reduce::Sum, e, 1)
}

/// The sum of `e^(x - max x) max(x - max x, -1)`: the second factor is no product of what it depends on.
fn mixed_factor(g: &mut Graph, x: NodeId) -> NodeId {
    let m = greatest(g, x);
    let m = along_last(g, m, x);
    let d = sub(g, x, m);
    let (e, low) = (exp(g, d), literal(g, -1.0));
    let limited = binary(g, Binary::Max, d, low);
    let product = mul(g, e, limited);
    g.reduce(Reduce::Sum, product, 1)
}

fn greatest(g: &mut Graph, x: NodeId) -> NodeId {
    g.reduce(Reduce::Max, x, 1)
}

/// The maximum is over the last positions, the sum over the first.
fn different_masks(g: &mut Graph, x: NodeId) -> NodeId {
    let j = g.iota(fixed(1500));
    let [from, to] = [1000.0, 1300.0].map(|n| g.constant(n, I32));
    let (lowest, zero) = (literal(g, f64::NEG_INFINITY), literal(g, 0.0));
    let early = less(g, j, from);
    let masked = select(g, early, lowest, x);
    let m = greatest(g, masked);
    let m = along_last(g, m, x);
    let d = sub(g, x, m);
    let e = exp(g, d);
    let counts = less(g, j, to);
    let e = select(g, counts, e, zero);
    g.reduce(Reduce::Sum, e, 1)
}

fn square() -> Graph {
    let mut g = Graph::default();
    let x = g.input("x", &[fixed(5), fixed(5)], F32);
    let y = exp(&mut g, x);
    output(g, y)
}

fn padded() -> Graph {
    rows_of(9, |g, x| {
        let y = g.pad(x, 1, 2, fixed(13), 0.0);
        exp(g, y)
    })
}

/// Zeros around a part of a tensor: the mask is narrower than the tensor.
fn part() -> Graph {
    rows_of(9, |g, x| {
        let y = g.slice(x, 1, 2, 1, fixed(5));
        let y = g.pad(y, 1, 2, fixed(9), 0.0);
        scale(g, y, 2.0)
    })
}

fn selected() -> Graph {
    let mut g = Graph::default();
    let mask = g.input("mask", &[fixed(40), fixed(11)], Bool);
    let x = g.input("x", &[fixed(40), fixed(11)], F32);
    let zero = literal(&mut g, 0.0);
    let y = select(&mut g, mask, x, zero);
    output(g, y)
}

fn block() -> Graph {
    models::bert_block(Sizes::SMALL)
}

fn remainder() -> Graph {
    let mut g = Graph::default();
    let x = g.input("x", &[fixed(64)], I32);
    let three = g.constant(3.0, I32);
    let y = binary(&mut g, Binary::Mod, x, three);
    output(g, y)
}

/// A product reads a softmax column by column.
fn reordered() -> Graph {
    let mut g = Graph::default();
    let [x, y] = ["x", "y"].map(|name| g.input(name, &[fixed(4), fixed(6)], F32));
    let half = scale(&mut g, y, 0.5);
    let x = add(&mut g, half, x);
    let y = softmax(&mut g, x, false);
    let y = linear(&mut g, y, "linear", 6, false);
    let y = softmax(&mut g, y, false);
    let y = add(&mut g, y, x);
    output(g, y)
}

/// The new state is known early, the old one is needed late.
fn state() -> Graph {
    let mut g = Graph::default();
    let x = g.input("x", &[fixed(4), fixed(6)], F32);
    let old = g.state("s", &[fixed(4), fixed(6)], F32);
    let new = offset(&mut g, x, 1.0);
    let y = softmax(&mut g, new, false);
    let y = linear(&mut g, y, "linear", 6, false);
    let y = softmax(&mut g, y, false);
    let y = add(&mut g, y, old);
    g.writes.push((old, new));
    output(g, y)
}

/// Five equal layers but for one constant.
fn layers() -> Graph {
    let mut g = deep::bert(Sizes::SMALL, 5, 11);
    let factor = f64::from(0.044715f32);
    let is_factor =
        |node: &&mut crate::graph::Node| matches!(node.op, crate::graph::Op::Const(x) if x == factor);
    let third = g.nodes.iter_mut().filter(is_factor).nth(2).expect("each layer has a GELU");
    third.op = crate::graph::Op::Const(5.0);
    g
}

/// What the whole model shows, its regions show too, where the model is too large to be run. Only
/// states that change too early and the same program for two regions need the whole.
#[test]
fn regions_show_what_is_wrong_before_there_is_code() {
    let cases = [
        (Mutant::RuleFactor, common_factor()),
        (Mutant::RuleNan, never_greater()),
        (Mutant::WeightLost, scaled_product()),
        (Mutant::TransposedLoad, square()),
        (Mutant::GuardTaken, part()),
        (Mutant::GuardMissing, padded()),
        (Mutant::SelectProduct, selected()),
    ];
    for (mutant, graph) in cases {
        let check = || {
            let compiled = compile(&graph, &options(true)).unwrap();
            let regions = compiled.regions.iter();
            regions.map(|region| check_region(&region.graph, &region.program, 9)).collect::<Result<Vec<_>>>()
        };
        let compared = mutant::with(None, check).unwrap_or_else(|e| panic!("{}: {e}", mutant.name()));
        assert!(compared.iter().all(Option::is_some), "{} is too large", mutant.name());
        assert!(mutant::with(Some(mutant), check).is_err(), "{} is not noticed", mutant.name());
    }
}

/// The tile programs of a target whose code is not run.
#[test]
fn interpreted_tiles_show_wrong_schedules() {
    let cases = [
        (Mutant::TailUnmasked, rows_of(11, greatest)),
        (Mutant::TailLost, rows_of(11, greatest)),
        (Mutant::MaxFromZero, rows_of(11, greatest)),
        (Mutant::StateNotReset, scores_of(1100, exponential_sum)),
        (Mutant::RepairMissing, scores_of(1100, exponential_sum)),
    ];
    for (mutant, graph) in cases {
        let check = || {
            let compiled = compile(&graph, &options(true)).unwrap();
            let units = compiled.units.list.iter();
            units.map(|unit| check_tiles(&unit.kernel, &unit.program, &graph, 9)).collect::<Result<Vec<_>>>()
        };
        let compared = mutant::with(None, check).unwrap_or_else(|e| panic!("{}: {e}", mutant.name()));
        assert!(compared.iter().all(Option::is_some), "{} is too large", mutant.name());
        assert!(mutant::with(Some(mutant), check).is_err(), "{} is not noticed", mutant.name());
    }
}
