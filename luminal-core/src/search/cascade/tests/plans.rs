//! What becomes one kernel, and what must not: number of kernels and sizes of buffers at sizes that matter, values at
//! small sizes with folds cut and merged anywhere.

use super::*;
use crate::graph::NodeId;
use crate::kernel::ir::Item;
use crate::kernel::schedule;
use crate::search::lower::{self, lower};
use crate::search::partition::{Fused, When};
use crate::search::testing::build::{layer_norm, linear, rms_norm, softmax, variance};
use crate::search::testing::cases::Attention;
use crate::search::{Found, Options, search};

/// A long axis: rows of it are streamed, but would fit on chip.
const LONG: usize = 4096;
/// Rows that do not fit on chip.
const BEYOND: usize = 40_000;

fn runs(found: &Found) -> Vec<&Fused> {
    found.kernels.iter().filter(|kernel| kernel.when == When::Run).collect()
}

fn found(g: &Graph) -> Found {
    g.verify().unwrap();
    search(g, &Options::default()).unwrap()
}

/// Plans of a small graph have its values at all magnitudes, however their folds are cut and merged.
fn has_the_values(name: &str, g: &Graph) {
    let found = found(g);
    for magnitude in MAGNITUDES.into_iter().filter(|magnitude| is_defined(name, *magnitude)) {
        for seed in 1..4 {
            let values = evaluate(g, &inputs(g, magnitude, seed), &[]);
            let out = found.execute(g, buffers(g, &values, &[]), &[], Precision::Double).unwrap();
            for root in &found.dag.roots {
                let worst = difference(&out[&root.node].1, &values[root.node]);
                // Literals were folded, and rounded to f32.
                assert!(worst < tolerance(magnitude).max(1e-6), "{name}, {magnitude:?}: {worst:e}\n{found}");
            }
        }
    }
}

/// Bytes of what the kernels of a run pass to each other.
fn between(g: &Graph, found: &Found) -> usize {
    let program = lower(g, found, &lower::Options::default()).unwrap();
    let mut passed = BTreeSet::new();
    for kernel in program.kernels.iter().filter(|kernel| kernel.when == When::Run) {
        let written = kernel.args.iter().zip(&kernel.writes).filter(|(_, writes)| **writes);
        passed.extend(written.map(|(value, _)| *value).filter(|value| !program.outputs.contains(value)));
    }
    let bytes =
        |value: &lower::Value| value.shape.iter().map(|&d| d.max()).product::<usize>() * value.dtype.bytes();
    passed.into_iter().map(|value| bytes(&program.values.list[value])).sum()
}

/// One fold: one kernel, which streams its long axis of `LONG` positions and keeps no value with all of them.
fn one_fold(name: &str, small: &Graph, large: &Graph) {
    has_the_values(name, small);
    let found = found(large);
    let kernels = runs(&found);
    assert_eq!(kernels.len(), 1, "{name}\n{found}");
    assert!(kernels[0].fold.is_some(), "{name}\n{found}");
    let program = lower(large, &found, &lower::Options::default()).unwrap();
    let lowered = program.kernels.iter().find(|kernel| kernel.when == When::Run).unwrap();
    assert_eq!(between(large, &found), 0, "{name}\n{found}");
    let kernel = &lowered.kernel;
    let streams = kernel
        .items
        .iter()
        .any(|item| matches!(item, Item::Fold { axis, .. } if kernel.axes[*axis].max == LONG));
    // Sums that do not depend on each other pass over the axis one after the other; they keep nothing along it either.
    let axes = kernels[0].fold.unwrap();
    let fold = derive(&found.dag, &|id| kernels[0].set.contains(&id), axes).unwrap();
    let depends = |part: &Component| part.law != Law::Plain || !part.deferred.is_empty();
    assert_eq!(streams, fold.components.iter().any(depends), "{name}\n{kernel}");
    let (_, scheduled, _) = schedule::best(name, kernel, &schedule::Machine::x86_64_v3()).unwrap();
    for buffer in &scheduled.kernel.buffers[kernel.args..] {
        assert!(buffer.dims.iter().all(|size| *size < LONG), "{name} keeps {:?}\n{scheduled}", buffer.dims);
    }
}

