//! Transposed convolution: an ordinary one of an input with gaps of zeros.

use super::conv::{Channels, Grouped, Loose, PerAxis, Whole, group_mistake, taps};
use super::dim::{Dim, Dims};
use super::element::{Element, Number};
use super::shape::Shape;
use super::trace::{op, report};
use super::value::Tensor;
use super::window::{Window, axis_names, describe, each, number_mistake, size_mistake};
use crate::graph::{Dim as Size, Graph, NodeId};
use std::marker::PhantomData;

/// How a transposed convolution over `N` axes moves: `conv_transpose().stride(2).padding(1)`. One number is for all
/// axes, a list has one for each. All numbers are those of the convolution that it transposes.
///
/// `G` is [`Whole`], or [`Grouped`] after [`groups`](ConvTranspose::groups).
#[derive(Clone, Copy, Debug)]
pub struct ConvTranspose<const N: usize, G = Whole> {
    stride: [usize; N],
    before: [usize; N],
    after: [usize; N],
    output_padding: [usize; N],
    dilation: [usize; N],
    groups: usize,
    kind: PhantomData<G>,
}

/// A transposed convolution of stride 1, without padding, dilation and groups, to be changed by the methods of
/// [`ConvTranspose`].
///
/// ```
/// use luminal_core::tensor::{D, Tensor, conv_transpose, input, output, trace};
///
/// let traced = trace(|| {
///     let maps: Tensor<(D<1>, D<8>, D<7>, D<7>)> = input("maps");
///     let kernel: Tensor<(D<8>, D<3>, D<4>, D<4>)> = input("kernel");
///     let doubled: Tensor<(D<1>, D<3>, D<14>, D<14>)> =
///         maps.conv_transpose2d(kernel, conv_transpose().stride(2).padding(1));
///     output(&doubled);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
pub const fn conv_transpose<const N: usize>() -> ConvTranspose<N> {
    ConvTranspose {
        stride: [1; N],
        before: [0; N],
        after: [0; N],
        output_padding: [0; N],
        dilation: [1; N],
        groups: 1,
        kind: PhantomData,
    }
}

impl<const N: usize, G> ConvTranspose<N, G> {
    /// Distance of neighbouring elements of the input in the result.
    #[must_use]
    pub fn stride(self, stride: impl PerAxis<N>) -> Self {
        ConvTranspose { stride: stride.each(), ..self }
    }

    /// Elements taken away on both sides of each axis of the result.
    #[must_use]
    pub fn padding(self, padding: impl PerAxis<N>) -> Self {
        let padding = padding.each();
        ConvTranspose { before: padding, after: padding, ..self }
    }

    /// Elements taken away in front of each axis of the result: top, left.
    #[must_use]
    pub fn pad_before(self, padding: impl PerAxis<N>) -> Self {
        ConvTranspose { before: padding.each(), ..self }
    }

    /// Elements taken away behind each axis of the result: bottom, right.
    #[must_use]
    pub fn pad_after(self, padding: impl PerAxis<N>) -> Self {
        ConvTranspose { after: padding.each(), ..self }
    }

    /// Elements added behind each axis of the result, where the transposed convolution would not look; fewer than the
    /// stride or the dilation.
    #[must_use]
    pub fn output_padding(self, padding: impl PerAxis<N>) -> Self {
        ConvTranspose { output_padding: padding.each(), ..self }
    }

    /// Distance of neighbouring taps of the kernel.
    #[must_use]
    pub fn dilation(self, dilation: impl PerAxis<N>) -> Self {
        ConvTranspose { dilation: dilation.each(), ..self }
    }

    /// Divides the channels into groups of neighbours that do not see each other.
    #[must_use]
    pub fn groups(self, groups: usize) -> ConvTranspose<N, Grouped> {
        let ConvTranspose { stride, before, after, output_padding, dilation, .. } = self;
        ConvTranspose { stride, before, after, output_padding, dilation, groups, kind: PhantomData }
    }

    fn windows(&self, kernel: &[usize]) -> Vec<Window> {
        let window = |axis: usize| Window {
            taps: kernel[axis],
            stride: self.stride[axis],
            before: self.before[axis],
            after: self.after[axis],
            dilation: self.dilation[axis],
            ceil: false,
            result: None,
        };
        (0..N).map(window).collect()
    }
}

