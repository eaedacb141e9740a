//! Checks that a graph is well formed. Every stage below relies on these rules instead of checking them again.

use super::relation::{Relation, Rule as Sign, Term};
use super::text::{Number, Quoted, Shape};
use super::{Binary, Dim, Graph, Node, NodeId, Op, Origin, Reduce};
use crate::dtype::Dtype;
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display, Formatter};

/// A tensor must be addressable: its size in bytes fits in `isize`.
const MOST_ELEMENTS: usize = isize::MAX as usize / 8;
/// Numbers of relations are as small as sizes of tensors, so that no sum overflows.
const MOST_FACTOR: usize = 1 << 40;

/// The rule that a graph breaks, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The node; none if the rule is about the whole graph.
    pub node: Option<NodeId>,
    /// The node's operation, or the part of the graph, such as `output`.
    pub op: String,
    /// What is wrong.
    pub rule: String,
    /// The user's operation and line, where known.
    pub origin: Option<Origin>,
}

impl Display for VerifyError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(f, "node %{node} ({}): {}", self.op, self.rule)?,
            None => write!(f, "{}: {}", self.op, self.rule)?,
        }
        if let Some(origin) = &self.origin {
            write!(f, "; from {} at {}:{}:{}", origin.op, origin.file, origin.line, origin.column)?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyError {}

impl From<VerifyError> for crate::error::Error {
    fn from(error: VerifyError) -> crate::error::Error {
        crate::error::Error::new(error.to_string())
    }
}

/// A broken rule, before the place is added.
type Rule = Result<(), String>;

/// `Err` with this message unless the condition holds.
macro_rules! require {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl Graph {
    /// Checks every rule of well-formed graphs: order, operands, shapes, element types, names, outputs and writes.
    ///
    /// What depends on the sizes of free dimensions at run time is checked by [`Graph::check_sizes`].
    pub fn verify(&self) -> Result<(), VerifyError> {
        self.verify_free_dims().map_err(|rule| self.error(None, "free dimension", rule))?;
        for relation in &self.relations {
            self.verify_relation(relation).map_err(|rule| self.relation_error(relation, rule))?;
        }
        for (id, node) in self.nodes.iter().enumerate() {
            self.verify_node(id, node).map_err(|rule| self.node_error(id, rule))?;
        }
        self.verify_names()?;
        self.verify_outputs().map_err(|rule| self.error(None, "output", rule))?;
        self.verify_writes().map_err(|rule| self.error(None, "write", rule))
    }

    /// Checks the sizes of the free dimensions, one for each of [`Graph::free`]: each within its bound, all relations
    /// fulfilled, and slices, pads and windows between axes of different free sizes in range. The graph is verified.
    pub fn check_sizes(&self, free: &[usize]) -> Result<(), VerifyError> {
        self.check_bounds(free).map_err(|rule| self.error(None, "free dimension", rule))?;
        for relation in &self.relations {
            self.check_relation(relation, free).map_err(|rule| self.relation_error(relation, rule))?;
        }
        for (id, node) in self.nodes.iter().enumerate() {
            self.check_node_sizes(node, free).map_err(|rule| self.node_error(id, rule))?;
        }
        Ok(())
    }

    fn error(&self, node: Option<NodeId>, op: &str, rule: String) -> VerifyError {
        let origin = node.and_then(|id| self.nodes[id].origin.clone());
        VerifyError { node, op: op.into(), rule, origin }
    }

    fn node_error(&self, id: NodeId, rule: String) -> VerifyError {
        self.error(Some(id), self.nodes[id].op.name(), rule)
    }

    fn relation_error(&self, relation: &Relation, rule: String) -> VerifyError {
        VerifyError { node: None, op: "relation".into(), rule, origin: relation.origin.clone() }
    }

    fn check_relation(&self, relation: &Relation, free: &[usize]) -> Rule {
        let fits = relation.holds(free);
        require!(fits, "{}", relation.complaint(|free| self.free[free].name.clone(), free));
        Ok(())
    }

    fn verify_relation(&self, relation: &Relation) -> Rule {
        self.verify_dim(relation.left)?;
        require!(!relation.terms.is_empty(), "the right side must have at least one free dimension");
        for Term { factor, free } in relation.terms.iter() {
            let declared = self.free.len();
            require!(*free < declared, "it has free dimension d{free}, but the graph declares {declared}");
            require!((1..=MOST_FACTOR).contains(factor), "the factor {factor} must be 1 to {MOST_FACTOR}");
        }
        let (over, plus) = (relation.over, relation.plus);
        require!((1..=MOST_FACTOR).contains(&over), "the divisor {over} must be 1 to {MOST_FACTOR}");
        require!(
            plus.unsigned_abs() <= MOST_FACTOR as u64,
            "the number {plus} must be at most {MOST_FACTOR}"
        );
        Ok(())
    }

    fn verify_free_dims(&self) -> Rule {
        let mut names = HashSet::new();
        for free in &self.free {
            require!(names.insert(&free.name), "{} is declared twice", Quoted(&free.name));
        }
        Ok(())
    }

    fn verify_node(&self, id: NodeId, node: &Node) -> Rule {
        for operand in node.op.operands() {
            require!(operand < id, "the operand %{operand} must be an earlier node");
        }
        for dim in &node.shape {
            self.verify_dim(*dim)?;
        }
        // Sizes of 0 are left out, so that strides stay in range as well.
        let elements =
            node.shape.iter().try_fold(1usize, |product, dim| product.checked_mul((*dim).max().max(1)));
        require!(
            elements.is_some_and(|elements| elements <= MOST_ELEMENTS),
            "the result {} has too many elements to address",
            Shape(&node.shape)
        );
        self.verify_op(node)
    }

    fn verify_dim(&self, dim: Dim) -> Rule {
        let Dim::Free { index, max } = dim else { return Ok(()) };
        let Some(free) = self.free.get(index) else {
            return Err(format!(
                "the result has free dimension d{index}, but the graph declares {}",
                self.free.len()
            ));
        };
        require!(
            free.max == max,
            "free dimension d{index} has the bound {max} here, but {} in the graph",
            free.max
        );
        Ok(())
    }

    fn verify_op(&self, node: &Node) -> Rule {
        match &node.op {
            Op::Input(_) | Op::Param(_) | Op::State(_) => Ok(()),
            Op::Const(value) => {
                expect_shape(node, &[])?;
                require_exact(*value, node.dtype)
            }
            Op::Iota => {
                require!(node.shape.len() == 1, "the result {} must have one axis", Shape(&node.shape));
                let largest = i32::MAX as usize;
                require!(node.shape[0].max() <= largest, "more than {largest} numbers do not fit in i32");
                expect_dtype(node, Dtype::I32)
            }
            Op::Unary(_, x) => {
                let x = &self.nodes[*x];
                require_computable(x.dtype)?;
                require!(x.dtype == Dtype::F32, "the operand must be f32, it is {}", x.dtype);
                expect_type(node, &x.shape, Dtype::F32)
            }
            Op::Binary(op, x, y) => self.verify_binary(node, *op, *x, *y),
            Op::Select(condition, then, otherwise) => {
                let [condition, then, otherwise] = [condition, then, otherwise].map(|id| &self.nodes[*id]);
                let dtype = condition.dtype;
                require!(dtype == Dtype::Bool, "the condition must be bool, it is {dtype}");
                require_equal("condition and first value", condition, then, false)?;
                require_equal("values", then, otherwise, true)?;
                expect_type(node, &then.shape, then.dtype)
            }
            Op::Reduce(op, x, axis) => {
                let x = &self.nodes[*x];
                require_axis(x, *axis)?;
                require_computable(x.dtype)?;
                let summed_bool = *op == Reduce::Sum && x.dtype == Dtype::Bool;
                require!(!summed_bool, "bool has no sum; cast to i32 to count, or use the maximum for `any`");
                let mut shape = x.shape.clone();
                shape.remove(*axis);
                expect_type(node, &shape, x.dtype)
            }
            Op::Gather(table, index) => {
                let (table, index) = (&self.nodes[*table], &self.nodes[*index]);
                require!(!table.shape.is_empty(), "the table must have at least one axis");
                require!(index.dtype == Dtype::I32, "the index must be i32, it is {}", index.dtype);
                let shape = [&index.shape, &table.shape[1..]].concat();
                expect_type(node, &shape, table.dtype)
            }
            Op::Cast(x) => expect_shape(node, &self.nodes[*x].shape),
            _ => self.verify_view(node),
        }
    }

    fn verify_binary(&self, node: &Node, op: Binary, x: NodeId, y: NodeId) -> Rule {
        let (x, y) = (&self.nodes[x], &self.nodes[y]);
        require_equal("operands", x, y, true)?;
        require_computable(x.dtype)?;
        let arithmetic = matches!(op, Binary::Add | Binary::Mod);
        let no_bool = "is not defined for bool; use `max` for or, `mul` for and, or cast to i32";
        require!(!(arithmetic && x.dtype == Dtype::Bool), "{} {no_bool}", op.name());
        let dtype = if op == Binary::LessThan { Dtype::Bool } else { x.dtype };
        expect_type(node, &x.shape, dtype)
    }

    fn verify_view(&self, node: &Node) -> Rule {
        let x = &self.nodes[node.op.operands()[0]];
        expect_dtype(node, x.dtype)?;
        match &node.op {
            Op::Permute(_, order) => {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                let is_permutation = sorted.iter().copied().eq(0..x.shape.len());
                require!(is_permutation, "{order:?} is not a permutation of the {} axes", x.shape.len());
                let shape: Vec<Dim> = order.iter().map(|axis| x.shape[*axis]).collect();
                expect_shape(node, &shape)
            }
            Op::Expand(_, axis) => {
                let rank = x.shape.len();
                require!(
                    *axis <= rank,
                    "the new axis {axis} must be at most {rank}, the operand's number of axes"
                );
                require!(node.shape.len() == rank + 1, "the result must have {} axes", rank + 1);
                expect_others(node, &x.shape, *axis, 0, 1)
            }
            Op::Slice { axis, start, step, .. } => {
                require_axis(x, *axis)?;
                expect_others(node, &x.shape, *axis, 1, 1)?;
                require!(*step > 0, "the step must be at least 1");
                verify_slice(x.shape[*axis], node.shape[*axis], *start, *step)
            }
            Op::Pad { axis, before, fill, .. } => {
                require_axis(x, *axis)?;
                expect_others(node, &x.shape, *axis, 1, 1)?;
                require_exact(*fill, node.dtype)?;
                verify_pad(x.shape[*axis], node.shape[*axis], *before)
            }
            Op::Split(_, axis) => {
                require_axis(x, *axis)?;
                expect_others(node, &x.shape, *axis, 1, 2)?;
                let [n] = fixed([x.shape[*axis]])?;
                let [outer, inner] = fixed([node.shape[*axis], node.shape[*axis + 1]])?;
                require!(outer.checked_mul(inner) == Some(n), "{outer} times {inner} is not {n}");
                Ok(())
            }
            Op::Merge(_, axis) => {
                require_axis(x, *axis)?;
                require!(*axis + 1 < x.shape.len(), "the last axis has no next one to merge with");
                expect_others(node, &x.shape, *axis, 2, 1)?;
                let [outer, inner] = fixed([x.shape[*axis], x.shape[*axis + 1]])?;
                let [n] = fixed([node.shape[*axis]])?;
                require!(outer.checked_mul(inner) == Some(n), "{outer} times {inner} is not {n}");
                Ok(())
            }
            Op::Window { axis, stride, dilation, .. } => {
                require_axis(x, *axis)?;
                expect_others(node, &x.shape, *axis, 1, 2)?;
                let [taps] = fixed([node.shape[*axis + 1]])?;
                verify_window(x.shape[*axis], node.shape[*axis], taps, *stride, *dilation)
            }
            _ => unreachable!("every other operation is checked by verify_op"),
        }
    }

    fn verify_names(&self) -> Result<(), VerifyError> {
        // Feeds of the reference, tensors of a weight file and arguments of `run` are all found by name.
        let mut known = HashMap::new();
        for (id, node) in self.nodes.iter().enumerate() {
            let (Op::Input(name) | Op::Param(name) | Op::State(name)) = &node.op else { continue };
            if let Some(first) = known.insert(name, id) {
                let kind = self.nodes[first].op.name();
                let name = Quoted(name);
                let rule =
                    format!("the name {name} is taken by node %{first} ({kind}); rename one of the two");
                return Err(self.node_error(id, rule));
            }
        }
        Ok(())
    }

    fn verify_outputs(&self) -> Rule {
        let mut names = HashSet::new();
        for (name, node) in &self.outputs {
            let exists = *node < self.nodes.len();
            require!(exists, "{} refers to node %{node}, but there are {}", Quoted(name), self.nodes.len());
            require!(names.insert(name), "there are two of the name {}", Quoted(name));
        }
        Ok(())
    }

    fn verify_writes(&self) -> Rule {
        let mut written = HashSet::new();
        for (state, value) in &self.writes {
            for node in [state, value] {
                require!(
                    *node < self.nodes.len(),
                    "refers to node %{node}, but there are {}",
                    self.nodes.len()
                );
            }
            let (target, source) = (&self.nodes[*state], &self.nodes[*value]);
            let kind = target.op.name();
            require!(matches!(target.op, Op::State(_)), "the target %{state} must be a state, it is {kind}");
            require_equal(&format!("state %{state} and value %{value}"), target, source, true)?;
            require!(written.insert(state), "state %{state} is written twice; the last value alone can stay");
        }
        Ok(())
    }

    fn check_bounds(&self, free: &[usize]) -> Rule {
        let (given, needed) = (free.len(), self.free.len());
        require!(given == needed, "{given} sizes are given, the graph needs {needed}");
        for (dim, size) in self.free.iter().zip(free) {
            require!(*size <= dim.max, "{} is {size}, its bound is {}", Quoted(&dim.name), dim.max);
        }
        Ok(())
    }

    fn check_node_sizes(&self, node: &Node, free: &[usize]) -> Rule {
        implied(self, node).map_or(Ok(()), |relation| self.check_relation(&relation, free))
    }
}

/// What must hold between the free sizes of a view's axis; none if it holds at all sizes up to the bounds.
pub(super) fn implied(graph: &Graph, node: &Node) -> Option<Relation> {
    let x = |x: &NodeId, axis: &usize| (graph.nodes[*x].shape[*axis], node.shape[*axis]);
    // Longer steps than any axis are as good as the longest.
    let number = |n: &usize| (*n).min(MOST_FACTOR) as i64;
    let at_most = |left: Dim, right: Dim, plus: i64, over: i64| {
        let Dim::Free { index: free, .. } = right else { return None };
        let itself = matches!(left, Dim::Free { index, .. } if index == free);
        let (terms, over) = (vec![Term { factor: 1, free }].into(), over as usize);
        (!itself).then_some(Relation { left, rule: Sign::AtMost, terms, plus, over, origin: None })
    };
    match &node.op {
        // As many steps as there is room for, the first one included.
        Op::Slice { x: operand, axis, start, step } => {
            let (from, to) = x(operand, axis);
            at_most(to, from, number(step) - 1 - number(start), number(step))
        }
        Op::Pad { x: operand, axis, before, .. } => {
            let (from, to) = x(operand, axis);
            // An operand of 0 elements needs no room; a fixed one is checked at the bound, and must fit at run time.
            at_most(from, to, -number(before), 1)
        }
        Op::Window { x: operand, axis, stride, dilation } => {
            let (from, positions) = x(operand, axis);
            let taps = node.shape[axis + 1].max();
            let reach = number(&(taps - 1).saturating_mul(*dilation).saturating_add(1));
            at_most(positions, from, number(stride) - reach, number(stride))
        }
        _ => None,
    }
}

fn expect_type(node: &Node, shape: &[Dim], dtype: Dtype) -> Rule {
    expect_dtype(node, dtype)?;
    expect_shape(node, shape)
}

fn expect_dtype(node: &Node, dtype: Dtype) -> Rule {
    require!(node.dtype == dtype, "the result must be {dtype}, it is {}", node.dtype);
    Ok(())
}

fn expect_shape(node: &Node, shape: &[Dim]) -> Rule {
    require!(
        node.shape == shape,
        "the result must have shape {}, it has {}",
        Shape(shape),
        Shape(&node.shape)
    );
    Ok(())
}

/// All axes of the result are those of the operand, except that `removed` axes at `axis` became `added` ones.
fn expect_others(node: &Node, operand: &[Dim], axis: usize, removed: usize, added: usize) -> Rule {
    let mut expected = operand.to_vec();
    let changed: Vec<Dim> = node.shape.iter().skip(axis).take(added).copied().collect();
    let complete = changed.len() == added;
    expected.splice(axis..axis + removed, changed);
    require!(
        complete && node.shape == expected,
        "the result {} must keep all axes of the operand {} but the changed one, {axis}",
        Shape(&node.shape),
        Shape(operand)
    );
    Ok(())
}

fn require_axis(operand: &Node, axis: usize) -> Rule {
    let shape = Shape(&operand.shape);
    require!(axis < operand.shape.len(), "the operand {shape} has no axis {axis}");
    Ok(())
}

fn require_equal(what: &str, x: &Node, y: &Node, dtypes: bool) -> Rule {
    let (left, right) = (Shape(&x.shape), Shape(&y.shape));
    require!(x.shape == y.shape, "{what} must have equal shapes, not {left} and {right}");
    require!(!dtypes || x.dtype == y.dtype, "{what} must have equal types, not {} and {}", x.dtype, y.dtype);
    Ok(())
}

/// Some types only store numbers.
fn require_computable(dtype: Dtype) -> Rule {
    let wide = dtype.wide();
    require!(dtype == wide, "{dtype} only stores numbers; cast the operands to {wide} to compute");
    Ok(())
}

fn require_exact(value: f64, dtype: Dtype) -> Rule {
    require!(dtype.holds(value), "the value {} is not exact in {dtype}", Number(value));
    Ok(())
}

/// The sizes, if all are known when the model is built.
fn fixed<const N: usize>(dims: [Dim; N]) -> Result<[usize; N], String> {
    let mut sizes = [0; N];
    for (size, dim) in sizes.iter_mut().zip(dims) {
        let Dim::Fixed(n) = dim else {
            return Err(format!("free dimension {dim} cannot be split, merged or a number of taps"));
        };
        *size = n;
    }
    Ok(sizes)
}

/// What can be known of a slice before the free sizes are: it fits always, or it fits at the bound.
fn verify_slice(from: Dim, to: Dim, start: usize, step: usize) -> Rule {
    match (from, to) {
        (Dim::Fixed(_), _) | (Dim::Free { .. }, Dim::Fixed(_)) => {
            slice_in_range(from.max(), to.max(), start, step)
        }
        (Dim::Free { index, .. }, Dim::Free { index: same, .. }) if index == same => {
            let whole = start == 0 && step == 1;
            require!(
                whole,
                "{to} elements of an axis of {from} start at 0 with step 1, not at {start} with {step}"
            );
            Ok(())
        }
        // Different free sizes: nothing is known before run time.
        (Dim::Free { .. }, Dim::Free { .. }) => Ok(()),
    }
}

fn slice_in_range(from: usize, to: usize, start: usize, step: usize) -> Rule {
    let Some(steps) = to.checked_sub(1) else { return Ok(()) };
    let last = steps.checked_mul(step).and_then(|distance| distance.checked_add(start));
    let text = || format!("{to} elements from {start} with step {step} do not fit in an axis of {from}");
    if last.is_some_and(|last| last < from) { Ok(()) } else { Err(text()) }
}

/// What can be known of a pad before the free sizes are: it fits always, or it fits at the bound.
fn verify_pad(from: Dim, to: Dim, before: usize) -> Rule {
    match (from, to) {
        (_, Dim::Fixed(_)) | (Dim::Fixed(_), Dim::Free { .. }) => pad_in_range(from.max(), to.max(), before),
        (Dim::Free { index, .. }, Dim::Free { index: same, .. }) if index == same => {
            require!(before == 0, "an axis of {from} does not fit in {to} behind {before} more");
            Ok(())
        }
        // Different free sizes: at least the new elements must fit.
        (Dim::Free { .. }, Dim::Free { .. }) => pad_in_range(0, to.max(), before),
    }
}

fn pad_in_range(from: usize, to: usize, before: usize) -> Rule {
    let fits = before.checked_add(from).is_some_and(|end| end <= to);
    require!(fits, "{from} elements behind {before} new ones do not fit in an axis of {to}");
    Ok(())
}

/// Fixed sizes must be right; of free ones what can be known before run time: the window fits always, or at the bound.
fn verify_window(from: Dim, to: Dim, taps: usize, stride: usize, dilation: usize) -> Rule {
    require!(taps > 0, "a window must have at least 1 tap");
    require!(stride > 0, "the stride must be at least 1");
    require!(dilation > 0, "the dilation must be at least 1");
    let (n, positions) = (from.max(), to.max());
    let reach = (taps - 1).checked_mul(dilation).and_then(|distance| distance.checked_add(1));
    let room = reach.and_then(|reach| n.checked_sub(reach));
    if let (Dim::Free { .. }, Dim::Free { .. }) = (from, to) {
        require!(
            from != to || reach == Some(1),
            "{taps} taps with dilation {dilation} do not fit in each of {to}"
        );
        return Ok(());
    }
    let Some(room) = room else {
        return Err(format!("{taps} taps with dilation {dilation} do not fit in an axis of {n}"));
    };
    let expected = room / stride + 1;
    let fits = match (from, to) {
        (Dim::Fixed(_), Dim::Fixed(_)) => positions == expected,
        _ => positions <= expected,
    };
    require!(
        fits,
        "{taps} taps with stride {stride} and dilation {dilation} have {expected} positions in an axis of {n}, \
         not {positions}"
    );
    Ok(())
}

#[cfg(test)]
mod tests;
