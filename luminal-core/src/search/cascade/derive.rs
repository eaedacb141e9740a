//! Deriving a fold, or the reason why there is none.

use crate::dtype::Dtype;
use crate::mutant::planted;
use crate::search::term::{AxisSet, Dag, Id, Precision, Term, apply};
use std::cell::RefCell;
use std::collections::HashMap;

/// Coefficients of one scale that was folded in different orders agree this closely.
const SAME_FACTOR: f64 = 1e-6;

/// `coefficient * product of factors`
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// The literal factors.
    pub coefficient: f64,
    /// The other factors.
    pub factors: Vec<Id>,
}

/// How the accumulator of one reduction is kept right while earlier reductions of the fold change.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// It does not depend on them (but for deferred factors).
    Plain,
    /// A sum whose body holds `exp2(.. + h)`: repaired by `exp2(h' - h)`. The sum of products is `h`.
    Exp(Vec<Product>),
    /// A maximum of `.. + h`: repaired by adding `h' - h`.
    Shift(Vec<Product>),
    /// Of values where the maximum is attained, which for a NaN is where the element is NaN: reset when the maximum
    /// changes.
    Attain {
        /// The earlier maximum.
        maximum: Id,
    },
    /// A sum of squares of `centred + shift`, kept as count, mean and squared deviations of `centred`.
    Moment {
        /// The part that depends on the stream.
        centred: Vec<Product>,
        /// The part that depends on earlier reductions.
        shift: Vec<Product>,
    },
}

/// One reduction of a fold.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The reduction.
    pub reduction: Id,
    /// True for a maximum, false for a sum.
    pub maximum: bool,
    /// How it is repaired.
    pub law: Law,
    /// Factors that `finish` applies, and that are 1 in `lift`.
    pub deferred: Vec<Id>,
}

/// Reductions over one set of axes, each after those it depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The streamed axes.
    pub axes: AxisSet,
    /// The reductions.
    pub components: Vec<Component>,
}

/// Why there is no fold, in terms of the values.
pub type Refused = String;

/// The fold of all reductions over `axes` among the values that `inside` accepts.
pub fn derive(dag: &Dag, inside: &dyn Fn(Id) -> bool, axes: AxisSet) -> Result<Fold, Refused> {
    let reductions: Vec<Id> = dag.ids().filter(|id| inside(*id) && dag.reduced_axes(*id) == axes).collect();
    if axes.is_empty() || reductions.is_empty() {
        return Err(String::from("no reduction over these axes"));
    }
    let mut components = Vec::new();
    for (i, reduction) in reductions.iter().enumerate() {
        let view = View { dag, axes, earlier: &reductions[..i], inside, depends: RefCell::default() };
        components.push(view.component(*reduction)?);
    }
    Ok(Fold { axes, components })
}

/// The terms as one reduction of the fold sees them.
struct View<'a> {
    dag: &'a Dag,
    axes: AxisSet,
    earlier: &'a [Id],
    inside: &'a dyn Fn(Id) -> bool,
    depends: RefCell<HashMap<Id, bool>>,
}

/// The two parts of an exponent or addend: of the stream, and of earlier reductions.
#[derive(Default)]
struct Parts {
    stream: Vec<Product>,
    earlier: Vec<Product>,
}

