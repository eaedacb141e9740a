//! Which values are computed at load, which are never stored, and which the kernels of a run compute.

use super::set::NodeSet;
use crate::search::term::{Dag, Term};

/// Every node that is not a leaf falls into one of three kinds.
pub(super) struct Phases {
    /// Depends on weights alone: computed once, when the model is loaded.
    pub load: NodeSet,
    /// Masks and other arithmetic on positions and weights: recomputed wherever it is used, cheaper than a read.
    pub inline: NodeSet,
    /// Computed by kernels of every run.
    pub run: NodeSet,
    /// Inline at load: arithmetic on positions alone.
    pub inline_at_load: NodeSet,
}

impl Phases {
    pub fn new(dag: &Dag) -> Phases {
        let count = dag.nodes.len();
        let [mut load, mut inline, mut run, mut inline_at_load] = [(); 4].map(|()| NodeSet::new(count));
        let mut reduces = vec![false; count];
        // Bytes.
        let mut read = vec![0.0f64; count];
        let bytes = |id| dag.context.volume(dag.free(id)) * dag.dtype(id).bytes() as f64;
        for id in dag.ids() {
            let (i, node) = (usize::from(id), dag.node(id));
            if node.is_leaf() {
                read[i] = match node {
                    // An empty axis must not make a read look like none.
                    Term::Load(_) => bytes(id).max(1.0),
                    _ => 0.0,
                };
                continue;
            }
            let operands = || node.values().iter().map(|x| usize::from(*x));
            reduces[i] = node.is_reduction() || operands().any(|x| reduces[x]);
            read[i] = operands().map(|x| read[x]).sum();
            if let Term::Gather([access, _]) = node {
                read[i] += read[usize::from(*access)].max(bytes(id));
            }
            let positions_only = read[i] == 0.0 && !reduces[i];
            // Storing an outer product of weights would cost more memory traffic than it saves arithmetic; so would
            // weights of 16 or fewer bits, widened once and for all.
            let grows = !reduces[i] && bytes(id) > read[i];
            if dag.weight(id) && !positions_only && !grows {
                load.insert(i);
            } else if (positions_only || dag.weight(id)) && !reduces[i] {
                inline.insert(i);
            } else {
                run.insert(i);
            }
            if positions_only {
                inline_at_load.insert(i);
            }
        }
        // What must be in memory is computed by some kernel, at load if that is possible: later loads of it may be.
        for root in &dag.roots {
            let i = usize::from(root.term);
            if inline.contains(i) {
                inline.remove(i);
                inline_at_load.remove(i);
                if dag.weight(root.term) {
                    load.insert(i)
                } else {
                    run.insert(i)
                };
            }
        }
        // A value at load may be made of values that are inline in a run.
        let mut at_load = load.clone();
        for i in (0..count).rev().filter(|i| !dag.nodes[*i].is_leaf()) {
            if at_load.contains(i) && !inline_at_load.contains(i) {
                for x in dag.nodes[i].values() {
                    if !dag.node(*x).is_leaf() {
                        at_load.insert(usize::from(*x));
                    }
                }
            }
        }
        at_load.subtract(&inline_at_load);
        Phases { load: at_load, inline, run, inline_at_load }
    }
}
