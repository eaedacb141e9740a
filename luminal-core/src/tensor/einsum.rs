//! Products and sums written as an equation: `einsum!("bhqd,bhkd->bhqk", q, k)`.

use super::contract::Labelled;
use super::dim::{DimInfo, Dims};
use super::element::Number;
use super::shape::Shape;
use super::trace::{op, record, report};
use super::value::Tensor;
use crate::graph::{Dim, Graph, NodeId, Reduce};
use std::marker::PhantomData;

/// Axes that `...` stands for have labels from here on, counted from the last one; letters are their own label.
const ELLIPSIS: usize = 1 << 24;

/// The labels of each operand's axes and of the result's.
#[derive(Debug, PartialEq)]
struct Equation {
    operands: Vec<Vec<usize>>,
    output: Vec<usize>,
}

/// The letters of one operand, with `None` for `...`.
fn letters(term: &str) -> Result<Vec<Option<char>>, String> {
    let mut letters = vec![];
    let mut rest = term.trim();
    while let Some(next) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("...") {
            if letters.contains(&None) {
                return Err(format!("`{term}` has `...` twice"));
            }
            letters.push(None);
            rest = behind;
        } else if next.is_ascii_alphabetic() || next == ' ' {
            letters.extend((next != ' ').then_some(Some(next)));
            rest = &rest[1..];
        } else {
            return Err(format!(
                "`{next}` is not a letter; operands are separated by `,`, the result follows `->`"
            ));
        }
    }
    Ok(letters)
}

impl Equation {
    /// Reads an equation for operands of these ranks. What is wrong is a sentence.
    fn parse(text: &str, ranks: &[usize]) -> Result<Equation, String> {
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(letters(output)?)),
            None => (text, None),
        };
        let terms: Vec<_> = inputs.split(',').collect();
        if terms.len() != ranks.len() {
            return Err(format!("it has {} operands, but {} are given", terms.len(), ranks.len()));
        }
        let mut operands = vec![];
        let mut most = 0;
        for (number, (term, rank)) in terms.iter().zip(ranks).enumerate() {
            let letters = letters(term)?;
            let named = letters.iter().flatten().count();
            let open = letters.contains(&None);
            if named > *rank || (named < *rank && !open) {
                let (operand, least) = (number + 1, if open { "at least " } else { "" });
                let (axes, given) = (count(named, "axis", "axes"), count(*rank, "axis", "axes"));
                return Err(format!(
                    "operand {operand}, `{}`, names {least}{axes}, but has {given}",
                    term.trim()
                ));
            }
            let hidden = rank - named;
            most = most.max(hidden);
            operands.push(expand(&letters, hidden));
        }
        let output = match output {
            Some(letters) => expand(&letters, most),
            // Without a result: what is named once, in the order of the alphabet.
            None => {
                let mut once: Vec<usize> = operands.concat();
                let all = once.clone();
                once.retain(|label| {
                    all.iter().filter(|other| *other == label).count() == 1 && *label < ELLIPSIS
                });
                once.sort_unstable();
                expand(&[None], most).into_iter().chain(once).collect()
            }
        };
        for (place, label) in output.iter().enumerate() {
            if !operands.iter().any(|labels| labels.contains(label)) {
                return Err(format!("the result names {}, which no operand has", name(*label)));
            }
            if output[..place].contains(label) {
                return Err(format!("the result names {} twice", name(*label)));
            }
        }
        Ok(Equation { operands, output })
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Labels of letters, `...` standing for this many axes.
fn expand(letters: &[Option<char>], hidden: usize) -> Vec<usize> {
    letters
        .iter()
        .flat_map(|letter| match letter {
            Some(letter) => vec![*letter as usize],
            None => (0..hidden).rev().map(|axis| ELLIPSIS + axis).collect(),
        })
        .collect()
}

/// How messages name an axis.
fn name(label: usize) -> String {
    match u8::try_from(label) {
        Ok(letter) => format!("`{}`", letter as char),
        Err(_) => "`...`".into(),
    }
}