impl Graph {
    /// Transposed convolution of `[batch, channels, ..]` with `[channels, out channels / groups, ..]`, over as many axes
    /// as there are windows. The windows are those of the convolution that it transposes; see [`Window::transposed`] for
    /// the sizes of the result.
    ///
    /// Each element of the result is a sum over the whole kernel, where gaps between the elements of the input are 0. So
    /// a weight that is infinite or NaN makes its neighbours NaN; what is infinite in the input stays where it is.
    pub fn conv_transpose(
        &mut self,
        x: NodeId,
        kernel: NodeId,
        windows: &[Window],
        output_padding: &[usize],
        groups: usize,
    ) -> NodeId {
        let result = |(axis, window): (usize, &Window)| {
            let size = self.nodes[x].shape[2 + axis].max();
            Size::Fixed(window.transposed(size, output_padding[axis]).expect("a size of the result"))
        };
        let sizes: Vec<Size> = windows.iter().enumerate().map(result).collect();
        let [channels, each] = [0, 1].map(|axis| self.nodes[kernel].shape[axis].max());
        if channels * each == 0 {
            let shape: Vec<Size> =
                [self.nodes[x].shape[0], Size::Fixed(each * groups)].into_iter().chain(sizes).collect();
            return self.full(0.0, self.nodes[x].dtype, &shape);
        }
        let mut x = x;
        let mut sliding = vec![];
        for (axis, (window, size)) in windows.iter().zip(&sizes).enumerate() {
            x = self.with_gaps(x, 2 + axis, window.stride);
            // The kernel sticks out in front; behind it does too, or there is output padding. What the transposed
            // convolution adds as padding is taken away.
            let over = window.reach() - 1;
            let spread = self.nodes[x].shape[2 + axis].max();
            let (before, cut) = (over.saturating_sub(window.before), window.before.saturating_sub(over));
            let needed = (*size).max() + over;
            let padded = (cut + needed).max(before + spread);
            if padded > spread {
                x = self.pad(x, 2 + axis, before, Size::Fixed(padded), 0.0);
            }
            if padded > needed {
                x = self.slice(x, 2 + axis, cut, 1, Size::Fixed(needed));
            }
            sliding.push(Window { dilation: window.dilation, ..Window::of(window.taps) });
        }
        let kernel = self.transposed_kernel(kernel, groups);
        self.conv(x, kernel, &sliding, groups)
    }

    /// Puts `stride - 1` zeros between neighbours.
    fn with_gaps(&mut self, x: NodeId, axis: usize, stride: usize) -> NodeId {
        let Size::Fixed(size) = self.nodes[x].shape[axis] else { panic!("gaps in a free dimension") };
        if stride == 1 {
            return x;
        }
        let own = self.expand(x, axis + 1, Size::Fixed(1));
        let spread = self.pad(own, axis + 1, 0, Size::Fixed(stride), 0.0);
        let flat = self.merge(spread, axis);
        self.slice(flat, axis, 0, 1, Size::Fixed((size - 1) * stride + 1))
    }

    /// `[channels, out / groups, ..]` to `[out, channels / groups, ..]`, with the taps in reverse order.
    fn transposed_kernel(&mut self, kernel: NodeId, groups: usize) -> NodeId {
        let shape = self.nodes[kernel].shape.clone();
        let taps: Vec<usize> = shape[2..].iter().map(|size| (*size).max()).collect();
        let count: usize = taps.iter().product();
        let mut kernel = kernel;
        if count > 1 {
            for _ in 1..taps.len() {
                kernel = self.merge(kernel, 2);
            }
            kernel = self.flip(kernel, 2);
            for axis in 0..taps.len() - 1 {
                kernel = self.split(kernel, 2 + axis, taps[axis + 1..].iter().product());
            }
        }
        let rest = |from: usize| from..from + taps.len();
        if groups == 1 {
            let order: Vec<usize> = [1, 0].into_iter().chain(rest(2)).collect();
            return self.permute(kernel, &order);
        }
        let split = self.split(kernel, 0, shape[0].max() / groups);
        let order: Vec<usize> = [0, 2, 1].into_iter().chain(rest(3)).collect();
        let split = self.permute(split, &order);
        self.merge(split, 0)
    }
}

/// What is wrong with the sizes of the result, if anything.
fn mistake<R: Shape, const N: usize, G>(
    x: Loose,
    windows: &[Window],
    how: &ConvTranspose<N, G>,
) -> Option<String> {
    if let Some(mistake) = number_mistake(windows) {
        return Some(mistake);
    }
    for (axis, (window, name)) in windows.iter().zip(axis_names(N)).enumerate() {
        let added = how.output_padding[axis];
        let most = window.stride.max(window.dilation) - 1;
        if added > most {
            return Some(format!(
                "the output padding of the {name} is {added}; it must be less than the stride or the dilation, at most {most}"
            ));
        }
        let Some(size) = x.dims[2 + axis].fixed() else {
            let dim = x.dims[2 + axis];
            return Some(format!("the {name} of the input is `{dim}`; it must be a fixed size, `D<N>`"));
        };
        if size == 0 {
            return Some(format!("the {name} of the input is 0; it must be at least 1"));
        }
        let Some(size) = window.transposed(size, added).filter(|size| *size > 0) else {
            let [before, after] = [window.before, window.after];
            return Some(format!("paddings of {before} and {after} leave nothing of the {name}"));
        };
        if let Some(mistake) = size_mistake(name, size, R::DIMS, 2 + axis) {
            return Some(mistake);
        }
    }
    None
}

