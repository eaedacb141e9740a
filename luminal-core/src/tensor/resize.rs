//! Resizing an axis: nearest elements, and weighted means of neighbours.
//!
//! Positions are fractions of whole numbers and are computed as such: no rounding moves an element.

use super::axis::Axis;
use super::dim::{Dim, DimInfo, Dims};
use super::element::{Element, Float};
use super::pointwise::float;
use super::shape::{At, Shape};
use super::trace::{op, report};
use super::value::Tensor;
use crate::dtype::Dtype;
use crate::graph::{Binary, Dim as Size, Graph, NodeId, Reduce};

/// Where an element of the result lies in the input: element `o` at position `(step * o + offset) / unit`.
///
/// ```
/// use luminal_core::tensor::Positions;
///
/// // Twice as many elements: at -1/4, 1/4, 3/4, ..
/// assert_eq!(Positions::half_pixel(5, 10), Positions { step: 2, offset: -1, unit: 4 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions {
    /// Numerator of the distance of neighbours.
    pub step: i64,
    /// Numerator of the first position.
    pub offset: i64,
    /// Denominator of both, at least 1.
    pub unit: i64,
}

impl Positions {
    /// The fractions in lowest terms.
    fn reduced(step: i64, offset: i64, unit: i64) -> Positions {
        let divisor = gcd(gcd(step.abs(), offset.abs()), unit).max(1);
        Positions { step: step / divisor, offset: offset / divisor, unit: unit / divisor }
    }

    /// Elements are squares whose borders coincide: `(o + 1/2) * from / to - 1/2`. What PyTorch calls `align_corners =
    /// False`. Only the ratio of `from` and `to` counts.
    pub fn half_pixel(from: usize, to: usize) -> Positions {
        let (from, to) = (from as i64, to as i64);
        Positions::reduced(2 * from, from - to, 2 * to)
    }

    /// As [`half_pixel`](Positions::half_pixel), but 0 if the result has one element.
    pub fn pytorch_half_pixel(from: usize, to: usize) -> Positions {
        if to > 1 { Positions::half_pixel(from, to) } else { Positions { step: 0, offset: 0, unit: 1 } }
    }

    /// First elements coincide: `o * from / to`.
    pub fn asymmetric(from: usize, to: usize) -> Positions {
        Positions::reduced(from as i64, 0, to as i64)
    }

    /// First elements coincide and last ones do: `o * (from - 1) / (to - 1)`.
    pub fn align_corners(from: usize, to: usize) -> Positions {
        Positions::reduced(from as i64 - 1, 0, (to as i64 - 1).max(1))
    }

    /// The whole number at or in front of each position.
    fn floor(&self, element: usize) -> i64 {
        (self.step * element as i64 + self.offset).div_euclid(self.unit)
    }
}

fn gcd(x: i64, y: i64) -> i64 {
    if y == 0 { x } else { gcd(y, x % y) }
}

/// Which element is the nearest one to a position between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// The nearer one; in the middle, the one in front.
    PreferFloor,
    /// The nearer one; in the middle, the one behind.
    PreferCeil,
    /// The one in front.
    Floor,
    /// The one behind.
    Ceil,
}

/// How neighbours are weighted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights {
    /// Two neighbours, by their distance.
    Linear,
    /// Four neighbours, by the cubic convolution of Keys (1981) with this coefficient, -0.75 in PyTorch.
    Cubic {
        /// The slope at distance 1.
        a: f64,
    },
}

impl Weights {
    fn neighbours(self) -> usize {
        match self {
            Weights::Linear => 2,
            Weights::Cubic { .. } => 4,
        }
    }
}