impl Graph {
    /// Products of the operands, summed along axes that the result does not name: `bij,bjk->bik`. A letter that is twice
    /// in one operand takes the diagonal; `...` stands for any axes, which broadcast as those of NumPy do; without `->`
    /// the result has the letters named once, in the order of the alphabet. Operands of a type that only stores numbers
    /// are computed with as wider ones.
    ///
    /// # Errors
    /// A sentence if the equation is malformed or does not fit the operands.
    ///
    /// ```
    /// use luminal_core::dtype::Dtype;
    /// use luminal_core::graph::{Dim, Graph};
    ///
    /// let mut graph = Graph::default();
    /// let x = graph.input("x", &[Dim::Fixed(4), Dim::Fixed(4)], Dtype::F32);
    /// let trace = graph.einsum("ii->", &[x]).unwrap();
    /// assert!(graph.nodes[trace].shape.is_empty());
    /// assert!(graph.einsum("ij,jk->ik", &[x]).unwrap_err().contains("2 operands, but 1"));
    /// ```
    pub fn einsum(&mut self, equation: &str, operands: &[NodeId]) -> Result<NodeId, String> {
        let ranks: Vec<_> = operands.iter().map(|node| self.nodes[*node].shape.len()).collect();
        let parsed = Equation::parse(equation, &ranks)?;
        let mut sizes: Vec<(usize, Dim)> = vec![];
        for (node, labels) in operands.iter().zip(&parsed.operands) {
            for (label, size) in labels.iter().zip(&self.nodes[*node].shape) {
                let stretches = *label >= ELLIPSIS;
                match sizes.iter_mut().find(|(known, _)| known == label) {
                    None => sizes.push((*label, *size)),
                    Some((_, known)) if known == size || (stretches && *size == Dim::Fixed(1)) => {}
                    Some((_, known)) if stretches && *known == Dim::Fixed(1) => *known = *size,
                    Some((_, known)) => {
                        let (first, second) = ((*known).max(), (*size).max());
                        return Err(format!("{} is {first} and {second}", name(*label)));
                    }
                }
            }
        }
        Ok(self.equation(operands, &parsed))
    }

    fn equation(&mut self, operands: &[NodeId], Equation { operands: labels, output }: &Equation) -> NodeId {
        let narrow = self.nodes[operands[0]].dtype;
        let mut factors: Vec<Labelled> = vec![];
        for (node, labels) in operands.iter().zip(labels) {
            let node = self.wide(*node);
            factors.push(self.diagonals(node, labels.clone()));
        }
        let result = self.contract(&factors, output);
        if narrow == narrow.wide() { result } else { self.cast(result, narrow) }
    }

    /// Takes the diagonal of each pair of axes that have one label.
    fn diagonals(&mut self, mut node: NodeId, mut labels: Vec<usize>) -> Labelled {
        let twice = |labels: &[usize]| {
            let second = (1..labels.len()).find(|axis| labels[..*axis].contains(&labels[*axis]))?;
            let first = labels.iter().position(|label| *label == labels[second])?;
            Some((first, second))
        };
        while let Some((first, second)) = twice(&labels) {
            let mut order: Vec<usize> = (0..labels.len()).filter(|axis| *axis != second).collect();
            order.insert(first + 1, second);
            node = if order.is_sorted() { node } else { self.permute(node, &order) };
            node = self.diagonal(node, first);
            labels.remove(second);
        }
        (node, labels)
    }

    /// The elements whose indices along `axis` and the next one are equal; both have one size.
    fn diagonal(&mut self, x: NodeId, axis: usize) -> NodeId {
        let size = self.nodes[x].shape[axis];
        if let Dim::Fixed(count) = size {
            // They lie `count + 1` apart.
            let flat = self.merge(x, axis);
            return self.slice(flat, axis, 0, count + 1, size);
        }
        let shape = self.nodes[x].shape.clone();
        let position = self.iota(size);
        let rows = self.spread(position, &[axis], &shape);
        let columns = self.spread(position, &[axis + 1], &shape);
        let (above, below) = (self.less(rows, columns), self.less(columns, rows));
        let elsewhere = self.or(above, below);
        let zero = self.full_like(0.0, x);
        let alone = self.select(elsewhere, zero, x);
        self.reduce(Reduce::Sum, alone, axis + 1)
    }
}

/// An operand of [`einsum`]: a tensor of any shape.
#[derive(Clone, Copy, Debug)]
pub struct EinsumOperand<E> {
    node: NodeId,
    dims: &'static [DimInfo],
    kind: PhantomData<E>,
}

impl<S: Shape, E: Number> From<Tensor<S, E>> for EinsumOperand<E> {
    fn from(tensor: Tensor<S, E>) -> Self {
        EinsumOperand { node: tensor.node, dims: S::DIMS, kind: PhantomData }
    }
}

/// What the macro [`einsum!`](crate::einsum!) calls.
#[track_caller]
pub fn einsum<R: Shape, E: Number>(equation: &str, operands: &[EinsumOperand<E>]) -> Tensor<R, E> {
    let _scope = op("einsum");
    match planned::<R, E>(equation, operands) {
        Ok(plan) => Tensor::of(record(|recorder| {
            let nodes: Vec<_> = operands.iter().map(|operand| operand.node).collect();
            recorder.graph.equation(&nodes, &plan)
        })),
        Err(mistake) => {
            let shapes: Vec<_> = operands.iter().map(|operand| Dims(operand.dims).to_string()).collect();
            report(format!("`{equation}` of {}: {mistake}", shapes.join(", ")));
            Tensor::placeholder()
        }
    }
}

