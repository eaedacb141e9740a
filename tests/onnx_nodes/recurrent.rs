//! Recurrent layers, step by step.

use super::import::{Call, Held, Operator, Outcome, outside};
use super::numpy::{Numpy, dims};
use luminal::graph::{Graph, NodeId};
use luminal::rt::Dtype;

pub fn operator(name: &str) -> Option<Operator> {
    matches!(name, "RNN" | "GRU" | "LSTM").then_some(layer as Operator)
}

/// Weights of one direction; all gates lie one after the other along the first axis.
struct Layer {
    /// `[gates * hidden, input]`
    input: NodeId,
    /// `[gates * hidden, hidden]`
    recurrent: NodeId,
    /// Two of `[gates * hidden]`: added to either product.
    bias: [NodeId; 2],
    /// LSTM: three of `[hidden]`, for input, output and forget gate.
    peepholes: Option<[NodeId; 3]>,
    hidden: usize,
}

impl Layer {
    /// One gate of a tensor whose last axis holds all gates.
    fn gate(&self, graph: &mut Graph, x: NodeId, number: usize) -> luminal::Result<NodeId> {
        let (start, end) = (number * self.hidden, (number + 1) * self.hidden);
        graph.sliced(x, -1, Some(start as i64), Some(end as i64), 1)
    }

    /// `x W^T + b` for all gates.
    fn affine(&self, graph: &mut Graph, x: NodeId, weight: NodeId, bias: NodeId) -> luminal::Result<NodeId> {
        let weight = graph.transpose(weight, 0, 1);
        let product = graph.product(x, weight)?;
        let (product, bias) = graph.broadcast(product, bias)?;
        Ok(graph.add(product, bias))
    }

    /// `tanh(W x + R h)`
    fn rnn(&self, graph: &mut Graph, x: NodeId, h: NodeId) -> luminal::Result<NodeId> {
        let sum = graph.add(x, h);
        Ok(graph.tanh(sum))
    }

    /// Gates z, r, h. `h' = (1 - z) n + z h` with `n = tanh(Wx + R (r h))`, or, with `reset_after`, `tanh(Wx + r (R h))`.
    fn gru(&self, graph: &mut Graph, x: NodeId, h: NodeId, reset_after: bool) -> luminal::Result<NodeId> {
        let products = self.affine(graph, h, self.recurrent, self.bias[1])?;
        let mut gates = [0; 2];
        for (number, gate) in gates.iter_mut().enumerate() {
            let (a, b) = (self.gate(graph, x, number)?, self.gate(graph, products, number)?);
            let sum = graph.add(a, b);
            *gate = graph.sigmoid(sum);
        }
        let [update, reset] = gates;
        let candidate = match reset_after {
            true => {
                let product = self.gate(graph, products, 2)?;
                graph.mul(reset, product)
            }
            false => {
                let kept = graph.mul(reset, h);
                let all = self.affine(graph, kept, self.recurrent, self.bias[1])?;
                self.gate(graph, all, 2)?
            }
        };
        let input = self.gate(graph, x, 2)?;
        let sum = graph.add(input, candidate);
        let new = graph.tanh(sum);
        // n + z (h - n)
        let difference = graph.sub(h, new);
        let kept = graph.mul(update, difference);
        Ok(graph.add(new, kept))
    }

    /// Gates i, o, f, c, with a look at the cell through peepholes.
    fn lstm(&self, graph: &mut Graph, x: NodeId, h: NodeId, c: NodeId) -> luminal::Result<[NodeId; 2]> {
        let sum = graph.add(x, h);
        let look = |graph: &mut Graph, number: usize, c: NodeId| -> luminal::Result<NodeId> {
            let gate = self.gate(graph, sum, number)?;
            let Some(peepholes) = self.peepholes else { return Ok(gate) };
            let (c, weight) = graph.broadcast(c, peepholes[number])?;
            let seen = graph.mul(c, weight);
            Ok(graph.add(gate, seen))
        };
        let (input, forget) = (look(graph, 0, c)?, look(graph, 2, c)?);
        let candidate = self.gate(graph, sum, 3)?;
        let (input, forget, candidate) = (graph.sigmoid(input), graph.sigmoid(forget), graph.tanh(candidate));
        let (kept, added) = (graph.mul(forget, c), graph.mul(input, candidate));
        let cell = graph.add(kept, added);
        let output = look(graph, 1, cell)?;
        let (output, shown) = (graph.sigmoid(output), graph.tanh(cell));
        Ok([graph.mul(output, shown), cell])
    }
}

