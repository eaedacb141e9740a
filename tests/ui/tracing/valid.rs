use luminal::{Axis, Conv2d, D, Linear, Module, Output, Tensor, axes, dim, model, pool};

#[dim(max = 64)]
pub struct Batch;

#[derive(Module)]
pub struct Net {
    conv: Conv2d<1, 4, 3, 2, 1>,
    layers: [Linear<36, 36>; 2],
    out: Linear<36, 3>,
    #[param(value = 0.5)]
    scale: f32,
}

#[derive(Module)]
pub struct Memory {
    last: Tensor<(D<3>,)>,
}

#[derive(Output)]
pub struct Classes {
    pub probabilities: Tensor<(Batch, D<3>)>,
    pub best: Tensor<(Batch,)>,
}

#[model]
pub fn m(images: Tensor<(Batch, D<1>, D<12>, D<12>)>, net: &Net, memory: &mut Memory) -> Classes {
    let maps: Tensor<(Batch, D<4>, D<6>, D<6>)> = net.conv.forward(images);
    let pooled: Tensor<(Batch, D<4>, D<3>, D<3>)> = maps.relu().max_pool2d(pool(2));
    let mut h: Tensor<(Batch, D<36>)> = pooled.permute(axes![0, 2, 3, 1]).flatten();
    for layer in &net.layers {
        h = h + layer.forward(h).relu() * net.scale;
    }
    let probabilities = net.out.forward(h).softmax(Axis::<1>);
    memory.last = memory.last.maximum(probabilities.max(Axis::<0>));
    Classes { probabilities, best: probabilities.max(Axis::<1>) }
}