/// Resizing an axis of known size, not 0, to `size`. Neighbours outside of the axis are its first or last element.
impl Graph {
    /// The nearest element to each position.
    pub fn resize_nearest(
        &mut self,
        x: NodeId,
        axis: usize,
        size: usize,
        positions: Positions,
        nearest: Nearest,
    ) -> NodeId {
        let Size::Fixed(length) = self.nodes[x].shape[axis] else { panic!("resize of a free dimension") };
        let Positions { step, offset, unit } = positions;
        // Each rule is a floor of other positions.
        let rounded = match nearest {
            Nearest::Floor => positions,
            Nearest::Ceil => Positions { step, offset: offset + unit - 1, unit },
            Nearest::PreferCeil => Positions { step: 2 * step, offset: 2 * offset + unit, unit: 2 * unit },
            Nearest::PreferFloor => {
                Positions { step: 2 * step, offset: 2 * offset + unit - 1, unit: 2 * unit }
            }
        };
        let last = length as i64 - 1;
        let table: Vec<usize> = (0..size).map(|o| rounded.floor(o).clamp(0, last) as usize).collect();
        if let Some(view) = self.as_view(x, axis, &table) {
            return view;
        }
        let whole = self.floor_of(rounded, size);
        let index = self.clamped(whole, last);
        self.take(x, axis, index)
    }

    /// A weighted mean of the neighbours of each position, of floats. With `exclude_outside`, neighbours outside of the
    /// axis have no weight, and the others are scaled up to 1 in all.
    pub fn resize_weighted(
        &mut self,
        x: NodeId,
        axis: usize,
        size: usize,
        positions: Positions,
        weights: Weights,
        exclude_outside: bool,
    ) -> NodeId {
        let Size::Fixed(length) = self.nodes[x].shape[axis] else { panic!("resize of a free dimension") };
        let taps = weights.neighbours();
        let shape = [Size::Fixed(taps), Size::Fixed(size)];
        // Tap t is the neighbour at floor + t - (taps / 2 - 1).
        let tap = self.iota(shape[0]);
        let tap = self.add_number(tap, 1.0 - (taps / 2) as f64);
        let tap = self.spread(tap, &[0], &shape);
        let whole = self.floor_of(positions, size);
        let whole = self.spread(whole, &[1], &shape);
        let place = self.add(whole, tap);
        let index = self.clamped(place, length as i64 - 1);
        let part = self.fraction_of(positions, size);
        let part = self.spread(part, &[1], &shape);
        let mut weight = self.weights(tap, part, weights);
        if exclude_outside {
            let same = self.equal(place, index);
            let none = self.full_like(0.0, weight);
            weight = self.select(same, weight, none);
            let sum = self.reduce(Reduce::Sum, weight, 0);
            let sum = self.expand(sum, 0, shape[0]);
            weight = self.div(weight, sum);
        }
        // An element without weight has no influence, not even if it is infinite.
        let zero = self.full_like(0.0, weight);
        let unused = self.equal(weight, zero);
        let neighbours = self.take(x, axis, index);
        let shape = self.nodes[neighbours].shape.clone();
        let [weight, unused] = [weight, unused].map(|node| self.spread(node, &[axis, axis + 1], &shape));
        let product = self.mul(weight, neighbours);
        let zero = self.full_like(0.0, product);
        let product = self.select(unused, zero, product);
        self.reduce(Reduce::Sum, product, axis)
    }

    /// Elements of an axis without a table, if they are each one repeated equally often or at equal distances.
    fn as_view(&mut self, x: NodeId, axis: usize, table: &[usize]) -> Option<NodeId> {
        let (size, length) = (table.len(), self.nodes[x].shape[axis].max());
        if table.iter().copied().eq(0..length) {
            return Some(x);
        }
        let times = size / length.max(1);
        if times > 1 && size.is_multiple_of(length) && (0..size).all(|o| table[o] == o / times) {
            let repeated = self.expand(x, axis + 1, Size::Fixed(times));
            return Some(self.merge(repeated, axis));
        }
        let [first, second, ..] = table else { return None };
        let step = second.checked_sub(*first).filter(|step| *step > 0)?;
        (0..size)
            .all(|o| table[o] == first + o * step)
            .then(|| self.slice(x, axis, *first, step, Size::Fixed(size)))
    }

