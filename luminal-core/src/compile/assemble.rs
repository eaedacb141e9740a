//! The plan: which memory every tensor lies in, and the launches in order.

use super::Options;
use super::units::Units;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::graph::{FreeDim, Graph, Node, Op};
use crate::kernel::ir::{Buffer as KernelBuffer, Kernel, Space, Storage};
use crate::kernel::tile::Program as TileProgram;
use crate::mutant::planted;
use crate::plan::memory::{self, ALIGNMENT};
use crate::plan::{self, Access, Buffer, Digit, Free, GridAxis, Launch, Packing, Param, Place, Plan, Port};
use crate::search::lower::{Lowered, Program, Source, ValueId};
use crate::search::partition::When;
use std::borrow::Cow;
use std::collections::BTreeMap;

struct Assembler<'a> {
    graph: &'a Graph,
    program: &'a Program,
    units: &'a Units,
    buffers: Vec<Buffer>,
    /// Buffer of each tensor that is no weight.
    of_value: BTreeMap<ValueId, usize>,
    /// Buffers of each weight, one for each order in memory.
    of_weight: BTreeMap<ValueId, Vec<(Storage, usize)>>,
    weights: usize,
    state: usize,
}

/// Makes the plan; its kernels have no entries.
pub fn plan(graph: &Graph, program: &Program, units: &Units, options: &Options) -> Result<Plan> {
    let mut a = Assembler {
        graph,
        program,
        units,
        buffers: vec![],
        of_value: BTreeMap::new(),
        of_weight: BTreeMap::new(),
        weights: 0,
        state: 0,
    };
    let inputs = a.ports(|op| if let Op::Input(name) = op { Some(name) } else { None });
    let states = a.ports(|op| if let Op::State(name) = op { Some(name) } else { None });
    let outputs = a.outputs();
    if planted!(StateEarly) {
        program.writes.iter().for_each(|(state, value)| {
            a.of_value.insert(*value, a.of_value[state]);
        });
    }
    let (load, run) = a.launches();
    let arena = a.arena();
    let params = a.params();
    let writes = program.writes.iter().map(|(state, value)| (a.of_value[value], a.of_value[state])).collect();
    Ok(Plan {
        model: options.model.clone().into(),
        free: graph.free.iter().map(|d| Free { name: d.name.clone().into(), max: d.max }).collect(),
        relations: graph.all_relations().into(),
        inputs: inputs.into(),
        outputs: outputs.into(),
        states: states.into(),
        params: params.into(),
        kernels: kernels(graph, program, units).into(),
        load: load.into(),
        run: run.into(),
        writes,
        arena,
        weights: a.weights,
        state: a.state,
        buffers: a.buffers.into(),
        ptx: Cow::Borrowed(""),
        sources: Cow::Borrowed(&[]),
    })
}

fn port(name: &str, node: &Node, buffer: usize) -> Port {
    Port { name: name.to_string().into(), dtype: node.dtype, shape: node.shape.clone().into(), buffer }
}

fn round(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}