fn layer(call: &mut Call<'_>) -> Outcome<Vec<Held>> {
    let kind = call.node.op_type.clone();
    if call.string("direction", "forward") != "forward" {
        return outside("directions other than forward");
    }
    if call.strings("activations").is_some() || call.has("clip") || call.int("input_forget", 0) != 0 {
        return outside("activations, clipping and coupled gates");
    }
    let x = call.input(0)?;
    if let Some(lengths) = call.known(4)? {
        let steps = call.sizes(x)[if call.int("layout", 0) == 1 { 1 } else { 0 }] as i64;
        if lengths.iter().any(|length| *length != steps) {
            return outside("sequences of different lengths");
        }
    }
    let elem = x.elem;
    let batch_first = call.int("layout", 0) == 1;
    let hidden = call.int("hidden_size", 0) as usize;
    let gates = match &kind[..] {
        "RNN" => 1,
        "GRU" => 3,
        _ => 4,
    };
    // The first axis of weights and states is the direction: the only one is taken.
    let mut taken = |position: usize, axis: i64| -> Outcome<Option<NodeId>> {
        let Some(held) = call.optional(position) else { return Ok(None) };
        let wide = call.wide(held);
        let one = call.graph().sliced(wide, axis, Some(0), Some(1), 1)?;
        let axis = super::numpy::axis(axis, call.sizes(held).len())?;
        Ok(Some(call.graph().squeeze(one, axis)))
    };
    let (Some(input), Some(recurrent)) = (taken(1, 0)?, taken(2, 0)?) else { return outside("no weights") };
    let bias = taken(3, 0)?;
    let state_axis = if batch_first { 1 } else { 0 };
    let (first_h, first_c) = (taken(5, state_axis)?, taken(6, state_axis)?);
    let peepholes = taken(7, 0)?;
    let mut sequence = call.wide(x);
    let linear_before_reset = call.int("linear_before_reset", 0) != 0;
    let graph = call.graph();
    if batch_first {
        sequence = graph.transpose(sequence, 0, 1);
    }
    let [steps, batch, _] = graph.sizes_of(sequence)[..] else {
        return outside("other than batches of sequences");
    };
    let size = gates * hidden;
    let bias = match bias {
        Some(bias) => [
            graph.sliced(bias, 0, Some(0), Some(size as i64), 1)?,
            graph.sliced(bias, 0, Some(size as i64), Some(2 * size as i64), 1)?,
        ],
        None => [graph.full(0.0, Dtype::F32, &dims(&[size])); 2],
    };
    let mut parts = None;
    if let Some(all) = peepholes {
        let mut part = |number: usize| {
            graph.sliced(all, 0, Some((number * hidden) as i64), Some(((number + 1) * hidden) as i64), 1)
        };
        parts = Some([part(0)?, part(1)?, part(2)?]);
    }
    let layer = Layer { input, recurrent, bias, peepholes: parts, hidden };
    let zero = graph.full(0.0, Dtype::F32, &dims(&[batch, hidden]));
    let (mut h, mut c) = (first_h.unwrap_or(zero), first_c.unwrap_or(zero));
    let projected = layer.affine(graph, sequence, layer.input, layer.bias[0])?;
    let mut outputs = vec![];
    for step in 0..steps as i64 {
        let now = graph.sliced(projected, 0, Some(step), Some(step + 1), 1)?;
        let now = graph.squeeze(now, 0);
        match &kind[..] {
            "GRU" => h = layer.gru(graph, now, h, linear_before_reset)?,
            "RNN" => {
                let product = layer.affine(graph, h, layer.recurrent, layer.bias[1])?;
                h = layer.rnn(graph, now, product)?;
            }
            _ => {
                let product = layer.affine(graph, h, layer.recurrent, layer.bias[1])?;
                [h, c] = layer.lstm(graph, now, product, c)?;
            }
        }
        outputs.push(h);
    }
    // [steps, directions, batch, hidden], or with the batch in front.
    let all = graph.stack(&outputs, 0);
    let (all, last, cell) = match batch_first {
        true => {
            let all = graph.transpose(all, 0, 1);
            (graph.unsqueeze(all, 2), graph.unsqueeze(h, 1), graph.unsqueeze(c, 1))
        }
        false => (graph.unsqueeze(all, 1), graph.unsqueeze(h, 0), graph.unsqueeze(c, 0)),
    };
    let mut results = vec![call.give(all, elem)?, call.give(last, elem)?];
    if kind == "LSTM" {
        results.push(call.give(cell, elem)?);
    }
    Ok(results)
}