    /// The whole number at or in front of each position, `i32`.
    fn floor_of(&mut self, positions: Positions, size: usize) -> NodeId {
        let Positions { step, offset, unit } = positions;
        if unit == 1 {
            return self.scaled(size, step, offset);
        }
        // Not negative, so that casting rounds down.
        let lift = offset.div_euclid(unit).min(0);
        let numerator = self.scaled(size, step, offset - lift * unit);
        let divisor = self.full_like(unit as f64, numerator);
        let rest = self.binary(Binary::Mod, numerator, divisor);
        let multiple = self.sub(numerator, rest);
        // A multiple of the unit below 2^24 is exact as a float, and half is far more than the error of the quotient.
        let multiple = self.cast(multiple, Dtype::F32);
        let quotient = self.mul_number(multiple, float(1.0 / unit as f64));
        let quotient = self.add_number(quotient, 0.5);
        let quotient = self.cast(quotient, Dtype::I32);
        self.add_number(quotient, lift as f64)
    }

    /// How far each position is behind the whole number in front of it: `f32`, from 0 and below 1.
    fn fraction_of(&mut self, positions: Positions, size: usize) -> NodeId {
        let Positions { step, offset, unit } = positions;
        let numerator = self.scaled(size, step, offset);
        let divisor = self.full_like(unit as f64, numerator);
        let rest = self.binary(Binary::Mod, numerator, divisor);
        let rest = self.cast(rest, Dtype::F32);
        self.mul_number(rest, float(1.0 / unit as f64))
    }

    /// `step * o + offset` for each element, `i32`.
    fn scaled(&mut self, size: usize, step: i64, offset: i64) -> NodeId {
        let element = self.iota(Size::Fixed(size));
        let scaled = self.mul_number(element, step as f64);
        self.add_number(scaled, offset as f64)
    }

    fn clamped(&mut self, x: NodeId, last: i64) -> NodeId {
        let (first, last) = (self.full_like(0.0, x), self.full_like(last as f64, x));
        let x = self.maximum(x, first);
        self.minimum(x, last)
    }

    /// The weight of a neighbour `tap` elements behind the whole number of a position, which is `part` behind it.
    fn weights(&mut self, tap: NodeId, part: NodeId, weights: Weights) -> NodeId {
        let tap = self.cast(tap, Dtype::F32);
        let signed = self.sub(tap, part);
        let negative = self.neg(signed);
        let distance = self.maximum(signed, negative);
        match weights {
            Weights::Linear => {
                let negative = self.neg(distance);
                self.add_number(negative, 1.0)
            }
            Weights::Cubic { a } => {
                // (a + 2) d^3 - (a + 3) d^2 + 1 up to 1; a d^3 - 5a d^2 + 8a d - 4a from 1 to 2.
                let inner = self.polynomial(distance, &[1.0, 0.0, -(a + 3.0), a + 2.0]);
                let outer = self.polynomial(distance, &[-4.0 * a, 8.0 * a, -5.0 * a, a]);
                let one = self.full_like(1.0, distance);
                let far = self.less(one, distance);
                self.select(far, outer, inner)
            }
        }
    }
}

/// How an axis is resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resize {
    /// Element `o` of the result is element `floor(o * from / to)`.
    Nearest,
    /// Weighted means of two neighbours (in two axes: bilinear). Elements are squares, and the borders of input and
    /// result coincide: `align_corners = False` of PyTorch.
    Linear,
    /// As `Linear`, but the centres of the first elements coincide, and those of the last: `align_corners = True`.
    LinearAlignCorners,
    /// Cubic interpolation of four neighbours with Keys' coefficient -0.75 (in two axes: bicubic). Elements are squares.
    Cubic,
    /// As `Cubic`, but the centres of the first elements coincide, and those of the last.
    CubicAlignCorners,
}

