//! Convolution over images: windows of the input, an outer product with the kernel, a sum.

use super::dim::{D, Dim, DimInfo, Dims};
use super::record::{Recorder, graph_axis};
use super::shape::Shape;
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::graph::{Binary, Dim as Size, NodeId, Reduce};

/// How a convolution moves over the image: `conv().stride::<2>().padding::<1>()`.
#[derive(Clone, Copy, Debug)]
pub struct Conv<const STRIDE: usize = 1, const PADDING: usize = 0, const DILATION: usize = 1>;

/// A convolution of stride 1, without padding and dilation, to be changed by the methods of [`Conv`].
pub const fn conv() -> Conv {
    Conv
}

impl<const STRIDE: usize, const PADDING: usize, const DILATION: usize> Conv<STRIDE, PADDING, DILATION> {
    /// Distance of neighbouring positions.
    pub const fn stride<const NEW: usize>(self) -> Conv<NEW, PADDING, DILATION> {
        Conv
    }

    /// Zeros added on each side.
    pub const fn padding<const NEW: usize>(self) -> Conv<STRIDE, NEW, DILATION> {
        Conv
    }

    /// Distance of neighbouring taps of the kernel.
    pub const fn dilation<const NEW: usize>(self) -> Conv<STRIDE, PADDING, NEW> {
        Conv
    }
}

/// A window that moves over height and width.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub taps: [usize; 2],
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
}

impl Window {
    /// Elements from the first tap to the last.
    fn reach(&self, taps: usize) -> usize {
        (taps - 1) * self.dilation + 1
    }

    /// Positions along an axis, 0 if the window is larger than the padded axis.
    fn positions(&self, size: usize, taps: usize) -> usize {
        let room = size + 2 * self.padding;
        let reach = self.reach(taps);
        if reach > room { 0 } else { (room - reach) / self.stride + 1 }
    }

    fn describe(&self) -> String {
        let Window { stride, padding, dilation, .. } = self;
        let dilated = if *dilation == 1 { String::new() } else { format!(", dilation {dilation}") };
        format!("stride {stride}, padding {padding}{dilated}")
    }

    /// What is wrong with it, if anything. `what` describes input and kernel.
    pub fn mistake(&self, input: &[DimInfo], result: &[DimInfo], what: &str) -> Option<String> {
        let describe = self.describe();
        for (value, name) in [
            (self.stride, "the stride"),
            (self.dilation, "the dilation"),
            (self.taps[0], "the height of the window"),
            (self.taps[1], "the width of the window"),
        ] {
            if value == 0 {
                return Some(format!("{what}, {describe}: {name} is 0; it must be at least 1"));
            }
        }
        for (axis, name) in [(2, "height"), (3, "width")] {
            let taps = self.taps[axis - 2];
            let DimInfo::Fixed(size) = input[axis] else {
                let dim = input[axis];
                return Some(format!(
                    "{what}: the {name} of the input is `{dim}`; it must be a fixed size, `D<N>`"
                ));
            };
            let positions = self.positions(size, taps);
            if positions == 0 {
                let room = size + 2 * self.padding;
                return Some(format!(
                    "{what}, {describe}: the window of {} does not fit into the {name}, which is {room} with padding",
                    self.reach(taps)
                ));
            }
            if result[axis] != DimInfo::Fixed(positions) {
                return Some(format!(
                    "{what}, {describe}: the output {name} is {positions}, but the result {} names {}",
                    Dims(result),
                    result[axis]
                ));
            }
        }
        None
    }

    /// `[B, C, H, W]` to `[B, C, OH, KH, OW, KW]`; `B` and `C` only where they have an axis in the graph.
    pub fn unfold(&self, recorder: &mut Recorder, mut node: NodeId, input: &[DimInfo], fill: f64) -> NodeId {
        let first = graph_axis(input, 2);
        for (axis, taps) in [(first, self.taps[0]), (first + 2, self.taps[1])] {
            let size = recorder.graph.nodes[node].shape[axis].max();
            if self.padding > 0 {
                let padded = Size::Fixed(size + 2 * self.padding);
                node = recorder.graph.pad(node, axis, self.padding, padded, fill);
            }
            node = recorder.graph.window(node, axis, taps, self.stride, self.dilation);
        }
        node
    }
}

impl<B: Dim, C: Dim, H: Dim, W: Dim> Tensor<(B, C, H, W)> {
    /// Convolution of images `[batch, channels, height, width]` with kernels `[out channels, channels, height, width]`.
    /// The result's type names the output height and width.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, conv, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let images: Tensor<(D<2>, D<1>, D<28>, D<28>)> = input("images");
    ///     let kernel: Tensor<(D<8>, D<1>, D<3>, D<3>)> = input("kernel");
    ///     let maps: Tensor<(D<2>, D<8>, D<14>, D<14>)> = images.conv2d(kernel, conv().stride::<2>().padding::<1>());
    ///     output(&maps);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    #[allow(clippy::type_complexity)]
    pub fn conv2d<
        OutHeight: Dim,
        OutWidth: Dim,
        OutChannels: Dim,
        const KH: usize,
        const KW: usize,
        const STRIDE: usize,
        const PADDING: usize,
        const DILATION: usize,
    >(
        self,
        kernel: Tensor<(OutChannels, C, D<KH>, D<KW>)>,
        _conv: Conv<STRIDE, PADDING, DILATION>,
    ) -> Tensor<(B, OutChannels, OutHeight, OutWidth)> {
        let _scope = op("conv2d");
        let input = <(B, C, H, W)>::DIMS;
        let kernel_dims = <(OutChannels, C, D<KH>, D<KW>)>::DIMS;
        let result = <(B, OutChannels, OutHeight, OutWidth)>::DIMS;
        let window = Window { taps: [KH, KW], stride: STRIDE, padding: PADDING, dilation: DILATION };
        let what = format!("input {}, kernel {}", Dims(input), Dims(kernel_dims));
        if let Some(mistake) = window.mistake(input, result, &what) {
            report(mistake);
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            // The space of the product; neither operand needs a permutation.
            let [batch, channels, _, _] = [B::INFO, C::INFO, H::INFO, W::INFO];
            let [out, height, width] = [OutChannels::INFO, OutHeight::INFO, OutWidth::INFO];
            let (rows, columns) = (DimInfo::Fixed(KH), DimInfo::Fixed(KW));
            let space = [batch, out, channels, height, rows, width, columns];
            let windows = window.unfold(recorder, self.node, input, 0.0);
            let in_image =
                [Some(batch), None, Some(channels), Some(height), Some(rows), Some(width), Some(columns)];
            let in_kernel = [None, Some(out), Some(channels), None, Some(rows), None, Some(columns)];
            let left = recorder.spread(windows, &in_image, &space);
            let right = recorder.spread(kernel.node, &in_kernel, &space);
            let mut node = recorder.graph.binary(Binary::Mul, left, right);
            // Innermost first, so that the axes in front keep their numbers.
            for along in [6, 4, 2] {
                if space[along] != DimInfo::One {
                    node = recorder.graph.reduce(Reduce::Sum, node, graph_axis(&space, along));
                }
            }
            node
        }))
    }
}
