//! Terms as a hash-consed graph.

use super::axes::{Axis, AxisSet};
use super::index::IndexExpr;
use super::language::{AccessId, IndexId, InsideId, ReducedAxes, Term};
use crate::dtype::Dtype;
use crate::graph::{Dim, NodeId};
use egg::{Id, Language};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// A read of a buffer: the element at these indices, one for each dimension.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// The graph node whose value the buffer holds.
    pub node: NodeId,
    /// One expression for each dimension of the node.
    pub index: Vec<IndexExpr>,
}

/// A mask that depends on positions only: `0 <= at < extent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inside {
    /// What is tested.
    pub at: IndexExpr,
    /// Exclusive upper bound.
    pub extent: Dim,
}

/// What the leaves of terms refer to by number, and the facts about buffers that they need.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Size of each axis.
    pub extents: Vec<Dim>,
    /// Targets of [`Term::Load`].
    pub accesses: Vec<Access>,
    /// Targets of [`Term::Position`].
    pub indices: Vec<IndexExpr>,
    /// Targets of [`Term::Inside`].
    pub insides: Vec<Inside>,
    /// For each graph node its element type.
    pub dtypes: Vec<Dtype>,
    /// For each graph node whether its value depends on weights alone and has no free size.
    pub weights: Vec<bool>,
}

/// Facts about a node that follow from those of its operands. Equal terms have equal facts, in the e-graph too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The axes a value is indexed by.
    pub free: AxisSet,
    /// True if the value depends on weights and positions alone and no size is free: it can be computed when the
    /// model is loaded.
    pub weight: bool,
    /// Element type.
    pub dtype: Dtype,
}

impl Context {
    /// The access of a load leaf.
    pub fn access(&self, id: AccessId) -> &Access {
        &self.accesses[id.0 as usize]
    }

    /// The index expression of a position leaf.
    pub fn index_expr(&self, id: IndexId) -> &IndexExpr {
        &self.indices[id.0 as usize]
    }

    /// The mask of an inside leaf.
    pub fn inside(&self, id: InsideId) -> &Inside {
        &self.insides[id.0 as usize]
    }

    /// Size of an axis.
    pub fn extent(&self, axis: Axis) -> Dim {
        self.extents[usize::from(axis)]
    }

    /// True if no axis of the set has a free size.
    pub fn all_fixed(&self, axes: AxisSet) -> bool {
        axes.iter().all(|axis| matches!(self.extent(axis), Dim::Fixed(_)))
    }

    /// Number of positions of a set of axes, at the bounds of free sizes.
    pub fn volume(&self, axes: AxisSet) -> f64 {
        axes.iter().map(|axis| self.extent(axis).max() as f64).product()
    }

    /// Smallest and greatest value of an index expression; none if it holds a computed index.
    pub fn range(&self, expr: &IndexExpr) -> Option<(i64, i64)> {
        let (mut low, mut high) = (expr.constant, expr.constant);
        for (atom, coefficient) in &expr.terms {
            let (first, last) = match atom {
                super::Atom::Axis(axis) => (0, (self.extent(*axis).max() as i64 - 1).max(0)),
                super::Atom::Div(e, by) => {
                    let (first, last) = self.range(e)?;
                    (first.div_euclid(*by), last.div_euclid(*by))
                }
                super::Atom::Mod(_, by) => (0, by - 1),
                super::Atom::Value => return None,
            };
            let ends = [coefficient * first, coefficient * last];
            low += ends[0].min(ends[1]);
            high += ends[0].max(ends[1]);
        }
        Some((low, high))
    }

    /// Facts of a node from those of its operands.
    pub fn facts(&self, term: &Term, of: impl Fn(Id) -> Facts) -> Facts {
        let leaf = |free, weight, dtype| Facts { free, weight, dtype };
        let all = |dtype| {
            let start = Facts { free: AxisSet::EMPTY, weight: true, dtype };
            term.values().iter().fold(start, |facts, id| {
                let operand = of(*id);
                Facts { free: facts.free | operand.free, weight: facts.weight && operand.weight, dtype }
            })
        };
        match term {
            Term::Axes(axes) => leaf(AxisSet(axes.0), true, Dtype::I32),
            Term::F32(_) => leaf(AxisSet::EMPTY, true, Dtype::F32),
            Term::I32(_) => leaf(AxisSet::EMPTY, true, Dtype::I32),
            Term::Bool(_) => leaf(AxisSet::EMPTY, true, Dtype::Bool),
            Term::Number(x) => leaf(AxisSet::EMPTY, true, x.dtype()),
            Term::Position(id) => {
                let free = self.index_expr(*id).axes();
                leaf(free, self.all_fixed(free), Dtype::I32)
            }
            Term::Inside(id) => {
                let Inside { at, extent } = self.inside(*id);
                let fixed = matches!(extent, Dim::Fixed(_)) && self.all_fixed(at.axes());
                leaf(at.axes(), fixed, Dtype::Bool)
            }
            Term::Load(id) => {
                let access = self.access(*id);
                let free = access.index.iter().fold(AxisSet::EMPTY, |set, e| set | e.axes());
                let weight = self.weights[access.node] && self.all_fixed(free);
                leaf(free, weight, self.dtypes[access.node])
            }
            Term::Gather([access, index]) => {
                let (table, index) = (of(*access), of(*index));
                leaf(table.free | index.free, table.weight && index.weight, table.dtype)
            }
            Term::Sum([axes, body]) | Term::MaxOver([axes, body]) => {
                let body = of(*body);
                // Over an axis of free size the result depends on that size.
                let reduced = of(*axes).free;
                let weight = body.weight && self.all_fixed(reduced);
                Facts { free: body.free.without(reduced), weight, ..body }
            }
            Term::LessThan(_) | Term::ToBool(_) => all(Dtype::Bool),
            Term::ToI32(_) => all(Dtype::I32),
            Term::ToI64(_) => all(Dtype::I64),
            Term::ToU8(_) => all(Dtype::U8),
            Term::ToF16(_) => all(Dtype::F16),
            Term::ToBF16(_) => all(Dtype::BF16),
            Term::Exp2(_)
            | Term::Log2(_)
            | Term::Sin(_)
            | Term::Sqrt(_)
            | Term::Recip(_)
            | Term::ToF32(_) => all(Dtype::F32),
            Term::Add([x, _]) | Term::Mul([x, _]) | Term::Max([x, _]) | Term::Mod([x, _]) => {
                all(of(*x).dtype)
            }
            Term::Select([_, x, _]) => all(of(*x).dtype),
        }
    }
}

