//! Where the graph meets the outside: declared tensors, outputs and writes have every axis that their type has, also
//! those of `One`, which the graph in between leaves out.

use super::dim::{DimInfo, Dims};
use super::module::{Kind, Scope};
use super::record::Recorder;
use crate::dtype::Dtype;
use crate::graph::{Dim, NodeId, Op};

/// A declared weight or state tensor.
pub(crate) struct Declared {
    pub kind: Kind,
    pub name: String,
    /// The name that a tied one would have by itself.
    own: String,
    /// The path of fields that leads to it.
    pub path: String,
    /// Only refers to a tensor that another field declares.
    pub tied: bool,
    dims: Vec<DimInfo>,
    dtype: Dtype,
    /// The node as declared.
    slot: NodeId,
    /// The node without axes of `One`: what the model computes with.
    value: NodeId,
}

impl Recorder {
    /// A node with every axis of the shape, and the same without axes of `One`.
    fn slot(&mut self, op: Op, dims: &[DimInfo], dtype: Dtype) -> (NodeId, NodeId) {
        let full = dims.iter().map(|dim| self.dim(*dim)).collect();
        let slot = self.graph.push(op, full, dtype);
        let mut value = slot;
        for axis in (0..dims.len()).rev().filter(|axis| dims[*axis] == DimInfo::One) {
            value = self.squeeze(value, axis);
        }
        (slot, value)
    }

    /// A value with every axis of the shape.
    pub fn full(&mut self, mut value: NodeId, dims: &[DimInfo]) -> NodeId {
        for (axis, _) in dims.iter().enumerate().filter(|(_, dim)| **dim == DimInfo::One) {
            value = self.graph.expand(value, axis, Dim::Fixed(1));
        }
        value
    }

    pub fn input(&mut self, name: &str, dims: &[DimInfo], dtype: Dtype) -> NodeId {
        self.slot(Op::Input(name.into()), dims, dtype).1
    }

    /// The node of a weight or state tensor. Two fields of one name are a mistake unless one is tied.
    pub fn declare(&mut self, scope: &Scope, dims: &[DimInfo], dtype: Dtype) -> NodeId {
        let Scope { kind, name, path, tied, .. } = scope;
        if let Some(free) = dims.iter().find(|dim| dim.is_free()) {
            let shape = Dims(dims);
            self.report(format!(
                "`{path}` has the shape {shape}, but the free dimension `{free}` has no size when weights are loaded: use \
                 a fixed size, `D<N>`"
            ));
        }
        let known = self.declared.iter().find(|known| known.kind == *kind && known.name == *name);
        if let Some(known) = known {
            let same_type = known.dims == dims && known.dtype == dtype;
            if same_type && (*tied || known.tied) {
                let (slot, value) = (known.slot, known.value);
                self.remember(scope, dims, dtype, slot, value);
                return value;
            }
            let other = &known.path;
            let message = if *tied || known.tied {
                format!(
                    "`{other}` and `{path}` are tied to the one tensor `{name}`, but the first is {} {} and the second \
                     {dtype} {}: give them one type",
                    known.dtype,
                    Dims(&known.dims),
                    Dims(dims)
                )
            } else {
                format!(
                    "`{other}` and `{path}` both have the name `{name}`: rename one with `#[param(name = \"..\")]`, put \
                     the modules into one struct so that each has its own prefix, or mark one `#[param(tied = \
                     \"{name}\")]` if they are the same tensor"
                )
            };
            self.report(message);
            return self.fill(0.0, dtype, dims);
        }
        let op = match kind {
            Kind::Param => Op::Param(name.clone()),
            Kind::State => Op::State(name.clone()),
        };
        let (slot, value) = self.slot(op, dims, dtype);
        self.remember(scope, dims, dtype, slot, value);
        value
    }

    fn remember(&mut self, scope: &Scope, dims: &[DimInfo], dtype: Dtype, slot: NodeId, value: NodeId) {
        let Scope { kind, name, own, path, tied, .. } = scope.clone();
        let dims = dims.to_vec();
        self.declared.push(Declared { kind, name, own, path, tied, dims, dtype, slot, value });
    }

    /// Tells the graph the names of tied weights, once all are declared.
    pub fn note_ties(&mut self) {
        for tied in self.declared.iter().filter(|known| known.tied && known.kind == Kind::Param) {
            let tie = (tied.own.clone(), tied.name.clone());
            if tied.own != tied.name && !self.graph.ties.contains(&tie) {
                self.graph.ties.push(tie);
            }
        }
    }

    /// The state tensor whose value was `old` holds `new` after a run.
    pub fn write(&mut self, old: NodeId, new: NodeId) {
        let state = self.declared.iter().find(|known| known.kind == Kind::State && known.value == old);
        let Some(Declared { slot, dims, .. }) = state else { return };
        let (slot, dims) = (*slot, dims.clone());
        let value = self.full(new, &dims);
        self.graph.writes.push((slot, value));
    }

    pub fn output(&mut self, name: &str, value: NodeId, dims: &[DimInfo]) {
        let value = self.full(value, dims);
        self.graph.outputs.push((name.into(), value));
    }
}
