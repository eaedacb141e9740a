//! Weights and state: structs of tensors, whose field paths are the names.

use super::element::Element;
use super::shape::Shape;
use super::trace::{op_at, record};
use super::value::Tensor;
use crate::graph::NodeId;
use std::marker::PhantomData;
use std::panic::Location;

/// What the tensors of an argument are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Param,
    State,
}

/// Where a module is among the arguments of a model: decides the names of its tensors.
///
/// A struct that is an argument adds nothing to the names of its fields, so that they are those of the weight file. A
/// tensor or an array that is an argument is named by it, and so is all state.
#[derive(Clone, Debug)]
pub struct Scope {
    pub(crate) kind: Kind,
    /// The name so far, as in the weight file.
    pub(crate) name: String,
    /// The name that it would have if nothing here was tied: some weight files have the tensor under it.
    pub(crate) own: String,
    /// The fields that lead here, as in the source.
    pub(crate) path: String,
    /// Only refers to a tensor that another field declares.
    pub(crate) tied: bool,
    /// Whether a struct here keeps its own name out of the names of its fields.
    bare: bool,
    pub(crate) location: &'static Location<'static>,
}

/// The scope of an argument `&T`.
#[track_caller]
pub fn weights_scope(argument: &str) -> Scope {
    Scope::argument(Kind::Param, argument)
}

/// The scope of an argument `&mut T`.
#[track_caller]
pub fn state_scope(argument: &str) -> Scope {
    Scope::argument(Kind::State, argument)
}

impl Scope {
    #[track_caller]
    fn argument(kind: Kind, name: &str) -> Scope {
        let bare = kind == Kind::Param;
        let (name, location) = (name.to_string(), Location::caller());
        Scope { kind, own: name.clone(), path: name.clone(), name, tied: false, bare, location }
    }

    /// A name after another one; after that of a struct that is an argument, alone.
    fn after(&self, whole: &str, name: &str) -> String {
        if self.bare { name.to_string() } else { format!("{whole}.{name}") }
    }

    /// A field of a struct: its name in the source, and in the weight file.
    pub fn field(&self, field: &str, name: &str) -> Scope {
        let (own, name) = (self.after(&self.own, name), self.after(&self.name, name));
        Scope { name, own, path: format!("{}.{field}", self.path), bare: false, ..self.clone() }
    }

    /// The same place under other names in the weight file.
    pub(crate) fn renamed(&self, name: impl Fn(&str) -> String) -> Scope {
        Scope { name: name(&self.name), own: name(&self.own), ..self.clone() }
    }

    /// An element of an array.
    pub fn element(&self, index: usize) -> Scope {
        let own = format!("{}.{index}", self.own);
        let (name, path) = (format!("{}.{index}", self.name), format!("{}[{index}]", self.path));
        Scope { name, own, path, bare: false, ..self.clone() }
    }

    /// A field that is the same tensor as the one which another field declares. `name` is its whole name. A weight file
    /// may have the tensor under the name of this field too, if it is the same one.
    pub fn tied(&self, field: &str, name: &str) -> Scope {
        let (own, path) = (self.after(&self.own, field), format!("{}.{field}", self.path));
        Scope { name: name.into(), own, path, tied: true, bare: false, ..self.clone() }
    }
}

/// Weights or state of a model: tensors, and structs, arrays and options of them. Derive it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be weights or state of a model",
    label = "not a tensor and not a struct with `#[derive(Module)]`",
    note = "fields may be tensors, modules, arrays and options of them; mark a constant `#[param(value = ..)]`"
)]
pub trait Module: Sized {
    /// Declares all tensors.
    fn build(scope: &Scope) -> Self;
    /// The nodes of all tensors in the order of `build`: tells state before and after the model apart.
    fn visit(&self, f: &mut dyn FnMut(NodeId));
}

impl<S: Shape, E: Element> Module for Tensor<S, E> {
    fn build(scope: &Scope) -> Self {
        let _scope = op_at(if scope.kind == Kind::Param { "parameter" } else { "state" }, scope.location);
        Tensor::of(record(|recorder| recorder.declare(scope, S::DIMS, E::DTYPE)))
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        f(self.node);
    }
}

impl<M: Module, const N: usize> Module for [M; N] {
    fn build(scope: &Scope) -> Self {
        std::array::from_fn(|index| M::build(&scope.element(index)))
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.iter().for_each(|module| module.visit(f));
    }
}

impl<M: Module> Module for Option<M> {
    fn build(scope: &Scope) -> Self {
        Some(M::build(scope))
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.iter().for_each(|module| module.visit(f));
    }
}

impl<T> Module for PhantomData<T> {
    fn build(_: &Scope) -> Self {
        PhantomData
    }

    fn visit(&self, _: &mut dyn FnMut(NodeId)) {}
}

/// The tensors of a state as they were before the model ran.
pub struct Before(Vec<NodeId>);

/// Notes the tensors of a state, to be compared by [`write_back`].
pub fn before<T: Module>(state: &T) -> Before {
    let mut nodes = vec![];
    state.visit(&mut |node| nodes.push(node));
    Before(nodes)
}

/// Records what the model left in a state argument: each tensor that changed is written at the end of a run. All writes
/// happen together, so two tensors can be swapped.
#[track_caller]
pub fn write_back<T: Module>(argument: &str, state: &T, before: Before) {
    let _scope = op_at("state", Location::caller());
    let mut after = vec![];
    state.visit(&mut |node| after.push(node));
    if before.0.len() != after.len() {
        return super::trace::report(format!(
            "`{argument}` had {} tensors before the model and has {} after it: an `Option` in a state must not change \
             between `Some` and `None`",
            before.0.len(),
            after.len()
        ));
    }
    for (old, new) in before.0.into_iter().zip(after).filter(|(old, new)| old != new) {
        record(|recorder| recorder.write(old, new));
    }
}
