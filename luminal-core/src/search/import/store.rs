//! The store rule: which values become buffers. Everything else is recomputed where it is used.
//!
//! A value becomes a buffer iff it is an output, a state, or the table of a gather; or it is asked for at more points
//! than it has elements and is dear or holds a reduction; or it holds a reduction and is asked for under the second
//! name of one of its axes (keys and values of self-attention: recomputing those inside their consumer never pays).

use super::naming::Site;
use super::{Importer, is_given};
use crate::error::Result;
use crate::graph::{Dim, Graph, NodeId, Op};
use crate::search::term::{Axis, AxisSet, Context, IndexExpr, positions};
use std::collections::BTreeSet;

/// Arithmetic that costs as much as writing an element and reading it back.
const BALANCE: f64 = 36.0;
/// Index expressions with more points than this are not counted one by one.
const COUNTED: usize = 100_000;

/// For each node: whether its inlined body holds a reduction, and its arithmetic for one element.
struct Weightiness {
    reduces: Vec<bool>,
    flops: Vec<f64>,
}

impl Weightiness {
    fn new(graph: &Graph, stored: &BTreeSet<NodeId>) -> Weightiness {
        let mut all = Weightiness { reduces: Vec::new(), flops: Vec::new() };
        for node in &graph.nodes {
            let operands = node.op.operands();
            let inlined = || operands.iter().filter(|x| !stored.contains(x));
            let reduces = matches!(node.op, Op::Reduce(..)) || inlined().any(|x| all.reduces[*x]);
            let own = match node.op {
                Op::Unary(..) => 8.0,
                Op::Binary(..) | Op::Select(..) | Op::Cast(_) => 1.0,
                _ => 0.0,
            };
            let flops = own + inlined().map(|x| all.flops[*x]).sum::<f64>();
            all.reduces.push(reduces);
            all.flops.push(flops);
        }
        all
    }
}

impl Importer<'_> {
    /// The next value to store and why: the last one in topological order, which is the source of a view.
    pub(super) fn next_store(&mut self) -> Result<Option<(NodeId, String)>> {
        let weightiness = Weightiness::new(self.graph, self.stored);
        let demand = std::mem::take(&mut self.demand);
        for (node, indices) in demand.iter().rev() {
            if self.stored.contains(node) || is_given(&self.graph.nodes[*node].op) {
                continue;
            }
            let shape = &self.graph.nodes[*node].shape;
            let size: f64 = shape.iter().map(|dim| Dim::max(*dim) as f64).product();
            let points: f64 = indices.iter().map(|index| evaluations(&self.context, index, shape)).sum();
            let ratio = points / size.max(1.0);
            let reduces = weightiness.reduces[*node];
            let why = if indices.iter().any(|index| index.iter().any(IndexExpr::has_value)) {
                "it is the table of a gather"
            } else if reduces && self.is_renamed(*node, indices)? {
                "it holds a reduction and is used under a second name of an axis"
            } else if ratio > 1.01 && reduces {
                "it holds a reduction and is used at more points than it has elements"
            } else if ratio > 1.01 && (ratio - 1.0) * weightiness.flops[*node] > BALANCE {
                "it is dear and used at more points than it has elements"
            } else {
                continue;
            };
            let maps = indices.len();
            return Ok(Some((
                *node,
                format!("n{node} is stored: {why} ({maps} maps, demand/size {ratio:.2})"),
            )));
        }
        Ok(None)
    }

    /// True if some index uses, in place of one of the node's own axes, another axis of the same class and extent.
    fn is_renamed(&mut self, node: NodeId, indices: &BTreeSet<Vec<IndexExpr>>) -> Result<bool> {
        let (axes, sites) = (self.context.extents.len(), self.bound_at.clone());
        let mut own = AxisSet::EMPTY;
        for dim in 0..self.graph.nodes[node].shape.len() {
            self.bind(Site::Dim(node, dim), &mut own)?;
        }
        let same = |x: Axis, y: Axis| {
            let (x, y) = (usize::from(x), usize::from(y));
            self.context.extents[x] == self.context.extents[y] && self.axis_class[x] == self.axis_class[y]
        };
        let renamed = indices.iter().any(|index| {
            let theirs = index.iter().fold(AxisSet::EMPTY, |set, e| set | e.axes());
            theirs.without(own).iter().any(|x| own.without(theirs).iter().any(|y| same(x, y)))
        });
        // Names that only this question needed are given back.
        self.context.extents.truncate(axes);
        self.axis_class.truncate(axes);
        self.bound_at = sites;
        Ok(renamed)
    }
}

/// How many points of the value one index evaluates: the volume of its axes, without what padding cuts away.
fn evaluations(context: &Context, index: &[IndexExpr], shape: &[Dim]) -> f64 {
    let all = index.iter().fold(AxisSet::EMPTY, |set, e| set | e.axes());
    let mut seen = AxisSet::EMPTY;
    let mut points = 1.0;
    for (expr, dim) in index.iter().zip(shape) {
        let axes: Vec<Axis> = expr.axes().iter().collect();
        let sizes: Vec<usize> = axes.iter().map(|axis| context.extent(*axis).max()).collect();
        let total = sizes.iter().fold(1usize, |total, n| total.saturating_mul(*n));
        if expr.has_value() || seen.meets(expr.axes()) || total > COUNTED {
            return context.volume(all);
        }
        seen |= expr.axes();
        let mut position = vec![0; AxisSet::CAPACITY];
        let mut inside = 0;
        positions(&sizes, |at| {
            axes.iter().zip(at).for_each(|(axis, value)| position[usize::from(*axis)] = *value);
            let value = expr.eval(&position, 0);
            inside += usize::from(value >= 0 && value < Dim::max(*dim) as i64);
        });
        points *= inside as f64;
    }
    points
}
