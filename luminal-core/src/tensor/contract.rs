//! Contraction: factors are multiplied in the space of all their axes and summed along some of them. Matrix products,
//! convolutions and [`einsum`](super::einsum()) are this and nothing else.

use super::dim::DimInfo;
use super::record::Recorder;
use crate::graph::{Dim, Graph, NodeId, Reduce};

/// A node and the label of each of its axes. Axes of one label are one axis of the product.
pub type Labelled = (NodeId, Vec<usize>);

impl Graph {
    /// Multiplies the factors and sums along each axis whose label is not in `output`, whose order is that of the
    /// result. No label is twice in one factor. Sizes of one label are equal, or 1, which stretches.
    ///
    /// Factors are taken from left to right; an axis is summed as soon as no later factor has it.
    pub fn contract(&mut self, factors: &[Labelled], output: &[usize]) -> NodeId {
        let factors: Vec<_> =
            factors.iter().map(|(node, labels)| self.unstretched(*node, labels, factors)).collect();
        let needed = |from: usize, label: &usize| {
            output.contains(label) || factors[from..].iter().any(|(_, labels)| labels.contains(label))
        };
        let mut product = self.sum_others(&factors[0], |label| needed(1, label));
        for (i, factor) in factors.iter().enumerate().skip(1) {
            let right = self.sum_others(factor, |label| product.1.contains(label) || needed(i + 1, label));
            // The last product has the axes of the result in their order, if it can.
            let order = if i + 1 == factors.len() { output } else { &[] };
            product = self.multiply(product, right, order);
            product = self.sum_others(&product, |label| needed(i + 1, label));
        }
        self.in_order(product, output)
    }

    /// The factor without axes of one element whose label has another size in another factor.
    fn unstretched(&mut self, mut node: NodeId, labels: &[usize], factors: &[Labelled]) -> Labelled {
        let mut kept = labels.to_vec();
        for axis in (0..labels.len()).rev() {
            let size = self.nodes[node].shape[axis];
            let sizes = factors.iter().flat_map(|(other, others)| {
                others.iter().zip(&self.nodes[*other].shape).filter(|(label, _)| **label == labels[axis])
            });
            let other =
                sizes.map(|(_, other)| *other).find(|other| *other != size && *other != Dim::Fixed(1));
            if let Some(other) = other {
                assert_eq!(size, Dim::Fixed(1), "an axis of size {other:?} in another factor");
                node = self.squeeze(node, axis);
                kept.remove(axis);
            }
        }
        (node, kept)
    }

    /// Sums along each axis whose label is not kept, the last one first, so that the others keep their numbers.
    fn sum_others(&mut self, (node, labels): &Labelled, keep: impl Fn(&usize) -> bool) -> Labelled {
        let (mut node, mut left) = (*node, labels.clone());
        for axis in (0..labels.len()).rev().filter(|axis| !keep(&labels[*axis])) {
            node = self.reduce(Reduce::Sum, node, axis);
            left.remove(axis);
        }
        (node, left)
    }

    /// The product in the space of all labels.
    fn multiply(&mut self, left: Labelled, right: Labelled, output: &[usize]) -> Labelled {
        let has = |label: &&usize| left.1.contains(label) || right.1.contains(label);
        let output: Vec<usize> = output.iter().filter(has).copied().collect();
        let space = merged_order(&[&output, &left.1, &right.1]);
        let sizes: Vec<Dim> = space
            .iter()
            .map(|label| {
                let found = [&left, &right].into_iter().find_map(|(node, labels)| {
                    let axis = labels.iter().position(|other| other == label)?;
                    Some(self.nodes[*node].shape[axis])
                });
                found.expect("a label of the space is one of a factor")
            })
            .collect();
        let [left, right] = [left, right].map(|(node, labels)| {
            let own: Vec<usize> = space.iter().filter(|label| labels.contains(label)).copied().collect();
            let node = self.in_order((node, labels), &own);
            let axes: Vec<usize> = (0..space.len()).filter(|axis| own.contains(&space[*axis])).collect();
            self.spread(node, &axes, &sizes)
        });
        (self.mul(left, right), space)
    }

    /// The same axes in this order.
    fn in_order(&mut self, (node, labels): Labelled, order: &[usize]) -> NodeId {
        if labels == order {
            return node;
        }
        let axis = |label| labels.iter().position(|other| other == label).expect("a label of the factor");
        let order: Vec<usize> = order.iter().map(axis).collect();
        self.permute(node, &order)
    }
}

impl Recorder {
    /// [`Graph::contract`] of operands of a type that may only store numbers, whose axes of `One` stretch and are not in
    /// the graph.
    pub fn contract<const N: usize>(
        &mut self,
        factors: [(NodeId, &[DimInfo], &[usize]); N],
        output: &[usize],
    ) -> NodeId {
        let labels: [Vec<usize>; N] = factors.map(|(_, dims, labels)| {
            labels
                .iter()
                .zip(dims)
                .filter(|(_, dim)| **dim != DimInfo::One)
                .map(|(label, _)| *label)
                .collect()
        });
        let known = |label: &&usize| labels.iter().any(|labels| labels.contains(label));
        let output: Vec<usize> = output.iter().filter(known).copied().collect();
        self.graph.widened(factors.map(|(node, ..)| node), |graph, nodes| {
            let factors: Vec<Labelled> = nodes.into_iter().zip(labels).collect();
            graph.contract(&factors, &output)
        })
    }
}

/// All labels in one order that agrees with every list, or with as many of the first ones as can be: a factor whose
/// order it has needs no permutation.
fn merged_order(lists: &[&[usize]]) -> Vec<usize> {
    let mut labels = vec![];
    for label in lists.iter().copied().flatten() {
        if !labels.contains(label) {
            labels.push(*label);
        }
    }
    let mut order = labels.clone();
    let mut before: Vec<(usize, usize)> = vec![];
    for list in lists {
        let mut more = before.clone();
        more.extend(list.windows(2).map(|pair| (pair[0], pair[1])));
        if let Some(sorted) = sorted(&labels, &more) {
            (before, order) = (more, sorted);
        }
    }
    order
}

/// The labels sorted so that the first of each pair comes before the second; `None` if that cannot be.
fn sorted(labels: &[usize], before: &[(usize, usize)]) -> Option<Vec<usize>> {
    let mut left = labels.to_vec();
    let mut order = vec![];
    while !left.is_empty() {
        let free =
            |label: &usize| !before.iter().any(|(first, second)| second == label && left.contains(first));
        let next = left.iter().position(free)?;
        order.push(left.remove(next));
    }
    Some(order)
}
