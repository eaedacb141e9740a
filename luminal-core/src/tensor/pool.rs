//! Pooling over images: windows of the input, reduced.

use super::conv::Window;
use super::dim::{Dim, Dims};
use super::record::graph_axis;
use super::shape::Shape;
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::graph::Reduce;

/// How a pooling window moves over the image: `pool::<3>().stride::<2>().padding::<1>()`.
#[derive(Clone, Copy, Debug)]
pub struct Pool<const KERNEL: usize, const STRIDE: usize = KERNEL, const PADDING: usize = 0>;

/// Square windows of this size side by side, to be changed by the methods of [`Pool`].
pub const fn pool<const KERNEL: usize>() -> Pool<KERNEL, KERNEL, 0> {
    Pool
}

impl<const KERNEL: usize, const STRIDE: usize, const PADDING: usize> Pool<KERNEL, STRIDE, PADDING> {
    /// Distance of neighbouring windows.
    pub const fn stride<const NEW: usize>(self) -> Pool<KERNEL, NEW, PADDING> {
        Pool
    }

    /// Elements added on each side.
    pub const fn padding<const NEW: usize>(self) -> Pool<KERNEL, STRIDE, NEW> {
        Pool
    }
}

impl Window {
    fn square(kernel: usize, stride: usize, padding: usize) -> Window {
        Window { taps: [kernel, kernel], stride, padding, dilation: 1 }
    }

    /// Too much padding, so that a window could lie outside of the image.
    fn empty_window(&self, what: &str) -> Option<String> {
        let [kernel, _] = self.taps;
        let padding = self.padding;
        let most = kernel / 2;
        (padding > most)
            .then(|| format!("{what}: padding {padding} is more than half of the kernel, at most {most}"))
    }
}

impl<B: Dim, C: Dim, H: Dim, W: Dim> Tensor<(B, C, H, W)> {
    /// Greatest element in each window of an image. The result's type names the output height and width; what is added
    /// at the border never wins.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, pool, trace};
    ///
    /// let traced = trace(|| {
    ///     let images: Tensor<(D<2>, D<8>, D<28>, D<28>)> = input("images");
    ///     let halved: Tensor<(D<2>, D<8>, D<14>, D<14>)> = images.max_pool2d(pool::<2>());
    ///     output(&halved);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn max_pool2d<
        OutHeight: Dim,
        OutWidth: Dim,
        const KERNEL: usize,
        const STRIDE: usize,
        const PADDING: usize,
    >(
        self,
        _pool: Pool<KERNEL, STRIDE, PADDING>,
    ) -> Tensor<(B, C, OutHeight, OutWidth)> {
        let _scope = op("max_pool2d");
        self.pool2d(Window::square(KERNEL, STRIDE, PADDING), Reduce::Max, f64::NEG_INFINITY)
    }

    /// Mean of each window of an image; zeros added at the border count as elements. The result's type names the output
    /// height and width.
    #[track_caller]
    pub fn avg_pool2d<
        OutHeight: Dim,
        OutWidth: Dim,
        const KERNEL: usize,
        const STRIDE: usize,
        const PADDING: usize,
    >(
        self,
        _pool: Pool<KERNEL, STRIDE, PADDING>,
    ) -> Tensor<(B, C, OutHeight, OutWidth)> {
        let _scope = op("avg_pool2d");
        let sum = self.pool2d(Window::square(KERNEL, STRIDE, PADDING), Reduce::Sum, 0.0);
        sum * (1.0 / (KERNEL * KERNEL) as f32)
    }

    fn pool2d<OutHeight: Dim, OutWidth: Dim>(
        self,
        window: Window,
        function: Reduce,
        fill: f64,
    ) -> Tensor<(B, C, OutHeight, OutWidth)> {
        let input = <(B, C, H, W)>::DIMS;
        let result = <(B, C, OutHeight, OutWidth)>::DIMS;
        let [kernel, _] = window.taps;
        let what = format!("input {}, kernel {kernel}", Dims(input));
        let mistake = window.mistake(input, result, &what).or_else(|| window.empty_window(&what));
        if let Some(mistake) = mistake {
            report(mistake);
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            let windows = window.unfold(recorder, self.node, input, fill);
            let first = graph_axis(input, 2);
            let columns = recorder.graph.reduce(function, windows, first + 3);
            recorder.graph.reduce(function, columns, first + 1)
        }))
    }
}
