//! Packed weights in compiled kernels: they stay packed, and the kernels compute the numbers.

use super::*;
use crate::tensor::nn::{
    Embedding, Linear, Packed, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0, WeightFormat,
};
use crate::tensor::{D, Tensor, input, output, trace, weights};
use crate::weights::BlockFormat;

const ROWS: usize = 8;

/// A table and a layer of one format, checked; its weights take the bytes of the blocks and no more.
fn layers<const N: usize, F: WeightFormat<Vector = f32>>(format: &BlockFormat) {
    let traced = trace(|| {
        let table: [Embedding<ROWS, N, F>; 1] = weights("table");
        let layer: [Linear<N, ROWS, F, false>; 1] = weights("layer");
        let index: Tensor<(D<3>,), i32> = input("index");
        let x = table[0].forward(index);
        output(&layer[0].forward(x));
    });
    assert_eq!(traced.mistakes, []);
    let name = format.dtype.to_string();
    let compiled = compile(&traced.graph, &options(true)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let (elements, bytes) = format.dtype.block();
    // Each plane starts at a multiple of 64 bytes. What has one number for many weights, such as the minima of the parts of a
    // block, may be unpacked at load; the weights themselves would take 2 * 4 * ROWS * N bytes.
    let packed = 2 * (ROWS * N / elements * bytes + 64 * format.planes.len());
    let kept = compiled.plan.weights;
    assert!(kept <= packed + packed / 4, "{name}: {kept} bytes for {packed}\n{}", compiled.plan);
    assert!(kept < 4 * ROWS * N, "{name}: {kept} bytes are no less than the numbers of half of it");
    check(&name, &traced.graph, true);
    check(&name, &traced.graph, false);
}

/// One test each: they take a while.
macro_rules! test_format {
    ($($name:ident: $Format:ident, $columns:literal;)*) => {$(
        #[test]
        fn $name() {
            layers::<$columns, $Format>($Format::FORMAT);
        }
    )*};
}
test_format! {
    q4_0: Q4_0, 64;
    q4_1: Q4_1, 64;
    q5_0: Q5_0, 64;
    q5_1: Q5_1, 64;
    q8_0: Q8_0, 64;
    q4_k: Q4_K, 256;
    q5_k: Q5_K, 256;
    q6_k: Q6_K, 256;
}
