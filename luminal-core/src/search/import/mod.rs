//! Graph to terms.
//!
//! Import is driven by demand: a value is asked for *under an index expression per dimension*, and views only transform
//! the expressions. Two facts are found by importing again until nothing changes: which axes must be split because a
//! reshape divides them, and which values become buffers (`store`).

mod align;
mod naming;
mod positions;
mod store;
#[cfg(test)]
mod tests;
mod views;

use crate::error::{Error, Result};
use crate::graph::{Dim, Graph, NodeId, Op};
use crate::search::term::{Access, Axis, AxisSet, Context, Dag, Id, IndexExpr, Root};
use align::DimClasses;
use naming::{Site, SplitWish};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// A graph as terms.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The terms; its roots are the outputs, the written values and the stored values.
    pub dag: Dag,
    /// Why values became buffers, in the order in which that was found.
    pub log: Vec<String>,
    /// How often the graph was imported until nothing changed.
    pub passes: usize,
}

/// True for values that are in memory before the model runs.
pub(crate) fn is_given(op: &Op) -> bool {
    matches!(op, Op::Input(_) | Op::Param(_) | Op::State(_))
}

/// One pass over the graph.
struct Importer<'g> {
    graph: &'g Graph,
    classes: &'g DimClasses,
    stored: &'g BTreeSet<NodeId>,
    splits: &'g BTreeMap<Site, Vec<usize>>,
    context: Context,
    dag: Dag,
    /// Class of each axis.
    axis_class: Vec<usize>,
    /// Where each live axis was named, and which factor of that dimension it is.
    bound_at: BTreeMap<Axis, (Site, usize)>,
    wishes: Vec<SplitWish>,
    /// The distinct indices under which each computed node is asked for.
    demand: BTreeMap<NodeId, BTreeSet<Vec<IndexExpr>>>,
    /// `(reduction, graph node that was flattened into it)`
    nested_origins: BTreeSet<(NodeId, NodeId)>,
    memo: HashMap<(NodeId, Vec<IndexExpr>), Id>,
    access_ids: HashMap<Access, u32>,
}

/// Terms of a graph that [`Graph`]'s verifier accepts.
pub fn import(graph: &Graph) -> Result<Imported> {
    check(graph)?;
    let classes = DimClasses::new(graph);
    let weights = weight_only(graph);
    let dtypes = graph.nodes.iter().map(|node| node.dtype).collect::<Vec<_>>();
    let wanted = graph.outputs.iter().map(|o| o.1).chain(graph.writes.iter().map(|w| w.1));
    let wanted: BTreeSet<NodeId> = wanted.filter(|n| !is_given(&graph.nodes[*n].op)).collect();
    let mut stored = BTreeSet::new();
    let mut splits = BTreeMap::new();
    let mut log = Vec::new();
    // Every pass but the last adds a store or a split, so this is never reached unless a rule goes in circles.
    let limit = 1000 + 64 * graph.nodes.len();
    for pass in 1..=limit {
        let context = Context { dtypes: dtypes.clone(), weights: weights.clone(), ..Context::default() };
        let mut importer = Importer {
            graph,
            classes: &classes,
            stored: &stored,
            splits: &splits,
            context,
            dag: Dag::default(),
            axis_class: Vec::new(),
            bound_at: BTreeMap::new(),
            wishes: Vec::new(),
            demand: BTreeMap::new(),
            nested_origins: BTreeSet::new(),
            memo: HashMap::new(),
            access_ids: HashMap::new(),
        };
        let roots = importer.roots(&wanted)?;
        let wishes = std::mem::take(&mut importer.wishes);
        let grown = grant(graph, &splits, wishes);
        if grown != splits {
            splits = grown;
            continue;
        }
        if let Some((node, why)) = importer.next_store()? {
            log.push(why);
            stored.insert(node);
            continue;
        }
        let Importer { context, mut dag, .. } = importer;
        dag.context = Rc::new(context);
        dag.roots = roots;
        return Ok(Imported { dag: dag.trimmed(), log, passes: pass });
    }
    Err(Error::new(format!(
        "import of the model does not settle within {limit} passes; please report this model"
    )))
}

impl Importer<'_> {
    /// The terms of everything that must be in memory.
    fn roots(&mut self, wanted: &BTreeSet<NodeId>) -> Result<Vec<Root>> {
        let mut roots = Vec::new();
        for node in wanted | self.stored {
            self.bound_at.clear();
            let mut used = AxisSet::EMPTY;
            let mut index = Vec::new();
            for dim in 0..self.graph.nodes[node].shape.len() {
                index.push(self.bind(Site::Dim(node, dim), &mut used)?);
            }
            let term = self.value(node, index.clone())?;
            roots.push(Root { node, index, term });
        }
        Ok(roots)
    }
}

/// The splits after a pass: one wish a site. A wish that does not fit the factors stays a division in that load.
fn grant(
    graph: &Graph,
    splits: &BTreeMap<Site, Vec<usize>>,
    wishes: Vec<SplitWish>,
) -> BTreeMap<Site, Vec<usize>> {
    let mut grown = splits.clone();
    let mut granted = BTreeSet::new();
    for SplitWish { site, factor, inner } in wishes {
        if granted.contains(&site) {
            continue;
        }
        let size = match site {
            Site::Dim(node, dim) => graph.nodes[node].shape[dim].max(),
            Site::Reduction(node) => match &graph.nodes[node].op {
                Op::Reduce(_, x, axis) => graph.nodes[*x].shape[*axis].max(),
                _ => continue,
            },
        };
        let factors = grown.entry(site).or_insert_with(|| vec![size]);
        if factors.get(factor).is_some_and(|n| *n > inner && n.is_multiple_of(inner)) {
            factors[factor] /= inner;
            factors.insert(factor + 1, inner);
            granted.insert(site);
        }
    }
    grown.retain(|_, factors| factors.len() > 1);
    grown
}

/// For each node whether it can be computed when the model is loaded.
fn weight_only(graph: &Graph) -> Vec<bool> {
    let mut weights: Vec<bool> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let fixed = node.shape.iter().all(|dim| matches!(dim, Dim::Fixed(_)));
        let own = !matches!(node.op, Op::Input(_) | Op::State(_));
        weights.push(fixed && own && node.op.operands().iter().all(|x| weights[*x]));
    }
    weights
}

/// Refuses what index expressions cannot say.
fn check(graph: &Graph) -> Result<()> {
    for (id, node) in graph.nodes.iter().enumerate() {
        let (what, x, dims) = match &node.op {
            Op::Split(x, axis) => ("split", *x, *axis..*axis + 1),
            Op::Merge(x, axis) => ("merge", *x, *axis..*axis + 2),
            _ => continue,
        };
        for dim in dims {
            if let Dim::Free { index, .. } = graph.nodes[x].shape[dim] {
                let name = graph.free.get(index).map_or("?", |free| free.name.as_str());
                let place = node.origin.as_ref().map_or(String::new(), |origin| {
                    format!(" in `{}` at {}:{}:{}", origin.op, origin.file, origin.line, origin.column)
                });
                return Err(Error::new(format!(
                    "node {id}{place}: cannot {what} the free dimension `{name}`; only dimensions of fixed size can be reshaped"
                )));
            }
        }
    }
    Ok(())
}
