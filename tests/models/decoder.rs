//! A small language model with a cache of keys and values, and models that call models.

use luminal::nn::{
    Embedding, KvCache, LayerNorm, Lstm, LstmKind, MultiHeadAttention, RecurrentState, RmsNorm, SwiGlu,
};
use luminal::{Axis, D, Dim, Linear, Module, One, Output, Tensor, attention, axes, dim, model, rope};

/// Tokens in one run.
#[dim(max = 8)]
pub struct Tokens;

/// Two heads of 8 elements, which share one head of keys and values.
#[derive(Module)]
pub struct Block {
    input_layernorm: RmsNorm<16>,
    q_proj: Linear<16, 16, f32, false>,
    k_proj: Linear<16, 8, f32, false>,
    v_proj: Linear<16, 8, f32, false>,
    o_proj: Linear<16, 16, f32, false>,
    post_attention_layernorm: RmsNorm<16>,
    mlp: SwiGlu<16, 20>,
}

/// Of 9 tokens.
pub type Cache = KvCache<One, D<1>, D<9>, D<8>>;

impl Block {
    fn forward<T: Dim>(
        &self,
        x: Tensor<(T, D<16>)>,
        position: Tensor<(), i32>,
        cache: &mut Cache,
    ) -> Tensor<(T, D<16>)> {
        let positions = Tensor::<(T,), i32>::iota() + position;
        let normed = self.input_layernorm.forward(x);
        let query = self.q_proj.forward(normed).reshape::<(One, T, D<2>, D<8>)>().permute(axes![0, 2, 1, 3]);
        let key = self.k_proj.forward(normed).reshape::<(One, T, D<1>, D<8>)>().permute(axes![0, 2, 1, 3]);
        let value = self.v_proj.forward(normed).reshape::<(One, T, D<1>, D<8>)>().permute(axes![0, 2, 1, 3]);
        let (query, key) = (query.rope(positions, rope()), key.rope(positions, rope()));
        let seen = cache.attend(query, key, value, position, attention());
        let x = x + self.o_proj.forward(seen.permute(axes![0, 2, 1, 3]).reshape::<(T, D<16>)>());
        x + self.mlp.forward(self.post_attention_layernorm.forward(x))
    }
}

/// Two blocks between an embedding and its transpose.
#[derive(Module)]
pub struct Decoder {
    embed_tokens: Embedding<11, 16>,
    layers: [Block; 2],
    norm: RmsNorm<16>,
}

/// Logits of each token.
#[model]
pub fn decode(
    tokens: Tensor<(Tokens,), i32>,
    position: Tensor<(), i32>,
    net: &Decoder,
    caches: &mut [Cache; 2],
) -> Tensor<(Tokens, D<11>)> {
    let mut x = net.embed_tokens.forward(tokens);
    for (layer, cache) in net.layers.iter().zip(caches) {
        x = layer.forward(x, position, cache);
    }
    net.embed_tokens.logits(net.norm.forward(x))
}

/// Everything that a model with state of its own keeps, the other model's state among it.
#[derive(Module)]
pub struct Memory {
    caches: [Cache; 2],
    lstm: RecurrentState<LstmKind, D<1>, 4>,
}

/// Weights of two models.
#[derive(Module)]
pub struct Both {
    decoder: Decoder,
    lstm: Lstm<11, 4>,
}

/// Several outputs.
#[derive(Output)]
pub struct Summary {
    /// The logits of the inner model.
    pub logits: Tensor<(D<1>, D<11>)>,
    /// What remembers all logits so far.
    pub memory: (Tensor<(D<1>, D<4>)>, Tensor<(D<1>,)>),
}

/// The blocks of the inner model for one token.
#[model]
pub fn summarise(
    token: Tensor<(D<1>,), i32>,
    position: Tensor<(), i32>,
    net: &Both,
    memory: &mut Memory,
) -> Summary {
    let mut x = net.decoder.embed_tokens.forward(token);
    for (layer, cache) in net.decoder.layers.iter().zip(&mut memory.caches) {
        x = layer.forward(x, position, cache);
    }
    let logits = net.decoder.embed_tokens.logits(net.decoder.norm.forward(x));
    let hidden = net.lstm.step(logits, &mut memory.lstm);
    Summary { logits, memory: (hidden, hidden.max(Axis::<1>)) }
}

/// A model in which another one is called twice, with a state each.
#[model]
pub fn compare(
    first: Tensor<(Tokens,), i32>,
    second: Tensor<(Tokens,), i32>,
    position: Tensor<(), i32>,
    net: &Decoder,
    caches: &mut [[Cache; 2]; 2],
) -> Tensor<(Tokens, D<11>)> {
    let [first_caches, second_caches] = caches;
    decode(first, position, net, first_caches) - decode(second, position, net, second_caches)
}

/// Attention of several heads behind a norm.
#[derive(Module)]
pub struct Encoder {
    norm: LayerNorm<8>,
    attention: MultiHeadAttention<8, 2>,
}

/// A block of an encoder with everything that attention can do about masks.
#[model]
pub fn encode(
    x: Tensor<(D<2>, D<5>, D<8>)>,
    seen: Tensor<(D<2>, One, One, D<5>), bool>,
    net: &Encoder,
) -> Tensor<(D<2>, D<5>, D<8>)> {
    let normed = net.norm.forward(x);
    let how = attention().mask(seen).alibi(Tensor::<(D<2>,)>::alibi_slopes()).window(3);
    x + net.attention.forward(normed, normed, normed, how)
}