impl Assembler<'_> {
    fn value(&self, node: usize) -> Option<ValueId> {
        self.program.values.list.iter().position(|v| v.source == Source::Given(node))
    }

    fn push(&mut self, place: Place, bytes: usize) -> usize {
        self.buffers.push(Buffer { place, bytes });
        self.buffers.len() - 1
    }

    fn full_bytes(&self, shape: &[plan::Dim], dtype: Dtype) -> usize {
        shape.iter().map(|&d| d.max()).product::<usize>() * dtype.bytes()
    }

    /// Inputs or states of the graph, in its order, whether a kernel reads them or not.
    fn ports(&mut self, name: impl Fn(&Op) -> Option<&String>) -> Vec<Port> {
        let mut ports = vec![];
        for (id, node) in self.graph.nodes.iter().enumerate() {
            let Some(name) = name(&node.op) else { continue };
            let bytes = self.full_bytes(&node.shape, node.dtype);
            let place = match node.op {
                Op::State(_) => {
                    let offset = self.state;
                    self.state += round(bytes);
                    Place::State(offset)
                }
                _ => Place::Input(ports.len()),
            };
            let buffer = self.push(place, bytes);
            if let Some(value) = self.value(id) {
                self.of_value.insert(value, buffer);
            }
            ports.push(port(name, node, buffer));
        }
        ports
    }

    fn outputs(&mut self) -> Vec<Port> {
        let mut ports = vec![];
        for ((name, node), value) in self.graph.outputs.iter().zip(&self.program.outputs) {
            let node = &self.graph.nodes[*node];
            let bytes = self.full_bytes(&node.shape, node.dtype);
            let buffer = self.push(Place::Output(ports.len()), bytes);
            self.of_value.insert(*value, buffer);
            ports.push(port(name, node, buffer));
        }
        ports
    }

    /// The buffer of an argument, made when it is first met. Offsets in the arena are set at the end.
    fn argument(&mut self, lowered: &Lowered, value: ValueId, buffer: &KernelBuffer) -> usize {
        let bytes = buffer.len() * buffer.dtype.bytes();
        if let Source::Given(node) = self.program.values.list[value].source
            && matches!(self.graph.nodes[node].op, Op::Param(_))
        {
            let known = self.of_weight.entry(value).or_default();
            if let Some((_, position)) = known.iter().find(|(storage, _)| *storage == buffer.storage) {
                return *position;
            }
            let position = self.buffers.len();
            known.push((buffer.storage.clone(), position));
            let offset = self.weights;
            self.weights += round(bytes);
            return self.push(Place::Weights(offset), bytes);
        }
        if let Some(position) = self.of_value.get(&value) {
            return *position;
        }
        let place = match lowered.when {
            When::Load => {
                let offset = self.weights;
                self.weights += round(bytes);
                Place::Weights(offset)
            }
            When::Run => Place::Arena(usize::MAX),
        };
        let position = self.push(place, bytes);
        self.of_value.insert(value, position);
        position
    }

    fn launches(&mut self) -> (Vec<Launch>, Vec<Launch>) {
        let (mut load, mut run) = (vec![], vec![]);
        for (i, lowered) in self.program.kernels.iter().enumerate() {
            let mut args = vec![];
            for (position, value) in lowered.args.iter().enumerate() {
                let mut buffer = lowered.kernel.buffers[position].clone();
                buffer.storage = self.units.storages[i][position].clone();
                args.push(self.argument(lowered, *value, &buffer));
            }
            let launch = Launch { kernel: self.units.of[i], args: args.into() };
            match lowered.when {
                When::Load => load.push(launch),
                When::Run => run.push(launch),
            }
        }
        (load, run)
    }

    /// Gives intermediates their offsets; those that are never alive together share memory.
    fn arena(&mut self) -> usize {
        let run: Vec<&Lowered> = self.program.kernels.iter().filter(|k| k.when == When::Run).collect();
        let wanted: Vec<usize> =
            (0..self.buffers.len()).filter(|b| self.buffers[*b].place == Place::Arena(usize::MAX)).collect();
        let mut lifetimes = vec![];
        for buffer in &wanted {
            let used = |lowered: &&Lowered| {
                lowered.args.iter().any(|value| self.of_value.get(value) == Some(buffer))
            };
            let first = run.iter().position(used).unwrap_or(0);
            let mut last = run.iter().rposition(used).unwrap_or(first);
            if planted!(LifeShort) {
                last = first;
            }
            // What is copied into a state at the end must live until then.
            if self.program.writes.iter().any(|(_, value)| self.of_value.get(value) == Some(buffer)) {
                last = run.len();
            }
            lifetimes.push(memory::Value { bytes: self.buffers[*buffer].bytes, first, last });
        }
        let layout = memory::assign(&lifetimes);
        for (buffer, offset) in wanted.iter().zip(&layout.offsets) {
            self.buffers[*buffer].place = Place::Arena(*offset);
        }
        layout.bytes
    }

    /// All weights of the graph; one that no kernel reads is still asked for, so that a wrong file is noticed.
    fn params(&self) -> Vec<Param> {
        let mut params = vec![];
        for (id, node) in self.graph.nodes.iter().enumerate() {
            let Op::Param(name) = &node.op else { continue };
            let copies = self.value(id).and_then(|value| self.of_weight.get(&value));
            let packings = copies
                .into_iter()
                .flatten()
                .map(|(storage, buffer)| Packing { buffer: *buffer, storage: digits(storage).into() });
            let tied = self.graph.ties.iter().filter(|(_, param)| param == name);
            params.push(Param {
                name: name.clone().into(),
                aliases: tied.map(|(field, _)| field.clone().into()).collect::<Vec<_>>().into(),
                dtype: node.dtype,
                shape: node.shape.iter().map(|&d| d.max()).collect::<Vec<_>>().into(),
                packings: packings.collect::<Vec<_>>().into(),
            });
        }
        params
    }
}

