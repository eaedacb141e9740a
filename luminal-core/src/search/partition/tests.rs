use super::atoms::ATOM;
use super::cones::Candidates;
use super::plan::{Problems, finish, fused};
use super::problem::Problem;
use super::set::NodeSet;
use super::space::Space;
use super::*;
use crate::graph::Graph;
use crate::search::algebra;
use crate::search::import::import;
use crate::search::term::{Dag, Precision};
use crate::search::testing::{Random, buffers, cases, difference, evaluate, models, random_inputs};
use crate::search::{Explored, Found, Options, search};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

const LIMITS: Limits = Limits { cones: 64, width: 10_000 };

fn small() -> Vec<(String, Graph)> {
    let all = models::small().into_iter().map(|(name, g)| (name.to_string(), g));
    all.chain(cases::folds()).chain(cases::traps()).chain(cases::separate()).chain(cases::views()).collect()
}

fn cheapest(problem: &Problem, candidates: &Candidates) -> f64 {
    Space::new(problem, candidates, LIMITS.width).solve(|step| step.cost).unwrap().0
}

/// The optimum by another way: Dijkstra over sets of stored values, kernels in any order, any side outputs. None if there
/// are more sets than the limit.
fn brute_force(problem: &Problem, candidates: &Candidates, limit: usize) -> Option<f64> {
    let mut kernels: Vec<(NodeSet, NodeSet, f64)> = Vec::new();
    for kernel in candidates.values().flatten() {
        let is_used = |i: usize| problem.roots.contains(i) || !problem.users[i].is_subset(&kernel.set);
        let side: Vec<usize> =
            kernel.storable.iter().filter(|i| !kernel.sinks.contains(i) && is_used(*i)).take(4).collect();
        for choice in 0..1usize << side.len() {
            let chosen = side.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1).map(|(_, i)| *i);
            let outputs: Vec<usize> = kernel.sinks.iter().copied().chain(chosen).collect();
            let cost = problem.work(&kernel.set, &outputs).cost(&problem.machine);
            kernels.push((kernel.leaves.clone(), NodeSet::of(problem.dag.nodes.len(), outputs), cost));
        }
    }
    let mut known: HashMap<NodeSet, f64> = HashMap::from([(problem.empty(), 0.0)]);
    let key = |cost: f64| Reverse((cost * 1e15) as u64);
    let mut queue = BinaryHeap::from([(key(0.0), problem.empty())]);
    while let Some((_, state)) = queue.pop() {
        let cost = known[&state];
        if problem.roots.is_subset(&state) {
            return Some(cost);
        }
        for (leaves, outputs, own) in &kernels {
            if !leaves.is_subset(&state) || outputs.is_subset(&state) {
                continue;
            }
            let next = state.union(outputs);
            if known.get(&next).is_none_or(|best| cost + own < best - 1e-15) {
                known.insert(next.clone(), cost + own);
                queue.push((key(cost + own), next));
            }
        }
        if known.len() > limit {
            return None;
        }
    }
    None
}

#[test]
fn shortest_path_equals_brute_force() {
    // Without a launch cost a plan of many kernels may win: both must agree there too.
    let machines = [Machine::CPU, Machine { launch: 1e-10, ..Machine::CPU }];
    let mut compared = 0;
    for (name, g) in small() {
        let dag = import(&g).unwrap().dag;
        for machine in machines {
            let problems = Problems::new(&g, &dag, machine, ATOM);
            let candidates = problems.run.candidates(LIMITS.cones);
            let Some(optimum) = brute_force(&problems.run, &candidates, 3000) else { continue };
            let found = cheapest(&problems.run, &candidates);
            assert!(
                (found - optimum).abs() < 1e-12,
                "{name}, launch {:e}: path {found:e}, brute force {optimum:e}",
                machine.launch
            );
            compared += 1;
        }
    }
    assert!(compared > 50, "only {compared} were small enough");
}

