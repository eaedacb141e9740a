//! One step of recurrent layers, from the products of input and hidden state with their weights. The order of gates is
//! PyTorch's.

use crate::graph::{Dim, Graph, NodeId};

impl Graph {
    /// The long short-term memory: from the sum of both products, `[.., 4 hidden]` in the order input, forget, cell,
    /// output, and the cell state `[.., hidden]`. Gives the hidden state and the cell state.
    pub fn lstm_step(&mut self, gates: NodeId, cell: NodeId) -> [NodeId; 2] {
        let [input, forget, candidate, output] = self.gates(gates);
        let [input, forget, output] = [input, forget, output].map(|gate| self.sigmoid(gate));
        let candidate = self.tanh(candidate);
        let kept = self.mul(forget, cell);
        let added = self.mul(input, candidate);
        let cell = self.add(kept, added);
        let bounded = self.tanh(cell);
        [self.mul(output, bounded), cell]
    }

    /// The gated recurrent unit: from both products, `[.., 3 hidden]` in the order reset, update, new, and the hidden
    /// state. The reset gate scales the product with the hidden state, bias included. Gives the hidden state.
    pub fn gru_step(&mut self, from_input: NodeId, from_hidden: NodeId, hidden: NodeId) -> NodeId {
        let [input_reset, input_update, input_new] = self.gates(from_input);
        let [hidden_reset, hidden_update, hidden_new] = self.gates(from_hidden);
        let [reset, update] = [(input_reset, hidden_reset), (input_update, hidden_update)].map(|(x, h)| {
            let sum = self.add(x, h);
            self.sigmoid(sum)
        });
        let past = self.mul(reset, hidden_new);
        let new = self.add(input_new, past);
        let new = self.tanh(new);
        // (1 - update) new + update hidden
        let change = self.sub(hidden, new);
        let kept = self.mul(update, change);
        self.add(new, kept)
    }

    /// `N` parts of the last axis, which is a multiple of it.
    fn gates<const N: usize>(&mut self, x: NodeId) -> [NodeId; N] {
        let last = self.nodes[x].shape.len() - 1;
        let size = self.nodes[x].shape[last].max() / N;
        std::array::from_fn(|number| self.slice(x, last, number * size, 1, Dim::Fixed(size)))
    }
}
