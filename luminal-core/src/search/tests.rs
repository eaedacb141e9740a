use super::term::Precision;
use super::testing::{Random, buffers, cases, difference, evaluate, models, random_inputs};
use super::*;
use crate::graph::Graph;

/// Worst error of the plan on small sizes.
fn error(g: &Graph, found: &Found) -> f64 {
    let free = vec![4; g.free.len()];
    let inputs = random_inputs(g, &free, &mut Random(11));
    let values = evaluate(g, &inputs, &free);
    let given = buffers(g, &values, &free);
    let out = found.execute(g, given, &free, Precision::Double).unwrap_or_else(|e| panic!("{e}\n{found}"));
    let roots = found.dag.roots.iter();
    roots.map(|root| difference(&out[&root.node].1, &values[root.node])).fold(0.0, f64::max)
}

#[test]
fn plans_have_the_values_of_the_graph() {
    let all = models::small().into_iter().map(|(name, g)| (name.to_string(), g));
    let all = all.chain(cases::folds()).chain(cases::traps()).chain(cases::separate()).chain(cases::views());
    for (name, g) in all {
        for fuse in [true, false] {
            let found =
                search(&g, &Options { fuse, ..Options::default() }).unwrap_or_else(|e| panic!("{name}: {e}"));
            let worst = error(&g, &found);
            assert!(worst < 1e-5, "{name}, fuse = {fuse}: {worst:e}\n{found}");
        }
    }
}

#[test]
fn print_plans() {
    for (name, g) in models::real() {
        let t = std::time::Instant::now();
        let found = search(&g, &Options::default()).unwrap();
        let t = t.elapsed().as_secs_f64() * 1e3;
        println!(
            "== {name}: graph {} dag {} kernels {} {t:.1} ms",
            g.nodes.len(),
            found.dag.nodes.len(),
            found.kernels.len()
        );
        println!("{}", found.log.join("\n"));
        println!("{found}");
    }
}
