//! Convolution: windows of the input, an outer product with the kernel, a sum.

use super::dim::{Dim, DimInfo, Dims};
use super::element::{Element, Number};
use super::shape::Shape;
use super::trace::{op, record, report};
use super::value::Tensor;
use super::window::{Window, describe, named, window_mistake};
use crate::graph::{Dim as Size, Graph, NodeId};
use std::marker::PhantomData;

/// How a convolution over `N` axes moves: `conv().stride(2).padding([1, 0])`. One number is for all axes, a list has one
/// for each.
///
/// `G` is [`Whole`], or [`Grouped`] after [`groups`](Conv::groups).
#[derive(Clone, Copy, Debug)]
pub struct Conv<const N: usize, G = Whole> {
    stride: [usize; N],
    before: [usize; N],
    after: [usize; N],
    dilation: [usize; N],
    groups: usize,
    kind: PhantomData<G>,
}

/// A convolution of stride 1, without padding, dilation and groups, to be changed by the methods of [`Conv`].
///
/// ```
/// use luminal_core::tensor::{D, Tensor, conv, input, output, trace};
///
/// let traced = trace(|| {
///     let images: Tensor<(D<2>, D<6>, D<8>, D<8>)> = input("images");
///     let kernel: Tensor<(D<12>, D<1>, D<3>, D<2>)> = input("kernel");
///     // One row more on top, two columns more on the right; each channel has two kernels of its own.
///     let how = conv().stride([2, 1]).pad_before([1, 0]).pad_after([0, 2]).groups(6);
///     let maps: Tensor<(D<2>, D<12>, D<4>, D<9>)> = images.conv2d(kernel, how);
///     output(&maps);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
pub const fn conv<const N: usize>() -> Conv<N> {
    Conv { stride: [1; N], before: [0; N], after: [0; N], dilation: [1; N], groups: 1, kind: PhantomData }
}

/// Each kernel sees all channels.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

/// Each kernel sees the channels of its group only.
#[derive(Clone, Copy, Debug)]
pub struct Grouped;

/// How many of the input's channels a kernel sees: all, or those of its group, which tracing counts.
#[diagnostic::on_unimplemented(
    message = "the kernel is made for `{Kernel}` channels, but there are `{Channels}`",
    label = "the channels differ, and there are no groups",
    note = "conv: input [batch, in, ..], kernel [out, in, ..]; with `.groups(n)`, kernel [out, in / n, ..]\n\
            conv_transpose: input [batch, in, ..], kernel [in, out, ..]; with `.groups(n)`, kernel [in, out / n, ..]"
)]
pub trait Channels<Channels, Kernel> {}

#[diagnostic::do_not_recommend]
impl<C: Dim> Channels<C, C> for Whole {}
#[diagnostic::do_not_recommend]
impl<C: Dim, K: Dim> Channels<C, K> for Grouped {}

/// A number for each of `N` axes, or one for all.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number for each of {N} axes",
    label = "expected one `usize` for all axes or `[usize; {N}]`"
)]
pub trait PerAxis<const N: usize> {
    /// The numbers.
    fn each(self) -> [usize; N];
}

#[diagnostic::do_not_recommend]
impl<const N: usize> PerAxis<N> for usize {
    fn each(self) -> [usize; N] {
        [self; N]
    }
}
#[diagnostic::do_not_recommend]
impl<const N: usize> PerAxis<N> for [usize; N] {
    fn each(self) -> [usize; N] {
        self
    }
}

impl<const N: usize, G> Conv<N, G> {
    /// Distance of neighbouring positions.
    #[must_use]
    pub fn stride(self, stride: impl PerAxis<N>) -> Self {
        Conv { stride: stride.each(), ..self }
    }

    /// Zeros added on both sides of each axis.
    #[must_use]
    pub fn padding(self, padding: impl PerAxis<N>) -> Self {
        let padding = padding.each();
        Conv { before: padding, after: padding, ..self }
    }

    /// Zeros added in front of each axis: top, left.
    #[must_use]
    pub fn pad_before(self, padding: impl PerAxis<N>) -> Self {
        Conv { before: padding.each(), ..self }
    }

    /// Zeros added behind each axis: bottom, right.
    #[must_use]
    pub fn pad_after(self, padding: impl PerAxis<N>) -> Self {
        Conv { after: padding.each(), ..self }
    }

    /// Distance of neighbouring taps of the kernel.
    #[must_use]
    pub fn dilation(self, dilation: impl PerAxis<N>) -> Self {
        Conv { dilation: dilation.each(), ..self }
    }

