//! Fused sets of terms to kernels in index notation: the bridge from the search to code generation.

mod defs;
mod expr;
mod fold;
mod values;

#[cfg(test)]
mod tests;

pub use values::{Source, Value, ValueId, Values};

use super::Found;
use super::partition::{Form, Fused, When};
use super::term::{Dag, Id, Term};
use crate::error::Result;
use crate::graph::{Graph, NodeId, Op};
use crate::kernel::ir::Kernel;
use crate::mutant::planted;
use defs::Cone;
use expr::Builder;
use std::collections::BTreeMap;

/// A kernel with what the plan and the report must know about it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// What is computed.
    pub kernel: Kernel,
    /// The tensor behind each argument.
    pub args: Vec<ValueId>,
    /// Which arguments are written.
    pub writes: Vec<bool>,
    /// The form that partition found; none for a plain copy.
    pub form: Option<Form>,
    /// At load or at every run.
    pub when: When,
    /// The user's operations in it, in the order of the model.
    pub fused: Vec<String>,
    /// Floating-point operations of one launch.
    pub flops: f64,
    /// Bytes that one launch must move.
    pub bytes: f64,
}

/// All kernels of a model in execution order.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The tensors between them.
    pub values: Values,
    /// In execution order; those at load come first.
    pub kernels: Vec<Lowered>,
    /// The tensor of each output of the graph.
    pub outputs: Vec<ValueId>,
    /// `(state, what it becomes)`
    pub writes: Vec<(ValueId, ValueId)>,
}

/// What may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A fold is streamed in blocks if its axis has more positions than this; otherwise its rows are kept whole, on
    /// chip, which costs no repair of running values.
    pub stream_over: usize,
}

impl Default for Options {
    /// 1,024 positions: eight rows of that length fill the first-level cache of a common CPU.
    fn default() -> Options {
        Options { stream_over: 1024 }
    }
}

/// Lowers what the search found.
///
/// # Errors
/// A combination that kernels cannot express; the message says which and what to do.
pub fn lower(graph: &Graph, found: &Found, options: &Options) -> Result<Program> {
    let mut program = Program::default();
    for fused in &found.kernels {
        let lowered = cone(graph, &found.dag, &mut program.values, fused, options)?;
        program.kernels.push(lowered);
    }
    copies_of_leaves(graph, &found.dag, &mut program)?;
    outputs(graph, &mut program);
    order(&mut program);
    Ok(program)
}

/// Kernels at load first, and every tensor written before it is read; otherwise as they were found.
pub(crate) fn order(program: &mut Program) {
    let mut left = std::mem::take(&mut program.kernels);
    left.sort_by_key(|kernel| kernel.when == When::Run);
    while !left.is_empty() {
        let ready = left.iter().position(|kernel| {
            let reads = kernel.args.iter().zip(&kernel.writes).filter(|(_, writes)| !**writes);
            let late = |value: &ValueId| {
                left.iter()
                    .any(|other| other.args.iter().zip(&other.writes).any(|(arg, w)| *w && arg == value))
            };
            !reads.into_iter().any(|(value, _)| late(value))
        });
        // A cycle cannot be; if there were one, the check of the plan would name it.
        let next = if planted!(OrderReversed) { left.len() - 1 } else { ready.unwrap_or(0) };
        program.kernels.push(left.remove(next));
    }
}

/// One kernel of what the search found; its tensors are added to `values`.
///
/// # Errors
/// As [`lower`].
pub fn cone(
    graph: &Graph,
    dag: &Dag,
    values: &mut Values,
    fused: &Fused,
    options: &Options,
) -> Result<Lowered> {
    let mut builder = Builder::new(graph, dag, values, &fused.set);
    let cone = Cone::new(dag, &fused.set, &fused.outputs);
    let fold = fold::choose(&cone, fused.fold, options);
    defs::define(graph, &cone, fold.as_ref(), &mut builder)?;
    let (kernel, args) = builder.finish();
    Ok(Lowered {
        writes: written(&kernel),
        kernel,
        args,
        form: Some(fused.form),
        when: fused.when,
        fused: operations(graph, dag, &fused.set),
        flops: fused.flops,
        bytes: fused.bytes,
    })
}

fn written(kernel: &Kernel) -> Vec<bool> {
    (0..kernel.args).map(|buffer| kernel.defs().any(|def| def.dst == buffer)).collect()
}

