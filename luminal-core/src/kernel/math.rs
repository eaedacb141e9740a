//! Coefficients of the functions of one float in generated C. PTX has instructions for most of them.
//!
//! Polynomials are lists from the highest power down, evaluated by Horner's rule: then every step is one product and
//! one sum, and a fused multiply-add changes nothing but the last bit. Errors against `f64`, in units of the last place,
//! with a fused multiply-add (without): exp2 0.91 (1.13), log2 2.1 (2.5) around 1 and 0.51 elsewhere, sin 1.9.

/// `2^r` on [-1/2, 1/2], relative error 1.9e-9. The argument is split in `n = round(x)` and `r = x - n`; `n` is added
/// to the exponent. Below -126 the result is 0.
pub const EXP2: [f32; 7] = [
    0.000_153_458_08,
    0.001_339_993_2,
    0.009_618_489,
    0.055_503_286,
    0.240_226_46,
    std::f32::consts::LN_2,
    1.0,
];

/// `log2((1 + s) / (1 - s)) / s` as a polynomial of `s * s`, for `s = (m - 1) / (m + 1)` and mantissas `m` in
/// [sqrt(1/2), sqrt(2)]; relative error 2.0e-9. The exponent is added.
pub const LOG2: [f32; 4] = [0.431_737_87, 0.576_714_46, 0.961_798_85, 2.885_39];

/// `sin(r) / r` as a polynomial of `r * r`, on [-pi/2, pi/2]; relative error 4.3e-9. The argument is reduced by the
/// nearest multiple of pi, whose parity gives the sign.
pub const SIN: [f32; 5] = [2.605_093e-6, -0.000_198_090_11, 0.008_333_05, -0.166_666_58, 1.0];

/// pi in parts of 8 or 9 bits, the last one rounded: products with integers below 2^15 are exact.
pub const PI_PARTS: [f32; 4] = [3.140_625, 0.000_967_025_76, 6.277_114e-7, 1.215_42e-10];

/// Greatest argument of the sine that [`PI_PARTS`] reduce exactly enough; beyond, targets call their own library.
pub const SIN_LIMIT: f32 = 30000.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn horner(coefficients: &[f32], x: f64) -> f64 {
        coefficients.iter().fold(0.0, |sum, c| sum * x + f64::from(*c))
    }

    #[test]
    fn polynomials_are_close() {
        for i in -1000..=1000 {
            let r = f64::from(i) / 2000.0;
            assert!((horner(&EXP2, r) / r.exp2() - 1.0).abs() < 2.5e-8, "exp2 {r}");
            let m = (r).exp2();
            let s = (m - 1.0) / (m + 1.0);
            assert!((horner(&LOG2, s * s) * s - r).abs() <= 2.5e-8 * r.abs(), "log2 {m}");
            let r = r * std::f64::consts::PI;
            assert!((horner(&SIN, r * r) * r - r.sin()).abs() <= 3e-8 * r.sin().abs(), "sin {r}");
        }
    }

    #[test]
    fn pi_is_exact_in_parts() {
        let sum: f64 = PI_PARTS.iter().map(|p| f64::from(*p)).sum();
        assert!((sum - std::f64::consts::PI).abs() < 1e-16);
        for part in &PI_PARTS[..3] {
            assert_eq!(part.to_bits() & 0x7fff, 0, "{part} has more than 9 bits");
        }
    }
}