/// A plan that wins under random costs.
fn random_plan(g: &Graph, dag: &Dag, seed: u64) -> Found {
    let problems = Problems::new(g, dag, Machine::CPU, ATOM);
    let mut kernels = Vec::new();
    for (problem, when) in [(&problems.load, When::Load), (&problems.run, When::Run)] {
        let candidates = problem.candidates(LIMITS.cones);
        let space = Space::new(problem, &candidates, LIMITS.width);
        let cost = |step: &super::space::Step| {
            let member = |sum: u64, i: usize| sum.wrapping_mul(31).wrapping_add(i as u64 + 1);
            let hash = step.kernel.set.iter().chain(step.outputs.iter().copied()).fold(seed, member);
            Random(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1).unit() + 0.05
        };
        let (_, path) = space.solve(cost).unwrap();
        for step in path {
            kernels.push(fused(problem, space.steps[step].kernel, &space.steps[step].outputs, when));
        }
    }
    let Partition { kernels, bound, .. } = finish(dag, kernels, Explored::default()).unwrap();
    Found { dag: dag.clone(), variant: 0, kernels, bound, log: Vec::new(), explored: Explored::default() }
}

#[test]
fn every_plan_of_the_space_is_right() {
    let mut different = 0;
    for (name, g) in small() {
        let free = vec![3; g.free.len()];
        let inputs = random_inputs(&g, &free, &mut Random(5));
        let values = evaluate(&g, &inputs, &free);
        let dag = import(&g).unwrap().dag;
        let saturated = algebra::saturate(&dag, algebra::Limits::default());
        for (i, variant) in algebra::variants(&saturated, &dag, 2).iter().enumerate() {
            let mut seen = Vec::new();
            for seed in 1..5 {
                let plan = random_plan(&g, variant, seed);
                let given = buffers(&g, &values, &free);
                let out = plan.execute(&g, given, &free, Precision::Double).unwrap();
                for root in &variant.roots {
                    let worst = difference(&out[&root.node].1, &values[root.node]);
                    assert!(worst < 1e-5, "{name}, variant {i}, seed {seed}: {worst:e}\n{plan}");
                }
                if !seen.contains(&plan.kernels) {
                    seen.push(plan.kernels);
                }
            }
            different += seen.len();
        }
    }
    assert!(different > 150, "only {different} different plans");
}

fn plan(name: &str) -> Found {
    let g = models::real().into_iter().find(|(n, _)| *n == name).unwrap().1;
    search(&g, &Options::default()).unwrap()
}

/// `siblings 3, fold, ..`: form and number of outputs of each kernel of a run.
fn forms(found: &Found) -> String {
    let runs = found.kernels.iter().filter(|kernel| kernel.when == When::Run);
    let text = |kernel: &Fused| match kernel.outputs.len() {
        1 => kernel.form.name().to_string(),
        n => format!("{} {n}", kernel.form.name()),
    };
    runs.map(text).collect::<Vec<_>>().join(", ")
}

#[test]
fn kernels_of_known_models() {
    let expected = [
        ("layer norm", "row"),
        ("rms norm + matmul", "contraction"),
        ("softmax", "row"),
        ("attention, causal, grouped", "fold"),
        ("swiglu", "contraction, contraction"),
        ("bert block", "siblings 3, fold, contraction + row, contraction, contraction + row"),
        ("llama block, prefill", "siblings 3, map, fold, contraction + row 2, contraction, contraction"),
        ("resnet block", "contraction, contraction"),
        ("mlp, free batch", "contraction, contraction + row"),
        (
            "cnn",
            "contraction, contraction + reduction, contraction, contraction + reduction, contraction, \
             contraction + row",
        ),
    ];
    for (name, want) in expected {
        let found = plan(name);
        assert_eq!(forms(&found), want, "{name}\n{found}");
    }
}

#[test]
fn folded_weights_are_computed_at_load() {
    let found = plan("resnet block");
    let load: Vec<&Fused> = found.kernels.iter().filter(|kernel| kernel.when == When::Load).collect();
    assert!(!load.is_empty());
    for kernel in &load {
        assert!(kernel.set.iter().all(|id| found.dag.weight(*id)), "{found}");
    }
    for kernel in found.kernels.iter().filter(|kernel| kernel.when == When::Run) {
        assert!(!kernel.set.iter().any(|id| found.dag.weight(*id)), "{found}");
        let folded = kernel.inputs.iter().filter(|id| found.dag.weight(**id)).count();
        assert_eq!(folded, 2, "scaled weights and shifted bias\n{found}");
    }
}

