//! Recurrent layers: LSTM, GRU and the plain one, over sequences of fixed length and step by step.

use super::Times;
use crate::graph::{Dim as Size, Graph, NodeId};
use crate::tensor::trace::{op, record, report, require_fixed};
use crate::tensor::{D, Dim, Element, Float, Module, Scope, Shape, Tensor};
use std::fmt::Debug;

/// A kind of recurrent layer: [`LstmKind`], [`GruKind`] or [`RnnKind`].
pub trait RecurrentKind: Copy + Debug + 'static {
    /// The first dimension of the weights: a matrix for each gate.
    type Gates<const H: usize>: Dim + Debug;
    /// Whether there is a cell state beside the hidden one.
    const HAS_CELL: bool;
    /// One step from the products of input and hidden state, biases included: the new hidden state and cell state.
    #[doc(hidden)]
    fn step(
        graph: &mut Graph,
        products: [NodeId; 2],
        hidden: NodeId,
        cell: Option<NodeId>,
    ) -> (NodeId, Option<NodeId>);
}

/// Long short-term memory: gates input, forget, cell, output.
#[derive(Clone, Copy, Debug)]
pub struct LstmKind;

impl RecurrentKind for LstmKind {
    type Gates<const H: usize> = Times<4, H>;
    const HAS_CELL: bool = true;

    fn step(
        graph: &mut Graph,
        products: [NodeId; 2],
        _: NodeId,
        cell: Option<NodeId>,
    ) -> (NodeId, Option<NodeId>) {
        let gates = graph.add(products[0], products[1]);
        let [hidden, cell] = graph.lstm_step(gates, cell.expect("a cell state"));
        (hidden, Some(cell))
    }
}

/// Gated recurrent unit: gates reset, update, new.
#[derive(Clone, Copy, Debug)]
pub struct GruKind;

impl RecurrentKind for GruKind {
    type Gates<const H: usize> = Times<3, H>;
    const HAS_CELL: bool = false;

    fn step(
        graph: &mut Graph,
        [x, h]: [NodeId; 2],
        hidden: NodeId,
        _: Option<NodeId>,
    ) -> (NodeId, Option<NodeId>) {
        (graph.gru_step(x, h, hidden), None)
    }
}

/// The plain recurrent layer with a hyperbolic tangent.
#[derive(Clone, Copy, Debug)]
pub struct RnnKind;

impl RecurrentKind for RnnKind {
    type Gates<const H: usize> = D<H>;
    const HAS_CELL: bool = false;

    fn step(
        graph: &mut Graph,
        products: [NodeId; 2],
        _: NodeId,
        _: Option<NodeId>,
    ) -> (NodeId, Option<NodeId>) {
        let sum = graph.add(products[0], products[1]);
        (graph.tanh(sum), None)
    }
}

/// The weights of one layer in one direction. Gates lie one after the other in the first dimension.
#[derive(Clone, Copy, Debug)]
pub struct Cell<K: RecurrentKind, I: Dim, const H: usize, E: Float = f32> {
    /// `[gates * H, I]`
    pub weight_ih: Tensor<(K::Gates<H>, I), E>,
    /// `[gates * H, H]`
    pub weight_hh: Tensor<(K::Gates<H>, D<H>), E>,
    /// `[gates * H]`, if the layer has one.
    pub bias_ih: Option<Tensor<(K::Gates<H>,), E>>,
    /// `[gates * H]`, if the layer has one.
    pub bias_hh: Option<Tensor<(K::Gates<H>,), E>>,
}

impl<K: RecurrentKind, I: Dim, const H: usize, E: Float> Cell<K, I, H, E> {
    /// `suffix` is what PyTorch adds to the names: `_l0`, `_l0_reverse`.
    fn named(scope: &Scope, suffix: &str, bias: bool) -> Self {
        let field = |name: &str| {
            let name = format!("{name}{suffix}");
            scope.field(&name, &name)
        };
        Cell {
            weight_ih: Module::build(&field("weight_ih")),
            weight_hh: Module::build(&field("weight_hh")),
            bias_ih: bias.then(|| Module::build(&field("bias_ih"))),
            bias_hh: bias.then(|| Module::build(&field("bias_hh"))),
        }
    }

    /// `[.., I]` to `[.., gates * H]`.
    fn input_part(&self, graph: &mut Graph, x: NodeId) -> NodeId {
        affine(graph, x, self.weight_ih.node, self.bias_ih.map(|bias| bias.node))
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.weight_ih.visit(f);
        self.weight_hh.visit(f);
        self.bias_ih.visit(f);
        self.bias_hh.visit(f);
    }

    fn step(&self, graph: &mut Graph, from_input: NodeId, state: &mut Nodes) {
        let from_hidden =
            affine(graph, state.hidden, self.weight_hh.node, self.bias_hh.map(|bias| bias.node));
        (state.hidden, state.cell) = K::step(graph, [from_input, from_hidden], state.hidden, state.cell);
    }

