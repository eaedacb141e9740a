//! Pooling: windows of the input, reduced.

use super::conv::PerAxis;
use super::dim::{Dim, Dims};
use super::element::{Element, Float, Number};
use super::pointwise::float;
use super::shape::Shape;
use super::trace::{op, report};
use super::value::Tensor;
use super::window::{Window, axis_names, describe, each, named, window_mistake};
use crate::dtype::Dtype;
use crate::graph::{Dim as Size, Graph, NodeId, Reduce, Unary};

/// How a pooling window over `N` axes moves: `pool(3).stride(2).padding(1)`. One number is for all axes, a list has one
/// for each.
#[derive(Clone, Copy, Debug)]
pub struct Pool<const N: usize> {
    kernel: [usize; N],
    stride: [usize; N],
    before: [usize; N],
    after: [usize; N],
    dilation: [usize; N],
    ceil: bool,
    count_padding: bool,
}

/// Windows of this size side by side, to be changed by the methods of [`Pool`].
///
/// ```
/// use luminal_core::tensor::{D, Tensor, input, output, pool, trace};
///
/// let traced = trace(|| {
///     let images: Tensor<(D<2>, D<3>, D<7>, D<9>)> = input("images");
///     // The last window of a row or column may be incomplete.
///     let rounded_up: Tensor<(D<2>, D<3>, D<4>, D<3>)> = images.max_pool2d(pool([2, 3]).ceil());
///     output(&rounded_up);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
pub fn pool<const N: usize>(kernel: impl PerAxis<N>) -> Pool<N> {
    let kernel = kernel.each();
    Pool {
        kernel,
        stride: kernel,
        before: [0; N],
        after: [0; N],
        dilation: [1; N],
        ceil: false,
        count_padding: true,
    }
}

impl<const N: usize> Pool<N> {
    /// Distance of neighbouring windows; the size of the window if not called.
    #[must_use]
    pub fn stride(self, stride: impl PerAxis<N>) -> Self {
        Pool { stride: stride.each(), ..self }
    }

    /// Elements added on both sides of each axis.
    #[must_use]
    pub fn padding(self, padding: impl PerAxis<N>) -> Self {
        let padding = padding.each();
        Pool { before: padding, after: padding, ..self }
    }

    /// Elements added in front of each axis: top, left.
    #[must_use]
    pub fn pad_before(self, padding: impl PerAxis<N>) -> Self {
        Pool { before: padding.each(), ..self }
    }

    /// Elements added behind each axis: bottom, right.
    #[must_use]
    pub fn pad_after(self, padding: impl PerAxis<N>) -> Self {
        Pool { after: padding.each(), ..self }
    }

    /// Distance of neighbouring elements of a window.
    #[must_use]
    pub fn dilation(self, dilation: impl PerAxis<N>) -> Self {
        Pool { dilation: dilation.each(), ..self }
    }

    /// The number of windows is rounded up instead of down: the last one may reach over the end, if it starts in the
    /// input or in the padding in front.
    #[must_use]
    pub fn ceil(self) -> Self {
        Pool { ceil: true, ..self }
    }

    /// A mean counts elements of the input only; else those of the padding, which are 0, count too. What a last window
    /// has over the padding never counts.
    #[must_use]
    pub fn exclude_padding(self) -> Self {
        Pool { count_padding: false, ..self }
    }

    fn windows(&self) -> Vec<Window> {
        let window = |axis: usize| Window {
            taps: self.kernel[axis],
            stride: self.stride[axis],
            before: self.before[axis],
            after: self.after[axis],
            dilation: self.dilation[axis],
            ceil: self.ceil,
            result: None,
        };
        (0..N).map(window).collect()
    }
}

/// Pooling over the last axes, as many as there are windows; all others are the batch.
impl Graph {
    /// Greatest element of each window; padding never is. NaN if any is NaN.
    pub fn max_pool(&mut self, x: NodeId, windows: &[Window]) -> NodeId {
        self.pool(x, windows, Reduce::Max, least(self.nodes[x].dtype))
    }

    /// Sum of each window; padding is 0.
    pub fn sum_pool(&mut self, x: NodeId, windows: &[Window]) -> NodeId {
        self.pool(x, windows, Reduce::Sum, 0.0)
    }