impl Resize {
    fn record(self, graph: &mut Graph, x: NodeId, axis: usize, size: usize) -> NodeId {
        const KEYS: Weights = Weights::Cubic { a: -0.75 };
        let from = graph.nodes[x].shape[axis].max();
        let (half, corners) = (Positions::half_pixel(from, size), Positions::align_corners(from, size));
        let mut weighted =
            |positions, weights| graph.resize_weighted(x, axis, size, positions, weights, false);
        match self {
            Resize::Nearest => {
                graph.resize_nearest(x, axis, size, Positions::asymmetric(from, size), Nearest::Floor)
            }
            Resize::Linear => weighted(half, Weights::Linear),
            Resize::LinearAlignCorners => weighted(corners, Weights::Linear),
            Resize::Cubic => weighted(half, KEYS),
            Resize::CubicAlignCorners => weighted(corners, KEYS),
        }
    }
}

/// What is wrong with a resize of these dimensions, if anything.
fn mistake(from: DimInfo, to: DimInfo) -> Option<String> {
    // Positions are computed with numbers up to 4 * from * to, which must be exact as floats.
    const MOST: usize = 1 << 22;
    match (from.fixed(), to.fixed()) {
        (Some(0), Some(1..)) => Some("there is no element to take".into()),
        (Some(from), Some(to)) => (from.saturating_add(1).saturating_mul(to.saturating_add(1)) > MOST)
            .then(|| format!("{from} to {to} is too large: the product must be less than {MOST}")),
        _ => Some(format!("from `{from}` to `{to}`: both must be fixed sizes, `D<N>`")),
    }
}

fn resized<S: Shape, R: Shape, E: Element>(x: Tensor<S, E>, axes: &[usize], how: Resize) -> Tensor<R, E> {
    for axis in axes {
        if let Some(mistake) = mistake(S::DIMS[*axis], R::DIMS[*axis]) {
            report(format!("axis {axis} of {} to {}: {mistake}", Dims(S::DIMS), Dims(R::DIMS)));
            return Tensor::placeholder();
        }
    }
    if axes.iter().any(|axis| R::DIMS[*axis].max() == 0) {
        return Tensor::placeholder();
    }
    Tensor::with_all_axes([x.loose()], |graph, [x], _| {
        axes.iter().fold(x, |x, axis| how.record(graph, x, *axis, R::DIMS[*axis].max()))
    })
}

impl<S: Shape, E: Element> Tensor<S, E> {
    /// Another number of elements along an axis, interpolated. The size is named by the result's type.
    ///
    /// ```
    /// use luminal_core::tensor::{Axis, D, Resize, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let x: Tensor<(D<2>, D<10>)> = input("x");
    ///     let finer: Tensor<(D<2>, D<25>)> = x.resize(Axis::<1>, Resize::Linear);
    ///     output(&finer);
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn resize<Length: Dim, const I: isize>(self, _axis: Axis<I>, how: Resize) -> Tensor<S::Set<Length>, E>
    where
        S: At<I>,
        E: Float,
    {
        let _scope = op("resize");
        resized(self, &[S::AXIS], how)
    }
}

impl<B: Dim, C: Dim, H: Dim, W: Dim, E: Element> Tensor<(B, C, H, W), E> {
    /// Images of another height and width, which the result's type names.
    ///
    /// ```
    /// use luminal_core::tensor::{D, Resize, Tensor, input, output, trace};
    ///
    /// let traced = trace(|| {
    ///     let image: Tensor<(D<1>, D<3>, D<8>, D<8>)> = input("image");
    ///     let doubled: Tensor<(D<1>, D<3>, D<16>, D<16>)> = image.resize2d(Resize::Nearest);
    ///     let smooth: Tensor<(D<1>, D<3>, D<12>, D<20>)> = image.resize2d(Resize::Linear); // bilinear
    ///     output(&(doubled, smooth));
    /// });
    /// assert!(traced.mistakes.is_empty());
    /// ```
    #[track_caller]
    pub fn resize2d<OutHeight: Dim, OutWidth: Dim>(
        self,
        how: Resize,
    ) -> Tensor<(B, C, OutHeight, OutWidth), E>
    where
        E: Float,
    {
        let _scope = op("resize2d");
        resized(self, &[2, 3], how)
    }
}
