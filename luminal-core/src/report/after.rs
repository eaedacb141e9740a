//! The kernels and the tensors between them, as a picture. Layers that repeat are drawn once.

use super::Kernel;
use super::before::{shape_text, size};
use super::number::{bytes, plural, time};
use super::picture::{Kind, Picture};
use super::repeats::collapse;
use crate::compile::Compiled;
use crate::graph::{Graph, Op};
use crate::search::lower::{Source, ValueId};
use crate::search::partition::When;
use std::collections::BTreeMap;

/// So many kernels are drawn one by one.
const SHORT: usize = 30;

pub(super) fn picture(graph: &Graph, compiled: &Compiled, kernels: &[Kernel]) -> Picture {
    let program = &compiled.program;
    let mut picture = Picture::default();
    // Those at load come first; each part repeats on its own.
    let at_load = program.kernels.iter().filter(|lowered| lowered.when == When::Load).count();
    let of = &compiled.units.of;
    let mut shown = collapse(&of[..at_load], SHORT);
    shown.extend(collapse(&of[at_load..], SHORT).into_iter().map(|(at, times)| (at + at_load, times)));
    // Who writes each tensor, as the kernel drawn for it and the number of the argument.
    let mut writer: BTreeMap<ValueId, (usize, usize)> = BTreeMap::new();
    for (number, lowered) in program.kernels.iter().enumerate() {
        for (argument, value) in lowered.args.iter().enumerate().filter(|(i, _)| lowered.writes[*i]) {
            writer.insert(*value, (shown[number].0, argument));
        }
    }
    let mut shape_of_kernel: BTreeMap<usize, usize> = BTreeMap::new();
    for (number, lowered) in program.kernels.iter().enumerate() {
        let (first, times) = shown[number];
        if first != number {
            continue;
        }
        let kernel = &kernels[of[number]];
        let mut lines = vec![format!("{}, {}", kernel.form, time(kernel.seconds()))];
        let weights: Vec<usize> = lowered
            .args
            .iter()
            .filter(|value| is_weight(graph, program.values.list[**value].source))
            .map(|value| size(&program.values.list[*value].shape, program.values.list[*value].dtype))
            .collect();
        if !weights.is_empty() {
            let all = weights.iter().sum::<usize>() as f64;
            lines.push(format!("{}, {}", plural(weights.len(), "weight"), bytes(all)));
        }
        if lowered.when == When::Load {
            lines.push("once, at load".into());
        }
        let repeated = if times > 1 { format!(" ×{times}") } else { String::new() };
        let shape =
            picture.shape(Kind::Kernel, format!("{}{repeated} {}", kernel.short(), kernel.title()), lines);
        picture.shapes[shape].link = Some(kernel.short());
        picture.shapes[shape].tip = format!("{}\n{}", kernel.name, kernel.shape);
        shape_of_kernel.insert(number, shape);
    }
    let mut tensors = Tensors {
        graph,
        compiled,
        picture: &mut picture,
        by_writer: BTreeMap::new(),
        given: BTreeMap::new(),
    };
    for (number, lowered) in program.kernels.iter().enumerate() {
        let kernel = shape_of_kernel[&shown[number].0];
        for (argument, value) in lowered.args.iter().enumerate() {
            let Some(tensor) = tensors.of(*value, writer.get(value).copied()) else { continue };
            let (from, to) = if lowered.writes[argument] { (kernel, tensor) } else { (tensor, kernel) };
            tensors.picture.edge(from, to);
        }
    }
    picture
}

pub(super) fn is_weight(graph: &Graph, source: Source) -> bool {
    matches!(source, Source::Given(node) if matches!(graph.nodes[node].op, Op::Param(_)))
}

struct Tensors<'a> {
    graph: &'a Graph,
    compiled: &'a Compiled,
    picture: &'a mut Picture,
    by_writer: BTreeMap<(usize, usize), usize>,
    given: BTreeMap<ValueId, usize>,
}

impl Tensors<'_> {
    /// The shape of a tensor; none for weights, which are named in their kernels.
    fn of(&mut self, value: ValueId, writer: Option<(usize, usize)>) -> Option<usize> {
        let program = &self.compiled.program;
        let tensor = &program.values.list[value];
        let output = program.outputs.iter().position(|output| *output == value);
        let state = program.writes.iter().find(|(_, new)| *new == value).map(|(state, _)| *state);
        let known = self.given.get(&value).copied();
        if known.is_some() || is_weight(self.graph, tensor.source) {
            return known;
        }
        // What a repeated layer writes has one shape, unless it is a result.
        let shared = writer.filter(|_| output.is_none() && state.is_none());
        if let Some(shape) = shared.and_then(|writer| self.by_writer.get(&writer)) {
            return Some(*shape);
        }
        let bytes = bytes(size(&tensor.shape, tensor.dtype) as f64);
        let lines = vec![format!("{} {bytes}", shape_text(self.graph, &tensor.shape, tensor.dtype))];
        let (kind, name) = match (tensor.source, output, state) {
            (_, Some(number), _) => (
                Kind::Output,
                self.graph.outputs.get(number).map_or(tensor.name.clone(), |(name, _)| name.clone()),
            ),
            (_, _, Some(state)) => (Kind::State, format!("{}, new", program.values.list[state].name)),
            (Source::Given(node), ..) if matches!(self.graph.nodes[node].op, Op::State(_)) => {
                (Kind::State, tensor.name.clone())
            }
            (Source::Given(_), ..) => (Kind::Input, tensor.name.clone()),
            _ => (Kind::Tensor, lines[0].clone()),
        };
        let lines = if kind == Kind::Tensor { vec![] } else { lines };
        let shape = self.picture.shape(kind, name, lines);
        self.picture.shapes[shape].tip = tensor.name.clone();
        match shared {
            Some(writer) => self.by_writer.insert(writer, shape),
            None => self.given.insert(value, shape),
        };
        Some(shape)
    }
}