fn digits(storage: &Storage) -> Vec<plan::List<Digit>> {
    let dimension = |digits: &Vec<crate::kernel::ir::Digit>| {
        digits.iter().map(|d| Digit { size: d.size, stride: d.stride }).collect::<Vec<_>>().into()
    };
    storage.iter().map(dimension).collect()
}

/// The distinct kernels as the plan lists them.
fn kernels(graph: &Graph, program: &Program, units: &Units) -> Vec<plan::Kernel> {
    let describe = |(number, unit): (usize, &super::Unit)| {
        let first = units.of.iter().position(|u| *u == number).expect("a unit has a kernel");
        let lowered = &program.kernels[first];
        plan::Kernel {
            name: unit.program.name.clone().into(),
            form: lowered.form.map_or("copy".into(), |form| form.name().into()),
            shape: shape(&unit.kernel).into(),
            fused: lowered.fused.iter().map(|op| op.clone().into()).collect(),
            entries: Cow::Borrowed(&[]),
            grid: grid(&unit.program, &graph.free).into(),
            flops: lowered.flops,
            bytes: lowered.bytes,
            args: access(lowered).into(),
            cuda: None,
        }
    };
    units.list.iter().enumerate().map(describe).collect()
}

fn access(lowered: &Lowered) -> Vec<Access> {
    lowered.writes.iter().map(|writes| if *writes { Access::Write } else { Access::Read }).collect()
}

/// The grid of a tile program as plans hold it.
pub fn grid(program: &TileProgram, free: &[FreeDim]) -> Vec<GridAxis> {
    let size = |axis: usize| match program.kernel.axes[axis].free {
        Some(index) => plan::Dim::Free { index, max: free[index].max },
        None => plan::Dim::Fixed(program.kernel.axes[axis].max),
    };
    program.grid.iter().map(|block| GridAxis { size: size(block.axis), block: block.size }).collect()
}

/// `[32, 8, 8] over 144`: sizes of what is written, and how much the largest reduction sums for each element.
fn shape(kernel: &Kernel) -> String {
    let name = |axis: &crate::kernel::ir::Axis| match axis.free {
        Some(_) => format!("<={}", axis.max),
        None => axis.max.to_string(),
    };
    let written = kernel.defs().filter(|def| kernel.buffers[def.dst].space == Space::Global);
    let outputs: Vec<String> = written
        .map(|def| {
            let sizes: Vec<String> = def.axes.iter().map(|axis| name(&kernel.axes[*axis])).collect();
            format!("[{}]", sizes.join(", "))
        })
        .collect();
    let reduced = kernel.defs().filter_map(|def| def.reduce.as_ref());
    let over = reduced.map(|r| r.axes.iter().map(|axis| kernel.axes[*axis].max).product::<usize>()).max();
    match over {
        Some(over) => format!("{} over {over}", outputs.join(" ")),
        None => outputs.join(" "),
    }
}
