//! Messages of convolution, pooling and resizing.

use super::*;
use crate::tensor::{Axis, D, Resize, Tensor as T, conv, conv_transpose, input, output, pool};

free_dim!(Batch, 8);
free_dim!(Seq, 16);

#[track_caller]
fn assert_mistake(model: impl FnOnce(), expected: &str) {
    assert_eq!(mistakes(model), [expected]);
}

type Images = T<(Batch, D<1>, D<28>, D<28>)>;
type Kernel = T<(D<4>, D<1>, D<3>, D<3>)>;

#[test]
fn convolution() {
    assert_mistake(
        || {
            let y: T<(Batch, D<4>, D<14>, D<13>)> =
                input::<Images>("x").conv2d(input::<Kernel>("k"), conv().stride(2));
            output(&y);
        },
        "conv2d: input [Batch, 1, 28, 28], kernel [4, 1, 3, 3], stride 2, padding 0: the output height is 13, but the \
         result [Batch, 4, 14, 13] names 14",
    );
    assert_mistake(
        || {
            let x: T<(Batch, D<1>, D<28>, Seq)> = input("x");
            let y: T<(Batch, D<4>, D<26>, Batch)> = x.conv2d(input::<Kernel>("k"), conv());
            output(&y);
        },
        "conv2d: input [Batch, 1, 28, Seq], kernel [4, 1, 3, 3], stride 1, padding 0: the output width can be 14, but `Batch` \
         has the bound 8: declare it with `max = 14` or more",
    );
    assert_mistake(
        || {
            let x: T<(Batch, D<1>, D<28>, D<28>)> = input("x");
            let y: T<(Batch, D<4>, D<26>, Batch)> = x.conv2d(input::<Kernel>("k"), conv());
            output(&y);
        },
        "conv2d: input [Batch, 1, 28, 28], kernel [4, 1, 3, 3], stride 1, padding 0: the output width is 26, but the result \
         [Batch, 4, 26, Batch] names Batch",
    );
    assert_mistake(
        || {
            let x: T<(D<1>, D<1>, D<2>, D<2>)> = input("x");
            let y: T<(D<1>, D<4>, D<1>, D<1>)> = x.conv2d(input::<Kernel>("k"), conv().dilation(2));
            output(&y);
        },
        "conv2d: input [1, 1, 2, 2], kernel [4, 1, 3, 3], stride 1, padding 0, dilation 2: the window of 5 does not fit into \
         the height, which is 2 with padding",
    );
    assert_mistake(
        || {
            let y: T<(Batch, D<4>, D<1>, D<1>)> =
                input::<Images>("x").conv2d(input::<Kernel>("k"), conv().stride([1, 0]).pad_after([0, 2]));
            output(&y);
        },
        "conv2d: input [Batch, 1, 28, 28], kernel [4, 1, 3, 3], stride [1, 0], padding 0 before and [0, 2] after: the stride \
         of the width is 0; it must be at least 1",
    );
    assert_mistake(
        || {
            let x: T<(Batch, D<8>, D<9>)> = input("x");
            let y: T<(Batch, D<4>, D<9>)> = x.conv1d(input::<T<(D<4>, D<8>, D<4>)>>("k"), conv().padding(1));
            output(&y);
        },
        "conv1d: input [Batch, 8, 9], kernel [4, 8, 4], stride 1, padding 1: the output length is 8, but the result [Batch, \
         4, 9] names 9",
    );
    assert_mistake(
        || {
            let x: T<(Batch, D<8>, D<9>)> = input("x");
            let y: T<(Batch, D<4>, D<9>)> =
                x.conv1d(input::<T<(D<4>, D<8>, D<1>)>>("k"), conv().padding(usize::MAX));
            output(&y);
        },
        "conv1d: input [Batch, 8, 9], kernel [4, 8, 1], stride 1, padding 18446744073709551615: the padding of the length is \
         18446744073709551615; it must be less than 2^31",
    );
}

#[test]
fn groups() {
    type X = T<(Batch, D<6>, D<9>)>;
    fn grouped<O: crate::tensor::Dim, K: crate::tensor::Dim>(groups: usize) {
        let y: T<(Batch, O, D<9>)> =
            input::<X>("x").conv1d(input::<T<(O, K, D<1>)>>("k"), conv().groups(groups));
        output(&y);
    }
    assert_mistake(
        || grouped::<D<8>, D<6>>(0),
        "conv1d: input [Batch, 6, 9], kernel [8, 6, 1], groups 0, stride 1, padding 0: there are 0 groups; there must be at \
         least 1",
    );
    assert_mistake(
        || grouped::<D<8>, D<1>>(4),
        "conv1d: input [Batch, 6, 9], kernel [8, 1, 1], groups 4, stride 1, padding 0: 6 input channels cannot be divided \
         into 4 groups",
    );
    assert_mistake(
        || grouped::<D<8>, D<2>>(3),
        "conv1d: input [Batch, 6, 9], kernel [8, 2, 1], groups 3, stride 1, padding 0: 8 output channels cannot be divided \
         into 3 groups",
    );
    assert_mistake(
        || grouped::<D<9>, D<6>>(3),
        "conv1d: input [Batch, 6, 9], kernel [9, 6, 1], groups 3, stride 1, padding 0: 6 input channels in 3 groups are 2 \
         each, but the kernel has 6",
    );
}