fn attention(kind: Attention, guard: bool) {
    let name = format!("attention {kind:?}");
    let large = cases::attention_of(kind, guard, [16, LONG, 8]);
    one_fold(&name, &cases::attention(kind, guard), &large);
}

#[test]
fn cascade_attention_plain_is_one_fold() {
    attention(Attention::Plain, false);
}

#[test]
fn cascade_attention_causal_is_one_fold() {
    attention(Attention::Causal, false);
}

#[test]
fn cascade_attention_additive_mask_is_one_fold() {
    attention(Attention::Additive, true);
}

/// Rows that are masked everywhere give 0.
#[test]
fn cascade_attention_boolean_mask_is_one_fold() {
    attention(Attention::Boolean, true);
    let g = cases::attention(Attention::Boolean, true);
    let found = found(&g);
    let values = evaluate(&g, &inputs(&g, Magnitude::MaskedRow, 1), &[]);
    let out = found.execute(&g, buffers(&g, &values, &[]), &[], Precision::Double).unwrap();
    assert!(out[&g.outputs[0].1].1[..3].iter().all(|x| *x == 0.0), "the first query sees no key");
}

#[test]
fn cascade_attention_grouped_is_one_fold() {
    attention(Attention::Grouped, false);
}

#[test]
fn cascade_attention_alibi_is_one_fold() {
    attention(Attention::Alibi, false);
}

#[test]
fn cascade_attention_soft_cap_is_one_fold() {
    attention(Attention::SoftCap, false);
}

#[test]
fn cascade_attention_sliding_window_is_one_fold() {
    attention(Attention::Window, false);
}

fn rows_are_one_fold(name: &str, f: impl Fn(&mut Graph, NodeId) -> NodeId) {
    one_fold(name, &cases::rows(&f), &cases::rows_of([16, LONG], &f));
}

/// As [`rows_are_one_fold`], of a product with 9 or `LONG` columns.
fn columns_are_one_fold(name: &str, f: impl Fn(&mut Graph, NodeId) -> NodeId) {
    let of = |columns: usize| {
        let f = &f;
        move |g: &mut Graph, x: NodeId| {
            let y = linear(g, x, "linear", columns, false);
            f(g, y)
        }
    };
    one_fold(name, &cases::rows(of(9)), &cases::rows_of([16, 64], of(LONG)));
}

#[test]
fn cascade_log_sum_exp_is_one_fold() {
    rows_are_one_fold("log sum exp", |g, x| cases::log_sum_exp(g, x, false));
    rows_are_one_fold("log sum exp, guarded", |g, x| cases::log_sum_exp(g, x, true));
    columns_are_one_fold("log sum exp of a product", |g, y| cases::log_sum_exp(g, y, false));
}

#[test]
fn cascade_cross_entropy_of_a_product_is_one_fold() {
    columns_are_one_fold("cross-entropy of a product", cases::cross_entropy);
}

#[test]
fn cascade_argmax_of_a_product_is_one_fold() {
    columns_are_one_fold("argmax of a product", cases::argmax);
    rows_are_one_fold("argmax", cases::argmax);
}

#[test]
fn cascade_rms_norm_and_product_is_one_fold() {
    rows_are_one_fold("rms norm and product", |g, x| {
        let y = rms_norm(g, x, "norm");
        linear(g, y, "linear", 6, false)
    });
}

/// One kernel while a row fits on chip; else `beyond` kernels, which pass on less than one value for each 100 elements.
fn rows(name: &str, beyond: usize, f: impl Fn(&mut Graph, NodeId) -> NodeId) {
    has_the_values(name, &cases::rows(&f));
    let small = cases::rows_of([64, 768], &f);
    let fits = found(&small);
    assert_eq!(runs(&fits).len(), 1, "{name}\n{fits}");
    assert_eq!(between(&small, &fits), 0, "{name}\n{fits}");
    let large = cases::rows_of([64, BEYOND], &f);
    let long = found(&large);
    assert_eq!(runs(&long).len(), beyond, "{name}, long rows\n{long}");
    let bytes = between(&large, &long);
    assert!(bytes <= 64 * BEYOND * 4 / 100, "{name}, long rows, pass on {bytes} bytes\n{long}");
}

