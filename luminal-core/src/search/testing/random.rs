//! Random graphs of which it is known how far rounding may take a result.
//!
//! Sums may be reordered and literals folded, so a result may differ in its last bits; behind a comparison or a conversion
//! to integers that would be another result altogether. So what is known of each value bounds its magnitude and its error,
//! and only values that are exact whatever the order are compared, converted or divided with a remainder.

use super::build;
use crate::dtype::Dtype;
use crate::graph::{Binary, Dim, Graph, NodeId, Op, Reduce, Unary};

/// One step of a recipe: what to do, with which values, and how. Any numbers are legal, so a recipe can be shortened.
pub type Step = [u16; 4];

/// Rounding to `f32`, several times over.
const EPSILON: f64 = 1e-6;
/// No value is greater.
const MOST: f64 = 1000.0;
/// No graph has more operations.
const OPERATIONS: usize = 40;

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// No element is greater, in magnitude.
    most: f64,
    /// Every element is a multiple, and exact; none if it is rounded.
    unit: Option<f64>,
    /// Greatest error.
    error: f64,
}

impl Known {
    fn exact(most: f64, unit: f64) -> Known {
        // Beyond these, sums and products of a few such numbers would be rounded.
        let unit = (most / unit <= f64::from(1 << 20) && unit >= 1.0 / 4096.0).then_some(unit);
        Known { most, unit, error: if unit.is_some() { 0.0 } else { EPSILON * most } }
    }

    fn rounded(most: f64, error: f64) -> Known {
        Known { most, unit: None, error: error + EPSILON * most }
    }

    fn join(self, other: Known) -> Known {
        let unit = self.unit.zip(other.unit).map(|(x, y)| x.min(y));
        Known { most: self.most.max(other.most), unit, error: self.error.max(other.error) }
    }
}

/// A random graph and how far each of its outputs may be off.
pub struct Sample {
    /// The graph: inputs, weights and a state of all types, with free sizes, and several outputs.
    pub graph: Graph,
    /// For each output, then for each written state, the greatest error.
    pub errors: Vec<f64>,
}

struct Maker {
    graph: Graph,
    /// Nothing about what is only a step of a composition.
    known: Vec<Option<Known>>,
    given: usize,
}

fn fixed(dim: &Dim) -> Option<usize> {
    if let Dim::Fixed(n) = dim { Some(*n) } else { None }
}

/// The graph of a recipe; `outputs` choose among its values.
pub fn sample(recipe: &[Step], outputs: &[u16]) -> Sample {
    let mut maker = Maker { graph: Graph::default(), known: vec![], given: 0 };
    maker.give();
    for step in recipe {
        if maker.graph.nodes.len() - maker.given >= OPERATIONS {
            break;
        }
        maker.step(*step);
    }
    let noted: Vec<(NodeId, Known)> =
        maker.known.iter().enumerate().filter_map(|(id, known)| known.map(|known| (id, known))).collect();
    let mut graph = maker.graph;
    let mut errors = vec![];
    // Later values have more behind them.
    let recent = noted.len().min(12);
    let chosen = outputs.iter().map(|n| noted[noted.len() - 1 - usize::from(*n) % recent]);
    for (number, (node, known)) in noted.last().copied().into_iter().chain(chosen).enumerate() {
        graph.outputs.push((format!("output {number}"), node));
        errors.push(known.error);
    }
    let states = (0..maker.given).filter(|id| matches!(graph.nodes[*id].op, Op::State(_)));
    for state in states.collect::<Vec<_>>() {
        let (shape, dtype) = (&graph.nodes[state].shape, graph.nodes[state].dtype);
        let fits =
            |(id, _): &&(NodeId, Known)| graph.nodes[*id].shape == *shape && graph.nodes[*id].dtype == dtype;
        let (value, known) = *noted.iter().rev().find(fits).expect("the state itself fits");
        graph.writes.push((state, value));
        errors.push(known.error);
    }
    Sample { graph, errors }
}

/// A given element, as the bounds promise it.
pub fn element(dtype: Dtype, random: &mut super::Random) -> f64 {
    match dtype {
        Dtype::F32 | Dtype::F16 | Dtype::BF16 => (random.below(33) as f64 - 16.0) / 8.0,
        Dtype::I32 | Dtype::I64 => random.below(13) as f64 - 6.0,
        Dtype::U8 => random.below(7) as f64,
        Dtype::Bool => random.below(2) as f64,
    }
}

fn given(dtype: Dtype) -> Known {
    match dtype {
        Dtype::F32 | Dtype::F16 | Dtype::BF16 => Known::exact(2.0, 0.125),
        Dtype::Bool => Known::exact(1.0, 1.0),
        _ => Known::exact(6.0, 1.0),
    }
}

