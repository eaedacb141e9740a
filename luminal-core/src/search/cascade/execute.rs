//! Running a fold on elements: lifted one by one, folded in random blocks, merged in a random tree.
//!
//! Slow on purpose: if this agrees with direct evaluation for every cut and every order, any schedule may be used.

use super::derive::{Component, Fold, Law, Product};
use crate::dtype::Dtype;
use crate::search::term::{
    Axis, AxisSet, Dense, Evaluator, Fixed, Id, combine_with, identity, positions, set_position,
};

/// The accumulators of one component: the value, or count, mean and squared deviations.
type Accumulator = [f64; 3];
type State = Vec<Accumulator>;

/// One execution of a fold.
pub struct FoldRun<'e, 'a> {
    /// What is run.
    pub fold: &'e Fold,
    /// Where inputs come from and results go.
    pub evaluator: &'e mut Evaluator<'a>,
    /// Seed of the cuts and of the merge tree.
    pub seed: u64,
}

impl FoldRun<'_, '_> {
    fn random(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize % below
    }

    fn dtype(&self, component: &Component) -> Dtype {
        self.evaluator.dag.dtype(component.reduction)
    }

    fn round(&self, value: f64) -> f64 {
        self.evaluator.precision.round(value, Dtype::F32)
    }

    fn products(&self, products: &[Product], position: &mut [usize], fixed: &Fixed) -> f64 {
        let mut sum = 0.0;
        for product in products {
            let factors = product.factors.iter().map(|id| self.evaluator.at(*id, position, fixed));
            sum += product.coefficient * factors.product::<f64>();
        }
        sum
    }

    /// What the reduction is, given its accumulator and the results of earlier ones.
    fn result(
        &self,
        component: &Component,
        accumulator: &Accumulator,
        position: &mut [usize],
        fixed: &Fixed,
    ) -> f64 {
        match &component.law {
            Law::Moment { shift, .. } => {
                let [count, mean, deviations] = *accumulator;
                let mean = self.round(mean + self.products(shift, position, fixed));
                self.round(deviations + self.round(count * mean * mean))
            }
            _ => component.deferred.iter().fold(accumulator[0], |value, factor| {
                self.round(value * self.evaluator.at(*factor, position, fixed))
            }),
        }
    }

    fn finish(&self, state: &State, position: &mut [usize]) -> Fixed {
        let mut fixed = Fixed::new();
        for (component, accumulator) in self.fold.components.iter().zip(state) {
            let value = self.result(component, accumulator, position, &fixed);
            fixed.insert(component.reduction, value);
        }
        fixed
    }

    fn identity(&self, component: &Component) -> f64 {
        identity(self.evaluator.dag.node(component.reduction), self.dtype(component))
    }

    fn init(&self) -> State {
        self.fold.components.iter().map(|component| [self.identity(component), 0.0, 0.0]).collect()
    }

    fn lift(&self, position: &mut [usize]) -> State {
        let mut fixed = Fixed::new();
        let mut state = State::new();
        for component in &self.fold.components {
            let mut with: Fixed = fixed.clone();
            with.extend(component.deferred.iter().map(|factor| (*factor, 1.0)));
            let body = self.evaluator.dag.node(component.reduction).body();
            let of = |id: Id, position: &mut [usize], with: &Fixed| self.evaluator.at(id, position, with);
            let accumulator = match (&component.law, body) {
                (Law::Moment { centred, .. }, _) => {
                    [1.0, self.round(self.products(centred, position, &fixed)), 0.0]
                }
                (Law::Exp(_), Some(body)) => {
                    // exp2(-inf - (-inf)) is 0 here, never NaN.
                    with.values_mut().filter(|v| **v == f64::NEG_INFINITY).for_each(|v| *v = 0.0);
                    [of(body, position, &with), 0.0, 0.0]
                }
                (_, Some(body)) => [of(body, position, &with), 0.0, 0.0],
                (_, None) => [f64::NAN; 3],
            };
            let value = self.result(component, &accumulator, position, &fixed);
            fixed.insert(component.reduction, value);
            state.push(accumulator);
        }
        state
    }

