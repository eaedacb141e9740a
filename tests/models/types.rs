//! Inputs, weights, states and results of the narrow and the long element types.

use luminal::{Axis, D, Module, Tensor, bf16, dim, f16, model};

/// Rows in one run.
#[dim(max = 9)]
pub struct Rows;

/// Weights that are computed with in the types in which they are stored, or dequantised.
#[derive(Module)]
pub struct Mixed {
    weight: Tensor<(D<16>, D<20>), f16>,
    bias: Tensor<(D<20>,), bf16>,
    codes: Tensor<(D<16>, D<20>), u8>,
    scale: Tensor<(D<20>,), bf16>,
    ids: Tensor<(D<7>,), i64>,
    used: Tensor<(D<20>,), bool>,
}

/// What earlier runs left.
#[derive(Module)]
pub struct Seen {
    total: Tensor<(D<20>,), bf16>,
    last: Tensor<(D<20>,), f16>,
    count: Tensor<(), i64>,
    brightest: Tensor<(D<16>,), u8>,
}

/// A layer of f16, one with weights of bytes, and arithmetic of i64 and u8.
#[model]
pub fn mixed(
    x: Tensor<(Rows, D<16>), f16>,
    pixels: Tensor<(Rows, D<16>), u8>,
    places: Tensor<(Rows,), i64>,
    net: &Mixed,
    seen: &mut Seen,
) -> (Tensor<(Rows, D<20>), f16>, Tensor<(Rows, D<20>), bf16>, Tensor<(Rows,), i64>, Tensor<(Rows, D<16>), u8>)
{
    let half = (x.matmul(net.weight) + net.bias.cast::<f16>()).relu();
    let image = pixels.cast::<bf16>() * bf16::from_f32(1.0 / 256.0);
    let weight = (net.codes.cast::<f32>() - 128.0) * net.scale.cast::<f32>();
    let brain = image.cast::<f32>().matmul(weight).cast::<bf16>();
    let wanted = places % 7i64;
    let ids = net.ids.gather(wanted.cast::<i32>()) * 3i64 + places + (1i64 << 60);
    let brighter = pixels.less(128u8).select(pixels + pixels, pixels);
    let used = Tensor::<(Rows, D<20>), bool>::full(true) & net.used;
    let kept = used.select(half, Tensor::<(Rows, D<20>), f16>::full(f16::NEG_INFINITY));
    seen.total = seen.total + brain.sum(Axis::<0>);
    seen.last = seen.last.maximum(half.max(Axis::<0>));
    seen.count = seen.count + ids.sum(Axis::<0>);
    seen.brightest = seen.brightest.maximum(pixels.max(Axis::<0>));
    (kept, brain, ids, brighter)
}
