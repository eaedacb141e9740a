//! Programs of regions to the program of the model.

use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId, Op};
use crate::mutant::planted;
use crate::search::lower::{self, Program, Source, Value, ValueId};
use crate::search::regions::{Region, Role};

/// Collects the program of a model, region by region.
pub(super) struct Join<'g> {
    graph: &'g Graph,
    program: Program,
    outputs: Vec<Option<ValueId>>,
    writes: Vec<Option<(ValueId, ValueId)>>,
    /// Numbers of values that no node of the model has.
    unnamed: usize,
}

impl<'g> Join<'g> {
    pub fn new(graph: &'g Graph) -> Join<'g> {
        Join {
            graph,
            program: Program::default(),
            outputs: vec![None; graph.outputs.len()],
            writes: vec![None; graph.writes.len()],
            unnamed: 0,
        }
    }

    /// Adds the kernels of a region, which may have been found for another one with the same graph.
    pub fn add(&mut self, region: &Region, found: &Program) -> Result<()> {
        let mut ids = Vec::with_capacity(found.values.list.len());
        for value in &found.values.list {
            let source = self.source(region, value)?;
            ids.push(self.program.values.adopt(Value { source, name: self.name(source), ..value.clone() }));
        }
        for lowered in &found.kernels {
            let mut lowered = lowered.clone();
            lowered.args.iter_mut().for_each(|arg| *arg = ids[*arg]);
            self.program.kernels.push(lowered);
        }
        for (role, value) in region.outputs.iter().zip(&found.outputs) {
            if let Role::Output(number) = role {
                self.outputs[*number] = Some(ids[*value]);
            }
        }
        for (number, (state, value)) in region.writes.iter().zip(&found.writes) {
            self.writes[*number] = Some((ids[*state], ids[*value]));
        }
        Ok(())
    }

    fn source(&mut self, region: &Region, value: &Value) -> Result<Source> {
        let node = |id: NodeId| region.nodes[id];
        Ok(match value.source {
            Source::Given(id) => match self.graph.nodes[node(id)].op {
                Op::Input(_) | Op::Param(_) | Op::State(_) => Source::Given(node(id)),
                _ => Source::Node(node(id)),
            },
            Source::Node(id) if region.own[id] => Source::Node(node(id)),
            Source::Node(_) | Source::Term(_) => {
                self.unnamed += 1;
                Source::Term(self.unnamed - 1)
            }
            Source::Write(number) => Source::Write(region.writes[number]),
            Source::Output(number) => match region.outputs[number] {
                Role::Output(number) => Source::Output(number),
                Role::Crossing => {
                    let id = node(region.graph.outputs[number].1);
                    return Err(Error::new(format!(
                        "node {id}, which regions of the model share, is a copy; please report this model"
                    )));
                }
            },
        })
    }

    fn name(&self, source: Source) -> String {
        match source {
            Source::Given(id) => match &self.graph.nodes[id].op {
                Op::Input(name) | Op::Param(name) | Op::State(name) => name.clone(),
                _ => format!("v{id}"),
            },
            Source::Node(id) => format!("v{id}"),
            Source::Term(number) => format!("t{number}"),
            Source::Output(number) => format!("out{number}"),
            Source::Write(number) => format!("write{number}"),
        }
    }

    /// The program, its kernels in execution order.
    pub fn finish(mut self) -> Result<Program> {
        let missing = |what: &str, number: usize| {
            Error::new(format!("no region of the model computes {what} {number}; please report this model"))
        };
        for (number, output) in self.outputs.into_iter().enumerate() {
            self.program.outputs.push(output.ok_or_else(|| missing("output", number))?);
        }
        for (number, write) in self.writes.into_iter().enumerate() {
            self.program.writes.push(write.ok_or_else(|| missing("write", number))?);
        }
        lower::order(&mut self.program);
        if planted!(OrderReversed) {
            self.program.kernels.reverse();
        }
        Ok(self.program)
    }
}