    /// Divides the channels into groups of neighbours that do not see each other; as many groups as channels is a
    /// depthwise convolution.
    #[must_use]
    pub fn groups(self, groups: usize) -> Conv<N, Grouped> {
        let Conv { stride, before, after, dilation, .. } = self;
        Conv { stride, before, after, dilation, groups, kind: PhantomData }
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
    /// Convolution of `[batch, channels, ..]` with `[out channels, channels / groups, ..]`, over as many axes as there
    /// are windows, whose taps are the last sizes of the kernel. Padding is 0.
    pub fn conv(&mut self, x: NodeId, kernel: NodeId, windows: &[Window], groups: usize) -> NodeId {
        const BATCH: usize = 0;
        const GROUP: usize = 1;
        const OUT: usize = 2;
        const CHANNEL: usize = 3;
        let position = |axis: usize| 4 + 2 * axis;
        let [out, channels] = [0, 1].map(|axis| self.nodes[kernel].shape[axis].max());
        let mut x = self.windows(x, 2, windows, 0.0);
        let mut kernel = kernel;
        let mut in_x = vec![CHANNEL];
        let mut in_kernel = vec![OUT, CHANNEL];
        let mut result = vec![OUT];
        if groups > 1 && out * channels == 0 {
            // No group has a channel, so that there is nothing to divide.
            let positions = windows.iter().enumerate().map(|(axis, _)| self.nodes[x].shape[2 + 2 * axis]);
            let shape: Vec<_> =
                [self.nodes[x].shape[0], self.nodes[kernel].shape[0]].into_iter().chain(positions).collect();
            return self.full(0.0, self.nodes[x].dtype, &shape);
        }
        if groups > 1 {
            assert!(out.is_multiple_of(groups), "{out} channels in {groups} groups");
            (in_x, in_kernel, result) = (vec![GROUP, CHANNEL], vec![GROUP, OUT, CHANNEL], vec![GROUP, OUT]);
            // Axes of one element are left out: most groups are of one channel.
            match channels {
                1 => {
                    kernel = self.squeeze(kernel, 1);
                    in_x.pop();
                    in_kernel.pop();
                }
                _ => x = self.split(x, 1, channels),
            }
            match out / groups {
                1 => {
                    in_kernel.remove(1);
                    result.pop();
                }
                each => kernel = self.split(kernel, 0, each),
            }
        }
        let grouped = result.len() == 2;
        in_x.insert(0, BATCH);
        result.insert(0, BATCH);
        for axis in 0..windows.len() {
            let (position, tap) = (position(axis), position(axis) + 1);
            in_x.extend([position, tap]);
            in_kernel.push(tap);
            result.push(position);
        }
        let maps = self.contract(&[(x, in_x), (kernel, in_kernel)], &result);
        if grouped { self.merge(maps, 1) } else { maps }
    }
}

/// A tensor whose shape is a list: what operations of every rank work with.
#[derive(Clone, Copy)]
pub(super) struct Loose {
    pub node: NodeId,
    pub dims: &'static [DimInfo],
}

impl<S: Shape, E: Element> Tensor<S, E> {
    pub(super) fn loose(self) -> Loose {
        Loose { node: self.node, dims: S::DIMS }
    }