impl Maker {
    fn give(&mut self) {
        let g = &mut self.graph;
        let (n, m) = (g.free_dim("N", 5), g.free_dim("M", 4));
        let f = Dim::Fixed;
        g.input("x", &[n, f(6)], Dtype::F32);
        g.input("y", &[f(4), f(6)], Dtype::F32);
        g.input("z", &[n, m], Dtype::F32);
        g.param("w", &[f(6), f(4)], Dtype::F32);
        g.param("v", &[f(6)], Dtype::F32);
        g.param("half", &[f(4), f(6)], Dtype::F16);
        g.param("brain", &[f(6)], Dtype::BF16);
        g.input("bytes", &[f(6)], Dtype::U8);
        g.input("long", &[f(4)], Dtype::I64);
        g.input("count", &[n], Dtype::I32);
        g.input("mask", &[n, f(6)], Dtype::Bool);
        g.state("state", &[f(4), f(6)], Dtype::F32);
        self.given = g.nodes.len();
        self.known = g.nodes.iter().map(|node| Some(given(node.dtype))).collect();
    }

    /// Notes what is known of a new value.
    fn note(&mut self, id: NodeId, known: Known) {
        self.known.resize(id, None);
        self.known.push(Some(known));
    }

    /// A value of this kind, if there is one: the later, the likelier.
    fn pick(&self, number: u16, fits: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let all: Vec<NodeId> =
            (0..self.known.len()).rev().filter(|id| self.known[*id].is_some() && fits(*id)).collect();
        let place = usize::from(number) % (2 * all.len()).max(1);
        all.get(if place < all.len() { place } else { (place - all.len()) / 2 }).copied()
    }

    fn known(&self, x: NodeId) -> Known {
        self.known[x].expect("a value that was picked is known")
    }

    fn shape(&self, x: NodeId) -> Vec<Dim> {
        self.graph.nodes[x].shape.clone()
    }

    fn size(&self, x: NodeId) -> usize {
        self.shape(x).iter().map(|dim| Dim::max(*dim)).product()
    }

    fn step(&mut self, [kind, first, second, how]: Step) {
        let count = self.graph.nodes.len();
        let alike = |this: &Maker, x: NodeId, y: NodeId| {
            this.shape(x) == this.shape(y) && this.graph.nodes[x].dtype == this.graph.nodes[y].dtype
        };
        let computes = |this: &Maker, x: NodeId| !this.graph.nodes[x].dtype.is_storage();
        let Some(x) = self.pick(first, |x| kind % 16 > 9 || computes(self, x)) else { return };
        let known = self.known(x);
        let dtype = self.graph.nodes[x].dtype;
        let rank = self.shape(x).len();
        let axis = usize::from(how) % rank.max(1);
        let y = self.pick(second, |y| alike(self, x, y)).unwrap_or(x);
        let other = self.known(y);
        match kind % 16 {
            0 | 1 if dtype == Dtype::F32 => self.function(x, how),
            2 if dtype != Dtype::Bool => {
                let sum = self.graph.binary(Binary::Add, x, y);
                let most = known.most + other.most;
                self.keep(sum, most, known.join(other).unit, known.error + other.error);
            }
            3 | 4 if dtype != Dtype::Bool => {
                let product = self.graph.binary(Binary::Mul, x, y);
                let unit = known.unit.zip(other.unit).map(|(x, y)| x * y);
                let error = known.most * other.error + other.most * known.error;
                self.keep(product, known.most * other.most, unit, error);
            }
            5 => {
                let most = self.graph.binary(Binary::Max, x, y);
                self.note(most, known.join(other));
            }
            6 if known.unit.is_some() && other.unit.is_some() => {
                let less = self.graph.binary(Binary::LessThan, x, y);
                self.note(less, Known::exact(1.0, 1.0));
            }
            7 if known.unit.is_some() && dtype != Dtype::Bool => {
                let by = self.graph.constant(f64::from(how % 3 + 1), dtype);
                let shape = self.shape(x);
                let by = build::lead(&mut self.graph, by, &shape);
                let rest = self.graph.binary(Binary::Mod, x, by);
                self.note(rest, Known { most: 3.0, ..known });
            }
            8 if rank > 0 && dtype != Dtype::Bool => {
                let size = self.shape(x)[axis].max() as f64;
                let sum = self.graph.reduce(Reduce::Sum, x, axis);
                self.keep(sum, known.most * size, known.unit, known.error * size);
            }
            9 if rank > 0 => {
                let most = self.graph.reduce(Reduce::Max, x, axis);
                self.note(most, known);
            }
            10 => self.convert(x, how),
            11 | 12 => self.view(x, axis, how),
            13 if dtype == Dtype::F32 && rank == 2 => self.contract(x, second),
            14 if dtype == Dtype::F32 && rank > 0 && known.most <= 16.0 => self.softmax(x),
            15 => {
                let fits =
                    |c: NodeId| self.graph.nodes[c].dtype == Dtype::Bool && self.shape(c) == self.shape(x);
                if let Some(condition) = self.pick(how, fits) {
                    let chosen = self.graph.select(condition, x, y);
                    self.note(chosen, known.join(other));
                }
            }
            _ => {}
        }
        if self.graph.nodes.len() > self.known.len() {
            // Not kept: too great.
            self.graph.nodes.truncate(count);
        }
        self.known.truncate(self.graph.nodes.len());
    }