/// The equation without axes of `One`, which are not in the graph, once it fits operands and result.
fn planned<R: Shape, E: Number>(equation: &str, operands: &[EinsumOperand<E>]) -> Result<Equation, String> {
    let ranks: Vec<_> = operands.iter().map(|operand| operand.dims.len()).collect();
    let mut plan = Equation::parse(equation, &ranks)?;
    // The dimension of each label and the operand that has it; `One` stretches to any other.
    let mut known: Vec<(usize, DimInfo, usize)> = vec![];
    for (number, (operand, labels)) in operands.iter().zip(&plan.operands).enumerate() {
        for (label, dim) in labels.iter().zip(operand.dims) {
            match known.iter_mut().find(|(other, ..)| other == label) {
                None => known.push((*label, *dim, number + 1)),
                Some((_, other, first)) if *other == DimInfo::One => (*other, *first) = (*dim, number + 1),
                Some((_, other, _)) if other == dim || *dim == DimInfo::One => {}
                Some((_, other, first)) => {
                    return Err(format!(
                        "{} is {other} in operand {first} and {dim} in operand {}",
                        name(*label),
                        number + 1
                    ));
                }
            }
        }
    }
    let dim = |label: &usize| known.iter().find(|(other, ..)| other == label).expect("a known label").1;
    let result: Vec<_> = plan.output.iter().map(dim).collect();
    if result != R::DIMS {
        return Err(format!("the result is {}, but its type names {}", Dims(&result), Dims(R::DIMS)));
    }
    for (operand, labels) in operands.iter().zip(&mut plan.operands) {
        let mut axes = operand.dims.iter();
        labels.retain(|_| axes.next() != Some(&DimInfo::One));
    }
    plan.output.retain(|label| dim(label) != DimInfo::One);
    Ok(plan)
}

/// Products and sums as an equation: each operand's axes are named by letters, and axes that the result does not name are
/// summed. A letter twice in one operand takes its diagonal, `...` stands for any axes, and `One` stretches. The type
/// of the result is named by the user; it and the equation are checked while the model is traced.
///
/// ```
/// use luminal_core::einsum;
/// use luminal_core::tensor::{D, Tensor, input, output, trace};
///
/// let traced = trace(|| {
///     let query: Tensor<(D<2>, D<4>, D<7>, D<8>)> = input("query");
///     let key: Tensor<(D<2>, D<4>, D<9>, D<8>)> = input("key");
///     let scores: Tensor<(D<2>, D<4>, D<7>, D<9>)> = einsum!("bhqd,bhkd->bhqk", query, key);
///     let total: Tensor<(D<9>, D<2>)> = einsum!("b...k->kb", scores);
///     output(&total);
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[macro_export]
macro_rules! einsum {
    ($equation:expr, $($operand:expr),+ $(,)?) => {
        $crate::tensor::einsum($equation, &[$($crate::tensor::EinsumOperand::from($operand)),+])
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations() {
        let parse = |text: &str, ranks: &[usize]| Equation::parse(text, ranks).unwrap();
        let [i, j, k] = [b'i', b'j', b'k'].map(usize::from);
        let product = Equation { operands: vec![vec![i, j], vec![j, k]], output: vec![i, k] };
        assert_eq!(parse("ij, jk -> ik", &[2, 2]), product);
        assert_eq!(parse("ij,jk", &[2, 2]), product);
        let [outer, inner] = [ELLIPSIS + 1, ELLIPSIS];
        let batched =
            Equation { operands: vec![vec![outer, inner, i], vec![i, inner]], output: vec![outer, inner] };
        assert_eq!(parse("...i,i...->...", &[3, 2]), batched);
        assert_eq!(parse("...i,i...", &[3, 2]), batched);
        assert_eq!(parse("->", &[0]), Equation { operands: vec![vec![]], output: vec![] });
    }

    #[test]
    fn malformed() {
        let error = |text: &str, ranks: &[usize]| Equation::parse(text, ranks).unwrap_err();
        assert_eq!(error("ij;jk->ik", &[2, 2]), "it has 1 operands, but 2 are given");
        assert_eq!(
            error("i1->i", &[2]),
            "`1` is not a letter; operands are separated by `,`, the result follows `->`"
        );
        assert_eq!(error("ij->i", &[3]), "operand 1, `ij`, names 2 axes, but has 3 axes");
        assert_eq!(error("i,jk...->i", &[1, 1]), "operand 2, `jk...`, names at least 2 axes, but has 1 axis");
        assert_eq!(error("...i...->i", &[3]), "`...i...` has `...` twice");
        assert_eq!(error("ij->ik", &[2]), "the result names `k`, which no operand has");
        assert_eq!(error("ij->ii", &[2]), "the result names `i` twice");
    }
}