/// The user's operations behind a set of terms, in the order of the model, each call once.
fn operations(graph: &Graph, dag: &Dag, set: &[Id]) -> Vec<String> {
    let mut calls: BTreeMap<NodeId, (String, u32, u32, String)> = BTreeMap::new();
    for node in set.iter().flat_map(|id| dag.origins(*id)) {
        if matches!(graph.nodes[*node].op, Op::Input(_) | Op::Param(_) | Op::State(_)) {
            continue;
        }
        if let Some(origin) = &graph.nodes[*node].origin {
            calls.insert(*node, (origin.file.to_string(), origin.line, origin.column, origin.op.to_string()));
        }
    }
    let mut seen = vec![];
    for call in calls.into_values() {
        if !seen.contains(&call) {
            seen.push(call);
        }
    }
    seen.into_iter().map(|call| call.3).collect()
}

/// Values that must be in memory and are nothing but an element of another tensor, a literal or a position: no kernel
/// of the partition computes them.
fn copies_of_leaves(graph: &Graph, dag: &Dag, program: &mut Program) -> Result<()> {
    for root in dag.roots.iter().filter(|root| dag.node(root.term).is_leaf()) {
        if matches!(graph.nodes[root.node].op, Op::Input(_) | Op::Param(_) | Op::State(_)) {
            continue;
        }
        let mut builder = Builder::new(graph, dag, &mut program.values, &[]);
        let value = builder.value(root.term, None)?;
        let target = builder.values.of_node(graph, root.node);
        let dst = builder.argument(target);
        defs::write(&mut builder, dst, &root.index, None, value, None)?;
        let (kernel, args) = builder.finish();
        let when = match dag.node(root.term) {
            Term::Load(_) if dag.weight(root.term) => When::Load,
            _ => When::Run,
        };
        push_copy(program, kernel, args, when, operations(graph, dag, &[root.term]));
    }
    Ok(())
}

fn push_copy(program: &mut Program, kernel: Kernel, args: Vec<ValueId>, when: When, fused: Vec<String>) {
    let elements = |buffer: usize| kernel.buffers[buffer].dims.iter().product::<usize>();
    let bytes: usize = (0..kernel.args).map(|i| elements(i) * kernel.buffers[i].dtype.bytes()).sum();
    program.kernels.push(Lowered {
        writes: written(&kernel),
        bytes: bytes as f64,
        kernel,
        args,
        form: None,
        when,
        fused,
        flops: 0.0,
    });
}

/// Every output has a tensor of its own: what is given to the model, kept as weights or returned twice is copied.
fn outputs(graph: &Graph, program: &mut Program) {
    let mut taken: Vec<NodeId> = vec![];
    let wanted: Vec<(NodeId, Source)> = (graph.outputs.iter().enumerate())
        .map(|(i, (_, node))| (*node, Source::Output(i)))
        .chain(graph.writes.iter().enumerate().map(|(i, (_, node))| (*node, Source::Write(i))))
        .collect();
    for (node, source) in wanted {
        let value = program.values.of_node(graph, node);
        let given = matches!(program.values.list[value].source, Source::Given(_));
        let at_load = program.kernels.iter().any(|kernel| {
            kernel.when == When::Load
                && kernel.args.iter().zip(&kernel.writes).any(|(arg, w)| *w && *arg == value)
        });
        let own = if given || at_load || taken.contains(&node) {
            let copy = program.values.copy_of(graph, node, source);
            copy_whole(graph, program, node, value, copy);
            copy
        } else {
            taken.push(node);
            value
        };
        match source {
            Source::Write(i) => {
                let state = program.values.of_node(graph, graph.writes[i].0);
                program.writes.push((state, own));
            }
            _ => program.outputs.push(own),
        }
    }
}

/// Adds a kernel that copies one tensor to another of the same type.
fn copy_whole(graph: &Graph, program: &mut Program, node: NodeId, from: ValueId, to: ValueId) {
    use crate::kernel::ir::{Affine, Axis, Def, Expr, Index, Item};
    let mut values = std::mem::take(&mut program.values);
    let dag = Dag::default();
    let mut builder = Builder::new(graph, &dag, &mut values, &[]);
    let (source, dst) = (builder.argument(from), builder.argument(to));
    let dims = graph.nodes[node].shape.iter().enumerate();
    let kernel_axes: Vec<Axis> = dims.map(|(i, dim)| Axis::along(format!("i{i}"), *dim)).collect();
    let at: Vec<Affine> = (0..kernel_axes.len()).map(Affine::axis).collect();
    let index = at.iter().cloned().map(Index::Affine).collect();
    let expr = std::rc::Rc::new(Expr::Load { buffer: source, index, guards: vec![] });
    let axes = (0..kernel_axes.len()).collect();
    builder.kernel.axes = kernel_axes;
    builder.kernel.items =
        vec![Item::Def(Def { dst, axes, at, reduce: None, init: None, expr, epilogue: None, pre: vec![] })];
    let (kernel, args) = builder.finish();
    program.values = values;
    push_copy(program, kernel, args, When::Run, vec!["copy".into()]);
}
