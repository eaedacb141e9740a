//! Planted bugs in what CPUs and GPUs share: the check of tile programs finds them in schedules for GPUs too, which no build
//! runs.
#![cfg(feature = "mutants")]

use luminal_core::compile::check::check_tiles;
use luminal_core::error::Result;
use luminal_core::graph::Graph;
use luminal_core::kernel::ir::Kernel;
use luminal_core::kernel::lower::lower;
use luminal_core::kernel::testing;
use luminal_core::mutant::{self, Mutant};
use luminal_cuda::schedule::schedule;

fn kernels() -> Vec<(&'static str, Kernel)> {
    vec![
        ("matmul", testing::matmul(7, 17, 35)),
        ("matmul with many rows", testing::matmul(70, 33, 9)),
        ("convolution", testing::conv(2, 3, 18, 7, 9)),
        ("softmax", testing::softmax(5, 17)),
        ("softmax of long rows", testing::softmax(3, 300)),
        ("layer norm", testing::layer_norm(7, 24)),
        ("attention", testing::attention(2, 9, 13, 8)),
        ("attention in blocks", testing::attention_fold(2, 11, 8, false)),
        ("sum and maximum", testing::two_outputs(6, 18)),
        ("many elements", testing::transpose(40, 50)),
    ]
}

fn check(kernel: &Kernel) -> Result<()> {
    let schedule = schedule(kernel).expect("a schedule");
    let program = lower("kernel", kernel, &schedule)?;
    let compared = check_tiles(kernel, &program, &Graph::default(), 3)?;
    assert!(compared.is_some(), "too large to be interpreted");
    Ok(())
}

#[test]
fn schedules_for_gpus_are_right() {
    for (name, kernel) in kernels() {
        check(&kernel).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn planted_bugs_are_found() {
    for mutant in [Mutant::TailUnmasked, Mutant::TailLost, Mutant::MaxFromZero] {
        let found = mutant::with(Some(mutant), || {
            kernels().iter().filter(|(_, kernel)| check(kernel).is_err()).count()
        });
        assert!(found > 0, "nothing notices {}", mutant.name());
    }
}