    /// Records a composition of operands that have all axes of their shapes in the graph, also those of `One`, and whose
    /// result has all axes of this one. It is given the sizes of the result.
    pub(super) fn with_all_axes<const N: usize>(
        operands: [Loose; N],
        work: impl FnOnce(&mut Graph, [NodeId; N], &[Size]) -> NodeId,
    ) -> Self {
        Tensor::of(record(|recorder| {
            let operands = operands.map(|operand| recorder.full(operand.node, operand.dims));
            let sizes: Vec<Size> = S::DIMS.iter().map(|dim| recorder.dim(*dim)).collect();
            let mut node = recorder.graph.widened(operands, |graph, operands| work(graph, operands, &sizes));
            for axis in (0..S::DIMS.len()).rev().filter(|axis| S::DIMS[*axis] == DimInfo::One) {
                node = recorder.graph.squeeze(node, axis);
            }
            node
        }))
    }
}

/// The known sizes of a kernel, from axis 2 on.
pub(super) fn taps(kernel: &[DimInfo]) -> Result<Vec<usize>, String> {
    let known = |dim: &DimInfo| {
        dim.fixed().ok_or_else(|| {
            format!("the kernel has the free dimension `{dim}`; it must be a fixed size, `D<N>`")
        })
    };
    kernel[2..].iter().map(known).collect()
}

/// What is wrong with channels in groups, if anything. `inputs` and `outputs` are channels, `given` and `wanted` the
/// kernel's channels for each group and those of the other side.
pub(super) fn group_mistake(
    groups: usize,
    whole: [(&str, DimInfo); 2],
    part: (&str, DimInfo),
) -> Option<String> {
    if groups == 0 {
        return Some("there are 0 groups; there must be at least 1".into());
    }
    if groups == 1 && whole[0].1 == part.1 {
        return None;
    }
    for (name, dim) in whole {
        let Some(size) = dim.fixed() else {
            return Some(format!(
                "{name} are the free dimension `{dim}`; in groups they must be a fixed size, `D<N>`"
            ));
        };
        if !size.is_multiple_of(groups) {
            return Some(format!("{size} {name} cannot be divided into {groups} groups"));
        }
    }
    let each = whole[0].1.max() / groups;
    (part.1.fixed() != Some(each)).then(|| {
        let (name, groups) =
            (whole[0].0, if groups == 1 { "1 group".into() } else { format!("{groups} groups") });
        format!("{} {name} in {groups} are {each} each, but {} {}", whole[0].1, part.0, part.1)
    })
}

fn convolve<R: Shape, E: Number, const N: usize, G>(
    x: Loose,
    kernel: Loose,
    conv: &Conv<N, G>,
) -> Tensor<R, E> {
    let checked = taps(kernel.dims).and_then(|taps| {
        let windows = conv.windows(&taps);
        let channels = [("input channels", x.dims[1]), ("output channels", kernel.dims[0])];
        let part = ("the kernel has", kernel.dims[1]);
        let mistake =
            window_mistake(x.dims, R::DIMS, &windows).or_else(|| group_mistake(conv.groups, channels, part));
        match mistake {
            Some(mistake) => Err(format!("{}: {mistake}", describe(&windows))),
            None => Ok(windows),
        }
    });
    match checked {
        Ok(windows) => Tensor::with_all_axes([x, kernel], |graph, [x, kernel], sizes| {
            let windows = named(windows, sizes);
            graph.conv(x, kernel, &windows, conv.groups)
        }),
        Err(mistake) => {
            let groups = if conv.groups == 1 { String::new() } else { format!("groups {}, ", conv.groups) };
            report(format!("input {}, kernel {}, {groups}{mistake}", Dims(x.dims), Dims(kernel.dims)));
            Tensor::placeholder()
        }
    }
}

impl<B: Dim, C: Dim, L: Dim, E: Element> Tensor<(B, C, L), E> {
    /// Convolution of sequences `[batch, channels, length]` with kernels `[out channels, channels / groups, length]`.
    /// The result's type names the output length, `(L + padding - dilation * (K - 1) - 1) / stride + 1`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, conv, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let sound: Tensor<(D<2>, D<80>, D<100>)> = input("sound");
    ///     let kernel: Tensor<(D<16>, D<80>, D<3>)> = input("kernel");
    ///     let halved: Tensor<(D<2>, D<16>, D<50>)> = sound.conv1d(kernel, conv().stride(2).padding(1));
    ///     output(&halved);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn conv1d<OutLength: Dim, OutChannels: Dim, K: Dim, KL: Dim, G: Channels<C, K>>(
        self,
        kernel: Tensor<(OutChannels, K, KL), E>,
        conv: Conv<1, G>,
    ) -> Tensor<(B, OutChannels, OutLength), E>
    where
        E: Number,
    {
        let _scope = op("conv1d");
        convolve(self.loose(), kernel.loose(), &conv)
    }
}

impl<B: Dim, C: Dim, H: Dim, W: Dim, E: Element> Tensor<(B, C, H, W), E> {
    /// Convolution of images `[batch, channels, height, width]` with kernels `[out channels, channels / groups, height,
    /// width]`. The result's type names the output height and width, `(H + padding - dilation * (K - 1) - 1) / stride +
    /// 1`.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, conv, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let images: Tensor<(D<2>, D<1>, D<28>, D<28>)> = input("images");
    ///     let kernel: Tensor<(D<8>, D<1>, D<3>, D<3>)> = input("kernel");
    ///     let maps: Tensor<(D<2>, D<8>, D<14>, D<14>)> = images.conv2d(kernel, conv().stride(2).padding(1));
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
        K: Dim,
        KH: Dim,
        KW: Dim,
        G: Channels<C, K>,
    >(
        self,
        kernel: Tensor<(OutChannels, K, KH, KW), E>,
        conv: Conv<2, G>,
    ) -> Tensor<(B, OutChannels, OutHeight, OutWidth), E>
    where
        E: Number,
    {
        let _scope = op("conv2d");
        convolve(self.loose(), kernel.loose(), &conv)
    }
}
