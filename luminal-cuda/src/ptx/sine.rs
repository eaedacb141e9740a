//! The sine: reduction to a quarter turn around zero, then a polynomial of sine or of cosine.

use super::render::Renderer;
use super::writer::Class;

fn float(x: f32) -> String {
    format!("0f{:08X}", x.to_bits())
}

/// Pi/2 in three parts, so that products with whole numbers up to 2^17 lose nothing that matters.
const QUARTER_TURN: [f32; 3] =
    [f32::from_bits(0x3FC9_0FDA), f32::from_bits(0x33A2_2168), f32::from_bits(0x27C2_34C4)];

/// `sin(r) = r + r s P(s)` with `s = r * r`, up to pi/4; highest power first.
const SINE: [f32; 4] = [2.865_68e-6, -1.985_599_2e-4, 8.333_386e-3, -0.166_666_67];

/// `cos(r) = P(s)`
const COSINE: [f32; 5] = [2.446_770_7e-5, -1.388_773e-3, 4.166_665_7e-2, -0.5, 1.0];

impl Renderer<'_> {
    pub(super) fn sine(&mut self, x: &str) -> String {
        let w = &mut self.writer;
        let turns = w.op(Class::Float, "mul.rn.f32", &[x, &float(std::f32::consts::FRAC_2_PI)]);
        let turns = w.op(Class::Float, "cvt.rni.f32.f32", &[&turns]);
        let quadrant = w.op(Class::Word, "cvt.rzi.s32.f32", &[&turns]);
        let mut r = x.to_string();
        for part in QUARTER_TURN {
            r = w.op(Class::Float, "fma.rn.f32", &[&turns, &float(-part), &r]);
        }
        let square = w.op(Class::Float, "mul.rn.f32", &[&r, &r]);
        let cube = w.op(Class::Float, "mul.rn.f32", &[&r, &square]);
        let sine = self.horner(&square, &SINE);
        let sine = self.writer.op(Class::Float, "fma.rn.f32", &[&sine, &cube, &r]);
        let cosine = self.horner(&square, &COSINE);
        let w = &mut self.writer;
        let odd = w.op(Class::Word, "and.b32", &[&quadrant, "1"]);
        let odd = w.op(Class::Predicate, "setp.ne.s32", &[&odd, "0"]);
        let value = w.op(Class::Float, "selp.f32", &[&cosine, &sine, &odd]);
        let minus = w.op(Class::Float, "neg.f32", &[&value]);
        let lower = w.op(Class::Word, "and.b32", &[&quadrant, "2"]);
        let lower = w.op(Class::Predicate, "setp.ne.s32", &[&lower, "0"]);
        let value = w.op(Class::Float, "selp.f32", &[&minus, &value, &lower]);
        // where the reduction has lost all digits at least the range is kept
        let value = w.op(Class::Float, "min.NaN.f32", &[&value, &float(1.0)]);
        w.op(Class::Float, "max.NaN.f32", &[&value, &float(-1.0)])
    }

    /// A polynomial as nested fused products, highest power first.
    fn horner(&mut self, x: &str, coefficients: &[f32]) -> String {
        let mut value = float(coefficients[0]);
        for coefficient in &coefficients[1..] {
            value = self.writer.op(Class::Float, "fma.rn.f32", &[&value, x, &float(*coefficient)]);
        }
        value
    }
}
