//! Resizing of images, one axis after the other.

use super::import::{Call, Held, Operator, Outcome, outside};
use luminal_core::tensor::{Nearest, Positions, Weights};

pub fn operator(name: &str) -> Option<Operator> {
    matches!(name, "Resize" | "Upsample").then_some(resize as Operator)
}

/// How an axis becomes longer or shorter: by the fraction `to / from`, which need not be the ratio of the two sizes.
#[derive(Clone, Copy)]
struct Scale {
    from: usize,
    to: usize,
    /// Size before and after.
    sizes: [usize; 2],
}

/// The fraction of smallest numbers that is this float, by continued fractions.
fn fraction(value: f64) -> (usize, usize) {
    let (mut before, mut now) = ((0.0, 1.0), (1.0, 0.0));
    let mut rest = value;
    loop {
        let whole = rest.floor();
        (before, now) = (now, (whole * now.0 + before.0, whole * now.1 + before.1));
        if (now.0 / now.1 - value).abs() < 1e-6 * value || now.1 > 1e6 {
            return (now.0 as usize, now.1 as usize);
        }
        rest = (rest - whole).recip();
    }
}

impl Scale {
    fn positions(self, mode: &str) -> Outcome<Positions> {
        let Scale { from, to, sizes: [before, after] } = self;
        Ok(match mode {
            "half_pixel" => Positions::half_pixel(from, to),
            "pytorch_half_pixel" if after > 1 => Positions::half_pixel(from, to),
            "pytorch_half_pixel" => Positions::pytorch_half_pixel(before, after),
            "asymmetric" => Positions::asymmetric(from, to),
            // (before - 1) / (before * scale - 1), where the new size before it is rounded counts.
            "align_corners" => {
                let unit = (before * to) as i64 - from as i64;
                if unit <= 0 {
                    Positions { step: 0, offset: 0, unit: 1 }
                } else {
                    Positions { step: ((before - 1) * from) as i64, offset: 0, unit }
                }
            }
            other => return outside(format!("positions of mode {other}")),
        })
    }
}

fn resize(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let x = call.input(0)?;
    let shape = call.sizes(x);
    let upsample = call.node.op_type == "Upsample";
    let scales = match upsample {
        true => call
            .known_floats(1)?
            .or_else(|| call.floats("scales").map(|s| s.iter().map(|x| f64::from(*x)).collect())),
        false => call.known_floats(2)?,
    };
    let scales: Vec<Scale> = match (scales.filter(|scales| !scales.is_empty()), call.known(3)?) {
        (Some(scales), _) => {
            let scale = |(size, scale): (&usize, &f64)| {
                let (to, from) = fraction(*scale);
                Scale { from, to, sizes: [*size, size * to / from] }
            };
            shape.iter().zip(&scales).map(scale).collect()
        }
        (None, Some(sizes)) => {
            let scale = |(from, to): (&usize, &i64)| {
                let to = *to as usize;
                Scale { from: *from, to, sizes: [*from, to] }
            };
            shape.iter().zip(&sizes).map(scale).collect()
        }
        _ => return outside("neither scales nor sizes"),
    };
    let positions =
        call.string("coordinate_transformation_mode", if upsample { "asymmetric" } else { "half_pixel" });
    let mode = call.string("mode", "nearest");
    let exclude_outside = call.int("exclude_outside", 0) != 0;
    let weights = match &mode[..] {
        "cubic" => Weights::Cubic { a: call.float("cubic_coeff_a", -0.75) },
        _ => Weights::Linear,
    };
    let nearest = match &call.string("nearest_mode", if upsample { "floor" } else { "round_prefer_floor" })[..]
    {
        "floor" => Nearest::Floor,
        "ceil" => Nearest::Ceil,
        "round_prefer_ceil" => Nearest::PreferCeil,
        _ => Nearest::PreferFloor,
    };
    let mut result = call.wide(x);
    for (axis, scale) in scales.into_iter().enumerate() {
        if scale.from == scale.to {
            continue;
        }
        let (size, positions) = (scale.sizes[1], scale.positions(&positions)?);
        let graph = call.graph();
        result = match &mode[..] {
            "nearest" => graph.resize_nearest(result, axis, size, positions, nearest),
            _ => graph.resize_weighted(result, axis, size, positions, weights, exclude_outside),
        };
    }
    Ok(vec![call.give(result, x.elem)?])
}
