//! The models that are timed, written as users write them.

use luminal_core::axes;
use luminal_core::graph::{Dim, Graph, NodeId};
use luminal_core::tensor::nn::{
    BatchNorm, Conv2d, Embedding, FeedForward, KvCache, LayerNorm, Linear, RmsNorm, SwiGlu,
};
use luminal_core::tensor::{
    Axis, D, Module, One, Scope, Tensor, attention, before, input, output, rope, state_scope, trace, weights,
    write_back,
};

/// A struct of weights with its `Module`, as `#[derive(Module)]` of the crate `luminal` makes it.
macro_rules! module {
    ($name:ident $(<$(const $size:ident),+>)? { $($field:ident: $type:ty),+ $(,)? }) => {
        struct $name $(<$(const $size: usize),+>)? { $($field: $type),+ }
        impl $(<$(const $size: usize),+>)? Module for $name $(<$($size),+>)? {
            fn build(scope: &Scope) -> Self {
                $name { $($field: Module::build(&scope.field(stringify!($field), stringify!($field)))),+ }
            }
            fn visit(&self, f: &mut dyn FnMut(NodeId)) {
                $(self.$field.visit(f);)+
            }
        }
    };
}

fn traced(model: impl FnOnce()) -> Graph {
    let traced = trace(model);
    assert_eq!(traced.mistakes, [], "the model is right");
    traced.graph
}

const WIDTH: usize = 768;
type Words = (D<128>, D<WIDTH>);

module!(BertLayer {
    query: Linear<WIDTH, WIDTH>,
    key: Linear<WIDTH, WIDTH>,
    value: Linear<WIDTH, WIDTH>,
    out: Linear<WIDTH, WIDTH>,
    norm1: LayerNorm<WIDTH>,
    feed_forward: FeedForward<WIDTH, 3072>,
    norm2: LayerNorm<WIDTH>,
});

impl BertLayer {
    fn forward(&self, x: Tensor<Words>, allowed: Tensor<(D<128>,), bool>) -> Tensor<Words> {
        let heads = |layer: &Linear<WIDTH, WIDTH>| {
            layer.forward(x).reshape::<(D<128>, D<12>, D<64>)>().permute(axes![1, 0, 2])
        };
        let seen =
            heads(&self.query).attention(heads(&self.key), heads(&self.value), attention().mask(allowed));
        let seen = self.out.forward(seen.permute(axes![1, 0, 2]).reshape::<Words>());
        let x = self.norm1.forward(x + seen);
        self.norm2.forward(x + self.feed_forward.forward(x))
    }
}

module!(Bert {
    words: Embedding<30522, WIDTH>,
    positions: Tensor<Words>,
    norm: LayerNorm<WIDTH>,
    layers: [BertLayer; 12],
});

/// BERT of 12 layers over 128 tokens.
pub fn bert() -> Graph {
    traced(|| {
        let tokens: Tensor<(D<128>,), i32> = input("tokens");
        let allowed: Tensor<(D<128>,), bool> = input("allowed");
        let net: Bert = weights("net");
        let x = net.norm.forward(net.words.forward(tokens) + net.positions);
        output(&net.layers.iter().fold(x, |x, layer| layer.forward(x, allowed)));
    })
}

type Row<const T: usize> = Tensor<(D<T>, D<576>)>;
type Cache<const C: usize> = KvCache<One, D<3>, D<C>, D<64>>;

module!(LlamaLayer {
    input_layernorm: RmsNorm<576>,
    q_proj: Linear<576, 576, f32, false>,
    k_proj: Linear<576, 192, f32, false>,
    v_proj: Linear<576, 192, f32, false>,
    o_proj: Linear<576, 576, f32, false>,
    post_attention_layernorm: RmsNorm<576>,
    mlp: SwiGlu<576, 1536>,
});

impl LlamaLayer {
    fn forward<const T: usize, const C: usize>(
        &self,
        x: Row<T>,
        position: Tensor<(), i32>,
        cache: &mut Cache<C>,
    ) -> Row<T> {
        let positions = Tensor::<(D<T>,), i32>::iota() + position;
        let y = self.input_layernorm.forward(x);
        let query = self.q_proj.forward(y).reshape::<(One, D<T>, D<9>, D<64>)>().permute(axes![0, 2, 1, 3]);
        let key = self.k_proj.forward(y).reshape::<(One, D<T>, D<3>, D<64>)>().permute(axes![0, 2, 1, 3]);
        let value = self.v_proj.forward(y).reshape::<(One, D<T>, D<3>, D<64>)>().permute(axes![0, 2, 1, 3]);
        let (query, key) = (query.rope(positions, rope()), key.rope(positions, rope()));
        let seen = cache.attend(query, key, value, position, attention().causal());
        let seen = seen.permute(axes![0, 2, 1, 3]).reshape::<(D<T>, D<576>)>();
        let x = x + self.o_proj.forward(seen);
        x + self.mlp.forward(self.post_attention_layernorm.forward(x))
    }
}

module!(Llama { embed_tokens: Embedding<49152, 576>, layers: [LlamaLayer; 30], norm: RmsNorm<576> });

