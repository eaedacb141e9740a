//! Values of nodes.
//!
//! One function gives the meaning of every operation: [`Values::elements`], the elements of a node at a list of
//! positions, in terms of elements of its operands. A node is computed by asking for all its positions, in portions.
//!
//! A graph says `matrix product` as a sum over an expanded product, whose elements would not fit in memory for large
//! matrices. So large results that are used only once are not stored: whoever uses them asks for their elements.

use super::scalar::{self, max_f32, mod_f32, mod_i32, mod_i64, unary};
use super::tensor::{Data, Tensor, each_type, same_type};
use super::view::operand_positions;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::{Binary, Graph, Node, NodeId, Op, Reduce};

/// Results of at most this many elements are always stored.
pub(super) const STORED_ELEMENTS: usize = 1 << 20;

/// Elements are computed in portions of this many: enough to make the cost of an operation's dispatch small, few
/// enough to stay in the cache.
const PORTION: usize = 4096;

/// Longest chain of results that are not stored, since each costs a level of recursion.
const LONGEST_CHAIN: usize = 100;

/// The values of a graph's nodes.
#[derive(Debug)]
pub(super) struct Values<'g> {
    graph: &'g Graph,
    /// Sizes of each node's result.
    sizes: Vec<Vec<usize>>,
    /// For each node that is not stored its depth in a chain of such nodes, from 1; 0 for nodes that are stored.
    chain: Vec<usize>,
    /// None before it is computed, and for nodes that are not stored.
    stored: Vec<Option<Data>>,
}