#[test]
fn cascade_softmax_is_one_kernel_or_two() {
    rows("softmax", 2, |g, x| softmax(g, x, false));
}

#[test]
fn cascade_log_softmax_is_one_kernel_or_two() {
    rows("log softmax", 2, cases::log_softmax);
}

#[test]
fn cascade_layer_norm_is_one_kernel_or_two() {
    rows("layer norm", 2, |g, x| layer_norm(g, x, "norm"));
}

#[test]
fn cascade_layer_norm_and_product_is_one_kernel_or_two() {
    rows("layer norm and product", 2, |g, x| {
        let y = layer_norm(g, x, "norm");
        linear(g, y, "linear", 6, false)
    });
}

/// Rounding mixes an element with the maximum: no fold, though each half is one.
#[test]
fn cascade_quantised_product_is_one_kernel_or_two() {
    rows("quantised product", 2, |g, x| cases::quantised_matmul(g, x, true));
}

/// Two passes over a row on chip, whose rounding errors are those of the composition. Only a row that does not fit is a
/// fold of count, mean and squared deviations.
#[test]
fn cascade_variance_is_two_passes_on_chip() {
    rows("variance", 1, variance);
    let fits = found(&cases::rows_of([64, 768], variance));
    assert_eq!(runs(&fits)[0].fold, None, "{fits}");
}

/// No fold where a row fits, and several kernels where it does not.
fn never_a_fold(name: &str, reason: &str, f: impl Fn(&mut Graph, NodeId) -> NodeId) {
    has_the_values(name, &cases::rows(&f));
    let dag = import(&cases::rows(&f)).unwrap().dag;
    for axes in reduced_sets(&dag) {
        let refused = derive(&dag, &|_| true, axes).unwrap_err();
        assert!(refused.contains(reason), "{name}: {refused}");
    }
    for (length, kernels) in [(768, 1), (BEYOND, 2)] {
        let found = found(&cases::rows_of([64, length], &f));
        assert_eq!(runs(&found).len(), kernels, "{name}, rows of {length}\n{found}");
        let dependent =
            |kernel: &&Fused| kernel.set.iter().filter(|id| found.dag.node(**id).is_reduction()).count() > 1;
        for kernel in runs(&found).iter().filter(|kernel| dependent(kernel)) {
            assert_eq!(kernel.fold, None, "{name}, rows of {length}\n{found}");
        }
    }
}

#[test]
fn cascade_refuses_maximum_and_sum_under_different_masks() {
    never_a_fold("different masks", "does not meet its own body", cases::different_masks);
}

#[test]
fn cascade_refuses_the_count_above_the_mean() {
    never_a_fold("count above the mean", "mixes the stream and an earlier result", cases::count_above_mean);
}

/// Each needs whole rows of the other's result.
#[test]
fn cascade_keeps_softmaxes_over_different_axes_apart() {
    has_the_values("two softmaxes", &cases::rows(cases::two_softmaxes));
    let found = found(&cases::rows_of([64, 768], cases::two_softmaxes));
    assert_eq!(runs(&found).len(), 2, "{found}");
}

/// What must be in memory anyway is read, not computed again; no fold could store it before it knows the last maximum.
#[test]
fn cascade_keeps_softmax_weights_that_are_an_output() {
    has_the_values("attention and weights", &cases::attention_and_weights([5, 9, 3]));
    let g = cases::attention_and_weights([64, 768, 32]);
    let found = found(&g);
    assert_eq!(runs(&found).len(), 2, "{found}");
    assert!(runs(&found).iter().all(|kernel| kernel.form != crate::search::partition::Form::Fold), "{found}");
    let weights = found.dag.roots.iter().find(|root| root.node == g.outputs[1].1).unwrap().term;
    assert!(
        runs(&found)[0].outputs.contains(&weights) && runs(&found)[1].inputs.contains(&weights),
        "{found}"
    );
}