/// A decoder of 30 layers: `T` tokens at once, with a cache of `C` positions.
pub fn llama<const T: usize, const C: usize>() -> Graph {
    traced(|| {
        let tokens: Tensor<(D<T>,), i32> = input("tokens");
        let position: Tensor<(), i32> = input("position");
        let net: Llama = weights("net");
        let mut caches: [Cache<C>; 30] = Module::build(&state_scope("caches"));
        let old = before(&caches);
        let mut x = net.embed_tokens.forward(tokens);
        for (layer, cache) in net.layers.iter().zip(&mut caches) {
            x = layer.forward(x, position, cache);
        }
        output(&net.embed_tokens.logits(net.norm.forward(x)));
        write_back("caches", &caches, old);
    })
}

module!(ResNetBlock<const C> {
    conv1: Conv2d<C, C, 3, 1, 1, false>,
    bn1: BatchNorm<C>,
    conv2: Conv2d<C, C, 3, 1, 1, false>,
    bn2: BatchNorm<C>,
});

type Image<const C: usize, const S: usize> = Tensor<(D<1>, D<C>, D<S>, D<S>)>;

impl<const C: usize> ResNetBlock<C> {
    fn forward<const S: usize>(&self, x: Image<C, S>) -> Image<C, S> {
        let y: Image<C, S> = self.conv1.forward(x);
        let y: Image<C, S> = self.conv2.forward(self.bn1.forward(y).relu());
        (x + self.bn2.forward(y)).relu()
    }
}

module!(ResNetDown<const I, const O> {
    conv1: Conv2d<I, O, 3, 2, 1, false>,
    bn1: BatchNorm<O>,
    conv2: Conv2d<O, O, 3, 1, 1, false>,
    bn2: BatchNorm<O>,
    skip: Conv2d<I, O, 1, 2, 0, false>,
    bn: BatchNorm<O>,
});

impl<const I: usize, const O: usize> ResNetDown<I, O> {
    fn forward<const S: usize, const H: usize>(&self, x: Image<I, S>) -> Image<O, H> {
        let y: Image<O, H> = self.conv1.forward(x);
        let y: Image<O, H> = self.conv2.forward(self.bn1.forward(y).relu());
        let skip: Image<O, H> = self.skip.forward(x);
        (self.bn.forward(skip) + self.bn2.forward(y)).relu()
    }
}

module!(ResNet {
    conv1: Conv2d<3, 64, 7, 2, 3, false>,
    bn1: BatchNorm<64>,
    layer1: [ResNetBlock<64>; 3],
    down2: ResNetDown<64, 128>,
    layer2: [ResNetBlock<128>; 3],
    down3: ResNetDown<128, 256>,
    layer3: [ResNetBlock<256>; 5],
    down4: ResNetDown<256, 512>,
    layer4: [ResNetBlock<512>; 2],
    fc: Linear<512, 1000>,
});

/// A residual network of 34 layers over one image.
pub fn resnet() -> Graph {
    traced(|| {
        let image: Image<3, 224> = input("image");
        let net: ResNet = weights("net");
        let x: Image<64, 112> = net.conv1.forward(image);
        let x: Image<64, 56> =
            net.bn1.forward(x).relu().max_pool2d(luminal_core::tensor::pool(3).stride(2).padding(1));
        let x = net.layer1.iter().fold(x, |x, block| block.forward(x));
        let x: Image<128, 28> = net.down2.forward(x);
        let x = net.layer2.iter().fold(x, |x, block| block.forward(x));
        let x: Image<256, 14> = net.down3.forward(x);
        let x = net.layer3.iter().fold(x, |x, block| block.forward(x));
        let x: Image<512, 7> = net.down4.forward(x);
        let x = net.layer4.iter().fold(x, |x, block| block.forward(x));
        let x: Tensor<(D<1>, D<512>)> = x.mean((Axis::<2>, Axis::<3>));
        output(&net.fc.forward(x));
    })
}

/// Functions of `x` and `y`, each an output: pointwise values that many others use.
fn pointwise<E: luminal_core::tensor::Element>(
    functions: impl FnOnce(&mut Graph, NodeId, NodeId) -> Vec<NodeId>,
) -> Graph {
    let mut graph = Graph::default();
    let [x, y] = ["x", "y"].map(|name| graph.input(name, &[Dim::Fixed(2048)], E::DTYPE));
    for (number, result) in functions(&mut graph, x, y).into_iter().enumerate() {
        graph.outputs.push((format!("output{number}"), result));
    }
    graph
}

/// Quotients and remainders of integers.
pub fn divisions() -> Graph {
    pointwise::<i32>(|g, x, y| vec![g.quotient(x, y), g.fmod(x, y), g.floor_divide(x, y), g.less_equal(x, y)])
}

/// Roundings, signs and activations of one value.
pub fn activations() -> Graph {
    pointwise::<f32>(|g, x, _| {
        vec![
            g.floor(x),
            g.round(x),
            g.sign(x),
            g.gelu(x),
            g.gelu_tanh(x),
            g.silu(x),
            g.mish(x),
            g.softplus(x),
            g.hardswish(x),
            g.elu(x, 0.5),
            g.is_nan(x),
            g.is_inf(x),
            g.atan(x),
        ]
    })
}

/// Rows to 8 bits and back, by divisions that round: 4 times.
pub fn quantisations() -> Graph {
    pointwise::<f32>(|g, x, y| {
        let mut results = vec![];
        let mut x = x;
        for _ in 0..4 {
            let q = g.div(x, y);
            let q = g.round(q);
            let low = g.full_like(-128.0, q);
            let high = g.full_like(127.0, q);
            let q = g.maximum(q, low);
            let q = g.minimum(q, high);
            let whole = g.floor_divide(q, y);
            x = g.mul(q, y);
            results.extend([q, whole]);
        }
        results
    })
}