    /// `[batch, length, I]` to `[batch, length, H]`, from the first to the last or back.
    fn sequence(&self, graph: &mut Graph, x: NodeId, state: &mut Nodes, backwards: bool) -> NodeId {
        let products = self.input_part(graph, x);
        let shape = graph.nodes[products].shape.clone();
        let length = shape[1].max();
        let mut steps = vec![0; length];
        for number in 0..length {
            let at = if backwards { length - 1 - number } else { number };
            let product = graph.slice(products, 1, at, 1, Size::Fixed(1));
            let product = graph.squeeze(product, 1);
            self.step(graph, product, state);
            steps[at] = state.hidden;
        }
        match length {
            0 => graph.full(0.0, f32::DTYPE, &[shape[0], shape[1], Size::Fixed(H)]),
            _ => graph.stack(&steps, 1),
        }
    }
}

/// Reports a network without layers.
fn has_layers(layers: usize) -> bool {
    if layers == 0 {
        report("there are 0 layers; there must be at least 1");
    }
    layers > 0
}

/// `x W^T + b` in `f32`.
fn affine(graph: &mut Graph, x: NodeId, weight: NodeId, bias: Option<NodeId>) -> NodeId {
    let weight = graph.wide(weight);
    let product = graph.linear(x, weight);
    let Some(bias) = bias else { return product };
    let shape = graph.nodes[product].shape.clone();
    let bias = graph.wide(bias);
    let bias = graph.spread(bias, &[shape.len() - 1], &shape);
    graph.add(product, bias)
}

/// The state of one layer as nodes.
#[derive(Clone, Copy)]
struct Nodes {
    hidden: NodeId,
    cell: Option<NodeId>,
}

impl Nodes {
    fn zeros<K: RecurrentKind>(graph: &mut Graph, batch: &[Size], hidden: usize) -> Nodes {
        let shape: Vec<Size> = batch.iter().copied().chain([Size::Fixed(hidden)]).collect();
        let zeros = graph.full(0.0, f32::DTYPE, &shape);
        Nodes { hidden: zeros, cell: K::HAS_CELL.then_some(zeros) }
    }
}

/// What a [`Recurrent`] layer remembers: `[batch, H]` for each of its layers, in `f32`. Zero at the start.
///
/// As `&mut` state of a model it is named `hidden.0`, `hidden.1`, .., and `cell.0`, .. if there is one.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentState<K: RecurrentKind, B: Dim, const H: usize, const LAYERS: usize = 1> {
    /// The hidden state of each layer.
    pub hidden: [Tensor<(B, D<H>)>; LAYERS],
    /// The cell state of each layer of an LSTM.
    pub cell: Option<[Tensor<(B, D<H>)>; LAYERS]>,
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K: RecurrentKind, B: Dim, const H: usize, const LAYERS: usize> RecurrentState<K, B, H, LAYERS> {
    /// The state at the start.
    #[track_caller]
    pub fn zeros() -> Self {
        let zeros = [Tensor::zeros(); LAYERS];
        RecurrentState { hidden: zeros, cell: K::HAS_CELL.then_some(zeros), kind: std::marker::PhantomData }
    }

    fn nodes(&self, layer: usize) -> Nodes {
        Nodes { hidden: self.hidden[layer].node, cell: self.cell.map(|cell| cell[layer].node) }
    }

    fn set(&mut self, layer: usize, nodes: Nodes) {
        self.hidden[layer] = Tensor::of(nodes.hidden);
        if let (Some(cell), Some(node)) = (&mut self.cell, nodes.cell) {
            cell[layer] = Tensor::of(node);
        }
    }
}

