//! Deriving a fold, or the reason why there is none.

use crate::dtype::Dtype;
use crate::mutant::planted;
use crate::search::term::{AxisSet, Dag, I32, Id, Term};
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
    /// Of `value` where the maximum is attained: reset when the maximum grows.
    Attain {
        /// The earlier maximum.
        maximum: Id,
        /// What is reduced where it is attained.
        value: Id,
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

    /// `select(y < max(y), identity, value)`
    fn attain(&self, body: Id, is_maximum: bool) -> Option<Law> {
        let Term::Select([below, identity, value]) = self.dag.node(body) else { return None };
        let Term::LessThan([y, maximum]) = self.dag.node(*below) else { return None };
        let of_y = self.earlier.contains(maximum)
            && matches!(self.dag.node(*maximum), Term::MaxOver([_, body]) if body == y);
        let attains = of_y && self.is_identity(*identity, is_maximum) && !self.depends(*value);
        attains.then_some(Law::Attain { maximum: *maximum, value: *value })
    }

    fn is_identity(&self, id: Id, maximum: bool) -> bool {
        match self.dag.node(id) {
            Term::F32(x) => x.value() == if maximum { f32::NEG_INFINITY } else { 0.0 },
            Term::I32(x) => *x == I32(if maximum { i32::MIN } else { 0 }),
            Term::Bool(x) => !x,
            _ => false,
        }
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