#[test]
fn masks_over_positions_and_outer_products_of_weights_are_not_stored() {
    for name in ["attention Causal", "attention Alibi"] {
        let g = cases::folds().into_iter().find(|(n, _)| n == name).unwrap().1;
        let found = search(&g, &Options::default()).unwrap();
        assert_eq!(found.kernels.len(), 1, "{name}\n{found}");
    }
}

#[test]
fn weights_alone_are_a_kernel_at_load() {
    let g = cases::views().into_iter().find(|(n, _)| n == "weights alone").unwrap().1;
    for fuse in [true, false] {
        let found = search(&g, &Options { fuse, ..Options::default() }).unwrap();
        assert!(found.kernels.iter().all(|kernel| kernel.when == When::Load), "{found}");
    }
}

#[test]
fn one_kernel_for_each_operation() {
    let g = models::real().into_iter().find(|(n, _)| *n == "cnn").unwrap().1;
    let found = search(&g, &Options { fuse: false, ..Options::default() }).unwrap();
    // Four convolutions, two products: with bias 12, with the activations 17, two pools, eight of softmax.
    assert_eq!(found.kernels.len(), 12 + 5 + 2 + 8, "{found}");
    for kernel in &found.kernels {
        let others = kernel.set.iter().filter(|id| !found.dag.node(**id).is_reduction());
        assert!(kernel.outputs.len() == 1 && others.count() <= 3, "{found}");
    }
}

/// What a beam gives up is cost, not the meaning of the plan.
#[test]
fn a_narrow_beam_still_gives_a_good_plan() {
    for (name, g) in models::small() {
        let dag = import(&g).unwrap().dag;
        let of =
            |width| partition(&g, &dag, Machine::CPU, Limits { cones: 64, width }, &mut NoClock).unwrap();
        let (best, narrow) = (of(LIMITS.width), of(1));
        assert!(best.explored.exact, "{name}");
        assert!(narrow.explored.states <= best.explored.states, "{name}");
        assert!(narrow.cost >= best.cost * (1.0 - 1e-12), "{name}: {} {}", narrow.cost, best.cost);
        let separate = separate(&g, &dag, Machine::CPU).unwrap();
        assert!(narrow.cost <= separate.cost, "{name}: {} {}", narrow.cost, separate.cost);
        let free = vec![3; g.free.len()];
        let values = evaluate(&g, &random_inputs(&g, &free, &mut Random(5)), &free);
        let Partition { kernels, bound, .. } = narrow;
        let plan = Found {
            dag: dag.clone(),
            variant: 0,
            kernels,
            bound,
            log: Vec::new(),
            explored: Explored::default(),
        };
        let out = plan.execute(&g, buffers(&g, &values, &free), &free, Precision::Double).unwrap();
        for root in &dag.roots {
            let worst = difference(&out[&root.node].1, &values[root.node]);
            assert!(worst < 1e-5, "{name}: {worst:e}\n{plan}");
        }
    }
}

/// Nothing is lost by computing together what only one value needs.
#[test]
fn atoms_do_not_change_the_best_plan() {
    let mut fewer = 0;
    for (name, g) in small() {
        let dag = import(&g).unwrap().dag;
        let of = |atom| {
            let problems = Problems::new(&g, &dag, Machine::CPU, atom);
            let candidates = problems.run.candidates(256);
            let space = Space::new(&problems.run, &candidates, LIMITS.width);
            assert!(space.exact, "{name}");
            (space.solve(|step| step.cost).unwrap().0, problems.run.atoms.heads.len())
        };
        let ((single, ops), (joined, atoms)) = (of(1), of(ATOM));
        assert!((single - joined).abs() < 1e-12, "{name}: single values {single:e}, atoms {joined:e}");
        fewer += ops - atoms;
    }
    assert!(fewer > 100, "atoms hold only {fewer} other values");
}