impl<K: RecurrentKind, B: Dim, const H: usize, const LAYERS: usize> Module
    for RecurrentState<K, B, H, LAYERS>
{
    fn build(scope: &Scope) -> Self {
        RecurrentState {
            hidden: Module::build(&scope.field("hidden", "hidden")),
            cell: K::HAS_CELL.then(|| Module::build(&scope.field("cell", "cell"))),
            kind: std::marker::PhantomData,
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.hidden.visit(f);
        self.cell.visit(f);
    }
}

/// A recurrent network of `LAYERS` layers over sequences `[batch, length, I]`, in one direction: [`Lstm`], [`Gru`] and
/// [`Rnn`]. Weights are named as PyTorch names them: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`,
/// `weight_ih_l1`, ..
///
/// The steps of a sequence are unrolled while the model is traced, so its length is a fixed size, and short: the model
/// grows with it. A stream of any length calls [`step`](Self::step), with the state kept between calls.
///
/// ```
/// use luminal_core::tensor::nn::{Lstm, LstmKind, RecurrentState};
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let net: Lstm<8, 16, 2> = weights("net");
///     let x: Tensor<(D<1>, D<5>, D<8>)> = input("x");
///     let hidden: Tensor<(D<1>, D<5>, D<16>)> = net.forward(x);
///     let mut state = RecurrentState::<LstmKind, D<1>, 16, 2>::zeros(); // in a model: an argument `&mut`
///     let next: Tensor<(D<1>, D<16>)> = net.step(input("next"), &mut state);
///     output(&(hidden, next));
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Recurrent<
    K: RecurrentKind,
    const I: usize,
    const H: usize,
    const LAYERS: usize = 1,
    E: Float = f32,
    const BIAS: bool = true,
> {
    /// The layer that sees the input.
    pub first: Cell<K, D<I>, H, E>,
    /// The layers above it.
    pub others: Vec<Cell<K, D<H>, H, E>>,
}

/// Long short-term memory; see [`Recurrent`].
pub type Lstm<const I: usize, const H: usize, const LAYERS: usize = 1, E = f32, const BIAS: bool = true> =
    Recurrent<LstmKind, I, H, LAYERS, E, BIAS>;

/// Gated recurrent unit; see [`Recurrent`].
pub type Gru<const I: usize, const H: usize, const LAYERS: usize = 1, E = f32, const BIAS: bool = true> =
    Recurrent<GruKind, I, H, LAYERS, E, BIAS>;

/// The plain recurrent layer with a hyperbolic tangent; see [`Recurrent`].
pub type Rnn<const I: usize, const H: usize, const LAYERS: usize = 1, E = f32, const BIAS: bool = true> =
    Recurrent<RnnKind, I, H, LAYERS, E, BIAS>;

impl<K: RecurrentKind, const I: usize, const H: usize, const LAYERS: usize, E: Float, const BIAS: bool>
    Recurrent<K, I, H, LAYERS, E, BIAS>
{
    /// The hidden states of the last layer at each step, from a state of zeros. It is computed in `f32` and rounded once.
    #[track_caller]
    pub fn forward<B: Dim, L: Dim, F: Float>(&self, x: Tensor<(B, L, D<I>), F>) -> Tensor<(B, L, D<H>), F> {
        let _scope = op("recurrent");
        self.forward_from(x, &mut RecurrentState::zeros())
    }

    /// As [`forward`](Self::forward), from a state, which becomes that after the last step.
    #[track_caller]
    pub fn forward_from<B: Dim, L: Dim, F: Float>(
        &self,
        x: Tensor<(B, L, D<I>), F>,
        state: &mut RecurrentState<K, B, H, LAYERS>,
    ) -> Tensor<(B, L, D<H>), F> {
        let _scope = op("recurrent");
        if !has_layers(LAYERS) || require_fixed("axis 1", L::INFO, <(B, L, D<I>)>::DIMS).is_none() {
            return Tensor::placeholder();
        }
        // Axes of one element are there for steps to be cut and joined.
        let mut nodes: Vec<Nodes> = (0..LAYERS).map(|layer| state.nodes(layer)).collect();
        let x = x.convert::<f32>();
        let result = Tensor::<(B, L, D<H>)>::with_all_axes([x.loose()], |graph, [x], _| {
            let batch = graph.nodes[x].shape[0];
            let full = |graph: &mut Graph, node: NodeId| match graph.nodes[node].shape.len() {
                1 => graph.expand(node, 0, batch),
                _ => node,
            };
            let mut x = x;
            for (layer, state) in nodes.iter_mut().enumerate() {
                state.hidden = full(graph, state.hidden);
                state.cell = state.cell.map(|cell| full(graph, cell));
                x = match layer {
                    0 => self.first.sequence(graph, x, state, false),
                    _ => self.others[layer - 1].sequence(graph, x, state, false),
                };
            }
            x
        });
        for (layer, mut after) in nodes.into_iter().enumerate() {
            if B::INFO == crate::tensor::DimInfo::One {
                record(|recorder| {
                    after.hidden = recorder.squeeze(after.hidden, 0);
                    after.cell = after.cell.map(|cell| recorder.squeeze(cell, 0));
                });
            }
            state.set(layer, after);
        }
        result.convert()
    }

    /// The hidden state of the last layer after one more step. The state becomes that after it.
    #[track_caller]
    pub fn step<B: Dim, F: Float>(
        &self,
        x: Tensor<(B, D<I>), F>,
        state: &mut RecurrentState<K, B, H, LAYERS>,
    ) -> Tensor<(B, D<H>), F> {
        let _scope = op("recurrent");
        if !has_layers(LAYERS) {
            return Tensor::placeholder();
        }
        let mut x = x.convert::<f32>().node;
        for layer in 0..LAYERS {
            let mut nodes = state.nodes(layer);
            record(|recorder| {
                let graph = &mut recorder.graph;
                match layer {
                    0 => {
                        let product = self.first.input_part(graph, x);
                        self.first.step(graph, product, &mut nodes);
                    }
                    _ => {
                        let product = self.others[layer - 1].input_part(graph, x);
                        self.others[layer - 1].step(graph, product, &mut nodes);
                    }
                }
            });
            state.set(layer, nodes);
            x = nodes.hidden;
        }
        Tensor::<(B, D<H>)>::of(x).convert()
    }
}

impl<K: RecurrentKind, const I: usize, const H: usize, const LAYERS: usize, E: Float, const BIAS: bool> Module
    for Recurrent<K, I, H, LAYERS, E, BIAS>
{
    fn build(scope: &Scope) -> Self {
        let others = 1..LAYERS;
        Recurrent {
            first: Cell::named(scope, "_l0", BIAS),
            others: others.map(|layer| Cell::named(scope, &format!("_l{layer}"), BIAS)).collect(),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.first.visit(f);
        self.others.iter().for_each(|cell| cell.visit(f));
    }
}

/// A recurrent network in both directions: each layer sees the sequence from the front and from the back, and the layer
/// above sees both results, `[batch, length, 2 * H]`, the forward one first. Weights of the second direction are named
/// `weight_ih_l0_reverse` and so on.
///
/// ```
/// use luminal_core::tensor::nn::{Bidirectional, GruKind};
/// use luminal_core::tensor::{D, Tensor, input, output, trace, weights};
///
/// let traced = trace(|| {
///     let net: Bidirectional<GruKind, 8, 16, 2> = weights("net");
///     let x: Tensor<(D<1>, D<5>, D<8>)> = input("x");
///     let both: Tensor<(D<1>, D<5>, D<32>)> = net.forward(x);
///     output(&both);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Bidirectional<
    K: RecurrentKind,
    const I: usize,
    const H: usize,
    const LAYERS: usize = 1,
    E: Float = f32,
    const BIAS: bool = true,
> {
    /// The layer that sees the input, forwards and backwards.
    pub first: [Cell<K, D<I>, H, E>; 2],
    /// The layers above it.
    pub others: Vec<[Cell<K, Times<2, H>, H, E>; 2]>,
}

impl<K: RecurrentKind, const I: usize, const H: usize, const LAYERS: usize, E: Float, const BIAS: bool>
    Bidirectional<K, I, H, LAYERS, E, BIAS>
{
    /// The hidden states of both directions at each step, from states of zeros. The result's type names `2 * H`. It is
    /// computed in `f32` and rounded once.
    #[track_caller]
    pub fn forward<B: Dim, L: Dim, Both: Dim, F: Float>(
        &self,
        x: Tensor<(B, L, D<I>), F>,
    ) -> Tensor<(B, L, Both), F> {
        let _scope = op("bidirectional");
        let fixed = require_fixed("axis 1", L::INFO, <(B, L, D<I>)>::DIMS);
        if Both::INFO.fixed() != Some(2 * H) {
            report(format!("both directions have {} elements, but the result names {}", 2 * H, Both::INFO));
            return Tensor::placeholder();
        }
        if !has_layers(LAYERS) || fixed.is_none() {
            return Tensor::placeholder();
        }
        let x = x.convert::<f32>();
        let result = Tensor::<(B, L, Both)>::with_all_axes([x.loose()], |graph, [mut x], _| {
            let batch = graph.nodes[x].shape[0];
            for layer in 0..LAYERS {
                let sides = [false, true].map(|backwards| {
                    let mut state = Nodes::zeros::<K>(graph, &[batch], H);
                    let side = usize::from(backwards);
                    match layer {
                        0 => self.first[side].sequence(graph, x, &mut state, backwards),
                        _ => self.others[layer - 1][side].sequence(graph, x, &mut state, backwards),
                    }
                });
                x = graph.concat(&sides, 2);
            }
            x
        });
        result.convert()
    }
}

impl<K: RecurrentKind, const I: usize, const H: usize, const LAYERS: usize, E: Float, const BIAS: bool> Module
    for Bidirectional<K, I, H, LAYERS, E, BIAS>
{
    fn build(scope: &Scope) -> Self {
        fn pair<K: RecurrentKind, I: Dim, const H: usize, E: Float>(
            scope: &Scope,
            layer: usize,
            bias: bool,
        ) -> [Cell<K, I, H, E>; 2] {
            ["", "_reverse"].map(|side| Cell::named(scope, &format!("_l{layer}{side}"), bias))
        }
        Bidirectional {
            first: pair(scope, 0, BIAS),
            others: (1..LAYERS).map(|layer| pair(scope, layer, BIAS)).collect(),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.first.iter().for_each(|cell| cell.visit(f));
        self.others.iter().flatten().for_each(|cell| cell.visit(f));
    }
}
