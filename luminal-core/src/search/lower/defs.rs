//! Which definitions a fused set becomes: one for each reduction, with all that can follow it as its epilogue, and one
//! map for each stored value that is left. Nothing here knows an operator; the form of the kernel does not matter.

use super::super::cascade::Fold;
use super::super::term::{Dag, Id, IndexExpr, Term};
use super::expr::Builder;
use super::fold::Streamed;
use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId, Reduce};
use crate::kernel::ir::{Affine, Def, E, Item, Reduction};
use std::collections::BTreeSet;

/// What a kernel computes and stores.
pub struct Cone<'a> {
    pub dag: &'a Dag,
    /// Computed here, ascending.
    pub set: &'a [Id],
    /// Stored.
    pub outputs: &'a [Id],
    users: Vec<Vec<Id>>,
    inside: Vec<bool>,
    /// For each node whether it is, or is made here of, a reduction of the set.
    reduces: Vec<bool>,
}

impl<'a> Cone<'a> {
    pub fn new(dag: &'a Dag, set: &'a [Id], outputs: &'a [Id]) -> Cone<'a> {
        let mut users = vec![vec![]; dag.nodes.len()];
        let mut inside = vec![false; dag.nodes.len()];
        let mut reduces = vec![false; dag.nodes.len()];
        for id in set {
            inside[usize::from(*id)] = true;
            let operands = dag.node(*id).values();
            reduces[usize::from(*id)] =
                dag.node(*id).is_reduction() || operands.iter().any(|x| reduces[usize::from(*x)]);
            for value in dag.node(*id).values() {
                if !users[usize::from(*value)].contains(id) {
                    users[usize::from(*value)].push(*id);
                }
            }
        }
        Cone { dag, set, outputs, users, inside, reduces }
    }

    pub fn contains(&self, id: Id) -> bool {
        self.inside[usize::from(id)]
    }

    fn is_output(&self, id: Id) -> bool {
        self.outputs.contains(&id)
    }

    fn users(&self, id: Id) -> &[Id] {
        &self.users[usize::from(id)]
    }

    fn is_pointwise(&self, id: Id) -> bool {
        self.contains(id) && !self.dag.node(id).is_reduction()
    }

    /// The last value that the reduction alone leads to, through pointwise nodes over the same axes: what is between
    /// them is computed on the reduced value while it is still in registers. The reduction itself if there is none.
    fn epilogue(&self, reduction: Id, builder: &Builder<'_>) -> Id {
        let free = self.dag.free(reduction);
        let mut above = BTreeSet::new();
        let mut queue = vec![reduction];
        while let Some(id) = queue.pop() {
            for user in self.users(id) {
                if self.is_pointwise(*user) && above.insert(*user) {
                    queue.push(*user);
                }
            }
        }
        let fits = |last: Id| {
            if self.dag.free(last) != free || !self.ready(last, reduction, builder) {
                return false;
            }
            let between: BTreeSet<Id> = self.below(last, &above, reduction);
            between
                .iter()
                .filter(|id| **id != last)
                .all(|id| !self.is_output(*id) && self.users(*id).iter().all(|user| between.contains(user)))
        };
        above.iter().rev().copied().find(|id| fits(*id)).unwrap_or(reduction)
    }

    /// The nodes on the ways from the reduction up to `last`, both included.
    fn below(&self, last: Id, above: &BTreeSet<Id>, reduction: Id) -> BTreeSet<Id> {
        let mut found = BTreeSet::from([last]);
        let mut queue = vec![last];
        while let Some(id) = queue.pop() {
            for value in self.dag.node(id).values() {
                if *value == reduction {
                    found.insert(*value);
                } else if above.contains(value) && found.insert(*value) {
                    queue.push(*value);
                }
            }
        }
        found
    }

    /// True if a value can be computed now: every other reduction below it lies in a buffer already.
    fn ready(&self, id: Id, reduction: Id, builder: &Builder<'_>) -> bool {
        let mut seen = BTreeSet::new();
        let mut queue = vec![id];
        while let Some(id) = queue.pop() {
            if id == reduction || builder.is_held(id) || !self.contains(id) || !seen.insert(id) {
                continue;
            }
            if self.dag.node(id).is_reduction() {
                return false;
            }
            queue.extend(self.dag.node(id).values());
        }
        true
    }

    /// Pointwise values worth a buffer of their own before `reduction` runs:
    /// * a transcendental function that is reduced and also used elsewhere would be computed twice;
    /// * a factor of a product of several axes that needs an earlier reduction (a normalised row) would be computed
    ///   again for every position of the axes that it lacks.
    fn shared(&self, reduction: Id, builder: &Builder<'_>) -> Vec<Id> {
        let Some(body) = self.dag.node(reduction).body() else { return vec![] };
        let axes = self.dag.free(body);
        let mut found = vec![];
        let mut seen = BTreeSet::new();
        let mut queue = vec![body];
        while let Some(id) = queue.pop() {
            if !self.is_pointwise(id) || builder.is_held(id) || !seen.insert(id) {
                continue;
            }
            let dear = matches!(self.dag.node(id), Term::Exp2(_) | Term::Log2(_) | Term::Sin(_));
            let twice = dear && self.users(id).len() > 1;
            let again =
                self.dag.free(id) != axes && self.needs_reduction(id) && !self.dag.free(id).is_empty();
            if (twice || again) && self.dag.free(id).meets(self.dag.reduced_axes(reduction)) {
                found.push(id);
            } else {
                queue.extend(self.dag.node(id).values());
            }
        }
        found.sort();
        found
    }

    fn needs_reduction(&self, id: Id) -> bool {
        self.reduces[usize::from(id)]
    }
}

/// Fills the builder's kernel with the definitions of a cone.
pub fn define(graph: &Graph, cone: &Cone<'_>, fold: Option<&Fold>, builder: &mut Builder<'_>) -> Result<()> {
    let mut written = BTreeSet::new();
    let reductions: Vec<Id> =
        cone.set.iter().copied().filter(|id| cone.dag.node(*id).is_reduction()).collect();
    let streamed = fold.map(|fold| Streamed::new(cone, fold, &reductions)).transpose()?;
    let is_streamed = |id: &Id| streamed.as_ref().is_some_and(|s| s.contains(*id));
    let first = reductions.iter().position(is_streamed).unwrap_or(reductions.len());
    for id in &reductions[..first] {
        reduction(graph, cone, *id, builder, &mut written)?;
    }
    if let Some(streamed) = &streamed {
        streamed.define(cone, builder)?;
    }
    for id in reductions[first..].iter().filter(|id| !is_streamed(id)) {
        reduction(graph, cone, *id, builder, &mut written)?;
    }
    for id in cone.outputs.iter().copied().filter(|id| !written.contains(id)) {
        let value = builder.value(id, None)?;
        store(graph, cone.dag, builder, id, None, value, None)?;
    }
    Ok(())
}

/// The definition of a reduction, with what leads up to it and what can follow it.
fn reduction(
    graph: &Graph,
    cone: &Cone<'_>,
    id: Id,
    builder: &mut Builder<'_>,
    written: &mut BTreeSet<Id>,
) -> Result<()> {
    let (last, reduce, expr, epilogue) = parts(cone, id, builder)?;
    // Straight to memory if this is all that becomes of the value.
    if cone.is_output(last) && cone.users(last).is_empty() && targets(cone.dag, last).len() <= 1 {
        store(graph, cone.dag, builder, last, Some(reduce), expr, epilogue)?;
        written.insert(last);
    } else {
        private(builder, last, Some(reduce), expr, epilogue);
    }
    Ok(())
}

/// As [`reduction`], into a private buffer.
pub fn private_reduction(cone: &Cone<'_>, id: Id, builder: &mut Builder<'_>) -> Result<()> {
    let (last, reduce, expr, epilogue) = parts(cone, id, builder)?;
    private(builder, last, Some(reduce), expr, epilogue);
    Ok(())
}

/// The last value of a definition, its reduction, body and epilogue.
fn parts(cone: &Cone<'_>, id: Id, builder: &mut Builder<'_>) -> Result<(Id, Reduction, E, Option<E>)> {
    shared(cone, id, builder)?;
    let last = cone.epilogue(id, builder);
    let body = cone.dag.node(id).body().expect("a reduction has a body");
    let expr = builder.value(body, None)?;
    let epilogue = match last == id {
        true => None,
        false => Some(builder.value(last, Some(id))?),
    };
    Ok((last, reduce(cone.dag, id, builder), expr, epilogue))
}

/// Gives buffers to what is worth one before a reduction runs.
pub fn shared(cone: &Cone<'_>, id: Id, builder: &mut Builder<'_>) -> Result<()> {
    for id in cone.shared(id, builder) {
        let value = builder.value(id, None)?;
        private(builder, id, None, value, None);
    }
    Ok(())
}

/// How a reduction reduces.
pub fn reduce(dag: &Dag, id: Id, builder: &mut Builder<'_>) -> Reduction {
    let op = match dag.node(id) {
        Term::Sum(_) => Reduce::Sum,
        _ => Reduce::Max,
    };
    Reduction { op, axes: dag.reduced_axes(id).iter().map(|axis| builder.axis(axis)).collect() }
}

/// Adds a definition of a private buffer; the value is read from it from now on.
fn private(builder: &mut Builder<'_>, id: Id, reduce: Option<Reduction>, expr: E, epilogue: Option<E>) {
    let (dst, axes) = builder.local(builder.dag.free(id), builder.dag.dtype(id));
    let at: Vec<Affine> = axes.iter().copied().map(Affine::axis).collect();
    builder.hold(id, dst, at.clone());
    let def = Def { dst, axes, at, reduce, init: None, expr, epilogue, pre: vec![] };
    builder.kernel.items.push(Item::Def(def));
}

/// The graph nodes whose buffers must receive a value; none if it is no value of the graph.
fn targets(dag: &Dag, id: Id) -> Vec<(NodeId, Vec<IndexExpr>)> {
    dag.roots.iter().filter(|root| root.term == id).map(|root| (root.node, root.index.clone())).collect()
}

/// Adds the definitions that store a value to memory: one for each buffer that must receive it.
fn store(
    graph: &Graph,
    dag: &Dag,
    builder: &mut Builder<'_>,
    id: Id,
    reduce: Option<Reduction>,
    expr: E,
    epilogue: Option<E>,
) -> Result<()> {
    let mut places: Vec<_> =
        targets(dag, id).into_iter().map(|(node, at)| (builder.values.of_node(graph, node), at)).collect();
    if places.is_empty() {
        places.push(builder.values.of_term(graph, dag, id));
    }
    for (value, index) in places {
        let dst = builder.argument(value);
        write(builder, dst, &index, reduce.clone(), expr.clone(), epilogue.clone())?;
    }
    Ok(())
}

/// Adds a definition that writes `dst[index]`.
pub fn write(
    builder: &mut Builder<'_>,
    dst: usize,
    index: &[IndexExpr],
    reduce: Option<Reduction>,
    expr: E,
    epilogue: Option<E>,
) -> Result<()> {
    let mut at = vec![];
    for index in index {
        let Some(affine) = builder.affine(index) else {
            return Err(Error::new(format!(
                "a value is stored under an index that is not affine: {index:?}"
            )));
        };
        at.push(affine);
    }
    let mut axes = vec![];
    for (axis, _) in at.iter().flat_map(|affine| affine.terms.iter()) {
        if !axes.contains(axis) {
            axes.push(*axis);
        }
    }
    builder.kernel.items.push(Item::Def(Def {
        dst,
        axes,
        at,
        reduce,
        init: None,
        expr,
        epilogue,
        pre: vec![],
    }));
    Ok(())
}
