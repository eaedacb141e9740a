//! Windows that slide over axes: the geometry of convolution and pooling.

use super::dim::{DimInfo, Dims};
use crate::graph::{Dim, Graph, NodeId};
use std::fmt::Write;

/// A window that slides along one axis.
///
/// ```
/// use luminal_core::tensor::Window;
///
/// let window = Window { stride: 2, before: 1, after: 1, ..Window::of(3) };
/// assert_eq!(window.positions(28), 14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Elements that it sees at one position.
    pub taps: usize,
    /// Distance of neighbouring positions.
    pub stride: usize,
    /// Elements added in front of the axis.
    pub before: usize,
    /// Elements added behind the axis.
    pub after: usize,
    /// Distance of neighbouring taps.
    pub dilation: usize,
    /// Whether a last window may reach over the end, if it starts in the axis or in front of it.
    pub ceil: bool,
}

impl Window {
    /// A window of so many taps that moves by one element, without padding.
    pub const fn of(taps: usize) -> Window {
        Window { taps, stride: 1, before: 0, after: 0, dilation: 1, ceil: false }
    }

    /// Elements from its first tap to its last.
    pub const fn reach(&self) -> usize {
        match self.taps {
            0 => 0,
            taps => (taps - 1).saturating_mul(self.dilation).saturating_add(1),
        }
    }

    /// Positions along an axis of this size; 0 if the window is larger than the padded axis.
    pub fn positions(&self, size: usize) -> usize {
        let padded = self.before + size + self.after;
        let Some(room) = padded.checked_sub(self.reach()) else { return 0 };
        if !self.ceil {
            return room / self.stride + 1;
        }
        let positions = room.div_ceil(self.stride) + 1;
        // The last one must not start behind the axis.
        let starts_inside = (positions - 1) * self.stride < self.before + size;
        if starts_inside { positions } else { positions - 1 }
    }

    /// Padding so that there are `size / stride` positions, rounded up: `SAME_UPPER` of ONNX, where an odd element is
    /// added behind, or `SAME_LOWER`, where it is added in front.
    ///
    /// ```
    /// use luminal_core::tensor::Window;
    ///
    /// let window = Window { stride: 2, ..Window::of(3) };
    /// let (upper, lower) = (window.same(4, true), window.same(4, false));
    /// assert_eq!([upper.before, upper.after, lower.before, lower.after], [0, 1, 1, 0]);
    /// ```
    #[must_use]
    pub fn same(self, size: usize, upper: bool) -> Window {
        let positions = size.div_ceil(self.stride);
        let needed = (positions.saturating_sub(1)) * self.stride + self.reach();
        let missing = needed.saturating_sub(size);
        let (less, more) = (missing / 2, missing.div_ceil(2));
        let (before, after) = if upper { (less, more) } else { (more, less) };
        Window { before, after, ..self }
    }

    /// The size after a transposed convolution, `(size - 1) * stride - padding + reach + output padding`; `None` if there
    /// is nothing left.
    pub fn transposed(&self, size: usize, output_padding: usize) -> Option<usize> {
        let spread = size.checked_sub(1)? * self.stride + self.reach() + output_padding;
        spread.checked_sub(self.before + self.after)
    }
}

impl Graph {
    /// The elements under each position of the windows, one for each axis from `axis` on: an axis of positions and one
    /// of taps in its place. Padding is `fill`.
    pub fn windows(&mut self, mut x: NodeId, axis: usize, windows: &[Window], fill: f64) -> NodeId {
        for (number, window) in windows.iter().enumerate() {
            let at = axis + 2 * number;
            let Dim::Fixed(size) = self.nodes[x].shape[at] else { panic!("windows over a free dimension") };
            let positions = window.positions(size);
            assert!(positions > 0, "{window:?} over {size}");
            // What lies behind the last window is not needed.
            let reached = (positions - 1) * window.stride + window.reach();
            let padded = reached.max(window.before + size);
            if padded > size {
                x = self.pad(x, at, window.before, Dim::Fixed(padded), fill);
            }
            x = self.window(x, at, window.taps, window.stride, window.dilation);
        }
        x
    }
}

/// The axes that windows slide over, as messages name them.
pub(super) fn axis_names(count: usize) -> &'static [&'static str] {
    match count {
        1 => &["length"],
        2 => &["height", "width"],
        _ => &["depth", "height", "width"],
    }
}

/// One number if all are equal, else a list.
pub(super) fn each(numbers: impl Iterator<Item = usize>) -> String {
    let numbers: Vec<_> = numbers.collect();
    match numbers.split_first() {
        Some((first, rest)) if rest.iter().all(|other| other == first) => first.to_string(),
        _ => format!("{numbers:?}"),
    }
}

/// How windows move, as messages say it.
pub(super) fn describe(windows: &[Window]) -> String {
    let mut text = format!("stride {}", each(windows.iter().map(|window| window.stride)));
    let (before, after) =
        (each(windows.iter().map(|window| window.before)), each(windows.iter().map(|window| window.after)));
    let _ = match before == after {
        true => write!(text, ", padding {before}"),
        false => write!(text, ", padding {before} before and {after} after"),
    };
    if windows.iter().any(|window| window.dilation != 1) {
        let _ = write!(text, ", dilation {}", each(windows.iter().map(|window| window.dilation)));
    }
    text
}

/// A number that must not be 0, or is too large to compute with.
pub(super) fn number_mistake(windows: &[Window]) -> Option<String> {
    const MOST: usize = 1 << 31;
    for (window, name) in windows.iter().zip(axis_names(windows.len())) {
        let numbers = [
            (window.stride, "the stride"),
            (window.dilation, "the dilation"),
            (window.taps, "the window"),
            (window.before, "the padding"),
            (window.after, "the padding"),
        ];
        for (number, what) in numbers {
            if number >= MOST {
                return Some(format!("{what} of the {name} is {number}; it must be less than 2^31"));
            }
            if number == 0 && what != "the padding" {
                return Some(format!("{what} of the {name} is 0; it must be at least 1"));
            }
        }
    }
    None
}

/// What is wrong with windows over the last axes of an input, if anything.
pub(super) fn window_mistake(input: &[DimInfo], result: &[DimInfo], windows: &[Window]) -> Option<String> {
    if let Some(mistake) = number_mistake(windows) {
        return Some(mistake);
    }
    let first = input.len() - windows.len();
    for ((window, name), axis) in windows.iter().zip(axis_names(windows.len())).zip(first..) {
        let Some(size) = input[axis].fixed() else {
            return Some(format!(
                "the {name} of the input is `{}`; it must be a fixed size, `D<N>`",
                input[axis]
            ));
        };
        let positions = window.positions(size);
        if positions == 0 {
            let room = window.before + size + window.after;
            return Some(format!(
                "the window of {} does not fit into the {name}, which is {room} with padding",
                window.reach()
            ));
        }
        if let Some(mistake) = size_mistake(name, positions, result, axis) {
            return Some(mistake);
        }
    }
    None
}

/// The size that an axis of the result has is not the one that its type names.
pub(super) fn size_mistake(name: &str, size: usize, result: &[DimInfo], axis: usize) -> Option<String> {
    (result[axis].fixed() != Some(size)).then(|| {
        format!("the output {name} is {size}, but the result {} names {}", Dims(result), result[axis])
    })
}
