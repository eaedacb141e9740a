//! Agreement of what a kernel computed with its meaning.

use super::Agreement;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::kernel::meaning::{Scalar, Values};

/// What rounding may do to a result of so many terms, relative to `1 + |result|`.
pub(super) fn allowance(terms: f64) -> f64 {
    1e-5 + 6e-8 * terms
}

/// What a kernel means, with every rounding in doubt.
#[derive(Clone, Copy)]
pub(super) struct Right<'a> {
    /// Rounded after each operation.
    pub rounded: &'a Values,
    /// Not rounded.
    pub exact: &'a Values,
    /// Not rounded, and casts decide the other way where that is in doubt.
    pub other: &'a Values,
    /// Whether each element was computed: others say nothing.
    pub computed: &'a [bool],
}

/// Compares computed values with the meaning. The order of a sum is free, so an element may differ by what rounding
/// `terms` terms can do, and by some times what rounding each operation changes, or another decision of a cast. Numbers
/// of 16 bits may also be neighbours.
pub(super) fn compare(computed: &Values, right: &Right<'_>, dtype: Dtype, terms: f64) -> Result<Agreement> {
    let (Values::Float(computed), Values::Float(rounded), Values::Float(exact), Values::Float(other)) =
        (computed, right.rounded, right.exact, right.other)
    else {
        for place in (0..computed.len()).filter(|place| right.computed[*place]) {
            let found = computed.get(place);
            if ![right.rounded, right.exact, right.other].iter().any(|values| values.get(place) == found) {
                let expected = right.rounded.get(place);
                return Err(Error::new(format!("element {place} is {found:?}, expected {expected:?}")));
            }
        }
        return Ok(Agreement {
            worst: 0.0,
            elements: right.computed.iter().filter(|computed| **computed).count(),
        });
    };
    let step = match dtype {
        Dtype::F16 => 2f64.powi(-10),
        Dtype::BF16 => 2f64.powi(-7),
        _ => 0.0,
    };
    // The terms of a sum can cancel, and by luck rounding can do nothing to it: what it does to the other sums of the buffer,
    // which are of like terms, it may do to this one.
    let doubts = (0..computed.len()).filter(|place| right.computed[*place]);
    let doubts =
        doubts.map(|place| (exact[place] - rounded[place]).powi(2)).filter(|doubt| doubt.is_finite());
    let (count, squares) = doubts.fold((0.0, 0.0), |(count, sum), doubt| (count + 1.0, sum + doubt));
    let usual = if count > 0.0 && terms > 1.0 { f64::sqrt(squares / count) } else { 0.0 };
    let mut worst = 0.0f64;
    let mut stepped = 0;
    for (place, found) in computed.iter().enumerate().filter(|(place, _)| right.computed[*place]) {
        let (rounded, exact, other) = (rounded[place], exact[place], other[place]);
        let scale = 1.0 + exact.abs();
        let doubt = (exact - rounded).abs() + (exact - other).abs();
        let rounding = allowance(terms) * scale + 4.0 * doubt + 8.0 * usual;
        let allowed = rounding + step * exact.abs();
        let error = (found - exact).abs();
        let same = [rounded, exact, other].contains(found) || (found.is_nan() && rounded.is_nan());
        // With an infinity or NaN on either side a difference says nothing: only equal values agree.
        let near = found.is_finite() && rounded.is_finite() && exact.is_finite() && error <= allowed;
        if !same && !near {
            return Err(Error::new(format!(
                "element {place} is {found:e}, expected {exact:e} (+- {allowed:.1e})"
            )));
        }
        if error.is_finite() {
            worst = worst.max(error / scale);
            stepped += usize::from(!same && error > rounding);
        }
    }
    let elements = right.computed.iter().filter(|computed| **computed).count();
    // What differs in the last bits of `f32` rarely decides where 16 bits are rounded to; a wrong way to round does often.
    if stepped >= 8 && stepped > elements / 4 {
        return Err(Error::new(format!(
            "{stepped} of {elements} elements are the number of 16 bits beside the nearest one"
        )));
    }
    Ok(Agreement { worst, elements })
}

/// As [`compare`], of large numbers: rounding may do anything to their sums. A number must stay one; and where no operation
/// rounded, the result is what it must be.
pub(super) fn compare_large(computed: &Values, right: &Right<'_>, terms: f64) -> Result<Agreement> {
    let mut agreement = Agreement::default();
    for place in (0..computed.len()).filter(|place| right.computed[*place]) {
        let found = computed.get(place);
        let [rounded, exact, other] =
            [right.rounded, right.exact, right.other].map(|values| values.get(place));
        let certain = terms == 1.0 && rounded == exact && exact == other;
        let wrong = match (found, rounded, exact) {
            (Scalar::Float(found), Scalar::Float(rounded), Scalar::Float(exact)) => {
                let far = (found - exact).abs() > allowance(1.0) * (1.0 + exact.abs());
                let finite = rounded.is_finite() && exact.is_finite();
                finite && (found.is_nan() || certain && far)
            }
            _ => certain && found != exact,
        };
        if wrong {
            return Err(Error::new(format!("element {place} is {found:?}, expected {exact:?}")));
        }
        agreement.elements += 1;
    }
    Ok(agreement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(computed: f64, rounded: f64, exact: f64) -> bool {
        let [computed, rounded, exact] = [computed, rounded, exact].map(|x| Values::Float(vec![x]));
        let right = Right { rounded: &rounded, exact: &exact, other: &exact, computed: &[true] };
        compare(&computed, &right, Dtype::F32, 1.0).is_ok()
    }

    #[test]
    fn only_equal_infinities_and_nan_agree() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert!(agrees(inf, inf, inf) && agrees(-inf, -inf, -inf) && agrees(nan, nan, nan));
        assert!(agrees(inf, inf, 1e39), "an overflow of f32");
        for wrong in [5.0, -inf, nan] {
            assert!(!agrees(wrong, inf, inf), "{wrong}");
        }
        for wrong in [inf, -inf, nan] {
            assert!(!agrees(wrong, 5.0, 5.0), "{wrong}");
        }
        assert!(!agrees(5.0, nan, nan));
    }

    #[test]
    fn rounding_is_allowed_and_mistakes_are_not() {
        assert!(agrees(1.000_001, 1.0, 1.0));
        assert!(!agrees(1.001, 1.0, 1.0));
        // Where each rounded operation loses much already, the computed value may lose as much.
        assert!(agrees(1.002, 1.001, 1.0));
    }

    #[test]
    fn a_decision_in_doubt_may_be_either() {
        let one = |x| Values::Float(vec![x]);
        let agrees = |computed: f64, other: f64, dtype| {
            let right = Right { rounded: &one(1.0), exact: &one(1.0), other: &one(other), computed: &[true] };
            compare(&one(computed), &right, dtype, 1.0).is_ok()
        };
        assert!(agrees(2.0, 2.0, Dtype::F32) && !agrees(2.0, 1.0, Dtype::F32));
        assert!(
            agrees(1.0 + 2f64.powi(-10), 1.0, Dtype::F16) && !agrees(1.0 + 2f64.powi(-9), 1.0, Dtype::F16)
        );
        let bytes = |x| Values::Int(vec![x]);
        let right = Right { rounded: &bytes(7), exact: &bytes(7), other: &bytes(8), computed: &[true] };
        assert!(compare(&bytes(8), &right, Dtype::U8, 1.0).is_ok());
        assert!(compare(&bytes(6), &right, Dtype::U8, 1.0).is_err());
    }
}