impl<'g> Values<'g> {
    /// No values yet. Larger results than `limit` elements need not be stored.
    pub fn new(graph: &'g Graph, free: &[usize], limit: usize) -> Values<'g> {
        let sizes: Vec<Vec<usize>> = (0..graph.nodes.len()).map(|id| graph.sizes(id, free)).collect();
        let chain = chains(graph, &sizes, limit);
        Values { graph, sizes, chain, stored: vec![None; graph.nodes.len()] }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// Sizes of a node's result.
    pub fn sizes(&self, id: NodeId) -> &[usize] {
        &self.sizes[id]
    }

    /// True if the value of a node is kept in memory.
    #[cfg(test)]
    pub fn is_stored(&self, id: NodeId) -> bool {
        self.stored[id].is_some()
    }

    /// Gives an input, a param or a state its value.
    pub fn store(&mut self, id: NodeId, data: Data) {
        self.stored[id] = Some(data);
    }

    /// Computes a node, if it is to be stored. All earlier nodes are computed.
    pub fn compute(&mut self, id: NodeId) -> Result<()> {
        if self.chain[id] == 0 {
            self.stored[id] = Some(self.all_elements(id)?);
        }
        Ok(())
    }

    /// The value of a node. All nodes are computed.
    pub fn tensor(&self, id: NodeId) -> Result<Tensor> {
        let data = match &self.stored[id] {
            Some(data) => data.clone(),
            None => self.all_elements(id)?,
        };
        Ok(Tensor { shape: self.sizes[id].clone(), data })
    }

    fn all_elements(&self, id: NodeId) -> Result<Data> {
        let len: usize = self.sizes[id].iter().product();
        let mut data = Data::empty(self.graph.nodes[id].dtype);
        if !data.reserve(len) {
            return Err(self.error(id, &format!("there is no memory for {len} elements")));
        }
        for begin in (0..len).step_by(PORTION) {
            let end = len.min(begin + PORTION);
            let positions: Vec<usize> = (begin..end).collect();
            data.append(self.elements(id, &positions)?);
        }
        Ok(data)
    }

    fn error(&self, id: NodeId, message: &str) -> Error {
        let node = &self.graph.nodes[id];
        let origin = node.origin.as_ref();
        let origin = origin.map(|o| format!("; from {} at {}:{}:{}", o.op, o.file, o.line, o.column));
        Error::new(format!("node %{id} ({}): {message}{}", node.op.name(), origin.unwrap_or_default()))
    }

    /// The elements of a node at these positions (in row-major order of its result).
    fn elements(&self, id: NodeId, positions: &[usize]) -> Result<Data> {
        if let Some(data) = &self.stored[id] {
            return Ok(data.at(positions));
        }
        let node = &self.graph.nodes[id];
        Ok(match &node.op {
            Op::Input(_) | Op::Param(_) | Op::State(_) => {
                unreachable!("feeds are stored before anything is computed")
            }
            Op::Const(value) => Data::filled(node.dtype, *value, positions.len()),
            Op::Iota => Data::I32(positions.iter().map(|position| *position as i32).collect()),
            Op::Unary(op, x) => match self.elements(*x, positions)? {
                Data::F32(x) => Data::F32(x.into_iter().map(|x| unary(*op, x)).collect()),
                other => unreachable!("function of {}", other.dtype()),
            },
            Op::Binary(op, x, y) => binary(*op, self.elements(*x, positions)?, self.elements(*y, positions)?),
            Op::Select(condition, then, otherwise) => select(
                self.elements(*condition, positions)?,
                self.elements(*then, positions)?,
                self.elements(*otherwise, positions)?,
            ),
            Op::Cast(x) => cast(self.elements(*x, positions)?, node.dtype),
            Op::Reduce(op, x, axis) => self.reduce(*op, *x, *axis, positions)?,
            Op::Gather(table, index) => self.gather(id, *table, *index, positions)?,
            Op::Permute(..)
            | Op::Expand(..)
            | Op::Slice { .. }
            | Op::Pad { .. }
            | Op::Split(..)
            | Op::Merge(..)
            | Op::Window { .. } => self.view(id, node, positions)?,
        })
    }

    fn view(&self, id: NodeId, node: &Node, positions: &[usize]) -> Result<Data> {
        let x = node.op.operands()[0];
        let mapped = operand_positions(&node.op, &self.sizes[x], &self.sizes[id], positions);
        let inside: Vec<usize> = mapped.iter().copied().flatten().collect();
        let elements = self.elements(x, &inside)?;
        let Op::Pad { fill, .. } = node.op else { return Ok(elements) };
        let fill = Data::filled(node.dtype, fill, 1);
        Ok(same_type!((elements, fill), |elements, fill| padded(&mapped, elements, fill[0])))
    }

    /// Reduced elements are visited in the order of their index.
    fn reduce(&self, op: Reduce, x: NodeId, axis: usize, positions: &[usize]) -> Result<Data> {
        let size = self.sizes[x][axis];
        let inner: usize = self.sizes[x][axis + 1..].iter().product();
        let first: Vec<usize> =
            positions.iter().map(|position| position / inner * size * inner + position % inner).collect();
        let mut totals = Totals::new(op, self.graph.nodes[x].dtype, positions.len());
        // All reduced elements of the first result, then of the second, and so on, in portions.
        let mut visited: Vec<usize> = Vec::with_capacity(PORTION);
        let mut results: Vec<usize> = Vec::with_capacity(PORTION);
        for (result, first) in first.into_iter().enumerate() {
            for index in 0..size {
                visited.push(first + index * inner);
                results.push(result);
                if visited.len() == PORTION {
                    totals.add(&results, self.elements(x, &visited)?);
                    visited.clear();
                    results.clear();
                }
            }
        }
        totals.add(&results, self.elements(x, &visited)?);
        Ok(totals.finish())
    }

    fn gather(&self, id: NodeId, table: NodeId, index: NodeId, positions: &[usize]) -> Result<Data> {
        let rows = self.sizes[table][0];
        let row: usize = self.sizes[table][1..].iter().product();
        let index_positions: Vec<usize> = positions.iter().map(|position| position / row).collect();
        let Data::I32(indices) = self.elements(index, &index_positions)? else {
            unreachable!("an index that is not i32")
        };
        let mut table_positions = Vec::with_capacity(positions.len());
        for ((index, position), place) in indices.into_iter().zip(positions).zip(index_positions) {
            let in_range = usize::try_from(index).ok().filter(|index| *index < rows);
            let Some(index) = in_range else {
                let what = format!(
                    "index {index} (element {place} of the indices) is not in the {rows} rows of the table"
                );
                return Err(self.error(id, &what));
            };
            table_positions.push(index * row + position % row);
        }
        self.elements(table, &table_positions)
    }
}

/// See [`Values::chain`]. A result is not stored if it is large, cannot fail, and each of its elements is asked for
/// at most once: it has one user, which has no more elements than it.
fn chains(graph: &Graph, sizes: &[Vec<usize>], limit: usize) -> Vec<usize> {
    let count = |id: NodeId| sizes[id].iter().product::<usize>();
    let mut users: Vec<Vec<NodeId>> = vec![vec![]; graph.nodes.len()];
    for (id, node) in graph.nodes.iter().enumerate() {
        for operand in node.op.operands() {
            users[operand].push(id);
        }
    }
    let returned: Vec<NodeId> =
        graph.outputs.iter().map(|o| o.1).chain(graph.writes.iter().map(|w| w.1)).collect();
    let mut chain = vec![0; graph.nodes.len()];
    for (id, node) in graph.nodes.iter().enumerate() {
        let pointwise = matches!(node.op, Op::Unary(..) | Op::Binary(..) | Op::Select(..) | Op::Cast(_));
        let asked_once = match users[id][..] {
            // The rows of a table may be asked for many times, and indices once for each element of a row.
            [user] => !matches!(graph.nodes[user].op, Op::Gather(..)) && count(user) <= count(id),
            _ => false,
        };
        let depth = 1 + node.op.operands().iter().map(|x| chain[*x]).max().unwrap_or(0);
        let needed = returned.contains(&id);
        if (pointwise || node.op.is_view())
            && count(id) > limit
            && asked_once
            && !needed
            && depth <= LONGEST_CHAIN
        {
            chain[id] = depth;
        }
    }
    chain
}

fn padded<T: Copy>(mapped: &[Option<usize>], inside: Vec<T>, fill: T) -> Vec<T> {
    let mut inside = inside.into_iter();
    let element = |position: &Option<usize>| position.and_then(|_| inside.next()).unwrap_or(fill);
    mapped.iter().map(element).collect()
}

fn map2<T, R>(x: Vec<T>, y: Vec<T>, function: impl Fn(T, T) -> R) -> Vec<R> {
    x.into_iter().zip(y).map(|(x, y)| function(x, y)).collect()
}

fn binary(op: Binary, x: Data, y: Data) -> Data {
    match (x, y) {
        (Data::F32(x), Data::F32(y)) => match op {
            Binary::Add => Data::F32(map2(x, y, |x, y| x + y)),
            Binary::Mul => Data::F32(map2(x, y, |x, y| x * y)),
            Binary::Mod => Data::F32(map2(x, y, mod_f32)),
            Binary::LessThan => Data::Bool(map2(x, y, |x, y| x < y)),
            Binary::Max => Data::F32(map2(x, y, max_f32)),
        },
        (Data::I32(x), Data::I32(y)) => match op {
            Binary::Add => Data::I32(map2(x, y, i32::wrapping_add)),
            Binary::Mul => Data::I32(map2(x, y, i32::wrapping_mul)),
            Binary::Mod => Data::I32(map2(x, y, mod_i32)),
            Binary::LessThan => Data::Bool(map2(x, y, |x, y| x < y)),
            Binary::Max => Data::I32(map2(x, y, i32::max)),
        },
        (Data::I64(x), Data::I64(y)) => match op {
            Binary::Add => Data::I64(map2(x, y, i64::wrapping_add)),
            Binary::Mul => Data::I64(map2(x, y, i64::wrapping_mul)),
            Binary::Mod => Data::I64(map2(x, y, mod_i64)),
            Binary::LessThan => Data::Bool(map2(x, y, |x, y| x < y)),
            Binary::Max => Data::I64(map2(x, y, i64::max)),
        },
        (Data::Bool(x), Data::Bool(y)) => match op {
            Binary::Mul => Data::Bool(map2(x, y, |x, y| x && y)),
            Binary::LessThan => Data::Bool(map2(x, y, |x, y| !x && y)),
            Binary::Max => Data::Bool(map2(x, y, |x, y| x || y)),
            Binary::Add | Binary::Mod => unreachable!("{} of bool", op.name()),
        },
        (x, y) => unreachable!("{} of {} and {}", op.name(), x.dtype(), y.dtype()),
    }
}

fn select(condition: Data, then: Data, otherwise: Data) -> Data {
    fn choose<T>(condition: Vec<bool>, then: Vec<T>, otherwise: Vec<T>) -> Vec<T> {
        let pairs = then.into_iter().zip(otherwise);
        condition.into_iter().zip(pairs).map(|(condition, (x, y))| if condition { x } else { y }).collect()
    }
    let Data::Bool(condition) = condition else { unreachable!("a condition that is not bool") };
    same_type!((then, otherwise), |x, y| choose(condition, x, y))
}

fn cast(x: Data, dtype: Dtype) -> Data {
    fn map<T: scalar::Cast, R>(x: Vec<T>, function: impl Fn(T) -> R) -> Vec<R> {
        x.into_iter().map(function).collect()
    }
    each_type!(x, x => match dtype {
        Dtype::F32 => Data::F32(map(x, scalar::Cast::to_f32)),
        Dtype::F16 => Data::F16(map(x, scalar::Cast::to_f16)),
        Dtype::BF16 => Data::BF16(map(x, scalar::Cast::to_bf16)),
        Dtype::I32 => Data::I32(map(x, scalar::Cast::to_i32)),
        Dtype::I64 => Data::I64(map(x, scalar::Cast::to_i64)),
        Dtype::U8 => Data::U8(map(x, scalar::Cast::to_u8)),
        Dtype::Bool => Data::Bool(map(x, scalar::Cast::to_bool)),
    })
}

/// Reductions in progress, one for each element of the result.
enum Totals {
    /// In binary64: the order of `f32` sums then hardly matters, and the result is rounded once.
    SumF32(Vec<f64>),
    SumI32(Vec<i32>),
    SumI64(Vec<i64>),
    MaxF32(Vec<f32>),
    MaxI32(Vec<i32>),
    MaxI64(Vec<i64>),
    MaxBool(Vec<bool>),
}

impl Totals {
    /// Reductions of nothing.
    fn new(op: Reduce, dtype: Dtype, len: usize) -> Totals {
        match (op, dtype) {
            (Reduce::Sum, Dtype::F32) => Totals::SumF32(vec![0.0; len]),
            (Reduce::Sum, Dtype::I32) => Totals::SumI32(vec![0; len]),
            (Reduce::Sum, Dtype::I64) => Totals::SumI64(vec![0; len]),
            (Reduce::Max, Dtype::F32) => Totals::MaxF32(vec![f32::NEG_INFINITY; len]),
            (Reduce::Max, Dtype::I32) => Totals::MaxI32(vec![i32::MIN; len]),
            (Reduce::Max, Dtype::I64) => Totals::MaxI64(vec![i64::MIN; len]),
            (Reduce::Max, Dtype::Bool) => Totals::MaxBool(vec![false; len]),
            (op, dtype) => unreachable!("{} of {dtype}", op.name()),
        }
    }

    /// Takes in one more element for each of these results.
    fn add(&mut self, results: &[usize], elements: Data) {
        fn each<T: Copy, E>(
            totals: &mut [T],
            results: &[usize],
            elements: Vec<E>,
            function: impl Fn(T, E) -> T,
        ) {
            for (result, element) in results.iter().zip(elements) {
                totals[*result] = function(totals[*result], element);
            }
        }
        match (self, elements) {
            (Totals::SumF32(totals), Data::F32(x)) => {
                each(totals, results, x, |total, x| total + f64::from(x))
            }
            (Totals::SumI32(totals), Data::I32(x)) => each(totals, results, x, i32::wrapping_add),
            (Totals::SumI64(totals), Data::I64(x)) => each(totals, results, x, i64::wrapping_add),
            (Totals::MaxF32(totals), Data::F32(x)) => each(totals, results, x, max_f32),
            (Totals::MaxI32(totals), Data::I32(x)) => each(totals, results, x, i32::max),
            (Totals::MaxI64(totals), Data::I64(x)) => each(totals, results, x, i64::max),
            (Totals::MaxBool(totals), Data::Bool(x)) => each(totals, results, x, |total, x| total || x),
            (_, elements) => unreachable!("reduction of {}", elements.dtype()),
        }
    }

    fn finish(self) -> Data {
        match self {
            Totals::SumF32(totals) => Data::F32(totals.into_iter().map(|total| total as f32).collect()),
            Totals::SumI32(totals) | Totals::MaxI32(totals) => Data::I32(totals),
            Totals::SumI64(totals) | Totals::MaxI64(totals) => Data::I64(totals),
            Totals::MaxF32(totals) => Data::F32(totals),
            Totals::MaxBool(totals) => Data::Bool(totals),
        }
    }
}