    /// Mean of each window of floats. `count_padding` says whether padding counts as elements of value 0; what a window
    /// has over the padding, because sizes are rounded up, never does.
    pub fn avg_pool(&mut self, x: NodeId, windows: &[Window], count_padding: bool) -> NodeId {
        let first = self.nodes[x].shape.len() - windows.len();
        let sizes: Vec<Size> = self.nodes[x].shape[first..].to_vec();
        let sum = self.sum_pool(x, windows);
        // Whether all windows see equally many elements that count.
        let full = |(window, size): (&Window, &Size)| {
            let padded = window.before + window.after > 0;
            match size {
                Size::Fixed(size) => {
                    let reached = (window.positions(*size) - 1) * window.stride + window.reach();
                    let counted = if count_padding { window.before + size + window.after } else { *size };
                    reached <= counted && (count_padding || window.before == 0)
                }
                Size::Free { .. } => !window.ceil && (count_padding || !padded),
            }
        };
        if windows.iter().zip(&sizes).all(full) {
            let count: usize = windows.iter().map(|window| window.taps).product();
            return self.mul_number(sum, float(1.0 / count as f64));
        }
        // How many elements count, one factor for each axis.
        let shape = self.nodes[sum].shape.clone();
        let mut count = None;
        for (axis, (window, size)) in windows.iter().zip(sizes).enumerate() {
            let window = Window { result: Some(shape[first + axis]), ..*window };
            let counts = self.counts(&window, size, count_padding, self.nodes[sum].dtype);
            let counts = self.spread(counts, &[first + axis], &shape);
            count = Some(count.map_or(counts, |count| self.mul(count, counts)));
        }
        match count {
            Some(count) => self.div(sum, count),
            None => sum,
        }
    }

    /// `(sum |x|^p)^(1/p)` of each window of floats, `p` above 0.
    pub fn lp_pool(&mut self, x: NodeId, windows: &[Window], p: f64) -> NodeId {
        let negative = self.neg(x);
        let magnitude = self.maximum(x, negative);
        if p == 1.0 {
            return self.sum_pool(magnitude, windows);
        }
        if p == 2.0 {
            let squares = self.mul(x, x);
            let sum = self.sum_pool(squares, windows);
            return self.unary(Unary::Sqrt, sum);
        }
        let power = |graph: &mut Graph, x: NodeId, exponent: f64| {
            let log = graph.unary(Unary::Log2, x);
            let log = graph.mul_number(log, float(exponent));
            graph.unary(Unary::Exp2, log)
        };
        let powers = power(self, magnitude, p);
        let sum = self.sum_pool(powers, windows);
        power(self, sum, 1.0 / p)
    }

    fn pool(&mut self, x: NodeId, windows: &[Window], function: Reduce, fill: f64) -> NodeId {
        let first = self.nodes[x].shape.len() - windows.len();
        let mut x = self.windows(x, first, windows, fill);
        for axis in (0..windows.len()).rev() {
            x = self.reduce(function, x, first + 2 * axis + 1);
        }
        x
    }

    /// How many elements that count each window of one axis sees.
    fn counts(&mut self, window: &Window, size: Size, count_padding: bool, dtype: Dtype) -> NodeId {
        let ones = self.full(1.0, dtype, &[size]);
        let windows = match (size, count_padding) {
            (_, false) => self.windows(ones, 0, &[*window], 0.0),
            (Size::Fixed(n), true) => {
                let padded = self.full(1.0, dtype, &[Size::Fixed(window.before + n + window.after)]);
                let inner = Window { before: 0, after: 0, ..*window };
                self.fixed_windows(padded, 0, &inner, window.positions(n), 0.0)
            }
            (Size::Free { .. }, true) => {
                let more = window.before + window.after;
                let longer = self.derived(&[(1, size)], more as i64, 1);
                let padded = self.pad(ones, 0, window.before, longer, 1.0);
                self.windows(padded, 0, &[Window { before: 0, after: 0, ..*window }], 0.0)
            }
        };
        self.reduce(Reduce::Sum, windows, 1)
    }
}

/// A literal that is never greater than an element. Those of 64 bits end at -2^53: less than that cannot be padded.
pub(super) fn least(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F32 | Dtype::F16 | Dtype::BF16 => f64::NEG_INFINITY,
        Dtype::I32 => f64::from(i32::MIN),
        Dtype::I64 => -(2f64.powi(53)),
        Dtype::Bool | Dtype::U8 => 0.0,
    }
}

