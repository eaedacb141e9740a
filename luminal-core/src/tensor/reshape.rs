//! Another shape for the same elements, made of views only: axes are split and merged, never moved.

use super::dim::{DimInfo, Dims};
use super::element::Element;
use super::shape::Shape;
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::graph::{Dim, Graph, NodeId};

impl<S: Shape, E: Element> Tensor<S, E> {
    /// The same elements in row-major order under another shape, which the caller names. Free dimensions stay whole and
    /// keep their places.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let image: Tensor<(D<28>, D<28>)> = input("image");
    ///     let strips: Tensor<(D<7>, D<112>)> = image.reshape();
    ///     output(&strips);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn reshape<R: Shape>(self) -> Tensor<R, E> {
        let _scope = op("reshape");
        if let Some(mistake) = mistake(S::DIMS, R::DIMS) {
            report(mistake);
            return Tensor::placeholder();
        }
        Tensor::of(record(|recorder| {
            let to = recorder.shape(R::DIMS);
            recorder.graph.reshape(self.node, &to)
        }))
    }

    /// [`reshape`](Tensor::reshape) to fewer dimensions: neighbours become one.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let image: Tensor<(D<2>, D<3>, D<28>, D<28>)> = input("image");
    ///     let rows: Tensor<(D<2>, D<3>, D<784>)> = image.flatten();
    ///     output(&rows);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn flatten<R: Shape>(self) -> Tensor<R, E> {
        let _scope = op("flatten");
        self.reshape()
    }
}

/// The fixed sizes between free dimensions, and the free dimensions.
fn segments(dims: &[DimInfo]) -> (Vec<Vec<usize>>, Vec<DimInfo>) {
    let mut between = vec![vec![]];
    let mut free = vec![];
    for dim in dims {
        match dim.fixed() {
            Some(size) => between.last_mut().expect("one segment").push(size),
            None => {
                free.push(*dim);
                between.push(vec![]);
            }
        }
    }
    (between, free)
}

fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product, size| product.saturating_mul(*size))
}

/// What is wrong with a reshape, if anything.
fn mistake(from: &[DimInfo], to: &[DimInfo]) -> Option<String> {
    let (from_between, from_free) = segments(from);
    let (to_between, to_free) = segments(to);
    let (from_shape, to_shape) = (Dims(from), Dims(to));
    if from_free != to_free {
        return Some(format!(
            "{from_shape} to {to_shape}: both need the same free dimensions in the same order, here {} and {}",
            Dims(&from_free),
            Dims(&to_free)
        ));
    }
    let from_sizes: Vec<_> = from_between.concat();
    let to_sizes: Vec<_> = to_between.concat();
    let (have, want) = (product(&from_sizes), product(&to_sizes));
    if have != want {
        let each: Vec<_> = from_free.iter().map(|dim| dim.to_string()).collect();
        let each = if each.is_empty() { String::new() } else { format!(" for each {}", each.join(" and ")) };
        return Some(format!(
            "{from_shape} has {have} elements{each}, {to_shape} has {want}{}",
            suggestion(have, to).unwrap_or_default()
        ));
    }
    let uneven = (0..from_between.len()).find(|i| product(&from_between[*i]) != product(&to_between[*i]))?;
    let free = from_free[uneven.min(from_free.len() - 1)];
    Some(format!(
        "{from_shape} to {to_shape} moves elements across the free dimension {free}: the sizes before it and those behind \
         it must keep their products; permute first"
    ))
}

/// The last size that can be corrected alone.
fn suggestion(have: usize, to: &[DimInfo]) -> Option<String> {
    let sizes: Vec<_> = to.iter().map(|dim| dim.fixed().unwrap_or(1)).collect();
    (0..to.len()).rev().find_map(|axis| {
        let DimInfo::Fixed(named) = to[axis] else { return None };
        let mut others = sizes.clone();
        others.remove(axis);
        let others = product(&others);
        let fits = others > 0 && have.is_multiple_of(others);
        fits.then(|| format!("; with {} in place of {named} it fits", have / others))
    })
}

/// Compositions for sizes that are numbers.
impl Graph {
    /// The same elements in row-major order under other sizes. Free sizes stay whole, and the products of the fixed ones
    /// before, between and behind them stay as they are.
    pub fn reshape(&mut self, mut x: NodeId, to: &[Dim]) -> NodeId {
        let from = self.nodes[x].shape.clone();
        if from.iter().chain(to).any(|size| (*size).max() == 0) {
            // No element to keep; sizes of 0 have no factors.
            return self.full(0.0, self.nodes[x].dtype, to);
        }
        let mut axis = 0;
        for (from, to) in fixed_between(&from).iter().zip(&fixed_between(to)) {
            if from != to {
                x = self.refactor(x, axis, from, to);
            }
            axis += to.len() + 1;
        }
        x
    }

