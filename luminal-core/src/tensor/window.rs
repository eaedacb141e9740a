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
    /// The number of positions along a free axis, if there is a name for it: a free size that every run checks. Else one
    /// is made.
    pub result: Option<Dim>,
}

impl Window {
    /// A window of so many taps that moves by one element, without padding.
    pub const fn of(taps: usize) -> Window {
        Window { taps, stride: 1, before: 0, after: 0, dilation: 1, ceil: false, result: None }
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

    /// Elements added to a free axis in all. Where the number of positions is rounded up, there are so many that rounding
    /// down does.
    fn free_padding(&self) -> usize {
        self.before + self.after + if self.ceil { self.stride - 1 } else { 0 }
    }

    /// Whether rounding up could give a last window that starts behind a free axis.
    fn may_start_outside(&self) -> bool {
        self.ceil && self.after + self.stride > self.reach()
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
            x = match self.nodes[x].shape[at] {
                Dim::Fixed(size) => {
                    let positions = window.positions(size);
                    assert!(positions > 0, "{window:?} over {size}");
                    self.fixed_windows(x, at, window, positions, fill)
                }
                size => self.free_windows(x, at, window, size, fill),
            };
        }
        x
    }

    /// So many windows along an axis of known size.
    pub(super) fn fixed_windows(
        &mut self,
        mut x: NodeId,
        axis: usize,
        window: &Window,
        positions: usize,
        fill: f64,
    ) -> NodeId {
        let size = self.nodes[x].shape[axis].max();
        let reached = (positions - 1) * window.stride + window.reach();
        let padded = reached.max(window.before + size);
        if padded > size {
            x = self.pad(x, axis, window.before, Dim::Fixed(padded), fill);
        }
        if padded >= reached + window.stride {
            // There would be room for more.
            x = self.slice(x, axis, 0, 1, Dim::Fixed(reached));
        }
        self.window(x, axis, window.taps, window.stride, window.dilation)
    }

    fn free_windows(&mut self, mut x: NodeId, axis: usize, window: &Window, size: Dim, fill: f64) -> NodeId {
        let Window { taps, stride, before, dilation, .. } = *window;
        let more = window.free_padding();
        if more > 0 {
            let padded = self.derived(&[(1, size)], more as i64, 1);
            x = self.pad(x, axis, before, padded, fill);
        }
        let plus = (more + stride) as i64 - window.reach() as i64;
        let positions = window.result.unwrap_or_else(|| self.derived(&[(1, size)], plus, stride));
        self.window_to(x, axis, taps, stride, dilation, positions)
    }
}

/// Windows whose numbers of positions are the last sizes of the result.
pub(super) fn named(mut windows: Vec<Window>, sizes: &[Dim]) -> Vec<Window> {
    let first = sizes.len() - windows.len();
    for (window, size) in windows.iter_mut().zip(&sizes[first..]) {
        window.result = Some(*size);
    }
    windows
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
            match free_mistake(window, name, input[axis], result[axis]) {
                None => continue,
                mistake => return mistake,
            }
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

/// What is wrong with a window over a free axis, as far as the bounds say it; every run checks the rest.
fn free_mistake(window: &Window, name: &str, size: DimInfo, result: DimInfo) -> Option<String> {
    if window.may_start_outside() {
        return Some(format!(
            "the {name} of the input is the free dimension `{size}`, where a number of windows that is rounded up needs \
             windows of at least {}; use `D<N>` or do not round up",
            window.after + window.stride
        ));
    }
    let most =
        (size.max() + window.free_padding() + window.stride).saturating_sub(window.reach()) / window.stride;
    let bound = result.max();
    match result.fixed() {
        _ if most == 0 => {
            let room = size.max() + window.before + window.after;
            let reach = window.reach();
            Some(format!(
                "the window of {reach} does not fit into the {name}, which is at most {room} with padding"
            ))
        }
        Some(named) if named > most => {
            Some(format!("the output {name} is at most {most}, but the result names {named}"))
        }
        None if bound < most => Some(format!(
            "the output {name} can be {most}, but `{result}` has the bound {bound}: declare it with `max = {most}` or more"
        )),
        _ => None,
    }
}

/// The size that an axis of the result has is not the one that its type names.
pub(super) fn size_mistake(name: &str, size: usize, result: &[DimInfo], axis: usize) -> Option<String> {
    (result[axis].fixed() != Some(size)).then(|| {
        format!("the output {name} is {size}, but the result {} names {}", Dims(result), result[axis])
    })
}