/// A value that must be in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// The graph node whose buffer it is stored to.
    pub node: NodeId,
    /// Where: one expression for each dimension; together they visit every element exactly once.
    pub index: Vec<IndexExpr>,
    /// What.
    pub term: Id,
}

/// Terms, each once; operands come before the terms that use them.
#[derive(Clone, Debug, Default)]
pub struct Dag {
    /// What the leaves refer to.
    pub context: Rc<Context>,
    /// All nodes.
    pub nodes: Vec<Term>,
    /// The values that must be in memory. Loads of these graph nodes read what is stored here.
    pub roots: Vec<Root>,
    facts: Vec<Facts>,
    origins: Vec<BTreeSet<NodeId>>,
    known: HashMap<Term, Id>,
}

impl Dag {
    /// No terms yet.
    pub fn new(context: Rc<Context>) -> Dag {
        Dag { context, ..Dag::default() }
    }

    /// The node, added if it is new. Operands must be there already.
    pub fn add(&mut self, term: Term) -> Id {
        let context = Rc::clone(&self.context);
        self.add_in(&context, term)
    }

    /// As [`Dag::add`] while the context still grows.
    pub fn add_in(&mut self, context: &Context, term: Term) -> Id {
        if let Some(id) = self.known.get(&term) {
            return *id;
        }
        let facts = context.facts(&term, |id| self.facts[usize::from(id)]);
        let id = Id::from(self.nodes.len());
        self.nodes.push(term.clone());
        self.facts.push(facts);
        self.origins.push(BTreeSet::new());
        self.known.insert(term, id);
        id
    }

    /// The node.
    pub fn node(&self, id: Id) -> &Term {
        &self.nodes[usize::from(id)]
    }

    /// All ids, operands first.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + use<> {
        (0..self.nodes.len()).map(Id::from)
    }

    /// The axes a value is indexed by.
    pub fn free(&self, id: Id) -> AxisSet {
        self.facts[usize::from(id)].free
    }

    /// Element type of a value.
    pub fn dtype(&self, id: Id) -> Dtype {
        self.facts[usize::from(id)].dtype
    }

    /// True if a value can be computed when the model is loaded.
    pub fn weight(&self, id: Id) -> bool {
        self.facts[usize::from(id)].weight
    }

    /// All three facts of a value.
    pub fn facts(&self, id: Id) -> Facts {
        self.facts[usize::from(id)]
    }

    /// The axes a reduction removes; empty for every other node.
    pub fn reduced_axes(&self, id: Id) -> AxisSet {
        match self.node(id) {
            Term::Sum([axes, _]) | Term::MaxOver([axes, _]) => self.node(*axes).axis_set(),
            _ => AxisSet::EMPTY,
        }
    }

    /// The access of a load or gather.
    pub fn access(&self, id: Id) -> Option<&Access> {
        match self.node(id) {
            Term::Load(access) => Some(self.context.access(*access)),
            Term::Gather([access, _]) => self.access(*access),
            _ => None,
        }
    }

    /// The graph nodes that a value came from, for reports.
    pub fn origins(&self, id: Id) -> &BTreeSet<NodeId> {
        &self.origins[usize::from(id)]
    }

    /// Records that a value came from these graph nodes.
    pub fn add_origins(&mut self, id: Id, nodes: impl IntoIterator<Item = NodeId>) {
        self.origins[usize::from(id)].extend(nodes);
    }

    /// A reduction; nothing if there are no axes.
    pub fn reduce(&mut self, sum: bool, axes: AxisSet, body: Id) -> Id {
        let axes = self.add(Term::Axes(ReducedAxes(axes.0)));
        self.add(if sum { Term::Sum([axes, body]) } else { Term::MaxOver([axes, body]) })
    }

    /// The nodes that these values are computed from, themselves included, ascending.
    pub fn reachable(&self, from: impl IntoIterator<Item = Id>) -> Vec<Id> {
        let mut marked = vec![false; self.nodes.len()];
        for id in from {
            marked[usize::from(id)] = true;
        }
        for i in (0..self.nodes.len()).rev() {
            if marked[i] {
                for child in self.nodes[i].children() {
                    marked[usize::from(*child)] = true;
                }
            }
        }
        self.ids().filter(|id| marked[usize::from(*id)]).collect()
    }

    /// The same roots without nodes that they do not need.
    pub fn trimmed(&self) -> Dag {
        let mut trimmed = Dag::new(Rc::clone(&self.context));
        let mut moved: HashMap<Id, Id> = HashMap::new();
        for id in self.reachable(self.roots.iter().map(|root| root.term)) {
            let new = trimmed.add(self.node(id).clone().map_children(|child| moved[&child]));
            trimmed.add_origins(new, self.origins(id).iter().copied());
            moved.insert(id, new);
        }
        let roots = self.roots.iter().map(|root| Root { term: moved[&root.term], ..root.clone() });
        trimmed.roots = roots.collect();
        trimmed
    }
}
