//! Kernels of every form, and inputs for them: what tests and examples of all targets share.

mod build;
mod kernels;
mod rows;
mod types;

pub use build::{Builder, add, load, max, mul, number, sub, unary};
pub use kernels::*;
pub use rows::*;
pub use types::*;

pub use super::inputs::Fill;

use super::inputs::arguments;
use super::ir::{Item, Kernel};
use super::meaning::Values;
use crate::dtype::Dtype;

/// Arguments of a kernel. Integers are in `0..5`, so that they may be indices into tables of 5 or more.
pub fn inputs(kernel: &Kernel, fill: Fill, seed: u64) -> Vec<Values> {
    arguments(kernel, fill, 0..=4, seed)
}

/// What to fill the inputs of a kernel with. A fold that ends early never looks at what is masked behind its end, so
/// that NaN there shows or not as blocks fall.
pub fn fills(kernel: &Kernel) -> &'static [Fill] {
    let early = kernel.items.iter().any(|item| matches!(item, Item::Fold { until: Some(_), .. }));
    if early { &[Fill::Mixed, Fill::Negative] } else { &[Fill::Mixed, Fill::Negative, Fill::WithNan] }
}

/// Every kernel that tests run, with a name and the free sizes to run it at.
pub fn all() -> Vec<(String, Kernel, Vec<Vec<usize>>)> {
    let mut cases = vec![];
    let mut fixed = |name: &str, kernel: Kernel| cases.push((name.to_string(), kernel, vec![vec![]]));
    for (m, n, k) in
        [(1, 1, 1), (7, 17, 5), (13, 40, 16), (64, 32, 33), (1, 50, 64), (3, 10, 784), (0, 4, 4), (4, 4, 0)]
    {
        fixed(&format!("matmul_{m}_{n}_{k}"), matmul(m, n, k));
    }
    fixed("matmul_transposed", matmul_transposed(9, 21, 35));
    fixed("gemv", matmul_transposed(1, 37, 70));
    fixed("conv", conv(2, 3, 18, 7, 9));
    fixed("conv_pool", conv_pool(2, 1, 16, 8, 8));
    fixed("conv_pool_odd", conv_pool(1, 3, 5, 6, 14));
    fixed("depthwise", depthwise(9, 8, 11));
    fixed("softmax", softmax(5, 17));
    fixed("softmax_wide", softmax(3, 100));
    fixed("softmax_single", softmax(4, 1));
    fixed("softmax_empty", softmax(0, 8));
    fixed("layer_norm", layer_norm(7, 24));
    fixed("layer_norm_odd", layer_norm(1, 7));
    fixed("linear_softmax", linear_softmax(6, 10, 33));
    fixed("attention", attention(2, 9, 13, 8));
    fixed("attention_fold", attention_fold(2, 11, 8, false));
    fixed("attention_fold_causal", attention_fold(1, 19, 8, true));
    fixed("embedding", embedding(7, 5, 19));
    fixed("transpose", transpose(7, 18));
    fixed("reverse", reverse_every_second(40));
    fixed("scalar", scalar_sum(33));
    fixed("masked", masked_select(6, 21));
    fixed("integers", integers(5, 19));
    fixed("any_true", any_true(6, 20));
    fixed("column_statistics", column_statistics(12, 20));
    fixed("two_outputs", two_outputs(6, 18));
    fixed("concat", concat(5, 6, 9));
    fixed("math", math(4, 25));
    fixed("clamp", clamp(3, 13));
    fixed("casts", casts(3, 19));
    fixed("loads_of_every_type", loads_of_every_type(3, 19));
    fixed("matmul_f16", narrow_matmul(Dtype::F16, 7, 17, 9));
    fixed("moves_bf16", narrow_moves(Dtype::BF16, 5, 18));
    fixed("moves_u8", narrow_moves(Dtype::U8, 5, 18));
    fixed("quantised", quantised(3, 20, 40));
    fixed("longs", longs(5, 19));
    cases.push((
        "free_rows".into(),
        free_matmul(20, 18, 12),
        vec![vec![1], vec![6], vec![17], vec![20], vec![0]],
    ));
    let sizes = vec![vec![1, 2], vec![4, 7], vec![5, 5], vec![0, 3], vec![17, 20]];
    cases.push(("free_pad".into(), free_pad(17, 9), sizes));
    cases.push(("free_softmax".into(), free_softmax(3, 40), vec![vec![1], vec![8], vec![23], vec![40]]));
    cases
}