#[test]
fn transposed_convolution() {
    type X = T<(D<1>, D<4>, D<5>)>;
    fn transposed<O: crate::tensor::Dim, L: crate::tensor::Dim>(how: crate::tensor::ConvTranspose<1>) {
        let y: T<(D<1>, O, L)> = input::<X>("x").conv_transpose1d(input::<T<(D<4>, O, D<3>)>>("k"), how);
        output(&y);
    }
    assert_mistake(
        || transposed::<D<2>, D<10>>(conv_transpose().stride(2).padding(1)),
        "conv_transpose1d: input [1, 4, 5], kernel [4, 2, 3], stride 2, padding 1: the output length is 9, but the result [1, \
         2, 10] names 10",
    );
    assert_mistake(
        || transposed::<D<2>, D<10>>(conv_transpose().stride(2).output_padding(2)),
        "conv_transpose1d: input [1, 4, 5], kernel [4, 2, 3], output padding 2, stride 2, padding 0: the output padding of \
         the length is 2; it must be less than the stride or the dilation, at most 1",
    );
    assert_mistake(
        || transposed::<D<2>, D<10>>(conv_transpose().padding(4)),
        "conv_transpose1d: input [1, 4, 5], kernel [4, 2, 3], stride 1, padding 4: paddings of 4 and 4 leave nothing of the \
         length",
    );
    assert_mistake(
        || {
            let how = conv_transpose().groups(2);
            let y: T<(D<1>, D<6>, D<7>)> =
                input::<X>("x").conv_transpose1d(input::<T<(D<4>, D<2>, D<3>)>>("k"), how);
            output(&y);
        },
        "conv_transpose1d: input [1, 4, 5], kernel [4, 2, 3], groups 2, stride 1, padding 0: 6 output channels in 2 groups \
         are 3 each, but the kernel has 2",
    );
}

#[test]
fn pooling() {
    assert_mistake(
        || {
            let y: T<(Batch, D<3>, D<4>, D<3>)> =
                input::<T<(Batch, D<3>, D<8>, D<8>)>>("x").max_pool2d(pool(2));
            output(&y);
        },
        "max_pool2d: input [Batch, 3, 8, 8], kernel 2, stride 2, padding 0: the output width is 4, but the result [Batch, 3, \
         4, 3] names 3",
    );
    assert_mistake(
        || {
            let y: T<(D<1>, D<3>, D<6>, D<6>)> =
                input::<T<(D<1>, D<3>, D<8>, D<8>)>>("x").avg_pool2d(pool(2).padding(2));
            output(&y);
        },
        "avg_pool2d: input [1, 3, 8, 8], kernel 2, stride 2, padding 2: padding 2 of the height is more than half of the \
         window of 2, at most 1",
    );
    assert_mistake(
        || {
            let y: T<(D<1>, D<3>, Seq)> =
                input::<T<(D<1>, D<3>, Seq)>>("x").max_pool1d(pool(1).stride(4).ceil());
            output(&y);
        },
        "max_pool1d: input [1, 3, Seq], kernel 1, stride 4, padding 0: the length of the input is the free dimension `Seq`, \
         where a number of windows that is rounded up needs windows of at least 4; use `D<N>` or do not round up",
    );
    assert_mistake(
        || {
            let y: T<(D<1>, D<3>, D<4>)> = input::<T<(D<1>, D<3>, Seq)>>("x").adaptive_avg_pool1d();
            output(&y);
        },
        "adaptive_avg_pool1d: input [1, 3, Seq], result [1, 3, 4]: the length of input and result must be fixed sizes, \
         `D<N>`",
    );
}

#[test]
fn resizing() {
    assert_mistake(
        || {
            let y: T<(D<2>, D<8>)> = input::<T<(D<2>, Seq)>>("x").resize(Axis::<1>, Resize::Linear);
            output(&y);
        },
        "resize: axis 1 of [2, Seq] to [2, 8]: from `Seq` to `8`: both must be fixed sizes, `D<N>`",
    );
    assert_mistake(
        || {
            let y: T<(D<2>, D<8>)> = input::<T<(D<2>, D<0>)>>("x").resize(Axis::<1>, Resize::Linear);
            output(&y);
        },
        "resize: axis 1 of [2, 0] to [2, 8]: there is no element to take",
    );
    assert_mistake(
        || {
            let y: T<(D<5000>,)> = input::<T<(D<4000>,)>>("x").resize(Axis::<0>, Resize::Nearest);
            output(&y);
        },
        "resize: axis 0 of [4000] to [5000]: 4000 to 5000 is too large: the product must be less than 4194304",
    );
}