/// Records pooling of a tensor over its last `N` axes.
fn pooled<S: Shape, R: Shape, E: Element, const N: usize>(
    x: Tensor<S, E>,
    pool: &Pool<N>,
    work: impl FnOnce(&mut Graph, NodeId, &[Window]) -> NodeId,
) -> Tensor<R, E> {
    let windows = pool.windows();
    let mistake = window_mistake(S::DIMS, R::DIMS, &windows).or_else(|| padding_mistake(&windows));
    if let Some(mistake) = mistake {
        let kernel = each(pool.kernel.into_iter());
        report(format!("input {}, kernel {kernel}, {}: {mistake}", Dims(S::DIMS), describe(&windows)));
        return Tensor::placeholder();
    }
    Tensor::with_all_axes([x.loose()], |graph, [x], sizes| work(graph, x, &named(windows, sizes)))
}

/// A window that could lie in the padding alone.
fn padding_mistake(windows: &[Window]) -> Option<String> {
    windows.iter().zip(axis_names(windows.len())).find_map(|(window, name)| {
        let most = window.reach() / 2;
        let padding = window.before.max(window.after);
        (padding > most).then(|| {
            format!(
                "padding {padding} of the {name} is more than half of the window of {}, at most {most}",
                window.reach()
            )
        })
    })
}

impl<B: Dim, C: Dim, L: Dim, E: Element> Tensor<(B, C, L), E> {
    /// Greatest element in each window of a sequence. The result's type names the output length; what is added at the
    /// border never wins, and NaN always does.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, pool, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<8>, D<10>)> = input("x");
    ///     let halved: Tensor<(D<2>, D<8>, D<5>)> = x.max_pool1d(pool(3).stride(2).padding(1));
    ///     output(&halved);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn max_pool1d<OutLength: Dim>(self, pool: Pool<1>) -> Tensor<(B, C, OutLength), E>
    where
        E: Number,
    {
        let _scope = op("max_pool1d");
        pooled(self, &pool, Graph::max_pool)
    }

    /// Mean of each window of a sequence. The result's type names the output length.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, pool, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<8>, D<10>)> = input("x");
    ///     let smooth: Tensor<(D<2>, D<8>, D<10>)> = x.avg_pool1d(pool(3).stride(1).padding(1).exclude_padding());
    ///     output(&smooth);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn avg_pool1d<OutLength: Dim>(self, pool: Pool<1>) -> Tensor<(B, C, OutLength), E>
    where
        E: Float,
    {
        let _scope = op("avg_pool1d");
        pooled(self, &pool, |graph, x, windows| graph.avg_pool(x, windows, pool.count_padding))
    }
}

impl<B: Dim, C: Dim, H: Dim, W: Dim, E: Element> Tensor<(B, C, H, W), E> {
    /// Greatest element in each window of an image. The result's type names the output height and width; what is added
    /// at the border never wins, and NaN always does.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, pool, trace};
    ///
    /// let traced = trace(|| {
    ///     let images: Tensor<(D<2>, D<8>, D<28>, D<28>)> = input("images");
    ///     let halved: Tensor<(D<2>, D<8>, D<14>, D<14>)> = images.max_pool2d(pool(2));
    ///     output(&halved);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn max_pool2d<OutHeight: Dim, OutWidth: Dim>(
        self,
        pool: Pool<2>,
    ) -> Tensor<(B, C, OutHeight, OutWidth), E>
    where
        E: Number,
    {
        let _scope = op("max_pool2d");
        pooled(self, &pool, Graph::max_pool)
    }

    /// Mean of each window of an image. Zeros added at the border count as elements, unless the pool says
    /// [`exclude_padding`](Pool::exclude_padding). The result's type names the output height and width.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, pool, trace};
    ///
    /// let traced = trace(|| {
    ///     let images: Tensor<(D<2>, D<8>, D<28>, D<28>)> = input("images");
    ///     let halved: Tensor<(D<2>, D<8>, D<14>, D<14>)> = images.avg_pool2d(pool(3).stride(2).padding(1));
    ///     output(&halved);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn avg_pool2d<OutHeight: Dim, OutWidth: Dim>(
        self,
        pool: Pool<2>,
    ) -> Tensor<(B, C, OutHeight, OutWidth), E>
    where
        E: Float,
    {
        let _scope = op("avg_pool2d");
        pooled(self, &pool, |graph, x, windows| graph.avg_pool(x, windows, pool.count_padding))
    }
}