    /// Notes a value unless it may be too great.
    fn keep(&mut self, id: NodeId, most: f64, unit: Option<f64>, error: f64) {
        let known = match unit {
            Some(unit) => Known::exact(most, unit),
            None => Known::rounded(most, error),
        };
        let float = self.graph.nodes[id].dtype == Dtype::F32;
        // Integers are exact as long as they do not wrap; floats as long as they have the bits.
        if most <= MOST && known.error <= 1e-2 && (float || known.unit.is_some()) {
            self.note(id, known);
        }
    }

    /// A function of one value that is smooth and bounded where it is applied.
    fn function(&mut self, x: NodeId, how: u16) {
        let Known { most, error, .. } = self.known(x);
        let g = &mut self.graph;
        match how % 5 {
            0 if most <= 6.0 => {
                let y = g.unary(Unary::Exp2, x);
                self.keep(y, most.exp2(), None, most.exp2() * error);
            }
            1 => {
                let y = g.unary(Unary::Sin, x);
                self.keep(y, 1.0, None, error + EPSILON * most);
            }
            // Of 1 + x^2.
            2..=4 if most <= 30.0 => {
                let square = build::mul(g, x, x);
                let square = build::offset(g, square, 1.0);
                let op = [Unary::Log2, Unary::Sqrt, Unary::Recip][usize::from(how % 5) - 2];
                let y = g.unary(op, square);
                let error = 3.0 * most * error + EPSILON * most * most;
                self.keep(y, most + 1.0, None, error);
            }
            _ => {}
        }
    }

    fn convert(&mut self, x: NodeId, how: u16) {
        let known = self.known(x);
        let to = Dtype::ALL[usize::from(how) % Dtype::ALL.len()];
        let Some(unit) = known.unit else { return };
        let fits = match to {
            Dtype::F32 => true,
            // Eight bits of precision.
            Dtype::F16 | Dtype::BF16 => known.most / unit <= 256.0,
            // What is out of range saturates or wraps, by what it is converted from.
            Dtype::I32 | Dtype::I64 | Dtype::U8 | Dtype::Bool => true,
        };
        if !fits {
            return;
        }
        let y = self.graph.cast(x, to);
        let known = match to {
            Dtype::Bool => Known::exact(1.0, 1.0),
            Dtype::U8 => Known::exact(255.0, 1.0),
            Dtype::I32 | Dtype::I64 => Known::exact(known.most, unit.max(1.0)),
            _ => known,
        };
        self.note(y, known);
    }

    fn view(&mut self, x: NodeId, axis: usize, how: u16) {
        let (shape, known) = (self.shape(x), self.known(x));
        let (rank, small) = (shape.len(), self.size(x) < 200);
        let size = shape.get(axis).and_then(fixed);
        let g = &mut self.graph;
        let y = match (how / 8 % 8, size) {
            (0, _) if rank > 1 => {
                let order: Vec<usize> = (0..rank).map(|dim| (dim + 1) % rank).collect();
                g.permute(x, &order)
            }
            (1 | 2, _) if rank < 3 && small => {
                let sizes = [Dim::Fixed(4), Dim::Fixed(6), Dim::Free { index: 0, max: 5 }];
                g.expand(x, usize::from(how / 64) % (rank + 1), sizes[usize::from(how) % 3])
            }
            (3, Some(n)) if n > 1 => g.slice(x, axis, usize::from(how) % 2, 1, Dim::Fixed(n - 1)),
            (4, Some(n)) if n < 6 => g.pad(x, axis, usize::from(how) % 2, Dim::Fixed(n + 1), 1.0),
            (5, Some(n)) if n % 2 == 0 && n > 0 => g.split(x, axis, 2),
            (6, Some(_)) if shape.get(axis + 1).and_then(fixed).is_some() => g.merge(x, axis),
            (7, Some(n)) if axis == 0 && n > 0 => {
                let rows = g.iota(Dim::Fixed(4));
                let count = g.constant(n as f64, Dtype::I32);
                let count = g.expand(count, 0, Dim::Fixed(4));
                let rows = g.binary(Binary::Mod, rows, count);
                g.gather(x, rows)
            }
            _ => return,
        };
        // What padding is filled with counts too.
        self.note(y, Known { most: known.most.max(1.0), ..known });
    }

    /// A matrix product with another value.
    fn contract(&mut self, x: NodeId, second: u16) {
        let inner = self.shape(x)[1];
        let fits = |w: NodeId| {
            let shape = self.shape(w);
            shape.len() == 2 && shape[0] == inner && self.graph.nodes[w].dtype == Dtype::F32
        };
        let Some(w) = self.pick(second, fits) else { return };
        let (known, other, size) = (self.known(x), self.known(w), inner.max() as f64);
        let y = build::matmul(&mut self.graph, x, w);
        let unit = known.unit.zip(other.unit).map(|(x, y)| x * y);
        let error = size * (known.most * other.error + other.most * known.error);
        self.keep(y, size * known.most * other.most, unit, error);
    }

    /// Dependent reductions.
    fn softmax(&mut self, x: NodeId) {
        let Known { most, error, .. } = self.known(x);
        let y = build::softmax(&mut self.graph, x, false);
        self.keep(y, 1.0, None, 4.0 * error + EPSILON * most);
    }
}