impl View<'_> {
    fn component(&self, reduction: Id) -> Result<Component, Refused> {
        let dag = self.dag;
        let Some(body) = dag.node(reduction).body() else { return Err(String::from("not a reduction")) };
        if dag.free(reduction).meets(self.axes) {
            return Err(String::from("a streamed axis is also an outer axis"));
        }
        let maximum = matches!(dag.node(reduction), Term::MaxOver(_));
        let mut deferred = Vec::new();
        let law = if !self.depends(body) {
            Law::Plain
        } else if let Some(law) = self.attain(body, maximum) {
            law
        } else if dag.dtype(reduction) != Dtype::F32 {
            return Err(format!("{} depends on an earlier reduction and is not f32", dag.show(reduction, 2)));
        } else if maximum {
            let mut parts = Parts::default();
            self.addends(body, 1.0, &[], &mut parts)?;
            Law::Shift(parts.earlier)
        } else {
            self.sum(body, &mut deferred)?
        };
        Ok(Component { reduction, maximum, law, deferred })
    }

    fn sum(&self, body: Id, deferred: &mut Vec<Id>) -> Result<Law, Refused> {
        let mut exponent = Vec::new();
        let refused = match self.factors(body, deferred, &mut exponent) {
            Ok(()) if exponent.is_empty() => return Ok(Law::Plain),
            Ok(()) => return Ok(Law::Exp(exponent)),
            Err(refused) => refused,
        };
        deferred.clear();
        match self.dag.node(body) {
            Term::Mul([x, y]) if x == y => {
                let mut parts = Parts::default();
                self.addends(*x, 1.0, &[], &mut parts)?;
                Ok(Law::Moment { centred: parts.stream, shift: parts.earlier })
            }
            _ => Err(refused),
        }
    }

    /// Something like `select(y < max(y), identity, value)`: whatever its spelling, the body is the identity but where an
    /// element is the maximum. That the mask says so is found by evaluating it for every order of the two.
    fn attain(&self, body: Id, is_maximum: bool) -> Option<Law> {
        let dag = self.dag;
        let mask = self.mask(body, &mut HashMap::new())?;
        let maxima = self.earlier.iter().filter(|id| dag.reachable([mask]).contains(id));
        let [maximum] = maxima.copied().collect::<Vec<_>>()[..] else { return None };
        let Term::MaxOver([_, y]) = dag.node(maximum) else { return None };
        let identity = match (is_maximum, dag.dtype(body)) {
            (true, Dtype::F32) => f64::NEG_INFINITY,
            (true, Dtype::I32) => f64::from(i32::MIN),
            (false, Dtype::F32 | Dtype::I32) | (true, Dtype::Bool) => 0.0,
            _ => return None,
        };
        if dag.dtype(maximum) != Dtype::F32 || self.value(body, &[(mask, 0.0)]) != Some(identity) {
            return None;
        }
        const ORDERED: [f64; 4] = [f64::NEG_INFINITY, -1.0, 1.0, f64::INFINITY];
        let holds = |x: f64, most: f64| self.value(mask, &[(*y, x), (maximum, most)]);
        let attained = ORDERED.iter().enumerate().all(|(i, most)| {
            let of_smaller = ORDERED[..i].iter().all(|x| holds(*x, *most) == Some(0.0));
            of_smaller && holds(*most, *most) == Some(1.0) && holds(*most, f64::NAN) == Some(0.0)
        });
        (attained && holds(f64::NAN, f64::NAN) == Some(1.0)).then_some(Law::Attain { maximum })
    }

    /// The truth value through which alone a value depends on earlier reductions.
    fn mask(&self, id: Id, known: &mut HashMap<Id, Option<Id>>) -> Option<Id> {
        if let Some(known) = known.get(&id) {
            return *known;
        }
        let node = self.dag.node(id);
        let mut found = (self.dag.dtype(id) == Dtype::Bool).then_some(id);
        if found.is_none() && !node.is_reduction() {
            let mut masks = node.values().iter().filter(|x| self.depends(**x)).map(|x| self.mask(*x, known));
            let first = masks.next().flatten();
            found = first.filter(|first| masks.all(|other| other == Some(*first)));
        }
        known.insert(id, found);
        found
    }

    /// A value that follows from those of some terms by comparison, selection and literals; of floats only order counts,
    /// so literals other than infinities do not.
    fn value(&self, id: Id, given: &[(Id, f64)]) -> Option<f64> {
        if let Some((_, value)) = given.iter().find(|known| known.0 == id) {
            return Some(*value);
        }
        let node = self.dag.node(id);
        let float = self.dag.dtype(id) == Dtype::F32;
        if let Some(literal) = node.constant() {
            let value = literal.to_f64();
            return (!float || value.is_infinite()).then_some(value);
        }
        if let Term::Select([condition, x, y]) = node {
            return self.value(if self.value(*condition, given)? != 0.0 { *x } else { *y }, given);
        }
        let ordered = matches!(node, Term::LessThan(_) | Term::Max(_));
        if !ordered && (float || !matches!(node, Term::Mul(_) | Term::Add(_))) {
            return None;
        }
        let operands = node.values().iter().map(|x| self.value(*x, given)).collect::<Option<Vec<_>>>()?;
        let dtype = self.dag.dtype(node.values()[0]);
        apply(node, &operands, dtype).map(|value| Precision::Double.round(value, self.dag.dtype(id)))
    }

    /// True if a value depends on an earlier reduction of the fold.
    fn depends(&self, id: Id) -> bool {
        if let Some(known) = self.depends.borrow().get(&id) {
            return *known;
        }
        let operands = self.dag.node(id).values();
        let depends =
            self.earlier.contains(&id) || ((self.inside)(id) && operands.iter().any(|x| self.depends(*x)));
        self.depends.borrow_mut().insert(id, depends);
        depends
    }

    fn streams(&self, id: Id) -> bool {
        self.dag.free(id).meets(self.axes)
    }

    fn literal(&self, id: Id) -> Option<f64> {
        match self.dag.node(id) {
            Term::F32(x) => Some(f64::from(x.value())),
            _ => None,
        }
    }

    /// A running maximum, or the guard `select(m < low, 0, m)` around one.
    fn running_maximum(&self, id: Id) -> Option<Id> {
        match self.dag.node(id) {
            Term::MaxOver(_) if self.earlier.contains(&id) => Some(id),
            Term::Select([empty, zero, m]) if self.literal(*zero) == Some(0.0) => match self.dag.node(*empty)
            {
                Term::LessThan([x, _]) if x == m => self.running_maximum(*m),
                _ => None,
            },
            _ => None,
        }
    }

    /// Takes a product apart: factors to defer, and the part of exponents that depends on earlier reductions.
    fn factors(&self, id: Id, deferred: &mut Vec<Id>, exponent: &mut Vec<Product>) -> Result<(), Refused> {
        if !self.depends(id) {
            return Ok(());
        }
        if !self.streams(id) {
            deferred.push(id);
            return Ok(());
        }
        let zero = |id: Id| self.literal(id) == Some(0.0);
        match self.dag.node(id) {
            Term::Mul([x, y]) => {
                self.factors(*x, deferred, exponent)?;
                self.factors(*y, deferred, exponent)
            }
            Term::Exp2(argument) => {
                let mut parts = Parts::default();
                self.addends(*argument, 1.0, &[], &mut parts)?;
                self.check_pairing(id, &parts)?;
                exponent.extend(parts.earlier);
                Ok(())
            }
            // Where the mask is 0 nothing is added, whatever the scale.
            Term::Select([mask, value, fill]) if !self.depends(*mask) && zero(*fill) => {
                self.factors(*value, deferred, exponent)
            }
            Term::Select([mask, fill, value]) if !self.depends(*mask) && zero(*fill) => {
                self.factors(*value, deferred, exponent)
            }
            _ if planted!(DeferStream) => {
                deferred.push(id);
                Ok(())
            }
            _ => Err(format!("a factor mixes the stream and an earlier result: {}", self.dag.show(id, 3))),
        }
    }

    /// Takes a sum apart into addends of the stream and of earlier reductions, under factors found further up.
    fn addends(&self, id: Id, coefficient: f64, under: &[Id], parts: &mut Parts) -> Result<(), Refused> {
        let product = || Product { coefficient, factors: [under, &[id]].concat() };
        if !self.depends(id) && under.iter().all(|factor| !self.depends(*factor)) {
            parts.stream.push(product());
            return Ok(());
        }
        if !self.streams(id) && under.iter().all(|factor| !self.streams(*factor)) {
            parts.earlier.push(product());
            return Ok(());
        }
        let lowest = |id: Id| self.literal(id) == Some(f64::NEG_INFINITY);
        let plain = |id: Id| !self.streams(id) && !self.depends(id);
        match self.dag.node(id) {
            Term::Add([x, y]) => {
                self.addends(*x, coefficient, under, parts)?;
                self.addends(*y, coefficient, under, parts)
            }
            Term::Mul([x, y]) => match (self.literal(*x), self.literal(*y)) {
                (Some(factor), _) => self.addends(*y, coefficient * factor, under, parts),
                (_, Some(factor)) => self.addends(*x, coefficient * factor, under, parts),
                _ if plain(*x) => self.addends(*y, coefficient, &[under, &[*x]].concat(), parts),
                _ if plain(*y) => self.addends(*x, coefficient, &[under, &[*y]].concat(), parts),
                _ => {
                    Err(format!("a product mixes the stream and an earlier result: {}", self.dag.show(id, 3)))
                }
            },
            // -inf stays -inf whatever is added.
            Term::Select([mask, fill, value])
                if !self.depends(*mask) && lowest(*fill) && coefficient > 0.0 =>
            {
                self.addends(*value, coefficient, under, parts)
            }
            Term::Select([mask, value, fill])
                if !self.depends(*mask) && lowest(*fill) && coefficient > 0.0 =>
            {
                self.addends(*value, coefficient, under, parts)
            }
            _ => Err(format!("an addend mixes the stream and an earlier result: {}", self.dag.show(id, 3))),
        }
    }

    /// Every running maximum of an exponent must meet its own body, under the same factor, in the part that streams.
    /// Then the exponent is never positive, and an element that is -inf for the maximum adds exactly 0. A maximum and a
    /// sum under different masks fail here.
    fn check_pairing(&self, exponential: Id, parts: &Parts) -> Result<(), Refused> {
        let flatten = |products: &[Product]| {
            let mut flat = Vec::new();
            products.iter().for_each(|p| self.flatten(p.coefficient, &p.factors, &mut flat));
            flat
        };
        let stream = flatten(&parts.stream);
        for product in flatten(&parts.earlier) {
            let Some(maximum) = product.factors.iter().find_map(|id| self.running_maximum(*id)) else {
                continue;
            };
            let Some(body) = self.dag.node(maximum).body() else { continue };
            let own = |id: &Id| if self.running_maximum(*id) == Some(maximum) { body } else { *id };
            let factors = product.factors.iter().map(own).collect();
            let wanted = flatten(&[Product { coefficient: -product.coefficient, factors }]);
            let found = |wanted: &Product| {
                stream.iter().any(|product| {
                    let distance = (product.coefficient - wanted.coefficient).abs();
                    distance <= SAME_FACTOR * product.coefficient.abs() && product.factors == wanted.factors
                })
            };
            if !wanted.iter().all(found) && !planted!(PairingUnchecked) {
                return Err(format!(
                    "a maximum does not meet its own body in {}",
                    self.dag.show(exponential, 4)
                ));
            }
        }
        Ok(())
    }

    /// Multiplies a product out, so that spelling does not matter.
    fn flatten(&self, coefficient: f64, factors: &[Id], out: &mut Vec<Product>) {
        for (i, factor) in factors.iter().enumerate() {
            let with = |new: &[Id]| [&factors[..i], new, &factors[i + 1..]].concat();
            match self.dag.node(*factor) {
                Term::Add([x, y]) => {
                    self.flatten(coefficient, &with(&[*x]), out);
                    self.flatten(coefficient, &with(&[*y]), out);
                    return;
                }
                Term::Mul([x, y]) => return self.flatten(coefficient, &with(&[*x, *y]), out),
                Term::F32(x) => {
                    return self.flatten(coefficient * f64::from(x.value()), &with(&[]), out);
                }
                _ => {}
            }
        }
        let mut factors = factors.to_vec();
        factors.sort();
        out.push(Product { coefficient, factors });
    }
}