    /// The axes `first` to `last`, of fixed sizes, as one.
    pub fn flatten(&mut self, mut x: NodeId, first: usize, last: usize) -> NodeId {
        for _ in first..last {
            x = self.merge(x, first);
        }
        x
    }

    /// Replaces the axes of sizes `from`, which start at `axis`, by axes of sizes `to` of the same product, not 0.
    fn refactor(&mut self, mut x: NodeId, axis: usize, from: &[usize], to: &[usize]) -> NodeId {
        // Axes of one element have no factors: they are taken away first and added last.
        for at in (0..from.len()).rev().filter(|at| from[*at] == 1) {
            x = self.squeeze(x, axis + at);
        }
        let from_factors: Vec<_> = from.iter().copied().filter(|size| *size != 1).collect();
        let to_factors: Vec<_> = to.iter().copied().filter(|size| *size != 1).collect();
        let mut at = axis;
        for (from, to) in groups(&from_factors, &to_factors) {
            x = self.refactor_group(x, at, from, to);
            at += to.len();
        }
        for (at, _) in to.iter().enumerate().filter(|(_, size)| **size == 1) {
            x = self.unsqueeze(x, axis + at);
        }
        x
    }

    fn refactor_group(&mut self, mut x: NodeId, axis: usize, from: &[usize], to: &[usize]) -> NodeId {
        let Some(fine) = common_refinement(from, to) else {
            let whole = self.flatten(x, axis, axis + from.len() - 1);
            return self.split_axis(whole, axis, to);
        };
        let mut at = axis;
        for factors in runs(&fine, from) {
            x = self.split_axis(x, at, factors);
            at += factors.len();
        }
        for (at, factors) in runs(&fine, to).into_iter().enumerate() {
            x = self.flatten(x, axis + at, axis + at + factors.len() - 1);
        }
        x
    }

    fn split_axis(&mut self, mut x: NodeId, axis: usize, sizes: &[usize]) -> NodeId {
        for at in 0..sizes.len() - 1 {
            x = self.split(x, axis + at, product(&sizes[at + 1..]));
        }
        x
    }
}

/// The fixed sizes before, between and behind the free ones.
fn fixed_between(sizes: &[Dim]) -> Vec<Vec<usize>> {
    let mut between = vec![vec![]];
    for size in sizes {
        match size {
            Dim::Fixed(n) => between.last_mut().expect("one list").push(*n),
            Dim::Free { .. } => between.push(vec![]),
        }
    }
    between
}

/// Sizes that both lists are made of by multiplying neighbours; `None` where their axes do not nest, as in `[4, 6]` and
/// `[6, 4]`.
fn common_refinement(from: &[usize], to: &[usize]) -> Option<Vec<usize>> {
    // What lies behind each axis: where axes begin, counted in elements from the end.
    let behind = |sizes: &[usize]| (0..sizes.len()).map(|i| product(&sizes[i..])).collect::<Vec<_>>();
    let mut borders = behind(from);
    borders.extend(behind(to));
    borders.push(1);
    borders.sort_unstable_by(|a, b| b.cmp(a));
    borders.dedup();
    borders.windows(2).map(|pair| pair[0].is_multiple_of(pair[1]).then(|| pair[0] / pair[1])).collect()
}

/// Cuts the refinement into the runs that make up each size.
fn runs<'a>(mut fine: &'a [usize], sizes: &[usize]) -> Vec<&'a [usize]> {
    let mut runs = vec![];
    for size in sizes {
        let mut length = 1;
        while product(&fine[..length]) < *size {
            length += 1;
        }
        let (run, rest) = fine.split_at(length);
        runs.push(run);
        fine = rest;
    }
    runs
}

/// Pairs of the shortest runs with equal products.
fn groups<'a>(from: &'a [usize], to: &'a [usize]) -> Vec<(&'a [usize], &'a [usize])> {
    let mut groups = vec![];
    let (mut from_start, mut to_start) = (0, 0);
    while from_start < from.len() {
        let (mut from_end, mut to_end) = (from_start + 1, to_start + 1);
        let (mut left, mut right) = (from[from_start], to[to_start]);
        while left != right {
            if left < right {
                left *= from[from_end];
                from_end += 1;
            } else {
                right *= to[to_end];
                to_end += 1;
            }
        }
        groups.push((&from[from_start..from_end], &to[to_start..to_end]));
        (from_start, to_start) = (from_end, to_end);
    }
    groups
}