fn convolve<R: Shape, E: Number, const N: usize, G>(
    x: Loose,
    kernel: Loose,
    how: &ConvTranspose<N, G>,
) -> Tensor<R, E> {
    let checked = taps(kernel.dims).and_then(|taps| {
        let windows = how.windows(&taps);
        let channels = [("output channels", R::DIMS[1]), ("input channels", x.dims[1])];
        let found = mistake::<R, N, G>(x, &windows, how)
            .or_else(|| group_mistake(how.groups, channels, ("the kernel has", kernel.dims[1])));
        match found {
            Some(mistake) => Err(format!("{}: {mistake}", describe(&windows))),
            None => Ok(windows),
        }
    });
    match checked {
        Ok(windows) => Tensor::with_all_axes([x, kernel], |graph, [x, kernel], _| {
            graph.conv_transpose(x, kernel, &windows, &how.output_padding, how.groups)
        }),
        Err(mistake) => {
            let groups = if how.groups == 1 { String::new() } else { format!("groups {}, ", how.groups) };
            let added = match each(how.output_padding.into_iter()) {
                none if none == "0" => String::new(),
                added => format!("output padding {added}, "),
            };
            report(format!("input {}, kernel {}, {groups}{added}{mistake}", Dims(x.dims), Dims(kernel.dims)));
            Tensor::placeholder()
        }
    }
}

impl<B: Dim, C: Dim, L: Dim, E: Element> Tensor<(B, C, L), E> {
    /// Transposed convolution of sequences `[batch, channels, length]` with kernels `[channels, out channels / groups,
    /// length]`. The result's type names channels and length, `(L - 1) * stride - padding + dilation * (K - 1) + 1 +
    /// output padding`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, conv_transpose, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<1>, D<4>, D<10>)> = input("x");
    ///     let kernel: Tensor<(D<4>, D<2>, D<3>)> = input("kernel");
    ///     let doubled: Tensor<(D<1>, D<2>, D<20>)> =
    ///         x.conv_transpose1d(kernel, conv_transpose().stride(2).padding(1).output_padding(1));
    ///     output(&doubled);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn conv_transpose1d<OutLength: Dim, OutChannels: Dim, K: Dim, KL: Dim, G: Channels<OutChannels, K>>(
        self,
        kernel: Tensor<(C, K, KL), E>,
        how: ConvTranspose<1, G>,
    ) -> Tensor<(B, OutChannels, OutLength), E>
    where
        E: Number,
    {
        let _scope = op("conv_transpose1d");
        convolve(self.loose(), kernel.loose(), &how)
    }
}

impl<B: Dim, C: Dim, H: Dim, W: Dim, E: Element> Tensor<(B, C, H, W), E> {
    /// Transposed convolution of images `[batch, channels, height, width]` with kernels `[channels, out channels /
    /// groups, height, width]`. The result's type names channels, height and width; see
    /// [`conv_transpose1d`](Tensor::conv_transpose1d) for its size.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, conv_transpose, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<1>, D<8>, D<7>, D<5>)> = input("x");
    ///     let kernel: Tensor<(D<8>, D<3>, D<2>, D<3>)> = input("kernel");
    ///     let how = conv_transpose().stride([2, 1]);
    ///     let larger: Tensor<(D<1>, D<3>, D<14>, D<7>)> = x.conv_transpose2d(kernel, how);
    ///     output(&larger);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    #[allow(clippy::type_complexity)]
    pub fn conv_transpose2d<
        OutHeight: Dim,
        OutWidth: Dim,
        OutChannels: Dim,
        K: Dim,
        KH: Dim,
        KW: Dim,
        G: Channels<OutChannels, K>,
    >(
        self,
        kernel: Tensor<(C, K, KH, KW), E>,
        how: ConvTranspose<2, G>,
    ) -> Tensor<(B, OutChannels, OutHeight, OutWidth), E>
    where
        E: Number,
    {
        let _scope = op("conv_transpose2d");
        convolve(self.loose(), kernel.loose(), &how)
    }
}