    fn combine(&self, left: &State, right: &State, position: &mut [usize]) -> State {
        let before = [self.finish(left, position), self.finish(right, position)];
        let mut fixed = Fixed::new();
        let mut state = State::new();
        for (i, component) in self.fold.components.iter().enumerate() {
            let (x, y) = (left[i], right[i]);
            let node = self.evaluator.dag.node(component.reduction);
            let plus = |x: f64, y: f64| {
                self.evaluator.precision.round(combine_with(node, x, y), self.dtype(component))
            };
            // A side that has seen nothing but -inf holds identities: there is nothing to repair.
            let empty = |side: usize| {
                let mut maxima = self.fold.components[..i].iter().filter(|c| c.maximum);
                maxima.any(|c| before[side][&c.reduction] == f64::NEG_INFINITY)
            };
            let accumulator = match &component.law {
                Law::Plain => [plus(x[0], y[0]), 0.0, 0.0],
                Law::Exp(h) => {
                    let now = self.products(h, position, &fixed);
                    let mut repaired = |value: f64, side: usize| {
                        let then = self.products(h, position, &before[side]);
                        if empty(side) || then == now {
                            return value;
                        }
                        self.round(value * self.round(self.round(now - then).exp2()))
                    };
                    let sides = [repaired(x[0], 0), repaired(y[0], 1)];
                    [plus(sides[0], sides[1]), 0.0, 0.0]
                }
                Law::Shift(h) => {
                    let now = self.products(h, position, &fixed);
                    let mut repaired = |value: f64, side: usize| {
                        let then = self.products(h, position, &before[side]);
                        if empty(side) { value } else { self.round(value + (now - then)) }
                    };
                    let sides = [repaired(x[0], 0), repaired(y[0], 1)];
                    [plus(sides[0], sides[1]), 0.0, 0.0]
                }
                Law::Attain { maximum } => {
                    let kept = |value: f64, side: usize| {
                        let (before, now) = (before[side][maximum], fixed[maximum]);
                        let same = before == now || before.is_nan() && now.is_nan();
                        if same { value } else { self.identity(component) }
                    };
                    [plus(kept(x[0], 0), kept(y[0], 1)), 0.0, 0.0]
                }
                Law::Moment { .. } if x[0] == 0.0 => y,
                Law::Moment { .. } if y[0] == 0.0 => x,
                Law::Moment { .. } => {
                    let count = x[0] + y[0];
                    let distance = self.round(y[1] - x[1]);
                    let mean = self.round(x[1] + self.round(distance * y[0] / count));
                    let between = self.round(distance * distance * (x[0] * y[0] / count));
                    [count, mean, self.round(x[2] + y[2] + between)]
                }
            };
            let value = self.result(component, &accumulator, position, &fixed);
            fixed.insert(component.reduction, value);
            state.push(accumulator);
        }
        state
    }

    /// Folds the stream at one outer position.
    fn fold_at(&mut self, position: &mut [usize], axes: &[Axis], elements: &[Vec<usize>]) -> Fixed {
        let mut blocks: Vec<State> = Vec::new();
        let mut current = self.init();
        for (i, element) in elements.iter().enumerate() {
            if i > 0 && self.random(3) == 0 {
                blocks.push(current);
                current = self.init();
            }
            set_position(position, axes, element);
            let lifted = self.lift(position);
            current = self.combine(&current, &lifted, position);
        }
        blocks.push(current);
        while blocks.len() > 1 {
            let i = self.random(blocks.len() - 1);
            let right = blocks.remove(i + 1);
            blocks[i] = self.combine(&blocks[i], &right, position);
        }
        self.finish(&blocks[0], position)
    }

    /// Makes all reductions of the fold known to the evaluator.
    pub fn run(&mut self) {
        let dag = self.evaluator.dag;
        let outer = self.fold.components.iter().fold(AxisSet::EMPTY, |set, c| set | dag.free(c.reduction));
        let (outer_axes, outer_sizes) = self.evaluator.sizes(outer);
        let (axes, sizes) = self.evaluator.sizes(self.fold.axes);
        let mut elements = Vec::new();
        positions(&sizes, |at| elements.push(at.to_vec()));
        let mut results: Vec<Dense> = Vec::new();
        for component in &self.fold.components {
            let (axes, sizes) = self.evaluator.sizes(dag.free(component.reduction));
            let data = vec![0.0; sizes.iter().product()];
            results.push(Dense { axes, sizes, data });
        }
        let mut outer_positions = Vec::new();
        positions(&outer_sizes, |at| outer_positions.push(at.to_vec()));
        let mut position = vec![0; AxisSet::CAPACITY];
        for at in outer_positions {
            set_position(&mut position, &outer_axes, &at);
            let fixed = self.fold_at(&mut position, &axes, &elements);
            for (component, result) in self.fold.components.iter().zip(&mut results) {
                let offset = result.offset(&position);
                result.data[offset] = fixed[&component.reduction];
            }
        }
        for (component, result) in self.fold.components.iter().zip(results) {
            self.evaluator.known.insert(component.reduction, result);
        }
    }
}
